"""Columns that run with the rows: timestamps, epochs and counters say when a row came, not what it is like.

As a number such a column makes every later row odd. A date that is an attribute, such as a birthday or the date of an
invoice, comes in no order, and stays.
"""

from __future__ import annotations

import numpy as np

FEW_ROWS = 20  # below it, an order is no wonder
IN_ORDER = 0.98  # share of the steps from row to row that go the same way, or stand
LEAST_DISTINCT = 10  # of the dates: fewer are groups of rows
EVEN = 0.95  # share of the steps of a counter that are alike
EPOCHS = ((1e8, 4e9, 1e6), (1e11, 4e12, 1e3), (1e14, 4e15, 1.0), (1e17, 4e18, 1e-3))  # 1973 to 2096; µs in the unit


def runs_as_time(data: np.ndarray) -> bool:
    """Return whether dates (any unit, NaN where missing) come in order and are spread over the rows."""
    values = data[~np.isnan(data)]
    return values.size >= FEW_ROWS and _in_order(values) and np.unique(values).size >= LEAST_DISTINCT


def runs_as_counter(data: np.ndarray) -> bool:
    """Return whether whole numbers (NaN where missing) are epochs in order, or count up or down in even steps.

    Other numbers in order are those of a table that was sorted by them.
    """
    values = data[~np.isnan(data)]
    if values.size < FEW_ROWS or not np.all(values == np.floor(values)) or not _in_order(values):
        return False
    if epoch_unit(values) > 0.0:
        return 2 * np.unique(values).size >= values.size
    steps = _steps(values)
    usual = float(np.median(steps))
    return usual != 0.0 and bool(np.mean(steps == usual) >= EVEN)


def epoch_unit(data: np.ndarray) -> float:
    """Return the microseconds of the unit in which numbers are times since 1970, 0 where they are none."""
    values = data[~np.isnan(data)]
    if not values.size:
        return 0.0
    low, high = float(values.min()), float(values.max())
    return next((unit for least, most, unit in EPOCHS if least <= low and high <= most), 0.0)


def _steps(values: np.ndarray) -> np.ndarray:
    """Return the steps from row to row; from one end of the numbers to the other they are infinite."""
    with np.errstate(over="ignore"):
        return np.diff(values)


def _in_order(values: np.ndarray) -> bool:
    steps = _steps(values)
    return bool(max(np.mean(steps >= 0.0), np.mean(steps <= 0.0)) >= IN_ORDER) and bool((steps != 0.0).any())
