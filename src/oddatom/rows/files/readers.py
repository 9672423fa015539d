"""Rows of files, a piece at a time: Parquet, .npy, memory maps.

A reader knows how many rows and columns there are before it reads any, and refuses what is no finite number, naming
file and column; NaN may be a missing value.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from oddatom.exceptions import OddAtomError, TableError

LET_ALONE = "Let files alone while they are read."


class Reader(ABC):
    """N rows of m columns."""

    n_rows: int
    n_features: int
    names: list[str] | None = None
    missing = False  # whether NaN, and null, is allowed

    @abstractmethod
    def pieces(self, most: int) -> Iterator[np.ndarray]:
        """Yield the rows in order, as float64 arrays of at most so many rows."""

    def _check(self, rows: np.ndarray, file: str, start: int) -> np.ndarray:
        """Return the rows, which start at row `start` of the file, if all numbers are finite or may be missing."""
        wrong = np.isinf(rows) if self.missing else ~np.isfinite(rows)
        if wrong.any():
            j, f = np.argwhere(wrong)[0]
            column = f"column {f}" if self.names is None else f"column {self.names[f]!r}"
            raise OddAtomError(
                f"{file} has {rows[j, f]} in {column}, row {start + j} (from 0).",
                parameter="X",
                value=rows[j, f],
                advice="Replace infinity by what it stands for, NaN where that is nothing."
                if self.missing
                else "Fill missing values in or drop those rows or columns.",
            )
        return rows


class ParquetReader(Reader):
    """Parquet files with the same columns, all of numbers."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = list(paths)
        self._lengths = []
        for path in self._paths:
            with self._open(path) as file:
                columns = _number_columns(file.schema_arrow, path)
                self._lengths.append(file.metadata.num_rows)
            if self.names is None:
                self.names = columns
            elif set(columns) != set(self.names):
                odd = sorted(set(columns) ^ set(self.names))[0]
                raise _wrong(
                    f"The files must have the same columns, but {odd!r} is in only one of {self._paths[0]} and {path}.",
                    path,
                    "Write them alike, or pass those that are.",
                )
        self.n_rows, self.n_features = sum(self._lengths), len(self.names or [])

    def _open(self, path: str) -> Any:
        from oddatom.arrays.arrow import pa

        try:
            return pa.parquet.ParquetFile(path, pre_buffer=False, buffer_size=2**16)
        except FileNotFoundError:
            raise FileNotFoundError(
                f"There is no file {path}. Check the path, or pass rows instead of files."
            ) from None
        except pa.ArrowInvalid as error:
            raise _wrong(f"{path} is no Parquet file ({error}).", path, "Pass Parquet or .npy files.") from None

    def pieces(self, most: int) -> Iterator[np.ndarray]:
        """Yield the rows, file by file."""
        assert self.names is not None
        for path, length in zip(self._paths, self._lengths, strict=True):
            start = 0
            with self._open(path) as file:
                for batch in file.iter_batches(
                    most, columns=self.names, use_threads=False
                ):  # numba's threads are the ones asked for
                    rows = np.empty((batch.num_rows, self.n_features))
                    for f, name in enumerate(self.names):
                        rows[:, f] = column_numbers(batch.column(name))
                    yield self._check(rows, path, start)
                    start += batch.num_rows
            if start != length:
                raise _wrong(f"{path} had {length} rows and now has {start}.", path, LET_ALONE)


