"""Columns that say what another one says: equal, in another unit, or the same categories under other names."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from oddatom.table.columns import Columns
from oddatom.table.decision import ColumnDecision, leave_out
from oddatom.table.encoding import encode
from oddatom.table.forms import Values

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
    kept: list[_Column] = []
    found = []
    for i, decision in enumerate(decisions):
        if decision.used and decision.action != "frequency":
            column = _Column(decision, table, i)
            name = next((other.decision.name for other in kept if _repeats(column, other)), None)
            if name is None:
                kept.append(column)
            else:
                decision = leave_out(decision.name, decision.kind, f"it repeats {name}", decision.n_missing)
        found.append(decision)
    return found


class _Column:
    """A column as numbers, or as the places of its levels: the first rows, and all where these are asked for."""

    def __init__(self, decision: ColumnDecision, table: Columns, place: int) -> None:
        self.decision, self._table, self._place = decision, table, place
        self.head = self._numbers(table.get(place).head(LOOK))

    @cached_property
    def all(self) -> np.ndarray:
        return self._numbers(self._table.get(self._place))

    def _numbers(self, values: Values) -> np.ndarray:
        decision = self.decision
        out = np.empty((len(values.data), len(decision.outputs)))
        encode(decision, values, out)
        levels = out[:, : out.shape[1] - decision.indicator]
        numbers = levels[:, 0] if decision.action != "one-hot" else levels @ np.arange(levels.shape[1])
        missing = out[:, -1] == 1.0 if decision.indicator else np.isnan(numbers)
        return np.where(missing, np.inf, numbers)


def _repeats(a: _Column, b: _Column) -> bool:
    if _proportional(a.head, b.head) and _proportional(a.all, b.all):
        return True
    return _one_to_one(a.head, b.head) and np.unique(a.all).size * FEW <= a.all.size and _one_to_one(a.all, b.all)


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
