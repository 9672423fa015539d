"""Record batches as lines of csv. Cells are quoted where they must be, and numbers read back as they were."""

from __future__ import annotations

from typing import Any

import numpy as np

from oddatom.arrays.arrow import pa, pc

# Digits with points and commas are numbers in one country or another, and no formulas.
_NUMBER = r"^[+-]?[\d.,]*\d[\d.,]*([eE][+-]?\d+)? ?%?$"
_DELIMITERS = ",;\t|"
_FORMULA = r"^[=+\-@\t\r](?s:.)"  # one character alone does nothing


def csv_header(names: list[str], delimiter: str, safe: bool) -> bytes:
    """Return the header line."""
    cells = _written(pa.array(names, pa.large_string()), delimiter, safe).to_pylist()
    return (delimiter.join(cells) + "\n").encode()


def csv_lines(batch: Any, delimiter: str, safe: bool) -> bytes:
    """Return the lines of a batch, null cells empty.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
    delimiter : str
    safe : bool
        Whether to write an apostrophe before text that a spreadsheet would take for a formula.
    """
    if batch.num_rows == 0:
        return b""
    cells = [_cells(column, delimiter, safe) for column in batch.columns]
    lines = pc.binary_join_element_wise(*cells, pa.scalar(delimiter, pa.large_string())) if len(cells) > 1 else cells[0]
    ended = pc.binary_join_element_wise(lines, pa.scalar("", pa.large_string()), pa.scalar("\n", pa.large_string()))
    offsets = np.frombuffer(ended.buffers()[1], np.int64)[ended.offset : ended.offset + len(ended) + 1]
    return bytes(memoryview(ended.buffers()[2])[offsets[0] : offsets[-1]])


def _cells(column: Any, delimiter: str, safe: bool) -> Any:
    """Return a column as text, nothing null."""
    kind = column.type
    types = pa.types
    if types.is_dictionary(kind):
        return _cells(column.dictionary_decode(), delimiter, safe)
    if types.is_null(kind):
        return pa.array([""] * len(column), pa.large_string())
    try:
        text = column.cast(pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # lists, bytes that are no text
        text = pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.large_string())
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_date(kind):
        return text.fill_null("")
    return _written(text.fill_null(""), delimiter, safe)


def _written(text: Any, delimiter: str, safe: bool) -> Any:
    """Return text guarded and, where it holds any delimiter, a quote, a line break or spaces around it, in quotes."""
    special = pc.match_substring_regex(text, rf'["\r\n{_DELIMITERS}]|^\s|\s$')
    any_special = pc.any(special).as_py()
    if safe:
        text = _guarded(_guarded_inside(text, delimiter) if any_special else text)
    if not any_special:
        return text
    quote, empty = pa.scalar('"', pa.large_string()), pa.scalar("", pa.large_string())
    doubled = pc.replace_substring(text, '"', '""')
    return pc.if_else(special, pc.binary_join_element_wise(quote, doubled, quote, empty), text)


def _guarded(text: Any) -> Any:
    """Return text with an apostrophe before formulas."""
    formula = pc.and_not(pc.match_substring_regex(text, _FORMULA), pc.match_substring_regex(text, _NUMBER))
    if not pc.any(formula).as_py():
        return text
    empty = pa.scalar("", pa.large_string())
    return pc.if_else(formula, pc.binary_join_element_wise(pa.scalar("'", pa.large_string()), text, empty), text)


def _guarded_inside(text: Any, delimiter: str) -> Any:
    """Return text with an apostrophe where a formula starts for a spreadsheet that splits lines at other delimiters.

    Quotes do not help there: they stand in the middle of what it takes for a cell.
    """
    others = "".join(mark for mark in _DELIMITERS if mark != delimiter)
    return pc.replace_substring_regex(text, rf'([{others}\r\n][\s"]*)([=+\-@])', r"\1'\2")