class NpyReader(Reader):
    """.npy files of two-dimensional arrays with equally many columns."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._parts: list[tuple[str, Any, int, Any]] = []
        for path in paths:
            with open(path, "rb") as file:
                try:
                    old = np.lib.format.read_magic(file) == (1, 0)
                    read = np.lib.format.read_array_header_1_0 if old else np.lib.format.read_array_header_2_0
                    shape, by_column, dtype = read(file)
                except ValueError as error:
                    raise _wrong(f"{path} is no .npy file: {error}.", path, "Pass Parquet or .npy files.") from None
                offset = file.tell()
            if len(shape) != 2 or dtype.kind not in "fiub" or by_column:
                order = "columns first" if by_column else "rows first"
                raise _wrong(
                    f"{path} must hold a two-dimensional array of numbers, rows first. It holds {dtype} of shape "
                    f"{shape}, {order}",
                    path,
                    "save np.ascontiguousarray of it.",
                )
            if self._parts and shape[1] != self.n_features:
                raise _wrong(
                    f"The files must have equally many columns, but {paths[0]} has {self.n_features} and {path} has "
                    f"{shape[1]}.",
                    path,
                    "Pass those that are alike.",
                )
            self.n_features = shape[1]
            self._parts.append((path, dtype, offset, shape))
        self.n_rows = sum(shape[0] for *_, shape in self._parts)

    def pieces(self, most: int) -> Iterator[np.ndarray]:
        """Yield the rows, file by file."""
        for path, dtype, offset, (length, m) in self._parts:
            with open(path, "rb") as file:  # read, not mapped: a map of the whole may not fit the address space
                file.seek(offset)
                for start in range(0, length, most):
                    size = min(most, length - start)
                    rows = np.fromfile(file, dtype, size * m)
                    if rows.size < size * m:
                        end = start + rows.size // max(m, 1)
                        raise _wrong(f"{path} ends at row {end} of {length}.", path, "Save it again.")
                    yield self._check(rows.reshape(size, m).astype(np.float64, copy=False), path, start)


class ArrayReader(Reader):
    """A memory map, or another array that is not to be copied as a whole."""

    def __init__(self, array: np.ndarray) -> None:
        if array.ndim != 2 or array.dtype.kind not in "fiub":
            problem = f"Expected a two-dimensional array of numbers. Got {array.dtype} of shape {array.shape} instead."
            raise OddAtomError(problem, parameter="X", value=array)
        self._array = array
        self._name = str(getattr(array, "filename", None) or "The array")
        self.n_rows, self.n_features = array.shape

    def pieces(self, most: int) -> Iterator[np.ndarray]:
        """Yield the rows."""
        for start in range(0, self.n_rows, most):
            rows = np.array(self._array[start : start + most], dtype=np.float64, order="C", subok=False)
            yield self._check(rows, self._name, start)


class SparseReader(Reader):
    """A sparse matrix, made dense a piece at a time."""

    def __init__(self, matrix: Any) -> None:
        self._rows = matrix.tocsr()
        self.n_rows, self.n_features = matrix.shape

    def pieces(self, most: int) -> Iterator[np.ndarray]:
        """Yield the rows."""
        for start in range(0, self.n_rows, most):
            rows = np.ascontiguousarray(self._rows[start : start + most].toarray(), dtype=np.float64)
            yield self._check(rows, "The matrix", start)


def column_numbers(column: Any) -> np.ndarray:
    """Return a column of Arrow's as numbers, NaN where there is nothing."""
    values = np.asarray(column)
    if column.null_count and values.dtype == object:  # booleans with nothing among them
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return values


def open_rows(data: Any, *, missing: bool = False) -> Reader:
    """Open an array, a sparse matrix, the path of a file, or a list of paths; NaN may be `missing`, or is refused."""
    reader = _open(data)
    reader.missing = missing
    return reader


def _open(data: Any) -> Reader:
    if scipy.sparse.issparse(data):
        return SparseReader(data)
    if isinstance(data, np.ndarray):
        return ArrayReader(data)
    paths = [os.fspath(path) for path in ([data] if isinstance(data, str | os.PathLike) else data)]
    if not paths:
        raise _wrong("Expected the paths of Parquet or .npy files. Got an empty list.", paths, "Name at least one.")
    for path in paths:
        if not os.path.exists(path):
            raise FileNotFoundError(f"There is no file {path}. Check the path.")
        if os.path.isdir(path):
            raise IsADirectoryError(f"{path} is a folder. Pass the list of the files in it.")
    npy = [path.endswith(".npy") for path in paths]
    if any(npy) and not all(npy):
        problem = f"Files must be of one kind. Got {paths[npy.index(True)]} and {paths[npy.index(False)]}."
        raise _wrong(problem, paths, "Pass those of one kind.")
    return NpyReader(paths) if npy[0] else ParquetReader(paths)


def _number_columns(schema: Any, path: str) -> list[str]:
    """Names of the columns, which must be numbers, less the index of a pandas frame."""
    from oddatom.arrays.arrow import pa

    described = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    index = {name for name in described.get("index_columns", []) if isinstance(name, str)}
    names = [name for name in schema.names if name not in index]
    for name in names:
        if names.count(name) > 1:
            raise _wrong(f"{path} has two columns named {name!r}.", path, "Rename one.")
        kind = schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise _wrong(
                f"Column {name!r} of {path} is {kind}, not a number.",
                path,
                "Drop it, or make numbers of it (oddatom.table does).",
            )
    return names


def _wrong(problem: str, file: Any, advice: str) -> TableError:
    return TableError(problem, parameter="X", value=file, advice=advice)
