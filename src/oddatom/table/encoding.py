"""Values of a column as numbers, as decided at training. A row's numbers depend on that row alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.arrow import pa, pc
from oddatom.context.clock import DAY
from oddatom.table.dates import ISO, feature_columns, quick_dates, read_dates, read_times
from oddatom.table.decision import ColumnDecision
from oddatom.table.forms import Values, dates, numbers, times
from oddatom.table.words import PLAIN, quick_numbers, read_booleans, read_numbers, split_words


class Trouble(NamedTuple):
    """What was wrong with a column.

    Attributes
    ----------
    n_unread : int
        Values that are not of the column's kind, and count as missing.
    example : str
        One of them.
    n_missing : int
        Other missing values, where training had none and nothing marks them.
    """

    n_unread: int
    example: str
    n_missing: int


def encode(decision: ColumnDecision, values: Values, out: np.ndarray) -> Trouble:
    """Write a column's numbers.

    Parameters
    ----------
    decision : ColumnDecision
    values : Values
    out : (n_rows, n_outputs)
        Where to.
    """
    if decision.kind == "text":
        missing = _encode_text(decision, values, out)
        n_unread, example = 0, ""
    else:
        data, n_unread, example = _READERS[decision.kind](values, decision.style)
        missing = np.isnan(data)
        for k, column in enumerate(_columns(decision, data)):
            out[:, k] = column
    if decision.indicator:
        out[:, -1] = missing
    expected = decision.indicator or decision.action == "code" or decision.n_missing > 0
    return Trouble(n_unread, example, 0 if expected else int(np.count_nonzero(missing)) - n_unread)


def _columns(decision: ColumnDecision, data: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the columns of numbers, booleans, dates or times of day, as they were read."""
    if decision.kind != "time of day":
        days = (data - decision.center) / DAY if decision.kind == "date" else data
        yield np.where(np.isnan(data), decision.fill, days)
    if decision.date_features:
        microseconds = data if decision.kind == "date" else 1e6 * data
        yield from feature_columns(microseconds, decision)


def _encode_text(decision: ColumnDecision, values: Values, out: np.ndarray) -> np.ndarray:
    """Write indicators of the known levels and of a new one, or frequencies; return which rows are missing."""
    words = split_words(values.as_text())
    known = pc.index_in(words.words, value_set=pa.array(decision.levels, pa.large_string()))
    n_levels = len(decision.levels)
    level = known.fill_null(n_levels).to_numpy(zero_copy_only=False).astype(np.int64)
    level[~words.present()] = n_levels + 1
    level = np.append(level, n_levels + 1)[words.codes]
    if decision.action == "code":
        out[:, 0] = np.where(level > n_levels, -1, level)
    elif decision.action == "frequency":
        out[:, 0] = np.array([*decision.shares, 0.0, decision.fill])[level]
    else:
        for i in range(n_levels + 1):
            out[:, i] = level == i
    return level == n_levels + 1


# Readers return the values as numbers, NaN where missing, with how many could not be read and one of them.
_Read = tuple[np.ndarray, int, str]


def _read_number(values: Values, style: str) -> _Read:
    if values.form in ("numbers", "booleans"):
        return values.data, 0, ""
    if values.form == "times" and values.native is not None:  # in old models they are numbers
        return values.native, 0, ""
    if values.form in ("dates", "times"):
        return _unread(values)
    if values.native is not None:  # not to be read in the text's style
        other = pc.if_else(pa.array(np.isnan(values.native)), values.data, pa.scalar(None, pa.large_string()))
        data, n_unread, example = _read_number(Values("text", other), style)
        return np.where(np.isnan(values.native), data, values.native), n_unread, example
    quick = quick_numbers(values.data) if style == PLAIN else None
    if quick is not None:
        return numbers(quick).data, 0, ""
    data, n_unread, example = _read_words(values, lambda words: read_numbers(words, style))
    return numbers(data).data, n_unread, example


def _read_boolean(values: Values, style: str) -> _Read:
    if values.form == "booleans":
        return values.data, 0, ""
    if values.form in ("numbers", "dates"):
        neither = ~np.isnan(values.data) & (values.data != 0) & (values.data != 1)
        if values.form == "dates" or neither.any():
            return _read_words(values, read_booleans)
        return values.data, 0, ""
    return _read_words(values, read_booleans)


def _read_date(values: Values, style: str) -> _Read:
    if values.form == "dates":
        return values.data, 0, ""
    if values.form in ("numbers", "booleans", "times"):
        return _unread(values)
    quick = quick_dates(values.data) if style == ISO else None
    if quick is not None:
        return dates(quick).data, 0, ""
    data, n_unread, example = _read_words(values, lambda words: _any_date(words, style))
    return dates(data).data, n_unread, example


def _any_date(words: Any, style: str) -> np.ndarray:
    """Return dates in the column's style; ISO dates cannot be taken for another."""
    read = read_dates(words, style)
    return read if style == ISO else np.where(np.isnan(read), read_dates(words, ISO), read)


def _read_time(values: Values, style: str) -> _Read:
    if values.form == "times":
        return values.data, 0, ""
    if values.form in ("numbers", "booleans", "dates"):
        return _unread(values)
    data, n_unread, example = _read_words(values, read_times)
    return times(data).data, n_unread, example


def _read_words(values: Values, read: Any) -> _Read:
    words = split_words(values.as_text())
    data = read(words.words)
    bad = words.present() & np.isnan(data)
    if not bad.any():
        return words.spread(data), 0, ""
    return words.spread(data), int(words.counts()[bad].sum()), words.words[int(np.flatnonzero(bad)[0])].as_py()


def _unread(values: Values) -> _Read:
    """Return nothing: no value is of the column's kind."""
    return _read_words(values, lambda words: np.full(len(words), np.nan))


_READERS = {"number": _read_number, "boolean": _read_boolean, "date": _read_date, "time of day": _read_time}


def read_values(kind: str, values: Values, style: str) -> np.ndarray:
    """Return values as numbers of a kind, "number", "boolean" or "date", NaN where they cannot be read."""
    return _READERS[kind](values, style)[0]
