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
from oddatom.exceptions import ParameterError, TableError
from oddatom.table._arrow import pa
from oddatom.table.csv_lines import csv_header, csv_lines
from oddatom.table.reading import FORMATS, KINDS
from oddatom.table.wording import some

ROWS = 65_536  # written at once
_AS_TEXT = "Name a .csv file, which holds them as text."


class TableWriter:
    """Write record batches to a file that appears when it is whole.

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
        self._arrow: Any = None
        self._started = False

    def __enter__(self) -> Self:
        with self._told():
            self._file = AtomicFile(self.path)
            if self.format in ("csv", "tsv") and self.path.lower().endswith(".gz"):
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
            raise TableError(f"{self.label} cannot hold the columns {named}. {_AS_TEXT}")

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
                f"A batch for {self.label} has the columns {batch.schema.names} instead of {self.schema.names}. "
                "Write batches of the same columns."
            )
        table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
        with self._told():
            self._start()
            table = table.cast(self.schema)
            for rows in self._decoded(table).to_batches(ROWS):
                if self._arrow is not None:
                    self._arrow.write_batch(rows)
                else:
                    self._sink.write(csv_lines(rows, self._delimiter, self.safe))

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
        if kind is None or (name.endswith(".gz") and kind not in ("csv", "tsv")):
            raise TableError(
                f"{self.label} has no extension that says how to write it ({', '.join(FORMATS)}; text also as .gz).",
                advice="Rename it or pass {format}.",
                options={"format": None},
            )
        return kind

    def _start(self) -> None:
        """Write what comes before the first row."""
        if self._started:
            return
        self._started = True
        if self.format in ("parquet", "arrow"):
            self.check(self.schema)
            self._arrow = self._opened(self._sink, self.schema)
        else:
            self._sink.write(csv_header(self.schema.names, self._delimiter, self.safe))

    def _opened(self, sink: Any, schema: Any) -> Any:
        """Return a writer of pyarrow."""
        schema = pa.schema([field.with_type(self._stored(field.type)) for field in schema])
        if self.format == "parquet":
            return pa.parquet.ParquetWriter(sink, schema)
        return (pa.ipc.new_stream if self.path == "-" else pa.ipc.new_file)(sink, schema)

    def _stored(self, kind: Any) -> Any:
        """Return the type that a column is stored as.

        The dictionaries of an Arrow file may not change from batch to batch; parquet knows none of lists.
        """
        decoded = pa.types.is_dictionary(kind) and (self.format == "arrow" or pa.types.is_nested(kind.value_type))
        return kind.value_type if decoded else kind

    def _decoded(self, table: Any) -> Any:
        """Return a table with columns of the types that are stored."""
        for i, field in enumerate(table.schema):
            kind = self._stored(field.type)
            if kind != field.type:
                chunks = [chunk.dictionary_decode() for chunk in table.column(i).chunks]
                table = table.set_column(i, field.name, pa.chunked_array(chunks, kind))
        return table

    def _holds(self, schema: Any) -> bool:
        """Return whether the format has types for the columns."""
        if self.format in ("csv", "tsv"):
            return True
        try:
            self._opened(io.BytesIO(), schema).close()
        except pa.ArrowException:
            return False
        return True

    def _finish(self) -> None:
        assert self._file is not None
        if self.schema is None:
            raise TableError(f"Nothing was written to {self.label}. Write a batch, or pass 'schema'.")
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
            raise TableError(f"{self.label} cannot be written: {said}. Check the folder and the space left.") from None
        except pa.ArrowException as error:
            said = " ".join(str(error).split()).rstrip(".")[:200]
            advice = "Write batches of the same types." if self.format in ("csv", "tsv") else _AS_TEXT
            raise TableError(f"{self.label} cannot be written as {self.format}: {said}. {advice}") from None
