"""Values of a column in one of a few forms, whatever library and type they come from.

A value depends on itself alone, never on its neighbours: objects that mix numbers or dates with text become text, but
text that reads back as the same date, and beside it the numbers stay.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.arrow import pa, pc
from oddatom.context.clock import DAY

MICROSECONDS = {"s": 1e6, "ms": 1e3, "us": 1.0}  # in a unit; a nanosecond is cut to microseconds
YEARS = (-62_135_596_800e6, 253_402_300_800e6)  # years 1 to 9999, as in ISO dates


class Values(NamedTuple):
    """A column's values.

    Attributes
    ----------
    form : {"numbers", "booleans", "dates", "times", "text", "empty", "other"}
    data : ndarray of float64, or pyarrow.LargeStringArray for text
        Missing is NaN or null; nothing is infinite. Booleans are 0 and 1, dates are microseconds since 1970, from UTC
        where they have a time zone, times of day are seconds since midnight. Empty and other columns (lists, bytes)
        hold the values' text.
    exact : pyarrow.Array or None
        Integers before they became floats.
    category : bool
        Whether the table's type says that values are categories.
    native : ndarray of float64 or None
        The numbers among text, NaN elsewhere; the seconds of times whose type is that of a column.
    """

    form: str
    data: Any
    exact: Any = None
    category: bool = False
    native: np.ndarray | None = None

    def head(self, n: int) -> Values:
        """Return the first n values."""
        exact, native = (None if some is None else some[:n] for some in (self.exact, self.native))
        return self._replace(data=self.data[:n], exact=exact, native=native)

    def as_text(self) -> Any:
        """Return the values as text."""
        if self.form == "dates":
            return date_text(self.data)
        if self.form == "times":
            return time_text(self.data)
        return self.data if isinstance(self.data, pa.Array) else number_text(self.data)


def numbers(data: np.ndarray, exact: Any = None) -> Values:
    """Return numbers; what is not finite is missing."""
    data = np.array(data, dtype=np.float64)
    data[~np.isfinite(data)] = np.nan
    return Values("numbers", data, exact)


def dates(microseconds: np.ndarray) -> Values:
    """Return dates; what is outside the years 1 to 9999 is missing."""
    return Values("dates", np.where((microseconds >= YEARS[0]) & (microseconds < YEARS[1]), microseconds, np.nan))


def times(seconds: np.ndarray) -> Values:
    """Return times of day; what is outside a day is missing."""
    return Values("times", np.where((seconds >= 0.0) & (seconds < DAY / 1e6), seconds, np.nan))


def number_text(data: np.ndarray) -> Any:
    """Return the shortest text that reads back as the number: "1" for 1.0."""
    return pa.array(data + 0.0, mask=np.isnan(data)).cast(pa.large_string())


def date_text(microseconds: np.ndarray) -> Any:
    """Return dates in ISO format, without the time where it is midnight."""
    missing = np.isnan(microseconds)
    stamps = np.where(missing, 0.0, microseconds).astype(np.int64).view("M8[us]")
    text = pa.array(np.datetime_as_string(stamps).astype(object), pa.large_string(), mask=missing)
    return pc.replace_substring_regex(text, r"(T00:00:00)?\.0+$", "")


def time_text(seconds: np.ndarray) -> Any:
    """Return times of day as hours, minutes and seconds: "18:00:00"."""
    missing = np.isnan(seconds)
    stamps = np.minimum(np.round(np.where(missing, 0.0, seconds) * 1e6), DAY - 1.0).astype(np.int64).view("M8[us]")
    text = pa.array(np.datetime_as_string(stamps).astype(object), pa.large_string(), mask=missing)
    return pc.replace_substring_regex(text, r"^.*T|\.0+$", "")


def no_values(n_rows: int) -> Values:
    """Return a column of missing values."""
    return Values("empty", pa.nulls(n_rows, pa.large_string()))


def from_arrow(array: Any) -> Values:
    """Return the values of a pyarrow array of any type."""
    if isinstance(array, pa.ChunkedArray):
        if pa.types.is_string(array.type):
            array = array.cast(pa.large_string())  # one array may not hold all of it with short offsets
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return from_arrow(array.storage)
    types = pa.types
    if types.is_dictionary(kind):
        values = from_arrow(array.dictionary_decode())
        named = types.is_string(kind.value_type) or types.is_large_string(kind.value_type)
        return values if named else Values("text", values.as_text(), None, True)
    if array.null_count == len(array):
        return no_values(len(array))
    if types.is_integer(kind):
        return numbers(_floats(array), array)
    if types.is_floating(kind) or types.is_decimal(kind):
        return numbers(_floats(array))
    if types.is_boolean(kind):
        return Values("booleans", _floats(array.cast(pa.uint8())))
    if types.is_string(kind) or types.is_large_string(kind) or "string_view" in str(kind):
        return Values("text", array.cast(pa.large_string()))
    if types.is_date(kind) or types.is_timestamp(kind):
        return dates(_microseconds(array))
    if types.is_time(kind) or types.is_duration(kind):
        width = pa.int32() if types.is_time32(kind) else pa.int64()
        seconds = _floats(array.cast(width)) * (MICROSECONDS.get(kind.unit, 1e-3) / 1e6)
        return times(seconds)._replace(native=seconds) if types.is_time(kind) else numbers(seconds)
    text = [None if value is None else str(value) for value in array.to_pylist()]
    return Values("other", pa.array(text, pa.large_string()))


def _floats(array: Any) -> np.ndarray:
    """Return numbers as float64, NaN where null."""
    if pa.types.is_float16(array.type):  # which older versions cannot cast
        return array.to_numpy(zero_copy_only=False).astype(np.float64)
    return array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _microseconds(array: Any) -> np.ndarray:
    kind = array.type
    if pa.types.is_date32(kind):
        return _floats(array.cast(pa.int32())) * DAY
    unit = "ms" if pa.types.is_date64(kind) else kind.unit
    whole = array.cast(pa.int64())
    if unit != "ns":
        return _floats(whole) * MICROSECONDS[unit]
    missing = whole.is_null().to_numpy(zero_copy_only=False)
    return np.where(missing, np.nan, whole.fill_null(0).to_numpy(zero_copy_only=False) // 1000)
