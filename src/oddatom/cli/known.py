"""`--known FILE`: rows that a person has judged, by their number or by a column that names them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from oddatom.cli.console import WrongUse
from oddatom.cli.tables import BATCH_ROWS, full_batches, is_stream, open_source
from oddatom.estimators._feedback import WORDS
from oddatom.exceptions import TableError
from oddatom.table import open_table
from oddatom.table.table_detector import TableDetector

ROW = "row"  # the header of row numbers, which begin with 1
_ADVICE = "Its first line is `row,label`, or the name of a column in place of `row`; the others are like `17,normal`."


class Known(NamedTuple):
    """Judged rows of a table.

    Attributes
    ----------
    column : str
        "row" for row numbers, or the column of the table that names rows.
    labels : dict of str to str
        "anomaly" or "normal", by the number or the name of a row.
    """

    column: str
    labels: dict[str, str]


class Judged(NamedTuple):
    """Judged rows, found: their cells, and a label for each."""

    table: pa.Table
    labels: list[str]


def read_known(path: str) -> Known:
    """Read a file of judged rows: a header, then a row's number or name and its label, one row a line."""
    table = pa.Table.from_batches(list(source := open_table(path)), source.schema)
    if table.num_columns != 2:
        n = table.num_columns
        raise TableError(f"{path} has {n} column{'s' if n != 1 else ''} where judged rows have two.", advice=_ADVICE)
    labels: dict[str, str] = {}
    column = table.column_names[0]
    for line, (cell, label) in enumerate(zip(*(one.to_pylist() for one in table.columns), strict=True), 2):
        name, word = _name(cell), str(label).strip().lower()
        problem = ""
        if name is None:
            problem = f"line {line} of {path} names no row."
        elif word not in WORDS:
            problem = f"line {line} of {path} says {label!r} where a label is anomaly or normal."
        elif labels.get(name, word) != word:
            problem = f"line {line} of {path} says {word} of {name!r}, and an earlier line {labels[name]}."
        elif column == ROW and not (name.isdecimal() and int(name) > 0):
            problem = f"line {line} of {path} names row {name!r} where rows are numbered 1, 2, 3 and so on."
        if problem:
            raise TableError(problem, advice=_ADVICE)
        labels[str(name)] = word
    if not labels:
        raise TableError(f"{path} has no judged row.", advice=_ADVICE)
    return Known(column, labels)


def find_judged(known: Known, pieces: Iterable[pa.Table], where: str) -> Judged:
    """Find the judged rows in a table that is read piece by piece; rows that share a name are judged together.

    Parameters
    ----------
    known : Known
    pieces : iterable of tables
    where : str
        The name of the table, for errors.
    """
    found: list[pa.Table] = []
    names: list[str] = []
    for first, table in _numbered(pieces):
        if known.column == ROW and ROW in table.column_names:
            problem = f"{where} has a column {ROW!r}: it is not clear whether the file has its values or row numbers."
            raise TableError(problem, advice="Name the rows by another column.")
        if known.column != ROW and known.column not in table.column_names:
            raise TableError(f"{where} has no column {known.column!r} to find judged rows by.", advice=_ADVICE)
        places = list(_places(known, table, first))
        if places:
            found.append(table.take([place for place, _ in places]))
            names += [name for _, name in places]
    lost = known.labels.keys() - set(names)
    if lost:
        what = "row" if known.column == ROW else f"row with {known.column}"
        raise TableError(f"{where} has no {what} {min(lost)!r}, which was judged.", advice="Judge rows of this table.")
    return Judged(pa.concat_tables(found), [known.labels[name] for name in names])


def judge(model: TableDetector, judged: Judged, rows: np.ndarray | None = None) -> None:
    """Give a model judged rows; `rows` are the features of the training rows."""
    check_can_be_judged(type(model.detector_).__name__, hasattr(model.detector_, "feedback"))
    model._check_feedback()
    model.detector_.feedback(model._place(judged.table).features, judged.labels, rows=rows)


def check_can_be_judged(name: str, fits: bool) -> None:
    """Raise where a detector takes no judged rows."""
    if not fits:
        raise WrongUse(f"--known is for the detector oddatom. Got {name} instead.")


def judge_new_rows(model: TableDetector, options: argparse.Namespace) -> None:
    """Give a kept model the judged rows of a table that is read for that alone."""
    check_can_be_judged(type(model.detector_).__name__, hasattr(model.detector_, "feedback"))
    known = read_known(options.known)
    if is_stream(options.table):
        raise WrongUse("--known reads the table twice, which standard input cannot be. Write the rows to a file first.")
    judge(model, find_judged(known, full_batches(open_source(options), BATCH_ROWS), options.table))


def _places(known: Known, table: pa.Table, first: int) -> Iterator[tuple[int, str]]:
    """Yield places of judged rows in a piece of the table, and their names; `first` is the number of rows before it."""
    if known.column == ROW:
        for name in known.labels:
            place = int(name) - 1 - first
            if 0 <= place < table.num_rows:
                yield place, name
        return
    for place, cell in enumerate(table.column(known.column).to_pylist()):
        called = _name(cell)
        if called is not None and called in known.labels:
            yield place, called


def _name(cell: Any) -> str | None:
    """Return the text of a cell that names a row, 6 and 6.0 alike; None where it is empty."""
    if cell is None or not str(cell).strip():
        return None
    number = isinstance(cell, float) or type(cell).__name__ == "Decimal"
    return str(int(cell)) if number and cell == cell // 1 else str(cell).strip()


def _numbered(pieces: Iterable[pa.Table]) -> Iterator[tuple[int, pa.Table]]:
    first = 0
    for piece in pieces:
        yield first, piece
        first += piece.num_rows
