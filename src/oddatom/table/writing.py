"""Tables to files, all or nothing: csv, parquet and Arrow."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from oddatom._atomic import AtomicFile
from oddatom.arrays.arrow import pa
from oddatom.exceptions import ParameterError, TableError
from oddatom.table.formula_guard import guarded
from oddatom.table.reading import FORMATS, KINDS
from oddatom.table.wording import some

ROWS = 65_536  # written at once
_AS_TEXT = "Name a .csv file, which holds them as text."
_TEXT = ("csv", "tsv")


class TableWriter:
    """Write record batches to a file that appears when it is whole.

    In text tables text stands in quotes, and numbers, dates and truth values do not. Lists and bytes are written as
    Python shows them.

    What is written goes to a hidden file in the same folder, which takes the name at the end. Whatever ends the `with`
    block early (an error, Ctrl-C, a full disk) leaves nothing behind, and a file of that name as it was.

    Parameters
    ----------
    path : path-like
        .csv, .tsv or .txt, these also as .gz; .parquet or .pq; .arrow, .feather or .ipc. "-" is standard output: csv
        unless `format` says otherwise, and what was written before an error stays written.
    format : {"csv", "tsv", "parquet", "arrow"}, default=None
        None means to go by the name.
    schema : pyarrow.Schema, default=None
        Columns and types. None means those of the first batch.
    safe : bool, default=True
        In text tables write an apostrophe before text that a spreadsheet would take for a formula: text, names of
        columns included, that starts with =, +, -, @, a tab or a carriage return and is no number, or has =, +, - or @
        after a line break or what another country has between cells, as in "a;=1". Such a cell is not read back as it
        was; False writes text as it is.

    Examples
    --------
    >>> from oddatom.table import TableWriter, open_table
    >>> with TableWriter("copy.parquet") as writer:       # doctest: +SKIP
    ...     for batch in open_table("rows.csv"):
    ...         writer.write(batch)
    """

    def __init__(
        self, path: str | os.PathLike[str], *, format: str | None = None, schema: Any = None, safe: bool = True
    ) -> None:
        if format is not None and format not in KINDS:
            raise ParameterError(
                "TableWriter", "format", f"must be one of {KINDS} or None. Got {format!r} instead.", value=format
            )
        self.path = os.fspath(path)
        self.label = "standard output" if self.path == "-" else repr(self.path)
        self.format = format or self._by_name()
        if self.format == "parquet" and self.path == "-":
            raise TableError(
                "standard output cannot be written as parquet.",
                advice="Pass a file, or {format} or 'csv'.",
                options={"format": "arrow"},
            )
        self.schema = schema
        self.safe = safe
        self._file: AtomicFile | None = None
        self._zipped: Any = None
        self._arrow: Any = None  # a writer of pyarrow
        self._stored: Any = None  # the schema that it writes

    def __enter__(self) -> Self:
        with self._told():
            self._file = AtomicFile(self.path)
            if self.format in _TEXT and self.path.lower().endswith(".gz"):
                self._zipped = gzip.GzipFile("", "wb", 3, self._file.file, mtime=0)
        return self

    def check(self, schema: Any) -> None:
        """Raise, before any work, where the format cannot hold a column.

        Parameters
        ----------
        schema : pyarrow.Schema
        """
        bad = [] if self._holds(schema) else [field for field in schema if not self._holds(pa.schema([field]))]
        if bad:
            named = some([f"{field.name!r} ({field.type})" for field in bad])
            raise TableError(f"{self.label} cannot hold the columns {named}.", advice=_AS_TEXT)

    def write(self, batch: Any) -> None:
        """Append rows.

        Parameters
        ----------
        batch : pyarrow.RecordBatch or Table
            Of the same columns every time.
        """
        if self._file is None:
            raise RuntimeError("TableWriter writes inside a with block: with TableWriter(path) as writer: …")
        if self.schema is None:
            self.schema = batch.schema.remove_metadata()
        if batch.schema.names != self.schema.names:
            raise TableError(
                f"A batch for {self.label} has the columns {batch.schema.names} instead of {self.schema.names}.",
                advice="Write batches of the same columns.",
            )
        table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
        with self._told():
            self._start()
            for rows in table.cast(self.schema).to_batches(ROWS):
                self._arrow.write_batch(self._converted(rows))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._file is not None
        try:
            if kind is None:
                with self._told():
                    self._finish()
        except BaseException:
            self._drop()
            raise
        if kind is not None:
            self._drop()
        self._file = None

    def _drop(self) -> None:
        """Leave nothing of what was written."""
        assert self._file is not None
        for part in (self._arrow, self._zipped):
            with contextlib.suppress(Exception):  # it would write its end, perhaps to a full disk
                if part is not None:
                    part.close()
        self._file.discard()

    @property
    def _delimiter(self) -> str:
        return "\t" if self.format == "tsv" else ","

    @property
    def _sink(self) -> Any:
        return self._zipped or (self._file and self._file.file)

    def _by_name(self) -> str:
        name = Path(self.path).name.lower()
        kind = "csv" if self.path == "-" else FORMATS.get(Path(name.removesuffix(".gz")).suffix)
        if kind is None or (name.endswith(".gz") and kind not in _TEXT):
            raise TableError(
                f"{self.label} has no extension that says how to write it ({', '.join(FORMATS)}; text also as .gz).",
                advice="Rename it or pass {format}.",
                options={"format": None},
            )
        return kind

    def _start(self) -> None:
        """Write what comes before the first row."""
        if self._arrow is None:
            self.check(self.schema)
            self._stored = self._stored_schema(self.schema)
            self._arrow = self._opened(self._sink, self._stored)

    def _opened(self, sink: Any, schema: Any) -> Any:
        """Return a writer of pyarrow."""
        if self.format == "parquet":
            return pa.parquet.ParquetWriter(sink, schema)
        if self.format == "arrow":
            return (pa.ipc.new_stream if self.path == "-" else pa.ipc.new_file)(sink, schema)
        return pa.csv.CSVWriter(sink, schema, write_options=pa.csv.WriteOptions(delimiter=self._delimiter))

    def _stored_schema(self, schema: Any) -> Any:
        """Return names and types as they are stored."""
        names = self._guarded(pa.array(schema.names, pa.large_string())).to_pylist()
        fields = [field.with_type(self._stored_type(field.type)) for field in schema]
        return pa.schema([field.with_name(name) for field, name in zip(fields, names, strict=True)])

    def _stored_type(self, kind: Any) -> Any:
        """Return the type that a column is stored as.

        The dictionaries of an Arrow file may not change from batch to batch; parquet knows none of lists. Text tables
        have numbers, dates and text; not every pyarrow can write half floats there.
        """
        types = pa.types
        if types.is_dictionary(kind) and (self.format != "parquet" or types.is_nested(kind.value_type)):
            return self._stored_type(kind.value_type)
        plain = ("null", "boolean", "integer", "float32", "float64", "decimal", "date", "time", "timestamp")
        if self.format not in _TEXT or any(getattr(types, f"is_{name}")(kind) for name in plain):
            return kind
        return pa.large_string()

    def _converted(self, rows: Any) -> Any:
        """Return a batch as it is stored."""
        columns = [
            self._guarded(_as_type(column, kind)) for column, kind in zip(rows.columns, self._stored.types, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._stored)

    def _guarded(self, column: Any) -> Any:
        """Return a column, in text tables with formulas guarded."""
        text = self.format in _TEXT and pa.types.is_large_string(column.type)
        return guarded(column, self._delimiter) if self.safe and text else column

    def _holds(self, schema: Any) -> bool:
        """Return whether the format has types for the columns."""
        try:
            self._opened(io.BytesIO(), self._stored_schema(schema)).close()
        except pa.ArrowException:
            return False
        return True

    def _finish(self) -> None:
        assert self._file is not None
        if self.schema is None:
            raise TableError(f"Nothing was written to {self.label}.", advice="Write a batch, or pass 'schema'.")
        self._start()
        for part in (self._arrow, self._zipped):
            if part is not None:
                part.close()
        self._file.commit()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Turn errors of the file system and of pyarrow into one line; a closed pipe is the reader's choice."""
        try:
            yield
        except (BrokenPipeError, MemoryError):
            raise
        except OSError as error:
            said = error.strerror or " ".join(str(error).split())
            problem = f"{self.label} cannot be written: {said}."
            raise TableError(problem, advice="Check the folder and the space left.") from None
        except pa.ArrowException as error:
            said = " ".join(str(error).split()).rstrip(".")[:200]
            advice = "Write batches of the same types." if self.format in _TEXT else _AS_TEXT
            raise TableError(f"{self.label} cannot be written as {self.format}: {said}.", advice=advice) from None


def _as_type(column: Any, kind: Any) -> Any:
    """Return a column as another type; what is no text, such as lists, as Python shows it."""
    if column.type == kind:
        return column
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        return column.cast(kind)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # lists, bytes that are no text
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], kind)
