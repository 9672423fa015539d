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

    def find(self, table: pa.Table, first: int) -> Iterator[tuple[int, str]]:
        """Yield places of judged rows in a piece of the table, and their names; `first` is its first row."""
        if self.column == ROW and ROW not in table.column_names:
            for name in self.labels:
                place = int(name) - 1 - first
                if 0 <= place < table.num_rows:
                    yield place, name
            return
        for place, cell in enumerate(table.column(self.column).to_pylist()):
            if str(cell) in self.labels:
                yield place, str(cell)


def read_known(path: str) -> Known:
    """Read a file of judged rows: a header, then a row's number or name and its label, one row a line."""
    table = pa.Table.from_batches(list(source := open_table(path)), source.schema)
    advice = (
        "Its first line is `row,label`, or the name of a column in place of `row`, and the others are like `17,normal`."
    )
    if table.num_columns != 2:
        raise TableError(f"{path} has {table.num_columns} columns where judged rows have two.", advice=advice)
    labels: dict[str, str] = {}
    for line, (name, label) in enumerate(zip(*(column.to_pylist() for column in table.columns), strict=True), 2):
        word = str(label).strip().lower()
        if word not in WORDS:
            problem = f"line {line} of {path} says {label!r} where a label is anomaly or normal."
            raise TableError(problem, advice=advice)
        labels[str(name).strip()] = word
    column = table.column_names[0]
    wrong = [name for name in labels if column == ROW and not (name.isdecimal() and int(name) > 0)]
    if wrong or not labels:
        problem = f"{path} names row {wrong[0]!r}: rows are numbered from 1." if wrong else f"{path} has no judged row."
        raise TableError(problem, advice=advice)
    return Known(column, labels)


def judge(
    model: TableDetector,
    known: Known,
    pieces: Iterable[tuple[int, pa.Table]],
    where: str,
    rows: np.ndarray | None = None,
) -> int:
    """Give a model the judged rows of a table that is read piece by piece; return how many there are.

    Parameters
    ----------
    model : TableDetector
    known : Known
    pieces : iterable of (int, table)
        The number of rows before a piece, and the piece.
    where : str
        The name of the table, for errors.
    rows : (N, m), optional
        The encoded training rows.
    """
    found: list[pa.Table] = []
    names: list[str] = []
    for first, table in pieces:
        if known.column != ROW and known.column not in table.column_names:
            raise TableError(
                f"{where} has no column {known.column!r} to find judged rows by.",
                advice="The first line of the file has `row` or the name of a column.",
            )
        places = list(known.find(table, first))
        if places:
            found.append(table.take([place for place, _ in places]))
            names += [name for _, name in places]
    lost = [name for name in known.labels if name not in set(names)]
    if lost:
        what = "row" if known.column == ROW else f"row with {known.column}"
        raise TableError(f"{where} has no {what} {lost[0]!r}, which was judged.", advice="Judge rows of this table.")
    if not hasattr(model.detector_, "feedback"):
        name = type(model.detector_).__name__
        raise WrongUse(f"--known is for the detector oddatom. The model has {name}.")
    encoded = model.encoder_.transform(pa.concat_tables(found))
    model.detector_.feedback(encoded, [known.labels[name] for name in names], rows=rows)
    return len(names)


def judge_new_rows(model: TableDetector, options: argparse.Namespace) -> int:
    """Give a kept model the judged rows of a table that is read for that alone."""
    known = read_known(options.known)
    if is_stream(options.table):
        raise WrongUse("--known reads the table twice, which standard input cannot be. Write the rows to a file first.")
    return judge(model, known, _numbered(full_batches(open_source(options), BATCH_ROWS)), options.table)


def _numbered(pieces: Iterable[pa.Table]) -> Iterator[tuple[int, Any]]:
    first = 0
    for piece in pieces:
        yield first, piece
        first += piece.num_rows
