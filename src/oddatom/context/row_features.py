"""The context of rows, learned from training rows: groups, wandering columns, and the order of times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from oddatom.context.clock import default_window, usual_step
from oddatom.context.grouped import robust_deviation
from oddatom.context.groups import LARGEST, GroupLevels, learn_groups
from oddatom.context.ordered import Ordered, put_in_order
from oddatom.context.usual_hours import UsualHours, learn_usual_hours
from oddatom.context.views import JUMP, LEVEL, Views, in_units, running_views, typical_spreads
from oddatom.context.wander import BACK, BACK_IN_TIME, take_back, wander_limits


class TimeRules(NamedTuple):
    """What is known of the times.

    Attributes
    ----------
    window : int
        Rows that a level is that of.
    step : float
        The usual one. A step of more than a window of these is a gap.
    dates : bool
        Whether times are dates.
    spreads : (p,)
        The typical spread of a number in a window.
    hours : UsualHours or None
    blank : float
        A view of a row that has none: NaN, which is missing, or 0, which is usual, for detectors that take no NaN.
    """

    window: int
    step: float
    dates: bool
    spreads: np.ndarray
    hours: UsualHours | None
    blank: float = 0.0

    @property
    def gap(self) -> float:
        """The longest step that is none."""
        return self.window * self.step


class ContextRules(NamedTuple):
    """What makes features of encoded rows.

    Attributes
    ----------
    numbers : (p,) int64
        Places of the encoded columns that are numbers.
    limits : (4, p)
        Of wandering columns, see `wander`.
    groups : GroupLevels or None
    time : TimeRules or None
    fills : (p,)
        What missing numbers become, NaN where they stay missing.
    """

    numbers: np.ndarray
    limits: np.ndarray
    groups: GroupLevels | None
    time: TimeRules | None
    fills: np.ndarray

    def names(self, columns: Sequence[str]) -> list[str]:
        """Return the names of the features, given those of the encoded columns."""
        out = list(columns)
        if self.time is None:
            return out
        numbers = [columns[j] for j in self.numbers]
        views = [f"{name}: {view}" for view in (JUMP, LEVEL) for name in numbers]
        if (hours := self.time.hours) is not None:
            views += [f"{numbers[j]}: unusual for the {hours.name}" for j in hours.places]
        taken = set(columns)
        return out + [f"{name} (view)" if name in taken else name for name in views]

    @property
    def n_views(self) -> int:
        """How many features there are beside the encoded columns."""
        if self.time is None:
            return 0
        return 2 * self.numbers.size + (0 if self.time.hours is None else self.time.hours.places.size)

    def numbers_of(self, encoded: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
        """Return the numbers among encoded rows, by the level and scale of their groups."""
        found = encoded if self.numbers.size == encoded.shape[1] else encoded[:, self.numbers]
        return found if self.groups is None or groups is None else self.groups.apply(found, groups)

    def views(self, ordered: Ordered, rows: np.ndarray) -> Views:
        """Return how the numbers of some of the ordered rows look from the rows before them."""
        assert self.time is not None
        numbers = self.numbers_of(ordered.encoded, ordered.series)  # their series are the groups
        return running_views(numbers, ordered.start, ordered.first, self.time.window, rows)

    def features(self, encoded: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
        """Return the features of rows that are not in time.

        Parameters
        ----------
        encoded : (N, m)
        groups : (N,) int64 or None
        """
        if self.groups is None and np.isnan(self.limits).all():
            return encoded
        out = encoded.copy()
        out[:, self.numbers] = self._filled(take_back(self.numbers_of(encoded, groups), self.limits))
        return out

    def features_in_time(self, ordered: Ordered, rows: np.ndarray, views: Views | None = None) -> np.ndarray:
        """Return the features of some of the ordered rows.

        Parameters
        ----------
        ordered : Ordered
        rows : (n,) int64
        views : Views, optional
            Where they are known.
        """
        assert self.time is not None
        views = self.views(ordered, rows) if views is None else views
        m, p = ordered.encoded.shape[1], self.numbers.size
        place: Any = slice(None) if np.array_equal(rows, np.arange(ordered.times.size)) else rows
        out = np.empty((rows.size, m + self.n_views))
        out[:, :m] = ordered.encoded[place]
        numbers = self.numbers_of(ordered.encoded[place], ordered.series[place])
        out[:, self.numbers] = self._filled(take_back(numbers, self.limits))
        of_rows = Views(*(view[:, place] for view in views))
        out[:, m : m + p] = of_rows.change.T
        out[:, m + p : m + 2 * p] = in_units(of_rows, self.time.spreads).T
        if self.time.hours is not None:
            out[:, m + 2 * p :] = self.time.hours.deviations(numbers, ordered.times[place])
        if not np.isnan(self.time.blank):
            out[:, m:][np.isnan(out[:, m:])] = self.time.blank
        if p:
            np.clip(out, -LARGEST, LARGEST, out=out)
        return out

    def _filled(self, numbers: np.ndarray) -> np.ndarray:
        """Return numbers with missing ones filled in, for detectors that need that."""
        if np.isnan(self.fills).all():
            return numbers
        return np.where(np.isnan(numbers), self.fills, numbers)


def learn_context(
    encoded: np.ndarray,
    places: Sequence[int],
    *,
    keys: np.ndarray | None = None,
    groups: tuple[np.ndarray, list[str]] | None = None,
    times: np.ndarray | None = None,
    dates: bool = False,
    window: int | None = None,
    order: np.ndarray | None = None,
    fill: bool = False,
) -> tuple[ContextRules, np.ndarray, Ordered | None]:
    """Learn the context of training rows.

    Parameters
    ----------
    encoded : (N, m)
    places : p places
        Of the numbers among its columns.
    keys : (N,) int64
        A hash of every row, with times.
    groups : (N,) int64, and the names of the groups; optional
    times : (N,), optional
    dates : bool
        Whether these are dates.
    window : int, optional
        None means the default for the step between times.
    order : (N,) int64, optional
        The rows from the earliest on, where that is known though times are not given.
    fill : bool
        Whether missing numbers become usual ones.

    Returns
    -------
    rules, the features of the rows, and the rows in order where there are times
    """
    at = np.asarray(places, np.int64)
    levels = None if groups is None else learn_groups(encoded[:, at], *groups)
    none = np.full((4, at.size), np.nan)
    rules = ContextRules(at, none, levels, None, none[0])
    of_group = None if groups is None else groups[0]
    if times is None and groups is None and order is None and not fill:
        return rules, encoded, None
    numbers = rules.numbers_of(encoded, of_group)
    if fill:
        rules = rules._replace(fills=np.array([robust_deviation(column)[0] for column in numbers.T]))
    if times is None or keys is None:
        if order is not None:
            rules = rules._replace(limits=wander_limits(numbers[order], BACK))
        return rules, rules.features(encoded, of_group), None
    series = np.zeros(times.size, np.int64) if of_group is None else of_group
    ordered = put_in_order(series, times, encoded, keys)
    step = usual_step(ordered.times, ordered.series)
    usual_length = int(np.median(np.bincount(series)[series]))  # of the series that a row is of
    length = default_window(step, usual_length, dates) if window is None else int(window)
    ordered = ordered.with_gap(length * step)
    by_time: Any = ordered.by_time
    if np.array_equal(by_time, np.arange(times.size)):
        by_time = slice(None)  # nothing is copied
    hours = learn_usual_hours(numbers[by_time], times[by_time], step) if dates else None
    time = TimeRules(length, step, dates, np.ones(at.size), hours, 0.0 if fill else np.nan)
    rules = rules._replace(limits=wander_limits(numbers[by_time], BACK_IN_TIME), time=time)
    views = rules.views(ordered, ordered.place)
    rules = rules._replace(time=time._replace(spreads=typical_spreads(views.spread)))
    return rules, rules.features_in_time(ordered, ordered.place, views), ordered
