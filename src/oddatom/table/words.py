"""Text of a column: its distinct words, which of them mean that a value is missing, numbers and booleans among them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.arrow import pa, pc

# Without case. "-" is what many exports write for nothing.
MISSING = ["", "na", "n/a", "n.a.", "#n/a", "#na", "<na>", "nan", "-nan", "nat", "null", "none", "nil", "-", "--", "?"]
MISSING += ["inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"]
MISSING += ["#value!", "#div/0!", "#ref!", "#num!", "#name?"]  # a spreadsheet's
PAIRS = (("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n"), ("on", "off"))
TRUE = [pair[0] for pair in PAIRS] + ["1"]
FALSE = [pair[1] for pair in PAIRS] + ["0"]

PLAIN, COMMAS, DECIMAL_COMMA = "1234.5", "1,234.5", "1.234,5"
NUMBER_FORMATS = (PLAIN, COMMAS, DECIMAL_COMMA)
_EXPONENT = r"([eE][+-]?\d+)?$"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)" + _EXPONENT
_GROUPED = {
    COMMAS: r"^[+-]?([1-9]\d{0,2}(,\d{3})+|\d+)?(\.\d*)?" + _EXPONENT,
    DECIMAL_COMMA: r"^[+-]?([1-9]\d{0,2}(\.\d{3})+|\d+)?(,\d*)?" + _EXPONENT,
}
_POINTS_GROUP = r"^[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d*)?$"
_POINT_DECIMAL = r"^[+-]?([\d,]*\.(\d{1,2}|\d{4,})?([eE][+-]?\d+)?$|(0*|\d{4,})\.\d)|,\d{3}[,.]"
PILOT = 100
_UNITS = " \t$€£¥%"  # around a number


class Words(NamedTuple):
    """The distinct words of a column, and which of them each row holds.

    Attributes
    ----------
    words : pyarrow.LargeStringArray
        Without white space around them; null where the word means that nothing is there. Two may be alike.
    codes : (n_rows,) int
        A row's word, −1 for null.
    """

    words: Any
    codes: np.ndarray

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Return each row's value from those of the words; NaN where a row has none."""
        return np.append(values, np.nan)[self.codes]

    def counts(self) -> np.ndarray:
        """Return how many rows hold each word."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.words))

    def present(self) -> np.ndarray:
        """Return which words mean something."""
        return as_mask(self.words.is_valid())


def split_words(text: Any) -> Words:
    """Return the words of a text column."""
    encoded = text.dictionary_encode()
    words = pc.utf8_trim_whitespace(encoded.dictionary)
    missing = pc.is_in(pc.utf8_lower(words), value_set=pa.array(MISSING, pa.large_string()))
    words = pc.if_else(missing, pa.scalar(None, pa.large_string()), words)
    return Words(words, encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False))


def quick_numbers(text: Any) -> np.ndarray | None:
    """Return text as numbers where all of it is plain numbers, else None."""
    cast = quick_cast(text, pa.float64())
    return None if cast is None else cast.to_numpy(zero_copy_only=False)


def quick_cast(text: Any, kind: Any) -> Any:
    """Return text as another type where all of it can be, else None. A few values are tried first: errors are slow."""
    try:
        text.take(pa.array(np.linspace(0, max(0, len(text) - 1), min(len(text), PILOT)).astype(np.int64))).cast(kind)
        return text.cast(kind)
    except pa.ArrowInvalid:
        return None


def read_numbers(words: Any, style: str) -> np.ndarray:
    """Return words as numbers, NaN where they are none.

    Parameters
    ----------
    words : pyarrow.LargeStringArray
    style : one of NUMBER_FORMATS
        How thousands and decimals are marked. Currency and percent signs around a number are passed over.
    """
    bare = pc.utf8_trim(words, characters=_UNITS)
    if style != PLAIN:
        thousands, decimal = (",", ".") if style == COMMAS else (".", ",")
        bare = pc.if_else(pc.match_substring_regex(bare, _GROUPED[style]), bare, pa.scalar(None, pa.large_string()))
        bare = pc.replace_substring(pc.replace_substring(bare, thousands, ""), decimal, ".")
    bare = pc.if_else(pc.match_substring_regex(bare, _NUMBER), bare, pa.scalar(None, pa.large_string()))
    bare = pc.utf8_ltrim(bare, characters="+")
    return bare.cast(pa.float64()).to_numpy(zero_copy_only=False)


def points_group(text: Any) -> bool:
    """Return whether there are points, and every one may mark thousands: 1.234."""
    pointed = pc.match_substring_regex(text, r"\d\.|\.\d")
    grouped = pc.match_substring_regex(pc.utf8_trim(text, characters=_UNITS), _POINTS_GROUP)
    return bool(pc.any(pointed).as_py()) and not pc.any(pc.and_not(pointed, grouped)).as_py()


def has_decimal_points(text: Any) -> bool:
    """Return whether a point can only mark decimals, as in 1.5, or a comma only thousands, as in 1,234.5."""
    return bool(pc.any(pc.match_substring_regex(pc.utf8_trim(text, characters=_UNITS), _POINT_DECIMAL)).as_py())


def read_booleans(words: Any) -> np.ndarray:
    """Return words as 0 and 1, NaN where they are neither."""
    lower = pc.utf8_lower(words)
    out = np.full(len(words), np.nan)
    for value, known in ((1.0, TRUE), (0.0, FALSE)):
        out[as_mask(pc.is_in(lower, value_set=pa.array(known, pa.large_string())))] = value
    return out


def has_leading_zeros(text: Any) -> bool:
    """Return whether a hundredth of the values are digits that start with 0, as codes do and numbers do not."""
    n_coded = pc.sum(pc.match_substring_regex(text, r"^\s*0\d+\s*$")).as_py() or 0
    return bool(n_coded) and n_coded >= 0.01 * (len(text) - text.null_count)


def may_be_read(words: Any) -> np.ndarray:
    """Return which words start like a number or a date."""
    return as_mask(pc.match_substring_regex(words, r"^[-+ \t$€£¥%.,]*\d").fill_null(False))


def as_mask(booleans: Any) -> np.ndarray:
    """Return a pyarrow array of booleans without nulls as a NumPy one."""
    return booleans.to_numpy(zero_copy_only=False).astype(bool)
