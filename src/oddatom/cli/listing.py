"""What a command says of columns and rows, for people and for programs."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from oddatom.cli.console import Console, printable

LISTED = 10
COLUMN_LINES = 30  # in a table of more columns, those that are treated alike share a line


def say_columns(console: Console, decisions: list[Any]) -> None:
    """Say what was made of every column."""
    if len(decisions) <= COLUMN_LINES:
        lines = [decision.line() for decision in decisions]
    else:
        alike: dict[str, list[str]] = {}
        for decision in decisions:
            alike.setdefault(decision.line().removeprefix(decision.name), []).append(decision.name)
        lines = [_some(names) + what for what, names in alike.items()]
    for line in lines[: 2 * COLUMN_LINES]:
        console.say(f"  {printable(line, 160)}")
    if len(lines) > 2 * COLUMN_LINES:
        console.say(f"  and {len(lines) - 2 * COLUMN_LINES:,} more; the report has all of them")


def flagged_words(n: int, n_rows: int, count: Any = None, n_episodes: int | None = None) -> str:
    """Return how many rows are flagged and, given an `AnomalyCount`, how many are odder than chance explains.

    Of rows in time `n_episodes` is in how many stretches they are.
    """
    rows = f"{n_rows:,} row{'s' if n_rows != 1 else ''}"
    if n == 0:
        beyond = "lies beyond the threshold" if count is None else "stands out from the others"
        return f"No row is flagged: none of {n_rows:,} {beyond}."
    if n_episodes is not None:
        return f"{n:,} of {rows} flagged, in {n_episodes:,} episode{'s' if n_episodes != 1 else ''}."
    if count is None:
        return f"{n:,} of {rows} flagged."
    return f"{n:,} of {rows} flagged; {count.words()} odder than chance explains."


def auto_count(model: Any) -> Any:
    """Return how many rows are odder than chance explains; None where another threshold, or a person, decides."""
    judged = getattr(getattr(model.detector_, "ensemble_", None), "feedback", None)
    decides = model.threshold_.kind == "auto" and judged is None
    return getattr(model.detector_, "n_anomalies_", None) if decides else None


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
    width = max(len("row"), len(f"{int(order.max()) + 1:,}"))
    why_odd = "what makes it odd" if any(features) else ""
    console.show(console.style(f"rank  {'row':>{width}}      score   p-value           {why_odd}".rstrip(), "bold"))
    ranks = found.ranks()
    for row, why in zip(order, features, strict=True):
        p = "" if found.p_values is None else f"{found.p_values[row]:.2g}"
        verdict = console.style("flagged", "red") if found.flagged[row] else "       "
        place = f"{ranks[row]:4d}  {int(row) + 1:>{width},}"
        console.show(f"{place}  {found.scores[row]:#9.3g}  {p:>8}  {verdict} {printable(why, 100)}".rstrip())


def row_records(order: np.ndarray, found: Any, features: list[str]) -> list[dict[str, Any]]:
    """Return the same as plain data; rows are numbered from 1."""
    ranks = found.ranks()
    return [
        {
            "rank": int(ranks[row]),
            "row": int(row) + 1,
            "score": float(found.scores[row]),
            "p_value": None if found.p_values is None else float(found.p_values[row]),
            "is_anomaly": bool(found.flagged[row]),
            "top_features": why,
        }
        for row, why in zip(order, features, strict=True)
    ]


def show_json(console: Console, value: Any) -> None:
    """Print JSON, ASCII so that every terminal and program takes it; what is not finite is null."""
    console.show(json.dumps(_finite(value), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _some(names: list[str], most: int = 6) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most + 1 else ""
    return ", ".join(names[:most] if more else names) + more
