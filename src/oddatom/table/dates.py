"""Dates written as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from oddatom.arrays.arrow import pa, pc
from oddatom.table.forms import DAY
from oddatom.table.words import quick_cast

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
    fraction = _whole(pc.utf8_slice_codeunits(pc.utf8_rpad(_filled(parts.field("f")), 6, "0"), 0, 6))
    stamps = days * int(DAY) + seconds * 1_000_000 + fraction
    out[rows] = np.where(valid & (day <= length), stamps, np.nan)
    return out


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
