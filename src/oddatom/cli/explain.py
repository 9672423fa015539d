"""`oddatom explain`: what makes rows odd, column by column."""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from oddatom import TableDetector
from oddatom.cli.console import Console, printable
from oddatom.cli.learning import USUAL_ROWS, column_shares, results
from oddatom.cli.listing import show_json
from oddatom.cli.loading import load_model
from oddatom.cli.tables import full_batches, open_source, told
from oddatom.exceptions import OddAtomError

COLUMNS = 10  # named per row
BAR = 24
NAME = 48  # letters of a name


class Row(NamedTuple):
    """A row to explain: its number (0 is the first), cells and results, and the features that its score is due to.

    `since` is how many rows ago the row with these features was: 0 for this one.
    """

    score: float
    number: int
    cells: pa.Table
    features: np.ndarray
    p_value: float | None
    flagged: bool
    since: int


def run(options: argparse.Namespace, console: Console) -> bool:
    """Return whether any row explained is flagged."""
    with told(console):
        model = load_model(options)
        rows, usual = _rows(model, options, console)
        columns, shares, note = column_shares(model, np.array([row.features for row in rows]), usual)
    console.say(note)
    if options.json:
        show_json(console, [_record(row, columns, of_row) for row, of_row in zip(rows, shares, strict=True)])
    else:
        for row, of_row in zip(rows, shares, strict=True):
            _show(console, row, columns, of_row)
    return any(row.flagged for row in rows)


def _show(console: Console, row: Row, columns: tuple[str, ...], shares: np.ndarray) -> None:
    p = "" if row.p_value is None else f", p-value {row.p_value:.2g}"
    verdict = console.style("flagged", "red") if row.flagged else "not flagged"
    ago = f", because of the row {row.since:,} before it" if row.since else ""
    console.show(f"{console.style(f'row {row.number + 1:,}', 'bold')}  score {row.score:.3g}{p}  {verdict}{ago}")
    width = max(28, *(len(printable(column, NAME)) for column in columns))
    for f in np.argsort(-shares, kind="stable")[:COLUMNS]:
        if shares[f] > 0:
            bar = "█" * max(round(BAR * shares[f]), 1)
            cell = row.cells.column(columns[f])[0].as_py() if columns[f] in row.cells.column_names else None
            value = (
                "" if row.since or _is_view(columns[f], row) else "(missing)" if cell is None else printable(cell, 40)
            )
            line = f"  {printable(columns[f], NAME):{width}}  {100 * shares[f]:4.0f} %  {bar:{BAR}}  {value}"
            console.show(line.rstrip())


def _is_view(column: str, row: Row) -> bool:
    """Return whether a column is none of the table but a view of one: "flow: jump"."""
    return column not in row.cells.column_names and column.rpartition(": ")[0] in row.cells.column_names


def _record(row: Row, columns: tuple[str, ...], shares: np.ndarray) -> dict[str, Any]:
    order = np.argsort(-shares, kind="stable")
    return {
        "row": row.number + 1,
        "score": row.score,
        "p_value": row.p_value,
        "is_anomaly": row.flagged,
        **({"rows_ago": row.since} if row.since else {}),
        "shares": {columns[f]: float(shares[f]) for f in order if shares[f] > 0},
    }


def _rows(model: TableDetector, options: argparse.Namespace, console: Console) -> tuple[list[Row], np.ndarray]:
    """Return the rows asked for, or the oddest, from a table read in batches, and features of usual rows."""
    kept: list[Row] = []
    wanted = {row - 1 for row in options.row or ()}
    start, usual = 0, np.empty(0)
    batches = full_batches(open_source(options))
    for batch in console.progress(batches, "rows", sizes=lambda batch: batch.num_rows):
        placed = model._place(batch, n_before=start)
        found = results(model, placed, model._follow(placed, warn=False))
        inside = [j - start for j in sorted(wanted) if start <= j < start + batch.num_rows]
        chosen = np.array(inside if wanted else found.first_of_episodes(options.top), dtype=np.int64)
        since = found.since(chosen)
        for k, (j, features) in enumerate(zip(chosen.tolist(), found.rows_to_explain(chosen), strict=True)):
            p_value = None if found.p_values is None else float(found.p_values[j])
            ago = 0 if since is None else int(since[k])
            result = (features, p_value, bool(found.flagged[j]), ago)
            kept.append(Row(float(found.scores[j]), start + j, batch.slice(j, 1), *result))
        if start == 0:
            usual = placed.features[:USUAL_ROWS]
        start += batch.num_rows
        if not wanted:
            kept = sorted(kept, key=lambda row: row[:2])[: options.top]
    if len(kept) < len(wanted):
        missing = min(wanted - {row.number for row in kept}) + 1
        problem = f"there is no row {missing:,}: the table has {start:,} rows."
        raise OddAtomError(problem, parameter="row", value=missing, advice="The first is --row 1.")
    return kept, usual
