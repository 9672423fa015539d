"""What commands do with tables: open them, read them, name files after them, and put results beside their rows."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from oddatom.cli.advice import as_option
from oddatom.cli.console import Console, WrongUse, output_closed, printable
from oddatom.exceptions import OddAtomError, TableError, TableWarning
from oddatom.table import TableWriter, open_table

BATCH_ROWS = 65_536
RESULTS = ("score", "p_value", "is_anomaly", "rank", "top_features")
_TABLES = (".gz", ".csv", ".tsv", ".txt", ".parquet", ".pq", ".arrow", ".feather", ".ipc")


def open_source(options: argparse.Namespace) -> Any:
    """Open the table that the options name."""
    return open_table(
        options.table,
        format=options.format,
        encoding=options.encoding,
        delimiter=options.delimiter,
        header=not options.no_header,
    )


def read_whole(source: Any, console: Console) -> pa.Table:
    """Read the whole table, and say how far that is."""
    batches = console.progress(source, "rows read", sizes=lambda batch: batch.num_rows)
    return pa.Table.from_batches(list(batches), source.schema)


def full_batches(source: Iterable[Any], n_rows: int = BATCH_ROWS) -> Iterator[pa.Table]:
    """Yield tables of so many rows, the last of fewer, however a file is cut: with fdr, rows are judged together."""
    held: list[Any] = []
    n_held = 0
    for batch in source:
        while batch.num_rows:
            held.append(batch.slice(0, n_rows - n_held))
            n_held += held[-1].num_rows
            batch = batch.slice(held[-1].num_rows)
            if n_held == n_rows:
                yield pa.Table.from_batches(held)
                held, n_held = [], 0
    if held:
        yield pa.Table.from_batches(held)


def beside(table: str, ending: str) -> str:
    """Return a file name beside a table: data.csv.gz and ".report.html" make data.report.html."""
    folder, name = os.path.split("stdin" if is_stream(table) else table)
    while os.path.splitext(name)[1].lower() in _TABLES:
        name = os.path.splitext(name)[0]
    return os.path.join(folder, name + ending)


def check_places(*files: str | None, read: Sequence[str] = ()) -> None:
    """Raise, before any work, where a file cannot be written, or is one of those that are read."""
    named = [os.path.realpath(file) for file in files if file and not is_stream(file)]
    if len(set(named)) < len(named):
        raise WrongUse("two results go to the same file. Give them different names.")
    for path in named:
        if any(os.path.exists(path) and os.path.exists(file) and os.path.samefile(path, file) for file in read):
            raise WrongUse(f"{path!r} is read, and would be written over. Choose another name for the result.")
        folder = os.path.dirname(path)
        if os.path.isdir(path):
            raise OddAtomError(f"{path!r} is a folder.", value=path, advice="Name a file in it.")
        if not os.path.isdir(folder):
            problem = f"there is no folder {folder!r} to write in."
            raise OddAtomError(problem, value=path, advice="Make it, or choose another place.")
        if not os.access(folder, os.W_OK):
            problem = f"the folder {folder!r} may not be written in."
            raise OddAtomError(problem, value=path, advice="Choose another place.")


def table_writer(path: str) -> TableWriter:
    """Return a writer by the file's extension; devices and pipes get csv."""
    try:
        return TableWriter(path, format="csv" if path != "-" and is_stream(path) else None)
    except TableError as error:
        raise TableError(error.problem, advice="Rename it.") from None  # no option says how to write


def check_streams(options: argparse.Namespace, output: str | None) -> None:
    """Raise where rows or JSON cannot go to standard output, or both would."""
    if options.json and sys.stdout is None:
        raise output_closed()
    if output == "-" and sys.stdout is None:
        advice = "Pass -o FILE for the rows, or open it."
        raise OddAtomError("standard output is closed.", parameter="output", value=output, advice=advice)
    if options.json and output == "-":
        raise WrongUse("--json and the rows both go to standard output. Pass -o FILE for the rows, or leave --json.")


def with_results(table: pa.Table, results: dict[str, Any]) -> pa.Table:
    """Return a table with result columns after its own; "oddatom_" is put before their names where one is taken."""
    prefix = ""
    while any(prefix + name in table.column_names for name in {*RESULTS, *results}):
        prefix += "oddatom_"
    for name, values in results.items():
        column = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values, from_pandas=True)
        table = table.append_column(prefix + name, column)
    return table


def for_output(table: pa.Table, output: str, console: Console) -> pa.Table:
    """Return the table as it is, or with its text escaped where it goes to a terminal."""
    if output != "-" or not console.on_terminal:
        return table
    columns = [
        column
        if pa.types.is_primitive(column.type)
        else pa.array([None if cell is None else printable(cell) for cell in column.to_pylist()], pa.string())
        for column in table.columns
    ]
    return pa.table(columns, names=[printable(name) for name in table.column_names])


@contextmanager
def told(console: Console) -> Iterator[list[str]]:
    """Say warnings as lines, those of one kind once; yield the list of what was said."""
    said: list[str] = []
    kinds: set[str] = set()
    again = False

    def tell(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        nonlocal again
        if not issubclass(category, UserWarning | RuntimeWarning):  # the others are for programmers
            return
        parts = message.parts(as_option) if isinstance(message, TableWarning) else {str(message): str(message)}
        for kind, part in parts.items():
            again |= kind in kinds
            if kind not in kinds:
                kinds.add(kind)
                said.append(" ".join(part.split()))
                console.warn(said[-1])

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", message="X does not have valid feature names|X has feature names")
        warnings.showwarning = tell
        yield said
    if again:
        console.say("The numbers in warnings are of the first rows that had them; there were more.")


def is_stream(path: str) -> bool:
    """Return whether a path is "-", a device, a pipe or the like: read once, written in place."""
    return path == "-" or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path))
