"""Scores over time, and the rows around the oddest ones: as much of them as a picture can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from oddatom.report.records import OddMoment, OverTime, RowGroups, RowsAround, RowTimes, TimeBins, TopRow
from oddatom.report.ticks import DATES, parts

COLUMNS, COLUMNS_AROUND = 2000, 300  # of the large picture and of a small one
MOST_MOMENTS = 12
FEWEST_FOR_LEVEL = 3


class Reason(NamedTuple):
    """What makes a row odd: in words, its share, the column of the table, and the row's cell in it."""

    words: str
    share: float
    column: str
    cell: str


def find_reasons(
    names: Sequence[str],
    shares: np.ndarray | None,
    about: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[str]],
    since: np.ndarray | None = None,
) -> list[Reason]:
    """Return what makes each of the oddest rows odd: what has the largest share.

    Parameters
    ----------
    names : of what has a share
    shares : (n_top, n_names) or None
    about : names
        The column of the table that each of these is about.
    columns : names
        The columns displayed.
    cells : n_top of cells
        The rows' values in these.
    since : (n_top,) int, optional
        How many rows ago the row was that a score is due to: the cell of another row says nothing, and is left out.
    """
    found = []
    for k, row_cells in enumerate(cells):
        first = 0 if shares is None or not shares.shape[1] else int(shares[k].argmax())
        if shares is None or not shares.shape[1] or not shares[k, first] > 0.0:
            found.append(Reason("", 0.0, "", ""))
            continue
        own = since is None or since[k] == 0
        cell = dict(zip(columns, row_cells, strict=True)).get(about[first], "") if own else ""
        found.append(Reason(names[first], float(shares[k, first]), about[first], cell))
    return found


def gather_over_time(
    times: RowTimes,
    groups: RowGroups | None,
    scores: np.ndarray,
    flagged: np.ndarray,
    listed: np.ndarray,
    top: Sequence[TopRow],
    reasons: Sequence[Reason],
    drawn: Mapping[str, Any],
) -> OverTime | None:
    """Return the scores over time and the rows around the oddest ones; None where no row has a time.

    Parameters
    ----------
    times : RowTimes
    groups : RowGroups or None
        Every group is a series of its own.
    scores : (N,)
    flagged : (N,) bool
    listed : (n_top,) int
        The oddest rows, by rank.
    top : n_top of TopRow
        The same.
    reasons : n_top of Reason
    drawn : mapping of str to (N,)
        Numbers of the columns that may be drawn.
    """
    when = np.asarray(times.times, np.float64)
    there = np.isfinite(when)
    if times.dates:
        there &= (when >= DATES[0]) & (when < DATES[1])
    if not there.any():
        return None
    series = np.zeros(when.size, np.int64) if groups is None else groups.groups
    rows = np.flatnonzero(there)
    n_series = np.unique(series[rows]).size
    by_time = rows[np.argsort(when[rows], kind="stable")]
    bins, each = put_in_bins(when[by_time], scores[by_time], flagged[by_time], times.gap, COLUMNS)
    if n_series > 1:
        bins = TimeBins(bins.times, bins.lowest, bins.lowest, bins.marked, bins.starts)
    order = rows[np.lexsort((when[rows], series[rows]))]
    place = np.full(when.size, -1)
    place[order] = np.arange(order.size)
    moments = [
        OddMoment(
            row,
            float(when[j]),
            "" if groups is None or series[j] < 0 else str(groups.names[series[j]]),
            reason.words,
            reason.share,
            reason.cell,
            _around(int(place[j]), order, when, series, flagged, times, reason.column, drawn),
        )
        for j, row, reason in list(zip(listed, top, reasons, strict=True))[:MOST_MOMENTS]
        if there[j]
    ]
    return OverTime(times.name, times.dates, rows.size, n_series, each, bins, tuple(moments))


def put_in_bins(
    times: np.ndarray, values: np.ndarray, flagged: np.ndarray, gap: float, most: int
) -> tuple[TimeBins, bool]:
    """Return the lowest and the highest value of every time, or of every column of a picture where times are more.

    No column with a flagged row is lost.

    Parameters
    ----------
    times : (n,)
        Rising; at least one.
    values : (n,)
        NaN is missing.
    flagged : (n,) bool
    gap : float
        A longer step starts anew.
    most : int
        Columns.

    Returns
    -------
    bins, and whether every time has its own
    """
    with np.errstate(over="ignore"):
        step = np.diff(times)
    each = bool(np.count_nonzero(step) < most)
    if each:
        first = np.flatnonzero(np.append(True, step > 0.0))
    else:
        column = np.minimum(parts(times, times[0], times[-1]) * most, most - 1).astype(np.int64)
        first = np.flatnonzero(np.append(True, np.diff(column) > 0))
    last = np.append(first[1:], times.size) - 1
    starts = np.append(True, step[last[:-1]] > gap)
    marked = np.fmin.reduceat(np.where(flagged, values, np.nan), first)
    lowest, highest = np.fmin.reduceat(values, first), np.fmax.reduceat(values, first)
    return TimeBins(times[first], lowest, highest, marked, starts), each


def _around(
    place: int,
    order: np.ndarray,
    times: np.ndarray,
    series: np.ndarray,
    flagged: np.ndarray,
    given: RowTimes,
    column: str,
    drawn: Mapping[str, Any],
) -> RowsAround | None:
    """Return a column over a window of rows before a row and half a window after, back and on to the next gap.

    Parameters
    ----------
    place : int
        Of the row, in the order.
    order : (n,) int
        Rows by series and time.
    times, series, flagged : (N,)
    given : RowTimes
    column : str
    drawn : mapping of str to (N,)
    """
    if column not in drawn:
        return None
    begin = max(place - given.window, 0)
    rows = order[begin : place + given.window // 2 + 1]
    here = place - begin
    with np.errstate(over="ignore"):
        step = np.diff(times[rows])
    breaks = np.flatnonzero((np.diff(series[rows]) != 0) | (step > given.gap)) + 1
    low = int(breaks[breaks <= here].max(initial=0))
    high = int(breaks[breaks > here].min(initial=rows.size))
    rows, here = rows[low:high], here - low
    values = np.asarray(drawn[column], np.float64)[rows]
    values = np.where(np.isfinite(values), values, np.nan)
    if np.count_nonzero(~np.isnan(values)) < 2:
        return None
    when = times[rows]
    before = values[when < when[here]]
    before = before[~np.isnan(before)]
    level = float(np.median(before)) if before.size >= FEWEST_FOR_LEVEL else np.nan
    bins, _ = put_in_bins(when, values, flagged[rows], np.inf, COLUMNS_AROUND)
    return RowsAround(column, bins, float(values[here]), level)
