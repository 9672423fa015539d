"""Columns that run with the rows: timestamps, epochs and counters say when a row came, not what it is like.

As a number such a column makes every later row odd. A date that is an attribute, such as a birthday or the date of an
invoice, comes in no order, and stays.
"""

from __future__ import annotations

import re

import numpy as np
from scipy.stats import rankdata

from oddatom.context.grouped import equal_steps

FEW_ROWS = 20  # below it, an order is no wonder
IN_ORDER = 0.98  # share of the steps from row to row that go the same way or stand, or rank correlation with the rows
STRAIGHT, DIFFERENT = 0.97, 0.5  # of numbers that are named like times: correlation with the rows, share of values
CLOSE = 1.3  # largest over smallest of epochs: amounts that a table is sorted by are further apart
RISING = 0.9  # share of steps that go the same way: with fewer, and without a trend, a column is in no order
LOOK, TREND = 200, 0.9  # rows that a trend is looked for in, and the correlation of their ranks that is one
RANKED_ROWS = 10_000  # that rank correlations are taken of
LEAST_DISTINCT = 10  # of times: fewer are groups of rows
EVEN = 0.95  # share of the steps of a counter that are alike
RESTART = 0.1  # of the span of times: a step back that is longer begins another series
EPOCHS = ((1e8, 4e9, 1e6), (1e11, 4e12, 1e3), (1e14, 4e15, 1.0), (1e17, 4e18, 1e-3))  # 1973 to 2096; µs in the unit
UNIT_NAMES = {1e6: "seconds", 1e3: "milliseconds", 1.0: "microseconds", 1e-3: "nanoseconds"}
_TIME_NAME = re.compile(
    r"(^|[^a-z])(t|ts|time|times|timestamp|stamp|datetime|date|when|clock|epoch|elapsed|uptime|secs?|seconds?|ms|millis|"
    r"us|ns|minutes?|hours?|ticks?|frame|step|cycle)($|[^a-z])|[a-z](Time|Timestamp|Date|Seconds|Millis)$"
)
STAMP_YEARS = (1900, 2100)
STAMP_DIGITS = (8, 10, 12, 14)  # YYYYMMDD, and hours, minutes, seconds


def runs_as_time(data: np.ndarray) -> bool:
    """Return whether dates (any unit, NaN where missing) come in order or nearly so, and are spread over the rows."""
    values = data[~np.isnan(data)]
    if values.size < FEW_ROWS or np.unique(values).size < LEAST_DISTINCT:
        return False
    return _in_order(values) or _rank_correlation(values) >= IN_ORDER


def runs_as_counter(data: np.ndarray, name: str = "") -> bool:
    """Return whether numbers (NaN where missing) are epochs or stamps in order, or count up or down with the rows.

    Whole numbers count in even steps. Others in order may be a measurement with a trend, or what a table was sorted by:
    they count where they are named like a time and follow the rows in a straight line.
    """
    values = data[~np.isnan(data)]
    if values.size < FEW_ROWS:
        return False
    steps = _steps(values)
    rising = _same_way(steps)
    if rising < RISING and not _trend(values):  # most columns
        return False
    named = bool(_TIME_NAME.search(name) or _TIME_NAME.search(name.lower()))
    stamps = read_stamps(values)
    if stamps is not None:
        return runs_as_time(stamps)
    if epoch_unit(values) > 0.0 and (named or values.max() <= CLOSE * values.min()):
        return runs_as_time(values)
    if rising >= IN_ORDER and np.all(values == np.floor(values)):
        usual = float(np.median(steps))
        if usual != 0.0 and np.mean(steps == usual) >= EVEN:
            return True
    if not named or max(rising, _rank_correlation(values)) < IN_ORDER or _straightness(values) < STRAIGHT:
        return False
    return np.unique(values).size >= DIFFERENT * values.size


