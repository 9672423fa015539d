"""Text that a spreadsheet would take for a formula gets an apostrophe."""

from __future__ import annotations

from typing import Any

from oddatom.arrays.arrow import pa, pc

# Digits with points and commas are numbers in one country or another, and no formulas.
_NUMBER = r"^[+-]?[\d.,]*\d[\d.,]*([eE][+-]?\d+)? ?%?$"
_DELIMITERS = ",;\t|"
_FORMULA = r"^[=+\-@\t\r](?s:.)"  # one character alone does nothing


def guarded(text: Any, delimiter: str) -> Any:
    """Return text with an apostrophe before formulas.

    That is at the start of a cell, and also where a formula starts for a spreadsheet that splits lines at other
    delimiters: quotes do not help there, as they stand in the middle of what it takes for a cell.

    Parameters
    ----------
    text : pyarrow array of large_string
    delimiter : str
        The one that the table is written with.
    """
    others = "".join(mark for mark in _DELIMITERS if mark != delimiter)
    inside = rf'([{others}\r\n][\s"]*)([=+\-@])'
    if pc.any(pc.match_substring_regex(text, inside)).as_py():
        text = pc.replace_substring_regex(text, inside, r"\1'\2")
    formula = pc.and_not(pc.match_substring_regex(text, _FORMULA), pc.match_substring_regex(text, _NUMBER))
    if not pc.any(formula).as_py():
        return text
    mark, nothing = pa.scalar("'", pa.large_string()), pa.scalar("", pa.large_string())
    return pc.if_else(formula, pc.binary_join_element_wise(mark, text, nothing), text)
