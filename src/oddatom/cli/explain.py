"""`oddatom explain`: what makes rows odd, column by column."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pyarrow as pa

from oddatom import TableDetector
from oddatom.cli.console import Console, printable
from oddatom.cli.learning import USUAL_ROWS, Results, column_shares, results
from oddatom.cli.listing import show_json
from oddatom.cli.loading import load_model
from oddatom.cli.tables import full_batches, open_source, told
from oddatom.exceptions import OddAtomError

COLUMNS = 10  # named per row
BAR = 24


def run(options: argparse.Namespace, console: Console) -> bool:
    """Return whether any row explained is flagged."""
    with told(console):
        model = load_model(options)
        rows, table, X, usual, found = _rows(model, options, console)
        columns, shares, note = column_shares(model, X, usual)
    console.say(note)
    if options.json:
        show_json(console, [_record(row, j, found, columns, shares) for j, row in enumerate(rows)])
        return bool(found.flagged.any())
    for j, row in enumerate(rows):
        p = "" if found.p_values is None else f", p-value {found.p_values[j]:.2g}"
        verdict = console.style("flagged", "red") if found.flagged[j] else "not flagged"
        console.show(f"{console.style(f'row {row + 1:,}', 'bold')}  score {found.scores[j]:.3g}{p}  {verdict}")
        for f in np.argsort(-shares[j], kind="stable")[:COLUMNS]:
            if shares[j, f] > 0:
                bar = "█" * max(round(BAR * shares[j, f]), 1)
                cell = table.column(columns[f])[j].as_py() if columns[f] in table.column_names else None
                value = "(missing)" if cell is None else printable(cell, 40)
                console.show(f"  {printable(columns[f], 28):28}  {100 * shares[j, f]:4.0f} %  {bar:{BAR}}  {value}")
    return bool(found.flagged.any())


def _record(row: int, j: int, found: Results, columns: tuple[str, ...], shares: np.ndarray) -> dict[str, Any]:
    order = np.argsort(-shares[j], kind="stable")
    return {
        "row": row + 1,
        "score": float(found.scores[j]),
        "p_value": None if found.p_values is None else float(found.p_values[j]),
        "is_anomaly": bool(found.flagged[j]),
        "shares": {columns[f]: float(shares[j, f]) for f in order if shares[j, f] > 0},
    }


def _rows(
    model: TableDetector, options: argparse.Namespace, console: Console
) -> tuple[list[int], pa.Table, np.ndarray, np.ndarray, Results]:
    """Return the rows asked for, or the oddest, from a table read in batches.

    Returns
    -------
    rows : their numbers, from 0
    table, X, found : their cells, the same encoded, and the results
    usual : encoded rows to compare them with
    """
    kept: list[tuple[float, int, pa.Table, np.ndarray, Results]] = []
    wanted = {row - 1 for row in options.row or ()}
    start, usual = 0, np.empty(0)
    batches = full_batches(open_source(options))
    for batch in console.progress(batches, "rows", sizes=lambda batch: batch.num_rows):
        X = model.encoder_.transform(batch)
        found = results(model.detector_, X)
        inside = [j - start for j in sorted(wanted) if start <= j < start + len(X)]
        for j in inside if wanted else found.order()[: options.top].tolist():
            one = slice(j, j + 1)
            p_value = None if found.p_values is None else found.p_values[one]
            result = Results(found.scores[one], p_value, found.flagged[one])
            kept.append((float(found.scores[j]), start + j, batch.slice(j, 1), X[j], result))
        if start == 0:
            usual = X[:USUAL_ROWS]
        start += len(X)
        if not wanted:
            kept = sorted(kept, key=lambda one: one[:2])[: options.top]
    if len(kept) < len(wanted):
        missing = min(wanted - {one[1] for one in kept}) + 1
        problem = f"there is no row {missing:,}: the table has {start:,} rows."
        raise OddAtomError(problem, parameter="row", value=missing, advice="The first is --row 1.")
    each = [one[4] for one in kept]
    p_values = None if each[0].p_values is None else np.concatenate([one.p_values for one in each])
    joined = Results(np.array([one[0] for one in kept]), p_values, np.concatenate([one.flagged for one in each]))
    table = pa.concat_tables([one[2] for one in kept])
    return [one[1] for one in kept], table, np.array([one[3] for one in kept]), usual, joined
