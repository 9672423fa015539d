"""The table of the oddest rows: sortable, to be filtered, with a bar for every column that makes a row odd."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from oddatom.report.escape import safe
from oddatom.report.limits import Limits
from oddatom.report.numbers import p_text, percent, score_writer, whole
from oddatom.report.records import ReportContent, TopRow

BARS = 5  # shown at once; the others when asked for
LEAST_SHARE = 0.005
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


def top_rows(content: ReportContent, limits: Limits) -> str:
    """Return the table with its filter."""
    rows = content.top[: limits.rows]
    shown = range(min(len(content.columns), limits.columns))
    numeric = [all(not row.cells[c] or _NUMBER.fullmatch(row.cells[c]) for row in rows) for c in shown]
    write = score_writer(content.scores)
    wide = " wide" if len(shown) > BARS else ""
    head = _head(content, limits, numeric)
    body = "".join(_row(content, k, row, numeric, limits, write) for k, row in enumerate(rows))
    return (
        '<p class="filter"><label for="filter">Filter the rows</label>'
        '<input id="filter" type="search" autocomplete="off" placeholder="a value, a column, a row number">'
        f'<span id="count" role="status">{whole(len(rows))} rows</span></p>'
        '<div class="scroll tall" role="region" tabindex="0" aria-labelledby="top-caption">'
        f'<table id="top" class="rows{wide}"><caption id="top-caption">The {whole(len(rows))} oddest rows</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _head(content: ReportContent, limits: Limits, numeric: Sequence[bool]) -> str:
    def heading(name: str, kind: str, sort: str = "") -> str:
        return f'<th scope="col" class="{kind}"{sort}><button type="button">{name}</button></th>'

    cells = [heading("Rank", "n", ' aria-sort="ascending"'), heading("Row", "n"), heading("Score", "n")]
    if content.p_values is not None:
        cells.append(heading("p-value", "n"))
    if content.contributions is not None:
        cells.append('<th scope="col" class="t">What makes it odd</th>')
    cells.append(heading("Flagged", "t"))
    for name, is_number in zip(content.columns, numeric, strict=False):
        cells.append(heading(f"<bdi>{safe(name, limits.name)}</bdi>", f"cell {'n' if is_number else 't'}"))
    return "".join(cells)


def _row(
    content: ReportContent,
    k: int,
    row: TopRow,
    numeric: Sequence[bool],
    limits: Limits,
    write: Callable[[float], str],
) -> str:
    cells = [
        f'<td class="n" data-v="{int(row.rank)}">{int(row.rank)}</td>',
        f'<th scope="row" class="n" data-v="{int(row.row)}">{int(row.row)}</th>',
        f'<td class="n" data-v="{float(row.score)!r}">{write(row.score)}</td>',
    ]
    if content.p_values is not None:
        p = row.p_value
        cells.append('<td class="n"></td>' if p is None else f'<td class="n" data-v="{float(p)!r}">{p_text(p)}</td>')
    hot: dict[str, float] = {}
    if content.contributions is not None:
        order = np.argsort(-content.contributions[k], kind="stable")[: limits.shares]
        shares = [(content.contribution_columns[c], float(content.contributions[k, c])) for c in order]
        shares = [(name, share) for name, share in shares if share >= LEAST_SHARE]
        hot = dict(shares[:BARS])
        values = dict(zip(content.columns, row.cells, strict=False))
        largest = float(content.contributions.max())
        cells.append(f'<td class="t why">{_bars(shares, values, largest, limits)}</td>')
    cells.append(f'<td class="t">{"<b>yes</b>" if row.is_anomaly else "no"}</td>')
    for name, value, is_number in zip(content.columns, row.cells, numeric, strict=False):
        kind = f"cell {'n' if is_number else 't'}{' hot' if name in hot else ''}"
        heat = f' style="--heat:{100 * min(hot[name] * 1.5, 0.5):.0f}%"' if name in hot else ""
        cells.append(f'<td class="{kind}"{heat}><bdi>{safe(value, limits.cell)}</bdi></td>')
    return f"<tr>{''.join(cells)}</tr>"


def _bars(shares: Sequence[tuple[str, float]], values: dict[str, str], largest: float, limits: Limits) -> str:
    """Return the largest shares as bars in units of the largest of all rows, the rest behind a click."""

    def bar(name: str, share: float) -> str:
        value = f" <i>{safe(values[name], limits.cell // 3)}</i>" if values.get(name) else ""
        return (
            f"<li><span><bdi>{safe(name, limits.name)}</bdi>{value}</span>"
            f'<span class="bar" style="--w:{100 * share / largest:.1f}%"></span><span>{percent(share)}</span></li>'
        )

    if not shares:
        return "nothing in particular"
    first = f"<ol>{''.join(bar(*one) for one in shares[:BARS])}</ol>"
    if len(shares) <= BARS:
        return first
    more = "".join(bar(*one) for one in shares[BARS:])
    return f"{first}<details><summary>{len(shares) - BARS} more</summary><ol>{more}</ol></details>"
