"""Columns that say what another one says: equal, in another unit, or the same categories under other names."""

from __future__ import annotations

import numpy as np

from oddatom.table.columns import Columns
from oddatom.table.decision import ColumnDecision, leave_out
from oddatom.table.encoding import encode

FEWEST_ROWS = 100  # in fewer rows columns may agree by chance
LOOK = 200  # rows by which most pairs are told apart
ROUNDING = 1e-9  # of a value's distance from the usual ones
FEW = 10  # rows to a value, on average, for values to be categories: those of two columns may agree by chance else


def leave_out_repeats(table: Columns, decisions: list[ColumnDecision]) -> list[ColumnDecision]:
    """Return the decisions, with columns left out that repeat one before them.

    Numbers and dates repeat another where they are a multiple of it and a constant; columns of few values where their
    values go together one to one.
    """
    if table.n_rows < FEWEST_ROWS:
        return decisions
    kept: list[tuple[ColumnDecision, np.ndarray]] = []
    found = []
    for i, decision in enumerate(decisions):
        if decision.used and decision.action != "frequency":
            values = _numbers(decision, table, i)
            name = next((other.name for other, seen in kept if _repeats(values, seen)), None)
            if name is None:
                kept.append((decision, values))
            else:
                decision = leave_out(decision.name, decision.kind, f"it repeats {name}", decision.n_missing)
        found.append(decision)
    return found


def _numbers(decision: ColumnDecision, table: Columns, place: int) -> np.ndarray:
    """Return a column's numbers, or the places of its levels."""
    out = np.empty((table.n_rows, len(decision.outputs)))
    encode(decision, table.get(place), out)
    levels = out[:, : out.shape[1] - decision.indicator]
    values = levels[:, 0] if decision.action != "one-hot" else levels @ np.arange(levels.shape[1])
    missing = out[:, -1] == 1.0 if decision.indicator else np.isnan(values)
    return np.where(missing, np.inf, values)


def _repeats(a: np.ndarray, b: np.ndarray) -> bool:
    look = slice(0, LOOK)
    if _proportional(a[look], b[look]) and _proportional(a, b):
        return True
    return np.unique(a).size * FEW <= a.size and _one_to_one(a[look], b[look]) and _one_to_one(a, b)


def _proportional(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether b is a multiple of a and a constant, by two usual rows; missing values (infinite) are the same ones."""
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not finite.any():
        return False
    a, b = a[finite], b[finite]
    order = np.argsort(a, kind="stable")
    low, high = order[a.size // 4], order[3 * a.size // 4]
    with np.errstate(all="ignore"):
        slope = (b[high] - b[low]) / (a[high] - a[low])
        apart = np.abs(b[low] + slope * (a - a[low]) - b)
        return bool(
            (apart <= ROUNDING * (np.abs(b - b[low]) + abs(b[high] - b[low]))).all()
            and np.isfinite(slope)
            and slope != 0
        )


def _one_to_one(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether every value of a goes with one value of b, and the other way round."""
    counts = [np.unique(x).size for x in (a, b)]
    if counts[0] != counts[1] or counts[0] < 2:
        return False
    return np.unique(np.column_stack([a, b]), axis=0).shape[0] == counts[0]
