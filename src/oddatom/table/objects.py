"""Columns of Python objects, of one type or mixed."""

from __future__ import annotations

import datetime
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np

from oddatom.arrays.arrow import pa
from oddatom.exceptions import OddAtomError
from oddatom.table.forms import Values, date_text, dates, no_values, number_text, numbers, time_text, times

EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)
WHOLE = (int, np.integer)
LISTS = (list, tuple, set, frozenset, dict, np.ndarray)


def from_objects(values: np.ndarray) -> Values:
    """Return the values of a one-dimensional array of objects."""
    types = set(map(type, values.tolist()))
    if str in types and not types & {bytes, bytearray}:  # which pyarrow would take for text
        try:
            return Values("text", pa.array(values, pa.large_string(), from_pandas=True))
        except (pa.ArrowException, UnicodeError):
            pass  # text and something else, or text that no file could hold
    sorts = {kind: _sort(kind) for kind in types}
    quick = _quick(values, types)
    if quick is not None:
        return quick
    n_rows = len(values)
    by_sort: dict[str, list[int]] = {}
    for i, value in enumerate(values):
        sort = sorts.get(type(value)) or _sort(type(value))
        if sort in ("numbers", "dates") and _is_missing(value):
            sort = "missing"
        by_sort.setdefault(sort, []).append(i)
    found = {sort: np.array(rows) for sort, rows in by_sort.items() if sort != "missing"}
    if not found:
        return no_values(n_rows)
    if set(found) == {"booleans"}:
        return Values("booleans", _fill(n_rows, found["booleans"], values, float))
    if set(found) <= {"numbers", "booleans"}:
        whole = all(sorts[kind] != "numbers" or issubclass(kind, WHOLE) for kind in types)
        return numbers(_fill(n_rows, np.concatenate(list(found.values())), values, _number), _exact(values, whole))
    if set(found) == {"dates"}:
        return dates(_fill(n_rows, found["dates"], values, _microseconds))
    if set(found) == {"times"}:
        return times(_fill(n_rows, found["times"], values, _seconds))
    text = np.full(n_rows, None, dtype=object)
    for sort, rows in found.items():
        text[rows] = _text(sort, values[rows])
    form = "other" if "lists" in found else "text"
    rows = np.concatenate([found.get(sort, np.empty(0, int)) for sort in ("numbers", "booleans")])
    native = numbers(_fill(n_rows, rows, values, _number)).data if rows.size else None
    return Values(form, pa.array(text, pa.large_string(), from_pandas=True), native=native)


def _quick(values: np.ndarray, types: set[type]) -> Values | None:
    """Return objects of one type of number, or all booleans; None for others."""
    kinds = [kind for kind in types if kind is not type(None)]
    if len(kinds) != 1 or not issubclass(kinds[0], (int, float, np.bool_, np.integer, np.floating)):
        return None
    try:
        data = values.astype(np.float64)  # None becomes NaN
    except OverflowError:
        return None
    if issubclass(kinds[0], (bool, np.bool_)):
        return Values("booleans", data)
    return numbers(data, _exact(values, issubclass(kinds[0], WHOLE)))


def _sort(kind: type) -> str:
    """Return what values of a Python type are."""
    if kind.__name__ in ("NoneType", "NaTType", "NAType"):
        return "missing"
    if issubclass(kind, (bool, np.bool_)):
        return "booleans"
    if issubclass(kind, (datetime.date, np.datetime64)):
        return "dates"
    if issubclass(kind, datetime.time):
        return "times"
    if issubclass(kind, (complex, np.complexfloating)):
        advice = "Pass the real and the imaginary part as two columns."
        raise OddAtomError("Complex data not supported.", parameter="X", value=kind, advice=advice)
    if issubclass(kind, (Number, datetime.timedelta, np.timedelta64)):
        return "numbers"
    if issubclass(kind, (*LISTS, bytes, bytearray)):
        return "lists"
    return "text"


def _is_missing(value: Any) -> bool:
    """Return whether a number or date is NaN or NaT."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return value.is_nan() if isinstance(value, Decimal) else bool(value != value)


def _fill(n_rows: int, rows: np.ndarray, values: np.ndarray, convert: Any) -> np.ndarray:
    out = np.full(n_rows, np.nan)
    out[rows] = [convert(value) for value in values[rows]]
    return out


def _number(value: Any) -> float:
    if isinstance(value, np.timedelta64):
        value = value.astype("m8[us]").item()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    try:
        return float(value)
    except (OverflowError, ValueError):  # above every float; a signalling NaN
        return float("nan")


def _microseconds(value: Any) -> float:
    """Return microseconds since 1970; time zones count from UTC."""
    if isinstance(value, np.datetime64):
        return float(value.astype("M8[us]").astype(np.int64))
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if hasattr(value, "to_pydatetime"):  # pandas
        value = value.to_pydatetime(warn=False)
    offset = value.utcoffset() or datetime.timedelta(0)
    return float((value.replace(tzinfo=None) - EPOCH - offset) // MICROSECOND)


def _seconds(value: datetime.time) -> float:
    """Return seconds since midnight, of the clock that the time was read from."""
    return (value.hour * 60 + value.minute) * 60 + value.second + value.microsecond / 1e6


def _text(sort: str, values: np.ndarray) -> list[Any]:
    """Return the text of values of one sort; it reads back as the same number, date or time."""
    if sort in ("numbers", "booleans"):
        data = np.array([_number(value) for value in values])
        data[~np.isfinite(data)] = np.nan
        return number_text(data).to_pylist()
    if sort == "dates":
        return date_text(np.array([_microseconds(value) for value in values])).to_pylist()
    if sort == "times":
        return time_text(np.array([_seconds(value) for value in values])).to_pylist()
    return [str(value).encode("utf-8", "replace").decode() for value in values]


def _exact(values: np.ndarray, whole: bool) -> Any:
    """Return integers as such, where all are and fit."""
    if not whole:
        return None
    try:
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    except (OverflowError, TypeError, ValueError, pa.ArrowInvalid):
        return None
