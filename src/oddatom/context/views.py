"""A number as the rows before it let it look: its change, and its distance from their level.

The level is the median of the last rows, as many as a window has, and the distance is in units of their spread,

    (x - median) / √(spread · typical),    typical/4 ≤ spread ≤ 4 typical,

the geometric mean with the typical spread of training: halfway between a fixed unit, which sees nothing in quiet times,
and the running one, which gives alarms in them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange

FEWEST_FOR_LEVEL, FEWEST_FOR_SPREAD = 3, 5
JUMP, LEVEL = "jump", "far from its level"
SPREAD_LIMIT = 4.0


class Views(NamedTuple):
    """Of p numbers in U rows.

    Attributes
    ----------
    change, distance : (p, U)
        From the last number, and from the median of the rows before; NaN where the number is missing, or too few rows
        are before it.
    spread : (p, U)
        Of the rows before, between the quartiles; NaN where they are too few.
    """

    change: np.ndarray
    distance: np.ndarray
    spread: np.ndarray


def running_views(
    numbers: np.ndarray, start: np.ndarray, first: np.ndarray, window: int, rows: np.ndarray | None = None
) -> Views:
    """Return how numbers look from the rows before them.

    Parameters
    ----------
    numbers : (U, p)
        In order; NaN is missing.
    start, first : (U,) int64
        Rows from start to first are before a row: see `ordered.Ordered`.
    window : int
    rows : (n,) int64, optional
        Those whose views are wanted; others have NaN. None means all.
    """
    columns = np.ascontiguousarray(numbers.T)
    views = Views(*(np.full(columns.shape, np.nan) for _ in range(3)))
    wanted = np.arange(columns.shape[1]) if rows is None else np.unique(rows)
    _run(columns, start, first, wanted, np.empty((columns.shape[0], window)), *views)
    return views


@njit(cache=True, parallel=True, error_model="numpy")
def _run(columns, start, first, wanted, held, change, distance, spread):
    window = held.shape[1]
    for j in prange(columns.shape[0]):
        x, ordered = columns[j], held[j]
        low, high, size = 0, 0, 0  # rows low to high are held, those that are there in rising order
        for i in wanted:
            begin = max(start[i], first[i] - window)
            if begin >= high:
                low, high, size = begin, begin, 0
            while low < begin:
                if not np.isnan(x[low]):
                    size = _remove(ordered, size, x[low])
                low += 1
            while high < first[i]:
                if not np.isnan(x[high]):
                    size = _insert(ordered, size, x[high])
                high += 1
            if size >= FEWEST_FOR_SPREAD:
                spread[j, i] = _quantile(ordered, size, 0.75) - _quantile(ordered, size, 0.25)
            if np.isnan(x[i]) or size == 0:
                continue
            last = high - 1
            while np.isnan(x[last]):
                last -= 1
            change[j, i] = x[i] - x[last]
            if size >= FEWEST_FOR_LEVEL:
                distance[j, i] = x[i] - _quantile(ordered, size, 0.5)


@njit(cache=True)
def _insert(ordered, size, value):
    k = size
    while k > 0 and ordered[k - 1] > value:
        ordered[k] = ordered[k - 1]
        k -= 1
    ordered[k] = value
    return size + 1


@njit(cache=True)
def _remove(ordered, size, value):
    k = 0
    while ordered[k] != value:
        k += 1
    for i in range(k, size - 1):
        ordered[i] = ordered[i + 1]
    return size - 1


@njit(cache=True)
def _quantile(ordered, size, share):
    place = share * (size - 1)
    low = int(place)
    weight = place - low
    return ordered[low] if weight == 0.0 else (1.0 - weight) * ordered[low] + weight * ordered[low + 1]


def typical_spreads(spread: np.ndarray) -> np.ndarray:
    """Return the median of the spreads (p, U) of every number, or 1 where that is 0."""
    found = np.ones(spread.shape[0])
    for j, one in enumerate(spread):
        there = one[one > 0.0]  # neither 0 nor NaN
        if there.size:
            found[j] = np.median(there)
    return found


def in_units(views: Views, typical: np.ndarray) -> np.ndarray:
    """Return distances (p, U) from the level in units of spread."""
    out = np.empty(views.distance.shape)
    for j, usual in enumerate(typical):
        spread = views.spread[j]
        held = np.clip(np.where(np.isnan(spread), usual, spread), usual / SPREAD_LIMIT, usual * SPREAD_LIMIT)
        np.divide(views.distance[j], np.sqrt(held * usual), out=out[j])
    return out