def epoch_unit(data: np.ndarray) -> float:
    """Return the microseconds of the unit in which numbers are times since 1970, 0 where they are none."""
    values = data[~np.isnan(data)]
    if not values.size:
        return 0.0
    low, high = float(values.min()), float(values.max())
    return next((unit for least, most, unit in EPOCHS if least <= low and high <= most), 0.0)


def read_stamps(data: np.ndarray) -> np.ndarray | None:
    """Return numbers that are all stamps, or missing, in microseconds since 1970; None where some are none."""
    times, all_are = parse_stamps(data)
    return times if all_are else None


def parse_stamps(data: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return numbers whose digits are dates and times, such as 202403010500, in microseconds since 1970.

    They have as many digits as most. What is no stamp is NaN; also return whether all numbers are.
    """
    there = np.flatnonzero(~np.isnan(data))
    out = np.full(data.size, np.nan)
    if not there.size:
        return out, False
    values = data[there]
    digits = int(np.median(np.floor(np.log10(np.clip(np.abs(values), 1.0, 1e15))))) + 1
    if digits not in STAMP_DIGITS:
        return out, False
    good = (values >= 10.0 ** (digits - 1)) & (values < 10.0**digits) & (values == np.floor(values))
    parts, rest = [], np.where(good, values, 0.0).astype(np.int64)
    for _ in range((digits - 4) // 2):
        parts.append(rest % 100)
        rest = rest // 100
    month, day, *clock = parts[::-1]
    good &= (rest >= STAMP_YEARS[0]) & (rest <= STAMP_YEARS[1]) & (month >= 1) & (month <= 12)
    for part, most in zip(clock, (23, 59, 59), strict=False):
        good &= part <= most
    months = np.where(good, 12 * (rest - 1970) + month - 1, 0).astype("M8[M]")
    days = months.astype("M8[D]") + (day - 1)
    good &= days.astype("M8[M]") == months  # there is no 31st of February
    seconds = 86_400.0 * days.astype(np.int64)
    for part, unit in zip(clock, (3600, 60, 1), strict=False):
        seconds += unit * part
    out[there[good]] = 1e6 * seconds[good]
    return out, bool(good.all())


def restarts(times: np.ndarray) -> bool:
    """Return whether times that come in order begin again somewhere: the rows of several series follow each other."""
    values = times[~np.isnan(times)]
    steps = _steps(values)
    if not steps.size:
        return False
    way = 1.0 if np.median(steps) >= 0.0 else -1.0
    return bool((way * steps).min() < -RESTART * float(np.ptp(values)))


def _steps(values: np.ndarray) -> np.ndarray:
    """Return the steps from row to row; from one end of the numbers to the other they are infinite."""
    with np.errstate(over="ignore"):
        return np.diff(values)


def _same_way(steps: np.ndarray) -> float:
    """Return the share of steps that go the same way or stand, 0 where all stand."""
    return float(max(np.mean(steps >= 0.0), np.mean(steps <= 0.0))) if (steps != 0.0).any() else 0.0


def _trend(values: np.ndarray) -> bool:
    """Return whether values may come nearly in order: their ranks, at equal steps, follow the rows."""
    return _straightness(rankdata(equal_steps(values, LOOK))) >= TREND


def _in_order(values: np.ndarray) -> bool:
    return _same_way(_steps(values)) >= IN_ORDER


def _rank_correlation(values: np.ndarray) -> float:
    """Return how far ranks follow the rows, up or down."""
    some = equal_steps(values, RANKED_ROWS)
    return _straightness(rankdata(some))


def _straightness(values: np.ndarray) -> float:
    """Return how far values follow the rows in a straight line, up or down: their correlation without its sign."""
    size = float(np.abs(values).max()) or 1.0  # in units of it nothing overflows
    y, x = values / size, np.arange(values.size) - 0.5 * (values.size - 1)
    y = y - y.mean()
    spread = float(y @ y) * float(x @ x)
    return abs(float(x @ y)) / np.sqrt(spread) if spread > 0.0 else 0.0
