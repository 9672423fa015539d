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

from oddatom.arrays.threads import split, threads_here

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
    p, U = columns.shape
    wanted = np.arange(U) if rows is None else rows
    if (np.diff(wanted) <= 0).any():
        wanted = np.unique(wanted)
    views = Views(*(np.empty((p, U)) if wanted.size == U else np.full((p, U), np.nan) for _ in range(3)))
    _run(columns, start, first, wanted, np.empty((columns.shape[0], window)), *views)
    return views


@njit(cache=True, parallel=True, error_model="numpy")
def _run(columns, start, first, wanted, held, change, distance, spread):
    window = held.shape[1]
    for j in prange(columns.shape[0]):
        x, ordered = columns[j], held[j]
        low, high, size = 0, 0, 0  # rows low to high are held, those that are there in rising order
        for i in wanted:
            change[j, i], distance[j, i], spread[j, i] = np.nan, np.nan, np.nan
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
    p, U = views.distance.shape
    out = np.empty((p, U))
    with threads_here():
        split(U, 5.0 * p).run(_divide, views.distance, views.spread, typical, out)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _divide_rows(distance, spread, typical, lo, hi, out):
    for j in range(distance.shape[0]):
        usual = typical[j]
        low, high = usual / SPREAD_LIMIT, usual * SPREAD_LIMIT
        for i in range(lo, hi):
            held = usual if np.isnan(spread[j, i]) else min(max(spread[j, i], low), high)
            out[j, i] = distance[j, i] / np.sqrt(held * usual)


@njit(cache=True, nogil=True, parallel=True)
def _divide(distance, spread, typical, out, k, parallel):
    N = out.shape[1]
    if parallel:
        for c in prange(k):
            _divide_rows(distance, spread, typical, N * c // k, N * (c + 1) // k, out)
    else:
        for c in range(k):
            _divide_rows(distance, spread, typical, N * c // k, N * (c + 1) // k, out)
