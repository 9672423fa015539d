"""The last rows, which the next ones are compared with; scores with stretches; and episodes."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from oddatom.context.ordered import LastRows, Ordered, join
from oddatom.context.stretch import with_stretches
from oddatom.exceptions import TableWarning

LOOK_BACK = 1_000  # rows that are kept of a series so that some of them may be scored again
MOST_LOOK_BACK = 20_000  # of all series
MOST_ROWS = 5_000_000  # that are kept; beyond, the series that ended first are forgotten


class Followed(NamedTuple):
    """The last rows that a model has seen, of training and of what it scored since.

    A stream goes on from `last`. Rows that end before the last ones look back: they do not change `last`, and are
    followed by themselves, so that an earlier stream may be scored again row by row.

    Attributes
    ----------
    trained, last, earlier : LastRows
        Of training, of all rows so far, and of rows that looked back; in the order of series and times.
    new_series : list of str
        Names of the series that training did not have; their numbers follow those of training.
    """

    trained: LastRows
    last: LastRows
    earlier: LastRows
    new_series: list[str]

    def rows_before(self, series: np.ndarray, times: np.ndarray) -> LastRows:
        """Return the rows that rows to be scored are compared with.

        Of every series they are those before its first row; where the series goes on, those with its time, too. Of
        several histories the one counts that reaches furthest.
        """
        n = self._n_series(series)
        begin = _first_times(series, times, n)
        goes_on = begin >= self.last.last_times(n)
        parts = [part.rows(part.times < begin[part.series]) for part in (self.earlier, self.last, self.trained)]
        parts[1] = self.last.rows((self.last.times < begin[self.last.series]) | _ties(self.last, begin, goes_on))
        reach = np.stack([part.last_times(n) for part in parts])
        best = np.where(np.isinf(begin), -1, reach.argmax(axis=0))
        chosen = [part.rows(best[part.series] == k) for k, part in enumerate(parts)]
        return join(chosen)

    def after(self, ordered: Ordered, scores: np.ndarray, window: int, new_series: list[str]) -> Followed:
        """Return it after rows were scored.

        Parameters
        ----------
        ordered : Ordered
        scores : (U,)
            Of the ordered rows, each by itself.
        window : int
        new_series : list of str
        """
        kept = rows_to_keep(ordered, window)
        found = LastRows(ordered.series, ordered.times, ordered.encoded, ordered.keys, scores).rows(kept)
        n = self._n_series(found.series)
        goes_on = found.last_times(n) >= self.last.last_times(n)
        last = _replaced(self.last, found.rows(goes_on[found.series]), n)
        earlier = _replaced(self.earlier, found.rows(~goes_on[found.series]), n)
        return Followed(self.trained, last, earlier, new_series)

    def _n_series(self, series: np.ndarray) -> int:
        return 1 + max(int(one.max(initial=-1)) for one in (series, *(part.series for part in self[:3])))


def _ties(last: LastRows, begin: np.ndarray, goes_on: np.ndarray) -> np.ndarray:
    """Return which rows have the time with which their series goes on."""
    return (last.times == begin[last.series]) & goes_on[last.series]


def _replaced(rows: LastRows, found: LastRows, n_series: int) -> LastRows:
    """Return rows with those of some series replaced; where they are too many, without the series that ended first."""
    if not found.times.size:
        return rows
    there = np.zeros(n_series, bool)
    there[found.series] = True
    rows = join([rows.rows(~there[rows.series]), found])
    rows = rows.rows(np.argsort(rows.series, kind="stable"))
    if rows.times.size <= MOST_ROWS:
        return rows
    order = np.argsort(-rows.last_times(n_series), kind="stable")
    kept = np.zeros(n_series, bool)
    kept[order[np.cumsum(np.bincount(rows.series, minlength=n_series)[order]) <= MOST_ROWS]] = True
    n = int(np.count_nonzero(np.bincount(rows.series, minlength=n_series)[~kept]))
    message = (
        f"{MOST_ROWS:,} rows of series are kept to go on from: {n:,} series that ended first are forgotten, and later "
        "rows of theirs are scored as first rows. A shorter window keeps more"
    )
    warnings.warn(TableWarning({"forgotten series": message}), stacklevel=2)
    return rows.rows(kept[rows.series])


def _first_times(series: np.ndarray, times: np.ndarray, n_series: int) -> np.ndarray:
    """Return the first time of every series, inf where it has no row."""
    begin = np.full(n_series, np.inf)
    np.minimum.at(begin, series, times)
    return begin


def rows_to_keep(ordered: Ordered, window: int) -> np.ndarray:
    """Return the places of the last rows of every series.

    Views of the last `window` rows need as many rows before them; some more let earlier rows be scored again.
    """
    if ordered.series.size == 0:
        return np.empty(0, np.int64)
    ends = np.flatnonzero(np.append(np.diff(ordered.series) != 0, True))
    kept = max(2 * window, min(LOOK_BACK, MOST_LOOK_BACK // ends.size))
    sizes = np.diff(np.append(-1, ends))
    return np.flatnonzero(np.arange(ordered.series.size) >= np.repeat(ordered.first[ends] - kept, sizes))


class Scored(NamedTuple):
    """Rows of a table with their stretches.

    Attributes
    ----------
    scores : (N,)
    since : (N,) int64
        How many rows ago the row was that the score is mainly due to: 0 for itself.
    cause : (N,) int64
        That row among the ordered ones.
    own : (U,)
        Scores of the ordered rows, each by itself.
    window : int
    """

    scores: np.ndarray
    since: np.ndarray
    cause: np.ndarray
    own: np.ndarray
    window: int


def own_scores(of_table: np.ndarray, ordered: Ordered, before: LastRows | None = None) -> np.ndarray:
    """Return the scores of the ordered rows by themselves, given those of the table and of the rows before."""
    scores = np.empty(ordered.times.size)
    if before is not None:
        scores[ordered.before] = before.scores
    scores[ordered.place] = of_table
    return scores


def score_in_order(own: np.ndarray, ordered: Ordered, window: int) -> Scored:
    """Score the rows of a table with the stretches that they end.

    Parameters
    ----------
    own : (U,)
        Scores of the ordered rows, each by itself.
    ordered : Ordered
    window : int
    """
    scores, cause = with_stretches(own, ordered.start, ordered.first, window)
    place = ordered.place
    since = np.where(cause[place] == place, 0, ordered.first[place] - cause[place])
    return Scored(scores[place], since, cause[place], own, window)


def first_of_episodes(
    order: np.ndarray, ordered: Ordered, scored: Scored, flagged: np.ndarray, most: int | None = None
) -> np.ndarray:
    """Return rows of a table, one of each episode: the row, odd by itself, that the oddest one is due to.

    Neither they nor what they are due to are near another. Where that row is none of the table, or not flagged as the
    oddest one is, it is the oddest one. They come by their scores.

    Parameters
    ----------
    order : (N,) int64
        The rows from the oddest on.
    ordered : Ordered
    scored : Scored
    flagged : (N,) of bool
    most : int, optional
        So many are enough.
    """
    taken = np.zeros(ordered.times.size, bool)
    of_table = np.full(ordered.times.size, -1)
    of_table[ordered.place[::-1]] = np.arange(ordered.place.size)[::-1]  # the first of several that are alike
    found: list[int] = []
    for row, at, due in zip(order.tolist(), ordered.place[order].tolist(), scored.cause[order].tolist(), strict=True):
        if not (taken[at] or taken[due]):
            first, due_to = row, due
            while (
                of_table[due_to] not in (-1, first) and not taken[due_to] and flagged[of_table[due_to]] >= flagged[row]
            ):
                first = int(of_table[due_to])
                due_to = int(scored.cause[first])
            found.append(first)
            for middle in (at, due, int(ordered.place[first])):
                around = slice(max(middle - scored.window, 0), middle + scored.window + 1)
                taken[around] |= ordered.series[around] == ordered.series[at]
            if len(found) == most:
                break
    rows = np.array(found, np.int64)
    return rows[np.argsort(scored.scores[rows], kind="stable")]


def count_episodes(flagged: np.ndarray, ordered: Ordered, window: int) -> int:
    """Return in how many episodes the flagged rows of a table are: stretches with less than a window between them."""
    at = np.unique(ordered.place[flagged])
    apart = (np.diff(at) >= window) | (np.diff(ordered.series[at]) != 0)
    return int(at.size > 0) + int(np.count_nonzero(apart))
