"""The list of the oddest rows, for people and for programs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from oddatom.cli.console import Console, printable

LISTED = 10


def show_rows(console: Console, order: np.ndarray, found: Any, features: list[str]) -> None:
    """Print rows, oddest first: number, score, p-value, verdict, and the columns that make them odd.

    Parameters
    ----------
    console : Console
    order : (n,) int
        Rows to show.
    found : Results
        Of all rows.
    features : n texts
        What makes these rows odd.
    """
    width = max(len("row"), len(f"{int(order.max()) + 1:,}")) if order.size else 3
    console.show(console.style(f"rank  {'row':>{width}}     score   p-value           what makes it odd", "bold"))
    for k, (row, why) in enumerate(zip(order, features, strict=True), 1):
        p = "" if found.p_values is None else f"{found.p_values[row]:.2g}"
        verdict = console.style("anomaly", "red") if found.flagged[row] else "       "
        line = f"{k:4d}  {int(row) + 1:>{width},}  {found.scores[row]:8.3g}  {p:>8}  {verdict} {printable(why, 100)}"
        console.show(line.rstrip())


def row_records(order: np.ndarray, found: Any, features: list[str]) -> list[dict[str, Any]]:
    """Return the same as plain data; rows are numbered from 1."""
    return [
        {
            "rank": k,
            "row": int(row) + 1,
            "score": float(found.scores[row]),
            "p_value": None if found.p_values is None else float(found.p_values[row]),
            "is_anomaly": bool(found.flagged[row]),
            "top_features": why,
        }
        for k, (row, why) in enumerate(zip(order, features, strict=True), 1)
    ]


def show_json(console: Console, value: Any) -> None:
    """Print JSON, one object, ASCII so that every terminal and program takes it."""
    console.show(json.dumps(value, indent=2))
