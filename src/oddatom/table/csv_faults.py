"""Where a text table is broken: read once more, line by line, after pyarrow has refused it."""

from __future__ import annotations

import csv
import io
import re
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from oddatom.exceptions import TableError

BREAKS = re.compile(r"\r\n|\n|\r")


class Faults(NamedTuple):
    """What is wrong with a text table.

    Attributes
    ----------
    ragged : str
        The lines of the first row with too few or too many cells, in words, "" where there is none.
    quote : int
        The line of a quote that opens and never closes, 0 where there is none; then that is the fault.
    """

    ragged: str = ""
    quote: int = 0


def find_faults(reopen: Any, layout: Any) -> Faults:
    """Return what is wrong with a text table; nothing where it cannot be read once more.

    Parameters
    ----------
    reopen : callable or None
        Returns the binary stream from its start.
    layout : Layout
    """
    if reopen is None:
        return Faults()
    try:
        with reopen() as stream, io.TextIOWrapper(stream, layout.encoding, errors="replace", newline="") as text:
            return _faults(_Lines(text), layout)
    except (EOFError, OSError, zlib.error):  # it is cut off, too
        return Faults()


def _faults(lines: _Lines, layout: Any) -> Faults:
    reader = csv.reader(lines, delimiter=layout.delimiter)
    n_before, start, ragged = 0, 1, ""
    row: list[str] = []
    try:
        while lines.more():
            n_before, start = lines.n_quotes, reader.line_num + 1
            row = next(reader)
            if row and len(row) != len(layout.names):
                stop = reader.line_num
                ragged = f"line {start}" if start == stop else f"lines {start} to {stop}"
                if lines.more():  # no quote swallowed the rest
                    return Faults(ragged)
    except csv.Error:  # a cell of more than 128 KiB
        row = []
        for _ in lines:
            pass
    if (lines.n_quotes - n_before) % 2 == 0:
        return Faults(ragged)
    return Faults(quote=start + sum(len(BREAKS.findall(cell)) for cell in row[:-1]))


def open_quote(label: str, line: int) -> TableError:
    """Return the error that a quote never closes; the line is 0 where it is not known."""
    where = f", in line {line}," if line else ""
    return TableError(f"{label} has a quote that opens{where} and never closes.", advice="Close it or remove it.")


class _Lines:
    """Lines, whether there are more, and how many quotes there were."""

    def __init__(self, lines: Iterator[str]) -> None:
        self.lines = lines
        self.ahead = next(lines, None)
        self.n_quotes = 0

    def more(self) -> bool:
        """Return whether there is another line."""
        return self.ahead is not None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self.ahead is None:
            raise StopIteration
        line, self.ahead = self.ahead, next(self.lines, None)
        self.n_quotes += line.count('"')
        return line
