"""Decide, from the training values of a column, what to do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from oddatom.context.clock import DAY
from oddatom.table.dates import (
    CLOCK,
    DATE_FORMATS,
    ISO,
    choose_features,
    feature_outputs,
    quick_dates,
    read_dates,
    read_times,
)
from oddatom.table.decision import ColumnDecision, leave_out
from oddatom.table.forms import Values, date_text, dates, numbers, times
from oddatom.table.ids import looks_like_id, number_id, text_id
from oddatom.table.large_numbers import note_large_numbers
from oddatom.table.running import runs_as_counter, runs_as_time
from oddatom.table.words import (
    COMMAS,
    DECIMAL_COMMA,
    NUMBER_FORMATS,
    PAIRS,
    PLAIN,
    Words,
    has_leading_zeros,
    may_be_read,
    points_group,
    quick_numbers,
    read_booleans,
    read_numbers,
    split_words,
)

MOSTLY = 0.9  # share of a text column's values that must be numbers, or dates, for it to hold numbers, or dates
SHOWN = 5  # levels named in a reason
_WITH_TIME = "; --time (time= in Python) compares each row with those before it"
_IN_ORDER = f"it is the time of the rows, which come in its order{_WITH_TIME}"
_COUNTS = f"it runs with the rows, as a time or a counter does{_WITH_TIME}"
_FEATURES = {  # of dates, as a reason names them
    "weekday": "weekday",
    "weekday cycle": "weekday",
    "month": "month",
    "month cycle": "month",
    "time cycle": "time of day",
}


class Rules(NamedTuple):
    """What the user asked for.

    Attributes
    ----------
    max_levels : int
        Most levels of a text column that are one-hot encoded.
    dates : {"number", "drop"}
    always_indicate : bool
        Whether to mark missing values in columns that have none in training.
    named : bool
        Whether the user named the columns to use: then none is taken for an id.
    commas : bool
        Whether a comma that may mark thousands or decimals, as in 1,234, marks decimals.
    points : bool
        Whether such a point marks thousands.
    codes : bool
        Whether a text column becomes one column of codes instead of one for each level, and missing values stay
        missing, without marks.
    """

    max_levels: int = 20
    dates: str = "number"
    always_indicate: bool = False
    named: bool = False
    commas: bool = False
    points: bool = False
    codes: bool = False


def decide(name: str, values: Values, rules: Rules) -> ColumnDecision:
    """Return what to do with a column."""
    return note_large_numbers(_decide(name, values, rules), values)


def _decide(name: str, values: Values, rules: Rules) -> ColumnDecision:
    if values.form == "other":
        return leave_out(name, "other", "it holds lists or bytes, not single values")
    if values.form == "empty":
        return _empty(name, len(values.data))
    if values.form == "text":
        return _decide_text(name, values, rules)
    if values.form == "booleans":
        return _boolean(name, values.data, rules, 0)
    if values.form == "dates":
        return _date(name, values.data, rules, ISO, 0)
    if values.form == "times":
        return _time(name, values.data, rules, 0)
    return _number(name, values.data, rules, PLAIN, 0, values.exact, values.exact is not None)


def _decide_text(name: str, values: Values, rules: Rules) -> ColumnDecision:
    """Find numbers, booleans or dates in text, or take it for what it is."""
    text = values.data
    styles = _number_styles(text, rules)
    if not values.category:
        quick = quick_numbers(text) if styles[0] == PLAIN else None
        if quick is not None and np.isfinite(quick).any() and not has_leading_zeros(text):
            return _number(name, numbers(quick).data, rules, PLAIN, 0, text, True)  # native numbers read alike
        stamps = quick_dates(text) if quick is None else None
        if stamps is not None:
            return _date(name, dates(stamps).data, rules, ISO, 0)
    words = split_words(text)
    counts = words.counts() * words.present()
    if not counts.any():
        return _empty(name, len(text))
    if not values.category:
        if _is_boolean(words, counts):
            return _boolean(name, words.spread(read_booleans(words.words)), rules, 0)
        enough = MOSTLY * counts.sum()
        if counts[may_be_read(words.words)].sum() >= enough:
            style, read, n_read = _best(words, counts, styles, read_numbers)
            if n_read >= enough and not has_leading_zeros(text):
                n_unread = int(counts.sum()) - n_read
                data = numbers(words.spread(read)).data
                if values.native is not None:
                    data = np.where(np.isnan(values.native), data, values.native)
                if np.isnan(data).all():
                    return leave_out(name, "number", "its values are too large for numbers", data.size)
                return _number(name, data, rules, style, n_unread, None, True)
            style, read, n_read = _best(words, counts, DATE_FORMATS, read_dates)
            if n_read >= enough:
                return _date(name, dates(words.spread(read)).data, rules, style, int(counts.sum()) - n_read)
            _, read, n_read = _best(words, counts, (CLOCK,), read_times)
            if n_read >= enough:
                return _time(name, times(words.spread(read)).data, rules, int(counts.sum()) - n_read)
    return _text(name, words, counts, rules)


def _number_styles(text: Any, rules: Rules) -> tuple[str, ...]:
    """Return the ways to write numbers, in the order in which they are tried."""
    if rules.points and points_group(text):
        return DECIMAL_COMMA, PLAIN, COMMAS
    return (PLAIN, DECIMAL_COMMA, COMMAS) if rules.commas else NUMBER_FORMATS


def _is_boolean(words: Words, counts: np.ndarray) -> bool:
    """Return whether the words are those of one pair, as yes and no; one letter alone says too little."""
    if np.count_nonzero(counts) > 8:  # two words in different cases
        return False
    lower = {word.lower() for word in words.words.drop_null().to_pylist()}
    return any(lower <= set(pair) and len("".join(lower)) > 1 for pair in PAIRS)


def _best(
    words: Words, counts: np.ndarray, styles: Iterable[str], read: Callable[[Any, str], np.ndarray]
) -> tuple[str, np.ndarray, int]:
    """Return the style in which most rows can be read (the first of several), what it reads, and how many rows."""
    best: tuple[str, np.ndarray, int] = ("", np.empty(0), -1)
    for style in styles:
        values = read(words.words, style)
        n_read = int(counts[~np.isnan(values)].sum())
        if n_read > best[2]:
            best = (style, values, n_read)
        if n_read == counts.sum():
            break
    return best


def _empty(name: str, n_rows: int) -> ColumnDecision:
    return leave_out(name, "empty", "it has no values", n_rows)


def _number(
    name: str, data: np.ndarray, rules: Rules, style: str, n_unread: int, exact: Any, whole: bool
) -> ColumnDecision:
    values = data[~np.isnan(data)]
    n_missing = data.size - values.size
    if values.size == 0:
        return _empty(name, data.size)
    if not rules.named and not looks_like_id(name) and runs_as_counter(data, name):
        return leave_out(name, "time", _COUNTS, n_missing)
    if not rules.named and (reason := number_id(name, data, exact, whole)):
        return leave_out(name, "number", reason, n_missing)
    fill = np.nan if rules.codes else _median(values)
    written = "" if style == PLAIN else f", written as {style}"
    reason = f"number{written}" + _filled(f"median {fill:.6g}", n_missing, n_unread, "numbers", rules)
    return _numeric(name, "number", reason, rules, n_missing, fill, style=style)


def _boolean(name: str, data: np.ndarray, rules: Rules, n_unread: int) -> ColumnDecision:
    values = data[~np.isnan(data)]
    n_missing = data.size - values.size
    fill = float(2 * np.count_nonzero(values) >= values.size)
    reason = "boolean" + _filled("true" if fill else "false", n_missing, n_unread, "booleans", rules)
    return _numeric(name, "boolean", reason, rules, n_missing, np.nan if rules.codes else fill)


def _date(name: str, data: np.ndarray, rules: Rules, style: str, n_unread: int) -> ColumnDecision:
    values = data[~np.isnan(data)]
    n_missing = data.size - values.size
    if values.size == 0:
        return _empty(name, data.size)
    if rules.dates == "drop":
        return leave_out(name, "date", "dates='drop'", n_missing)
    if not rules.named and runs_as_time(data):
        return leave_out(name, "time", _IN_ORDER, n_missing)
    center = _median(values)
    day = date_text(np.array([np.floor(center / DAY) * DAY]))[0].as_py()
    written = "" if style == ISO else f", written as {style}"
    features, rare = choose_features(values, rules.codes)
    named = "".join(f", {_FEATURES[feature]}" for feature in features if feature in _FEATURES)
    reason = f"date{written}, days since {day}{named}" + _filled("the median", n_missing, n_unread, "dates", rules)
    fill, outputs = np.nan if rules.codes else 0.0, [name, *feature_outputs(name, features)]
    more = {"center": center, "style": style, "date_features": features, "rare_weekdays": rare}
    return _numeric(name, "date", reason, rules, n_missing, fill, outputs, **more)


def _time(name: str, data: np.ndarray, rules: Rules, n_unread: int) -> ColumnDecision:
    n_missing = int(np.count_nonzero(np.isnan(data)))
    if n_missing == data.size:
        return _empty(name, data.size)
    if not rules.named and runs_as_time(data):
        return leave_out(name, "time", _IN_ORDER, n_missing)
    reason = "time of day" + _filled("the centre of the clock", n_missing, n_unread, "times of day", rules)
    fill, outputs = np.nan if rules.codes else 0.0, [f"{name} sin", f"{name} cos"]
    more = {"style": CLOCK, "date_features": ["time cycle"]}
    return _numeric(name, "time of day", reason, rules, n_missing, fill, outputs, **more)


def _numeric(
    name: str,
    kind: str,
    reason: str,
    rules: Rules,
    n_missing: int,
    fill: float,
    outputs: Sequence[str] = (),
    **more: Any,
) -> ColumnDecision:
    """Return the decision that a column becomes numbers, one by default, and perhaps whether it is missing."""
    indicator = (n_missing > 0 and not rules.codes) or rules.always_indicate
    found = [*(outputs or [name]), *_indicators(name, indicator)]
    return ColumnDecision(name, kind, "number", reason, found, n_missing, indicator, fill, **more)


def _text(name: str, words: Words, counts: np.ndarray, rules: Rules) -> ColumnDecision:
    encoded = words.words.dictionary_encode()  # two words may be alike without the white space around them
    codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
    totals = np.bincount(codes, weights=counts, minlength=len(encoded.dictionary))
    n_rows, n_values = words.codes.size, int(counts.sum())
    n_missing = n_rows - n_values
    if not rules.named and (reason := text_id(name, len(encoded.dictionary), n_values)):
        return leave_out(name, "text", reason, n_missing)
    levels = dict(sorted(zip(encoded.dictionary.to_pylist(), totals, strict=False)))
    indicator = (n_missing > 0 and not rules.codes) or rules.always_indicate
    if len(levels) > rules.max_levels:
        outputs = [f"{name} frequency", *_indicators(name, indicator)]
        shares = [float(count / n_rows) for count in levels.values()]
        reason = f"text, {len(levels)} values, by how frequent each is" + _counted(n_missing)
        fill = np.nan if rules.codes else n_missing / n_rows
        decision = ColumnDecision(name, "text", "frequency", reason, outputs, n_missing, indicator, fill)
        return decision._replace(levels=list(levels), shares=shares)
    outputs = [*(f"{name}={level}" for level in levels), f"{name} is new", *_indicators(name, indicator)]
    shown = ", ".join(list(levels)[:SHOWN]) + (", …" if len(levels) > SHOWN else "")
    if rules.codes:
        many = f"{len(levels)} values" if len(levels) > 1 else "always the same"
        reason = f"text, {many} ({shown})" + _counted(n_missing)
        return ColumnDecision(name, "text", "code", reason, [name], n_missing, levels=list(levels))
    many = f"a column for each of {len(levels)} values" if len(levels) > 1 else "always the same"
    reason = f"text, {many} ({shown})" + _counted(n_missing)
    return ColumnDecision(name, "text", "one-hot", reason, outputs, n_missing, indicator, levels=list(levels))


def _indicators(name: str, indicator: bool) -> list[str]:
    return [f"{name} is missing"] if indicator else []


def _counted(n: int) -> str:
    return f", {n} missing value{'s' if n != 1 else ''}" if n else ""


def _filled(fill: str, n_missing: int, n_unread: int, kind: str, rules: Rules) -> str:
    if not n_missing:
        return ""
    unread = f", {n_unread} of them not {kind}" if n_unread else ""
    filled = "" if rules.codes else f"{fill} for "
    return f", {filled}{n_missing} missing value{'s' if n_missing != 1 else ''}{unread}"


def _median(values: np.ndarray) -> float:
    """Return the median; halves are added, so that nothing overflows."""
    low, high = (values.size - 1) // 2, values.size // 2
    parted = np.partition(values, [low, high])
    return float(parted[low]) if parted[low] == parted[high] else float(0.5 * parted[low] + 0.5 * parted[high])
