"""One class for each format of tables in files: its schema, and batches of its rows."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from oddatom.arrays.arrow import pa
from oddatom.exceptions import TableError
from oddatom.table.columns import DELIMITER, unique_names
from oddatom.table.csv_text import csv_batches, find_layout, unzipped

BROKEN = (pa.ArrowException, OSError, EOFError, zlib.error, UnicodeError)


class Stream:
    """A binary stream: a file, which can be opened again, or a pipe, which is read once."""

    def __init__(self, label: str, path: str | None = None, pipe: Any = None, close: Any = None) -> None:
        self.label = label
        self.path = path
        self._pipe = pipe
        self._close = close

    @property
    def once(self) -> bool:
        """Whether it is a pipe."""
        return self.path is None

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Open a file at its start, or go on with a pipe; unzip either."""
        if self.path is not None:
            with open(self.path, "rb") as file:
                yield unzipped(file)
            return
        if self._pipe is None:
            raise TableError(f"{self.label} can be read once.", advice="Save it in a file to read it again.")
        yield self._pipe
        if self._pipe is None and self._close is not None:  # after an error a thread may still read it
            self._close()

    def spent(self) -> None:
        """Say that a pipe has been read."""
        self._pipe = None


class CsvTable:
    """Columns of text."""

    format = "csv"

    def __init__(self, stream: Stream, delimiter: str | None, encoding: str, header: bool = True) -> None:
        self.label = stream.label
        self._stream = stream
        with _damage(self.label, "csv"), stream.opened() as lines:
            self._layout, head = find_layout(lines, self.label, delimiter, encoding, header)
        self.doubt = self._layout.doubt
        self._head = head if stream.once else b""
        told = {DELIMITER: self._layout.delimiter.encode()}
        self.schema = pa.schema([(name, pa.string()) for name in self._layout.names], told)

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """Yield record batches."""
        again = None if self._stream.once else self._stream.opened
        with self._stream.opened() as lines:
            self._stream.spent()
            yield from csv_batches(lines, self._layout, self.label, columns, self._head, again)


class ParquetTable:
    """A parquet file."""

    format = "parquet"

    def __init__(self, path: str, label: str) -> None:
        self.label = label
        self._path = path
        with _damage(label, "parquet"), pa.parquet.ParquetFile(path) as file:
            self._given = file.schema_arrow
            n_rows = file.metadata.num_rows
        if n_rows == 0:
            raise TableError(f"{label} has no rows.", advice="Pass a table with rows.")
        self.schema = _renamed(self._given)

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """Yield record batches."""
        same = self.schema.names == self._given.names
        with _damage(self.label, "parquet"), pa.parquet.ParquetFile(self._path, pre_buffer=False) as file:
            for batch in file.iter_batches(batch_rows, columns=list(columns) if same else None):
                batch.validate(full=True)
                yield batch if same else pa.RecordBatch.from_arrays(batch.columns, names=self.schema.names)


class ArrowTable:
    """An Arrow file (Feather 2) or stream."""

    format = "arrow"

    def __init__(self, stream: Stream) -> None:
        self.label = stream.label
        self._stream = stream
        self._reader: Any = None
        with _damage(self.label, "Arrow"), stream.opened() as source:
            self._is_file = not stream.once and source.peek(6)[:6] == b"ARROW1"
            reader = self._open(source)
            self.schema = _renamed(reader.schema)
            self._reader = reader if stream.once else None  # a pipe's schema has been read now

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """Yield record batches."""
        with _damage(self.label, "Arrow"), self._stream.opened() as source:
            self._stream.spent()
            reader = self._reader or self._open(source)
            each = (reader.get_batch(i) for i in range(reader.num_record_batches)) if self._is_file else reader
            for batch in each:
                batch.validate(full=True)  # nothing else looks whether offsets and text are what they should be
                yield pa.RecordBatch.from_arrays(batch.columns, schema=self.schema)

    def _open(self, source: Any) -> Any:
        return pa.ipc.open_file(source) if self._is_file else pa.ipc.open_stream(source)


def _renamed(schema: Any) -> Any:
    """Return the schema with names that are all different, without metadata."""
    fields = zip(unique_names(schema.names), schema, strict=True)
    return pa.schema([field.with_name(name).remove_metadata() for name, field in fields])


@contextmanager
def _damage(label: str, what: str) -> Iterator[None]:
    """Turn errors of damaged files into one line."""
    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except BROKEN as error:
        said = " ".join(str(error).split()).rstrip(".")[:200]
        raise TableError(
            f"{label} cannot be read as {what}: it is cut off, damaged or something else ({said}).",
            advice="Get it once more, or pass its {format}.",
            options={"format": None},
        ) from None
    except MemoryError:  # which a few damaged bytes can ask for
        raise TableError(
            f"{label} cannot be read as {what}: it asks for more memory than there is.",
            advice="If it is not that large, it is damaged or something else: get it once more, or pass its {format}.",
            options={"format": None},
        ) from None
