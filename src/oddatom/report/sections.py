"""The sections of a report, each a function from its content to HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from oddatom.report import figures
from oddatom.report.escape import safe, script_json
from oddatom.report.limits import Limits
from oddatom.report.numbers import percent, score_writer, whole
from oddatom.report.records import ReportContent, RowMap
from oddatom.report.top_rows import top_rows

LEVELS_OF_P = (0.001, 0.01, 0.05)
COLUMNS_LISTED = 8


def summary(content: ReportContent, limits: Limits) -> str:
    """The finding in a sentence, and the figures behind it."""
    n, N = content.n_anomalies, content.scores.size
    facts = [
        ("Rows", whole(content.data.n_rows)),
        ("Columns", whole(content.data.n_columns)),
        ("Flagged", f"{whole(n)} <small>{percent(n / max(N, 1))}</small>"),
        ("Detector", safe(content.detector, limits.name)),
    ]
    items = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    count = f"<b>{whole(n)}</b> of" if n else "None of"
    lede = f"{count} {whole(N)} rows {'look' if n > 1 else 'looks'} odd."
    return f'<p class="lede">{lede}</p><dl class="facts">{items}</dl>'


def data(content: ReportContent, limits: Limits) -> str:
    """What the data were, what became of each column, and the detector's parameters."""
    facts = content.data
    versions = ", ".join(f"{name} {number}" for name, number in facts.versions.items())
    pairs = [
        ("File", facts.file_name),
        ("Size", f"{whole(facts.n_rows)} rows, {whole(facts.n_columns)} columns"),
        ("When", facts.when),
        ("Seed", facts.seed),
        ("Versions", versions),
    ]
    out = [_pairs((name, safe(value, limits.words)) for name, value in pairs if value), _note(content, "rows", limits)]
    if content.decisions:
        rows = [
            f'<tr><th scope="row"><bdi>{safe(one.name, limits.name)}</bdi></th><td>{safe(one.kind, limits.name)}</td>'
            f"<td>{safe(one.done, limits.done)}</td></tr>"
            for one in content.decisions[: limits.decisions]
        ]
        left = len(content.decisions) - len(rows)
        more = f"<p>And {whole(left)} more columns.</p>" if left else ""
        head = ("Column", "Kind", "What was done")
        out.append(_folded("What was done with each column", _table("Columns", head, rows) + more))
    if content.parameters:
        pairs = [
            (safe(name, limits.name), f"<code>{safe(value, limits.done)}</code>")
            for name, value in list(content.parameters.items())[: limits.decisions]
        ]
        out.append(_folded(f"Parameters of {safe(content.detector, limits.name)}", _pairs(pairs)))
    return "".join(out)


def scores(content: ReportContent, limits: Limits) -> str:
    """How the scores are spread, and where they are cut."""
    write = score_writer(content.scores)
    where = "" if content.offset is None else f" The threshold is {write(content.offset)}."
    finite = content.scores[np.isfinite(content.scores)]
    label = (
        f"Histogram of the scores of {whole(content.scores.size)} rows, from {write(finite.min())} to "
        f"{write(finite.max())}; {whole(content.n_anomalies)} are flagged.{where}"
        if finite.size
        else "Histogram without finite scores."
    )
    drawing = f'<div class="figure">{figures.histogram(content.scores, content.offset, label)}</div>'
    text = f"<p>The lower the score, the odder the row. {safe(content.threshold, limits.words)}{where}</p>"
    return f'{text}<div class="beside">{drawing}{_p_values(content)}</div>{_note(content, "p_values", limits)}'


def _p_values(content: ReportContent) -> str:
    """How many rows have small p-values, and how many of them chance would explain."""
    p = content.p_values
    if p is None or not p.size:
        return ""
    rows = [
        f'<tr><th scope="row" class="n">{level}</th><td class="n">{whole(int((p <= level).sum()))}</td>'
        f'<td class="n">{whole(round(level * p.size))}</td></tr>'
        for level in LEVELS_OF_P
    ]
    head = ("p-value at most", "Rows", "By chance")
    return _table("Rows by p-value, and how many if all were normal", head, rows, numeric=True)


def top(content: ReportContent, limits: Limits) -> str:
    """The oddest rows, and the columns that make them odd."""
    return _columns(content, limits) + _note(content, "contributions", limits) + top_rows(content, limits)


def _columns(content: ReportContent, limits: Limits) -> str:
    """The columns that make the top rows odd, on average."""
    if content.contributions is None or not content.contributions.size:
        return ""
    mean = content.contributions.mean(axis=0)
    order = np.argsort(-mean, kind="stable")[:COLUMNS_LISTED]
    rows = [
        f'<tr><th scope="row"><bdi>{safe(content.contribution_columns[c], limits.name)}</bdi></th>'
        f'<td class="n">{percent(mean[c])}</td>'
        f'<td class="meter"><span class="bar" style="--w:{100 * mean[c] / mean[order[0]]:.1f}%"></span></td></tr>'
        for c in order
        if mean[c] > 0.0
    ]
    caption = f"Columns that make the {whole(len(content.top))} oddest rows odd: mean share"
    return _table(caption, ("Column", "Share", ""), rows, kind="meters") if rows else ""


