"""Tables from files: csv, parquet and Arrow, whole or batch by batch."""

from __future__ import annotations

import codecs
import os
import stat
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from oddatom.arrays.arrow import pa
from oddatom.exceptions import ParameterError, TableError, TableWarning
from oddatom.table.csv_text import unzipped
from oddatom.table.sources import ArrowTable, CsvTable, ParquetTable, Stream
from oddatom.table.wording import some

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
KINDS = ("csv", "tsv", "parquet", "arrow")


def open_table(
    path: str | os.PathLike[str],
    *,
    batch_rows: int = 65_536,
    columns: Sequence[str] | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
) -> TableSource:
    """Open a table in a file, to read it whole or in batches of rows in constant memory.

    Text tables (csv, tsv) are read as columns of text, so that no type depends on where the file is cut; numbers,
    booleans and dates in them are found by `TableEncoder`. Empty cells are null. Names that are empty or used twice are
    made different ("a (2)", "column 3"). In a table of one column an empty line is a row, else it is passed over.

    Parameters
    ----------
    path : path-like
        .csv, .tsv or .txt, these also as .gz; .parquet or .pq; .arrow, .feather or .ipc (Arrow files and streams). "-"
        is standard input: csv, or an Arrow stream.
    batch_rows : int, default=65536
        Most rows of a batch.
    columns : sequence of str, default=None
        Read these alone, in this order.
    format : {"csv", "tsv", "parquet", "arrow"}, default=None
        None means to go by the name, and to look into standard input.
    delimiter : str, default=None
        Of a text table. None means a tab for tsv, and for csv what fits its first rows: comma, semicolon, tab or bar.
    encoding : str, default="utf-8"
        Of a text table.
    header : bool, default=True
        Whether a text table has names in its first line. If not they are "column 1", "column 2", … If it has, and
        the line looks like a row, a `TableWarning` says so.

    Returns
    -------
    source : TableSource

    Raises
    ------
    TableError
        The file is not a table; the message says why and what to do.
    """
    if not isinstance(batch_rows, int) or batch_rows < 1:
        raise _wrong("batch_rows", "be an int above 0", batch_rows)
    if format is not None and format not in KINDS:
        raise _wrong("format", f"be one of {KINDS} or None", format)
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter.encode()) != 1):
        raise _wrong("delimiter", "be one ASCII character", delimiter)
    try:
        "".encode(encoding)  # rot13 and the like refuse
        encoding = codecs.lookup(encoding).name
    except (LookupError, UnicodeError):
        usual = "'utf-8' and 'latin-1' are usual."
        raise _wrong("encoding", "be a text encoding that Python knows", encoding, usual) from None
    encoding = "utf-8" if encoding == "utf-8-sig" else encoding
    if not isinstance(header, bool):
        raise _wrong("header", "be True or False", header)
    table = _open(os.fspath(path), format, _Text(delimiter, encoding, header))
    if getattr(table, "doubt", ""):
        warnings.warn(TableWarning(table.doubt, {"header": False}), stacklevel=2)
    return TableSource(table, batch_rows, columns)


def _wrong(parameter: str, demand: str, value: Any, advice: str = "") -> ParameterError:
    return ParameterError("open_table", parameter, f"must {demand}. Got {value!r} instead.", value=value, advice=advice)


class _Text(NamedTuple):
    """What the user says of a text table."""

    delimiter: str | None
    encoding: str
    header: bool

    def open(self, stream: Stream, kind: str | None) -> CsvTable:
        """Return a text table."""
        delimiter = "\t" if kind == "tsv" and self.delimiter is None else self.delimiter
        return CsvTable(stream, delimiter, self.encoding, self.header)


class TableSource:
    """A table in a file; made by `open_table`.

    Iterate over it for record batches; every iteration reads the file once more, but for standard input.

    Attributes
    ----------
    label : str
        The file in words, for messages.
    format : {"csv", "parquet", "arrow"}
    schema : pyarrow.Schema
        Of the columns to read.
    names : list of str
    """

    def __init__(self, table: Any, batch_rows: int, columns: Sequence[str] | None) -> None:
        schema = table.schema
        for name in columns or ():
            if name not in schema.names:
                known = some([repr(known) for known in schema.names])
                raise TableError(
                    f"{table.label} has no column {name!r}.", parameter="columns", value=name, advice=f"It has {known}."
                )
        self._table = table
        self._batch_rows = batch_rows
        self._columns = list(schema.names if columns is None else columns)
        self.label: str = table.label
        self.format: str = table.format
        some_fields = [schema.field(name) for name in self._columns]
        self.schema = schema if columns is None else pa.schema(some_fields, schema.metadata)
        self.names: list[str] = list(self.schema.names)

    def __iter__(self) -> Iterator[Any]:
        n_rows = 0
        for batch in self._table.batches(self._columns, self._batch_rows):
            n_rows += batch.num_rows
            for start in range(0, batch.num_rows, self._batch_rows):
                yield batch.slice(start, self._batch_rows).select(self._columns)
        if n_rows == 0:
            raise TableError(f"{self.label} has no rows.", advice="Pass a table with rows.")

    def read(self) -> Any:
        """Return the whole table as a pyarrow.Table."""
        return pa.Table.from_batches(list(self), self.schema)


def _open(path: str, format: str | None, text: _Text) -> Any:
    """Return the table at a path, opened as what it is."""
    if path == "-":
        if sys.stdin is None:
            raise TableError("standard input is closed.", advice="Pass a file, or open it.")
        return _open_pipe(sys.stdin.buffer, "standard input", format, text)
    label = repr(path)
    try:
        mode = Path(path).stat().st_mode
        if stat.S_ISDIR(mode):
            raise TableError(f"{label} is a folder.", value=path, advice="Pass one file.")
        name = Path(path).name.lower().removesuffix(".gz")
        kind = format or FORMATS.get(Path(name).suffix)
        if not stat.S_ISREG(mode):
            pipe = open(path, "rb")  # noqa: SIM115 - read later
            try:
                return _open_pipe(pipe, label, kind, text, pipe.close)
            except BaseException:
                pipe.close()
                raise
        if kind is None:
            raise TableError(
                f"{label} has no extension that says what it is ({', '.join(FORMATS)}).",
                advice="Rename it or pass {format}.",
                options={"format": None},
            )
        with open(path, "rb") as file:
            if not file.read(1):
                raise TableError(f"{label} is empty.", advice="Pass a table with a header line and rows.")
        if kind == "parquet":
            return ParquetTable(path, label)
        stream = Stream(label, path)
        return ArrowTable(stream) if kind == "arrow" else text.open(stream, kind)
    except FileNotFoundError:
        advice = f"Check the path; the current folder is {str(Path.cwd())!r}."
        raise TableError(f"{label} does not exist.", value=path, advice=advice) from None
    except PermissionError:
        raise TableError(f"{label} may not be read.", value=path, advice="Check its permissions.") from None


def _open_pipe(pipe: Any, label: str, kind: str | None, text: _Text, close: Any = None) -> Any:
    """Return the table that comes through a pipe; `close` is called when it has been read."""
    if kind == "parquet":
        problem = f"{label} cannot be read as parquet, which needs a file."
        raise TableError(problem, advice="Pass a file, csv or an Arrow stream.")
    pipe = unzipped(pipe)
    stream = Stream(label, pipe=pipe, close=close)
    if kind == "arrow" or (kind is None and pipe.peek(4)[:4] == b"\xff\xff\xff\xff"):
        return ArrowTable(stream)
    return text.open(stream, kind)
