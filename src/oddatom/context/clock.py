"""The steps between times, the window that goes with them, and the calendar.

Times are microseconds since 1970, or plain numbers such as those of a counter.
"""

from __future__ import annotations

import numpy as np

SECOND, MINUTE, HOUR, DAY = 1e6, 60e6, 3_600e6, 86_400e6
CYCLES = (MINUTE, HOUR, DAY, 30 * DAY, 365 * DAY)
FEWEST_IN_CYCLE, MOST_IN_CYCLE = 24, 96  # rows in a cycle that makes a window
WINDOW = 48  # where no cycle does
LEAST_WINDOW = 3
ROWS_PER_WINDOW = 10  # a file has at least so many windows of the default length
MONDAY = 3.0  # the days from Monday to the first of January 1970
UNITS = ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"), (SECOND, "second"))


def usual_step(times: np.ndarray, series: np.ndarray) -> float:
    """Return the median step from a time to the next later one of the same series, 0 where there is none.

    Parameters
    ----------
    times, series : (N,)
        In the order of series and times.
    """
    steps = np.diff(times)[np.diff(series) == 0]
    steps = steps[steps > 0.0]
    return float(np.median(steps)) if steps.size else 0.0


def default_window(step: float, n_rows: int, dates: bool) -> int:
    """Return how many rows a window has: a minute, an hour, a day, a month or a year of them, otherwise 48.

    Parameters
    ----------
    step : float
        The usual one.
    n_rows : int
        Of a series. The window is at most a tenth of it.
    dates : bool
        Whether times are dates.
    """
    found = float(WINDOW)
    if dates and step > 0.0:
        rows = [cycle / step for cycle in CYCLES if FEWEST_IN_CYCLE <= round(cycle / step) <= MOST_IN_CYCLE]
        found = rows[0] if rows else found
    return max(min(round(found), n_rows // ROWS_PER_WINDOW), LEAST_WINDOW)


def hour_of_day(times: np.ndarray) -> np.ndarray:
    """Return the hour of every time, from 0 to 23."""
    return (np.floor(times / HOUR) % 24.0).astype(np.int64)


def weekday(times: np.ndarray) -> np.ndarray:
    """Return the day of the week of every time, 0 for Monday."""
    return ((np.floor(times / DAY) + MONDAY) % 7.0).astype(np.int64)


def duration_words(microseconds: float) -> str:
    """Return a length of time in words, such as "5 minutes"."""
    for unit, name in UNITS:
        if microseconds >= unit or unit == SECOND:
            number = f"{microseconds / unit:.3g}"
            return f"{number} {name}{'' if number == '1' else 's'}"
    raise AssertionError
