"""What is usual at an hour and on a weekday, and how far a number is from it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oddatom.context.clock import DAY, hour_of_day, weekday
from oddatom.context.grouped import by_group, equal_steps, robust_deviation, shrunk_scales

MOST_ROWS = 100_000  # that it is learned from
PERIODS = 3  # that training must cover
WEEK = 7 * DAY
SHRINK_ROWS = 3.0  # rows of an hour of a weekday that count as much as that hour of all days
EXPLAINS = 0.9  # spread around what is usual, over the spread of all: more, and the clock says nothing of a column
APART = 3.0  # spreads that two hours are apart: less, and it says nothing unless it explains the spread
UNEVEN = 2.5  # the same for the spread of loud hours over that of quiet ones
NAMES = {(True, True): "hour and weekday", (True, False): "hour", (False, True): "weekday"}


class UsualHours(NamedTuple):
    """What is usual, by the clock.

    Attributes
    ----------
    hours, weekdays : bool
        Whether it differs by the hour, and by the weekday.
    places : (q,) int
        Of the numbers that the clock says something of.
    centers, scales : (n_bins, q)
        n_bins is 24, 7, or 168 with the weekday first.
    """

    hours: bool
    weekdays: bool
    places: np.ndarray
    centers: np.ndarray
    scales: np.ndarray

    @property
    def name(self) -> str:
        """ "hour", "weekday" or "hour and weekday"."""
        return NAMES[self.hours, self.weekdays]

    def deviations(self, numbers: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return how far numbers (N, p) are from what is usual, in usual deviations: (N, q), NaN where missing."""
        bins = _bins(times, self.hours, self.weekdays)
        return (numbers[:, self.places] - self.centers[bins]) / self.scales[bins]


def learn_usual_hours(numbers: np.ndarray, times: np.ndarray, step: float) -> UsualHours | None:
    """Learn what is usual by the clock; None where training is too short for it, or the clock says nothing.

    Parameters
    ----------
    numbers : (N, p)
    times : (N,)
        Dates.
    step : float
        The usual step.
    """
    span = float(times.max() - times.min())
    numbers, times = equal_steps(numbers, MOST_ROWS), equal_steps(times, MOST_ROWS)
    hours = span >= PERIODS * DAY and 0.0 < step <= DAY / 4 and np.unique(hour_of_day(times)).size > 1
    weekdays = span >= PERIODS * WEEK and 0.0 < step <= 2 * DAY
    if not (hours or weekdays):
        return None
    bins = _bins(times, hours, weekdays)
    n_bins = (24 if hours else 1) * (7 if weekdays else 1)
    half = np.arange(times.size) < times.size // 2
    places, levels = [], []
    for j in range(numbers.shape[1]):
        x = numbers[:, j]
        early = _learn_levels(x[half], times[half], bins[half], n_bins, hours and weekdays)
        if _explains(x[~half], bins[~half], n_bins, early):
            places.append(j)
            levels.append(_learn_levels(x, times, bins, n_bins, hours and weekdays))
    if not places:
        return None
    centers, scales = (np.column_stack([level[k] for level in levels]) for k in range(2))
    return UsualHours(hours, weekdays, np.array(places), centers, scales)


def _learn_levels(
    x: np.ndarray, times: np.ndarray, bins: np.ndarray, n_bins: int, both: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return what is usual in every bin, and the spread around it."""
    center, spread = robust_deviation(x)
    found = by_group(x, bins, n_bins)
    towards = np.full(n_bins, center)
    if both:
        of_hour = by_group(x, hour_of_day(times), 24).median
        towards = np.tile(np.where(np.isnan(of_hour), center, of_hour), 7)
    weight = found.n / (found.n + SHRINK_ROWS)
    usual = np.where(found.n > 0, towards + weight * (found.median - towards), towards)
    around = x - usual[bins]
    return usual, shrunk_scales(by_group(around, bins, n_bins), robust_deviation(around)[1] or spread)


def _explains(x: np.ndarray, bins: np.ndarray, n_bins: int, early: tuple[np.ndarray, np.ndarray]) -> bool:
    """Return whether what was usual earlier says something of later values."""
    usual, scale = early
    around = x - usual[bins]
    spread, left = robust_deviation(x)[1], robust_deviation(around)[1]
    if left <= EXPLAINS * spread:
        return spread > 0.0
    later = by_group(around, bins, n_bins).median
    high, low = usual.argmax(), usual.argmin()
    apart = usual[high] - usual[low]
    if apart >= APART * left and apart + later[high] - later[low] >= 0.5 * apart:
        return True
    loud = scale[bins] > np.median(scale)
    sides = [robust_deviation(around[side])[1] for side in (loud, ~loud)]
    return sides[0] >= UNEVEN * sides[1] > 0.0


def _bins(times: np.ndarray, hours: bool, weekdays: bool) -> np.ndarray:
    bins = weekday(times) if weekdays else np.zeros(times.size, np.int64)
    return 24 * bins + hour_of_day(times) if hours else bins
