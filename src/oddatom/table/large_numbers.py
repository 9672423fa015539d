"""Whole numbers from 2**53 on: floats do not hold all of their digits, and some that differ become the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from oddatom.arrays.arrow import pa, pc
from oddatom.table.decision import ColumnDecision
from oddatom.table.forms import Values
from oddatom.table.words import PLAIN

EXACT = 2.0**53  # below it floats hold every whole number
DIGITS = 16  # that such a number has at least
_WHOLE = rf"^[+-]?\d{{{DIGITS},}}$"
_NOTE = f", of which {DIGITS - 1} digits are kept"


def note_large_numbers(decision: ColumnDecision, values: Values) -> ColumnDecision:
    """Return the decision with a note where whole numbers that differ become the same float.

    Times in nanoseconds are large, too: where all of them stay different nothing is said.

    Parameters
    ----------
    decision : ColumnDecision
    values : Values
        The training values.
    """
    if not decision.used or decision.kind != "number" or decision.style != PLAIN:
        return decision
    n_given, n_kept = _distinct(values)
    if n_given == n_kept:
        return decision
    head, *rest = decision.reason.split(", ", 1)
    note = f"{head}{_NOTE}: {n_given} large values that differ become {n_kept}"
    return decision._replace(reason=", ".join([note, *rest]))


def large_number_advice(decisions: list[ColumnDecision]) -> list[str]:
    """Return for each column that is noted so what to do about it."""
    return [
        f"column {d.name!r} has whole numbers above 2**53 that differ and become the same (subtract a base, for "
        "instance the smallest, or put a letter before those that are codes)"
        for d in decisions
        if d.kind == "number" and d.reason.startswith(f"number{_NOTE}")
    ]


def _distinct(values: Values) -> tuple[int, int]:
    """Return how many large whole numbers differ as they are given, and how many as floats."""
    if values.form == "numbers" and values.exact is not None:
        large = np.abs(values.data) >= EXACT
        if not large.any():
            return 0, 0
        given = pc.count_distinct(values.exact.filter(pa.array(large)), mode="only_valid").as_py()
        return given, np.unique(values.data[large]).size
    if values.form != "text":
        return 0, 0
    return _distinct_words(values.data)


def _distinct_words(text: Any) -> tuple[int, int]:
    if (pc.max(pc.binary_length(text)).as_py() or 0) < DIGITS:
        return 0, 0
    words = pc.utf8_trim_whitespace(text).unique().drop_null()
    words = words.filter(pc.match_substring_regex(words, _WHOLE))
    words = pc.replace_substring_regex(words, r"^(?:\+|(-))?0*", r"\1").unique()  # one spelling for a number
    words = words.filter(pc.greater_equal(pc.binary_length(words), DIGITS))
    floats = words.cast(pa.float64()).to_numpy(zero_copy_only=False)
    large = (np.abs(floats) >= EXACT) & np.isfinite(floats)
    return int(large.sum()), np.unique(floats[large]).size
