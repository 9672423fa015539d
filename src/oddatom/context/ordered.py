"""Rows in the order of their series and times, after the last rows of before.

The context of a row is made of the rows of its series with earlier times, back to the last gap. Rows with the same time
do not see each other, and a row that is there twice counts once: so a batch that is scored again, or in pieces, gets
the same scores to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class LastRows(NamedTuple):
    """The last rows of every series.

    Attributes
    ----------
    series : (n,) int64
    times : (n,)
    encoded : (n, m)
    keys : (n,) int64
        A hash of every row: equal rows have equal ones.
    scores : (n,)
        Of each row by itself.
    """

    series: np.ndarray
    times: np.ndarray
    encoded: np.ndarray
    keys: np.ndarray
    scores: np.ndarray

    def rows(self, wanted: np.ndarray) -> LastRows:
        """Return some of the rows, by a mask or by their places."""
        return LastRows(*(values[wanted] for values in self))

    def last_times(self, n_series: int) -> np.ndarray:
        """Return the last time of every series, -inf where there is none."""
        last = np.full(n_series, -np.inf)
        np.maximum.at(last, self.series, self.times)
        return last


def no_last_rows(n_columns: int) -> LastRows:
    """Return no rows."""
    none = np.empty(0, np.int64)
    return LastRows(none, np.empty(0), np.empty((0, n_columns)), none, np.empty(0))


def join(parts: Sequence[LastRows]) -> LastRows:
    """Return all rows of several."""
    return LastRows(*(np.concatenate(values) for values in zip(*parts, strict=True)))


class Ordered(NamedTuple):
    """Different rows in order, those of before together with those of a table, and where the rows of the table are.

    Attributes
    ----------
    series, times : (U,)
    encoded : (U, m)
    keys : (U,) int64
    start : (U,) int64
        The first row after the last gap.
    first : (U,) int64
        The first row with the same time: the rows from start to first are earlier.
    place : (N,) int64
        Of every row of the table.
    before : (n,) int64
        Places of the rows of before.
    """

    series: np.ndarray
    times: np.ndarray
    encoded: np.ndarray
    keys: np.ndarray
    start: np.ndarray
    first: np.ndarray
    place: np.ndarray
    before: np.ndarray

    def with_gap(self, gap: float) -> Ordered:
        """Return it with other gaps: nothing before a longer step counts."""
        return self._replace(start=_first_rows(self.series, self.times, gap))

    @property
    def by_time(self) -> np.ndarray:
        """The rows of the table from the earliest on, the same in whatever order they come."""
        return np.lexsort((self.place, self.times[self.place]))


def put_in_order(
    series: np.ndarray,
    times: np.ndarray,
    encoded: np.ndarray,
    keys: np.ndarray,
    before: LastRows | None = None,
    gap: float = np.inf,
) -> Ordered:
    """Put rows in order.

    Parameters
    ----------
    series : (N,) int64
    times : (N,)
    encoded : (N, m)
    keys : (N,) int64
        A hash of every row.
    before : LastRows, optional
        Earlier rows.
    gap : float
        Nothing before a longer step counts.
    """
    n_before = 0 if before is None else before.times.size
    if before is not None and n_before:
        series = np.concatenate([before.series, series])
        times = np.concatenate([before.times, times])
        encoded = np.concatenate([before.encoded, encoded])
        keys = np.concatenate([before.keys, keys])
    order, repeats = _order(series, times, keys)
    place = np.empty(order.size, np.int64)
    place[order] = np.cumsum(~repeats) - 1
    kept: Any = order[~repeats]
    if np.array_equal(kept, np.arange(order.size)):
        kept = slice(None)  # nothing is copied
    series, times, encoded, keys = series[kept], times[kept], encoded[kept], keys[kept]
    start, first = (_first_rows(series, times, most) for most in (gap, 0.0))
    return Ordered(series, times, encoded, keys, start, first, place[n_before:], place[:n_before])


def _first_rows(series: np.ndarray, times: np.ndarray, most: float) -> np.ndarray:
    """Return for every row the first of its series since when no step was longer than `most`."""
    rows = np.arange(times.size)
    begins = np.append(True, (np.diff(series) != 0) | (np.diff(times) > most))[: rows.size]
    return np.maximum.accumulate(np.where(begins, rows, 0))


def _order(series: np.ndarray, times: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of rows, those with one time by their keys, and which of them repeat the one before."""
    ahead = (np.diff(series) > 0) | ((np.diff(series) == 0) & (np.diff(times) > 0.0))
    if ahead.all():
        return np.arange(times.size), np.zeros(times.size, bool)
    order = np.lexsort((keys, times, series))
    tied = (np.diff(series[order]) == 0) & (np.diff(times[order]) == 0.0)
    return order, np.append(False, tied & (np.diff(keys[order]) == 0))
