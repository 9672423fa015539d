"""Dates and times of day: read from text, and the features that are made of them.

A date is more than a number of days: weekdays, months and times of day come again. A weekday or month that hardly any
training date has stands out, and 23:55 lies beside 00:05.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from oddatom.arrays.arrow import pa, pc
from oddatom.context.clock import DAY, weekday
from oddatom.table.decision import CODED, CYCLES, RARE_WEEKDAY, ColumnDecision
from oddatom.table.words import as_mask, quick_cast

ISO = "year-month-day"
_TIME = (
    r"(?:[T ]+(?P<H>\d\d?)(?::(?P<M>\d\d)(?::(?P<S>\d\d)(?:[.,](?P<f>\d{1,9}))?)?)?"
    r" ?(?P<z>Z|z|UTC|[+-]\d\d(?::?\d\d)?)?)?$"
)
_Y, _M, _D = r"(?P<y>\d{4})", r"(?P<m>\d\d?)", r"(?P<d>\d\d?)"
# In the order in which they are tried: where days and months cannot be told apart, months come first after "/".
DATE_FORMATS = {
    ISO: f"^{_Y}-{_M}-{_D}{_TIME}",
    "year/month/day": f"^{_Y}/{_M}/{_D}{_TIME}",
    "day.month.year": rf"^{_D}\.{_M}\.{_Y}{_TIME}",
    "month/day/year": f"^{_M}/{_D}/{_Y}{_TIME}",
    "day/month/year": f"^{_D}/{_M}/{_Y}{_TIME}",
    "day-month-year": f"^{_D}-{_M}-{_Y}{_TIME}",
}

CLOCK = "hour:minute:second"
_CLOCK = r"^(?P<H>\d\d?):(?P<M>\d\d)(?::(?P<S>\d\d)(?:[.,](?P<f>\d{1,9}))?)?$"

LEAST_DATES = {"weekday": 60, "month": 240}  # with fewer a weekday or month may be rare by chance
LEAST_DAYS = 20  # different ones, for weekdays: four weeks of working days
LEAST_SPAN = 540  # days, for months: in one year they say what the days say
RARE = 0.1  # of an even share of the dates: a weekday or month that has less is rare


def choose_features(microseconds: np.ndarray, codes: bool) -> tuple[list[str], list[int]]:
    """Return the features of training dates that say something, some of `DATE_FEATURES`, and the rare weekdays.

    Weekdays and months are of use where some of them are rare, as Sundays are among working days, or summers among the
    dates of a winter. Otherwise all of them are ordinary, and would only add noise. A rare category is no error by
    itself, so beside the code of the weekday a further output says whether it is rare.

    Parameters
    ----------
    microseconds : (n_dates,)
        Since 1970, none missing.
    codes : bool
        Whether weekdays and months become codes of categories; points on a circle otherwise.
    """
    n, days = microseconds.size, np.floor(microseconds / DAY)
    found: list[str] = []
    rare = np.empty(0, np.int64)
    if n >= LEAST_DATES["weekday"] and np.unique(days).size >= LEAST_DAYS:
        rare = _rare(weekday(microseconds), 7)
        if rare.size:
            found += ["weekday", RARE_WEEKDAY] if codes else ["weekday cycle"]
    years = n >= LEAST_DATES["month"] and np.subtract(*np.quantile(days, [0.99, 0.01])) >= LEAST_SPAN
    if years and _rare(_months(days), 12).size:
        found.append("month" if codes else "month cycle")
    times = microseconds - days * DAY
    if (times != times[0]).any():
        found.append("time cycle")
    return found, rare.tolist() if RARE_WEEKDAY in found else []


def feature_columns(microseconds: np.ndarray, decision: ColumnDecision) -> Iterator[np.ndarray]:
    """Yield the numbers of a decision's features of dates, one column after the other.

    Parameters
    ----------
    microseconds : (n_rows,)
        Since 1970, NaN where missing.
    decision : ColumnDecision
    """
    missing = np.isnan(microseconds)
    given = np.where(missing, 0.0, microseconds)
    days = np.floor(given / DAY)
    for feature in decision.date_features:
        if feature == "time cycle":
            place, period = given - days * DAY, DAY
        elif feature in ("month", "month cycle"):
            place, period = _months(days), 12.0
        else:
            place, period = weekday(given), 7.0
        if feature in CODED:
            yield np.where(missing, -1.0, place)
        elif feature == RARE_WEEKDAY:
            yield np.where(missing, decision.fill, np.isin(place, decision.rare_weekdays))
        else:
            angle = 2.0 * np.pi * (place / period)
            yield np.where(missing, decision.fill, np.sin(angle))
            yield np.where(missing, decision.fill, np.cos(angle))


def _rare(places: np.ndarray, n_places: int) -> np.ndarray:
    """Return the weekdays or months that hardly any date has."""
    counts = np.bincount(places.astype(np.int64), minlength=n_places)
    return np.flatnonzero(counts < RARE * places.size / n_places)


def _months(days: np.ndarray) -> np.ndarray:
    """Return 0 for January to 11 for December."""
    return (days.astype(np.int64).astype("M8[D]").astype("M8[M]").astype(np.int64) % 12).astype(np.float64)


def feature_outputs(name: str, features: list[str]) -> list[str]:
    """Return the names of the columns that features become."""
    found = []
    for feature in features:
        base = f"{name} {feature.removesuffix(' cycle')}"
        found += [f"{base} sin", f"{base} cos"] if feature in CYCLES else [base]
    return found


def quick_dates(text: Any) -> np.ndarray | None:
    """Return text as microseconds since 1970 where all of it is ISO dates without time zones, else None."""
    stamps = quick_cast(text, pa.timestamp("us"))
    if stamps is None:
        return None
    missing = stamps.is_null().to_numpy(zero_copy_only=False)
    return np.where(missing, np.nan, stamps.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False))


def read_dates(words: Any, order: str) -> np.ndarray:
    """Return words as microseconds since 1970, from UTC where they have a time zone; NaN where they are no dates.

    Parameters
    ----------
    words : pyarrow.LargeStringArray
    order : one of DATE_FORMATS
    """
    parts = pc.extract_regex(words, DATE_FORMATS[order])
    out = np.full(len(words), np.nan)
    rows = np.flatnonzero(parts.is_valid().to_numpy(zero_copy_only=False))
    if rows.size == 0:
        return out
    parts = parts.take(pa.array(rows))
    year, month, day, hour, minute, second = (_whole(parts.field(part)) for part in "ymdHMS")
    valid = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (hour < 24) & (minute < 60) & (second < 60)
    months = ((year - 1970) * 12 + np.clip(month, 1, 12) - 1).astype("M8[M]")
    length = ((months + 1).astype("M8[D]") - months.astype("M8[D]")).astype(np.int64)
    days = months.astype("M8[D]").astype(np.int64) + day - 1
    seconds = (hour * 60 + minute) * 60 + second - _offset(parts.field("z"))
    stamps = days * int(DAY) + seconds * 1_000_000 + _fraction(parts)
    out[rows] = np.where(valid & (day <= length), stamps, np.nan)
    return out


def read_times(words: Any, style: str = CLOCK) -> np.ndarray:
    """Return words such as 18:05 and 18:05:30.5 as seconds since midnight; NaN where they are no times of day."""
    parts = pc.extract_regex(words, _CLOCK)
    out = np.full(len(words), np.nan)
    rows = np.flatnonzero(as_mask(parts.is_valid()))
    if rows.size:
        parts = parts.take(pa.array(rows))
        hour, minute, second = (_whole(parts.field(part)) for part in "HMS")
        seconds = (hour * 60 + minute) * 60 + second + _fraction(parts) / 1e6
        out[rows] = np.where((hour < 24) & (minute < 60) & (second < 60), seconds, np.nan)
    return out


def _fraction(parts: Any) -> np.ndarray:
    """Return the digits after a second as microseconds."""
    return _whole(pc.utf8_slice_codeunits(pc.utf8_rpad(_filled(parts.field("f")), 6, "0"), 0, 6))


def _filled(part: Any, empty: str = "0") -> Any:
    """Return text with `empty` where a part of a date was not given."""
    part = part.fill_null(empty)
    return pc.if_else(pc.equal(part, ""), empty, part)


def _whole(part: Any) -> np.ndarray:
    return _filled(part).cast(pa.int64()).to_numpy(zero_copy_only=False)


def _offset(zone: Any) -> np.ndarray:
    """Return seconds from UTC of zones such as Z, +02:00, -0330."""
    digits = pc.replace_substring_regex(zone.fill_null(""), r"[^\d]", "")
    amount = _whole(pc.utf8_rpad(_filled(digits), 4, "0"))
    sign = np.where(pc.starts_with(zone.fill_null(""), "-").to_numpy(zero_copy_only=False), -1, 1)
    return sign * (amount // 100 * 3600 + amount % 100 * 60)