def row_map(content: ReportContent, limits: Limits) -> str:
    """Where the rows lie."""
    rows = content.row_map
    if rows is None or not rows.rows.size:
        return _note(content, "map", limits) or "<p>There is no map.</p>"
    rows = _fewer(rows, limits.points)
    n_top = int((rows.ranks > 0).sum())
    label = f"Map of {whole(rows.rows.size)} rows; the {whole(n_top)} oddest stand out."
    drawing, places = figures.row_map(rows, label)
    write = score_writer(content.scores)
    points = [
        [*place, int(row), write(float(score)), int(rank), int(flagged)]
        for place, row, score, rank, flagged in zip(
            places, rows.rows, rows.scores, rows.ranks, rows.flagged, strict=True
        )
    ]
    return (
        f"<p>{whole(rows.rows.size)} of {whole(content.scores.size)} rows, along the two directions in which they "
        "spread most. A row that is odd in another direction may lie among the others.</p>"
        + _note(content, "map", limits)
        + '<p class="key"><span class="k-top">top rows</span><span class="k-flagged">other flagged rows</span>'
        '<span class="k-usual">other rows</span></p>'
        '<p id="map-here" class="here" aria-live="polite">Point at a row, or use the arrow keys, to see its number and '
        "score.</p>"
        '<div id="map" class="map" role="group" tabindex="0" aria-label="Map of the rows. Left and right arrow keys '
        f'go through the top rows." aria-describedby="map-here">{drawing}</div>'
        f'<script type="application/json" id="points">{script_json(points)}</script>'
    )


def _fewer(rows: RowMap, most: int) -> RowMap:
    """Keep all top rows and the first of the others."""
    order = np.argsort(rows.ranks == 0, kind="stable")[:most]
    return RowMap(rows.points[order], rows.rows[order], rows.scores[order], rows.ranks[order], rows.flagged[order])


def atoms(content: ReportContent, limits: Limits) -> str:
    """Atoms that odd rows use and normal rows do not."""
    rows = []
    for atom in content.atoms[: limits.warnings]:
        features = ", ".join(f"<bdi>{safe(feature, limits.name)}</bdi>" for feature in atom.features[: limits.shares])
        rows.append(
            f'<tr><th scope="row">{safe(atom.name, limits.name)}</th><td class="n">{percent(atom.of_odd)}</td>'
            f'<td class="n">{percent(atom.of_normal)}</td><td>{features or "—"}</td></tr>'
        )
    head = ("Atom", "Of odd rows", "Of normal rows", "Made of")
    table = _table("Atoms that odd rows use and normal rows do not", head, rows, kind="atoms") if rows else ""
    return _note(content, "atoms", limits) + table


def convergence(content: ReportContent, limits: Limits) -> str:
    """How the fit converged."""
    if not content.curves:
        return _note(content, "curves", limits) or "<p>There are no curves.</p>"
    lines = content.curves[: limits.warnings]
    first, last = (float(np.median([line.values[k] for line in lines])) for k in (0, -1))
    axes = tuple(safe(axis, limits.name) for axis in content.curve_axes)
    label = f"{axes[1]} by {axes[0]}, {len(lines)} curves: their median goes from {first:.3g} to {last:.3g}."
    drawing = figures.curves(lines, (content.curve_axes[0], content.curve_axes[1]), label)
    return f'{_note(content, "curves", limits)}<div class="figure">{drawing}</div>'


def how_to(content: ReportContent, limits: Limits) -> str:
    """How to use the saved model."""
    if not content.how_to:
        return "<p>The model was not saved.</p>"
    out = []
    for one in content.how_to[: limits.warnings]:
        lines = "\n".join(safe(line, limits.commands) for line in one.command[: limits.commands].splitlines())
        out.append(f"<p>{safe(one.text, limits.words)}</p>" if one.text else "")
        out.append(f'<pre tabindex="0"><code>{lines}</code></pre>' if lines else "")
    return "".join(out)


def warnings(content: ReportContent, limits: Limits) -> str:
    """What to bear in mind."""
    listed = [f"<li>{safe(text, limits.words)}</li>" for text in content.warnings[: limits.warnings]]
    left = len(content.warnings) - len(listed)
    if left:
        listed.append(f"<li>And {whole(left)} more.</li>")
    shown, columns = min(len(content.top), limits.rows), min(len(content.columns), limits.columns)
    if shown < len(content.top) or columns < len(content.columns):
        listed.append(
            f"<li>To keep the file small the table shows {whole(shown)} of {whole(len(content.top))} rows and "
            f"{whole(columns)} of {whole(len(content.columns))} columns.</li>"
        )
    listed.append("<li>A low score says that a row is unlike the others, not that it is wrong.</li>")
    return f"<ul>{''.join(listed)}</ul>"


def _note(content: ReportContent, key: str, limits: Limits) -> str:
    text = content.notes.get(key, "")
    return f'<p class="note">{safe(text, limits.words)}</p>' if text else ""


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return f'<dl class="pairs">{"".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in pairs)}</dl>'


def _folded(heading: str, body: str) -> str:
    return f"<details><summary>{heading}</summary>{body}</details>"


def _table(caption: str, head: Sequence[str], rows: Sequence[str], *, numeric: bool = False, kind: str = "") -> str:
    """Return a table in a container of its own to scroll in; columns about shares are numbers."""
    cells = "".join(
        f'<th scope="col"{_of_number(numeric or name.startswith(("Share", "Of ")))}>{name}</th>'
        if name
        else "<td></td>"
        for name in head
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{caption}"><table class="{kind}">'
        f"<caption>{caption}</caption><thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _of_number(is_number: bool) -> str:
    return ' class="n"' if is_number else ""
