"""`oddatom explain`: what makes rows odd, column by column."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from oddatom.cli.console import Console, printable
from oddatom.cli.learning import Results, column_shares, results
from oddatom.cli.listing import show_json
from oddatom.cli.loading import load_pipeline
from oddatom.cli.tables import open_source, told

COLUMNS = 10  # named per row
BAR = 24


def run(options: argparse.Namespace, console: Console) -> bool:
    """Return whether any row explained is an anomaly."""
    with told(console):
        pipeline = load_pipeline(options)
        rows, table, X, found = _rows(pipeline, options)
        columns, shares = column_shares(pipeline, X, X)
    if options.json:
        show_json(console, [_record(rows[j], j, found, columns, shares) for j in range(len(rows))])
        return bool(found.flagged.any())
    for j, row in enumerate(rows):
        p = "" if found.p_values is None else f", p-value {found.p_values[j]:.2g}"
        verdict = console.style("anomaly", "red") if found.flagged[j] else "normal"
        console.show(f"{console.style(f'row {row + 1:,}', 'bold')}  score {found.scores[j]:.3g}{p}  {verdict}")
        for f in np.argsort(-shares[j], kind="stable")[:COLUMNS]:
            if shares[j, f] > 0:
                bar = "█" * max(round(BAR * shares[j, f]), 1)
                value = printable(table.column(columns[f])[j].as_py() if columns[f] in table.column_names else "", 40)
                console.show(f"  {printable(columns[f], 28):28}  {100 * shares[j, f]:4.0f} %  {bar:{BAR}}  {value}")
    return bool(found.flagged.any())


def _record(row: int, j: int, found: Results, columns: tuple[str, ...], shares: np.ndarray) -> dict[str, Any]:
    order = np.argsort(-shares[j], kind="stable")
    return {
        "row": row + 1,
        "score": float(found.scores[j]),
        "p_value": None if found.p_values is None else float(found.p_values[j]),
        "is_anomaly": bool(found.flagged[j]),
        "shares": {columns[f]: float(shares[j, f]) for f in order},
    }


def _rows(pipeline: Any, options: argparse.Namespace) -> tuple[list[int], Any, np.ndarray, Results]:
    """Return the rows asked for, or the oddest: numbers, cells, encoded, results. The table is read in batches."""
    import pyarrow as pa

    kept: list[tuple[float, int, Any, np.ndarray]] = []  # score, row, cells, encoded
    wanted = {row - 1 for row in options.row or ()}
    start = 0
    for batch in open_source(options):
        X = pipeline["table"].transform(batch)
        scores = pipeline["detector"].score_samples(X)
        inside = [j - start for j in sorted(wanted) if start <= j < start + len(X)]
        chosen = inside if wanted else np.argsort(scores, kind="stable")[: options.top].tolist()
        kept += [(float(scores[j]), start + j, batch.slice(j, 1), X[j]) for j in chosen]
        start += len(X)
        if not wanted:
            kept = sorted(kept, key=lambda one: one[:2])[: options.top]
    if wanted and len(kept) < len(wanted):
        missing = min(wanted - {one[1] for one in kept}) + 1
        raise ValueError(f"there is no row {missing:,}: the table has {start:,}, the first is row 1")
    encoded = np.array([one[3] for one in kept])
    table = pa.Table.from_batches([one[2] for one in kept])
    return [one[1] for one in kept], table, encoded, results(pipeline["detector"], encoded)
