"""Partitions of Parquet and .npy files: runs of row groups, or of rows, read where they are needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from oddatom.rows.files.readers import column_numbers, open_rows

Part: TypeAlias = tuple[Callable[[], np.ndarray], int]
ROWS = 2**16  # fewest rows of a partition, but for the last of a file


def file_partitions(
    paths: Sequence[str | os.PathLike[str]], rows: int = ROWS
) -> tuple[list[Callable[[], np.ndarray]], list[int], int, list[str] | None]:
    """Return what reads the partitions, their rows, the number of columns, and the columns' names.

    Files are looked into here, and read by the workers: paths must mean the same to both.
    """
    found = [os.path.abspath(os.fspath(path)) for path in paths]
    reader = open_rows(found)  # refuses files that do not go together
    loaders: list[Callable[[], np.ndarray]] = []
    sizes: list[int] = []
    for path in found:
        parts = _npy_parts(path, rows) if reader.names is None else _parquet_parts(path, reader.names, rows)
        for load, size in parts:
            loaders.append(load)
            sizes.append(size)
    return loaders, sizes, reader.n_features, reader.names


def _parquet_parts(path: str, names: list[str], rows: int) -> list[Part]:
    from oddatom.arrays.arrow import pa

    with pa.parquet.ParquetFile(path) as file:
        lengths = [file.metadata.row_group(k).num_rows for k in range(file.metadata.num_row_groups)]
    parts: list[Part] = []
    groups: list[int] = []
    size = 0
    for k, length in enumerate(lengths):
        groups.append(k)
        size += length
        if size >= rows or k == len(lengths) - 1:
            parts.append((partial(read_row_groups, path, tuple(groups), tuple(names)), size))
            groups, size = [], 0
    return parts


def _npy_parts(path: str, rows: int) -> list[Part]:
    n = np.load(path, mmap_mode="r").shape[0]
    return [(partial(read_npy, path, lo, min(lo + rows, n)), min(rows, n - lo)) for lo in range(0, n, rows)]


def read_row_groups(path: str, groups: tuple[int, ...], names: tuple[str, ...]) -> np.ndarray:
    """Return row groups of a Parquet file as float64 rows, NaN where there is nothing."""
    from oddatom.arrays.arrow import pa

    with pa.parquet.ParquetFile(path) as file:
        table = file.read_row_groups(list(groups), columns=list(names), use_threads=False)
    rows = np.empty((table.num_rows, len(names)))
    for f, name in enumerate(names):
        rows[:, f] = column_numbers(table.column(name))
    return rows


def read_npy(path: str, lo: int, hi: int) -> np.ndarray:
    """Return rows lo:hi of a .npy file as float64."""
    return np.array(np.load(path, mmap_mode="r")[lo:hi], dtype=np.float64, order="C")
