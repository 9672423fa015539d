"""Rows in files (Parquet, .npy) or in a memory map: read in blocks, and worked on out of core where they are many."""

from __future__ import annotations

import copy
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from oddatom.arrays.memory import usable_memory
from oddatom.coding.statistics import CodeStatistics, statistics_of
from oddatom.exceptions import TableError
from oddatom.passes.group import ShardGroup
from oddatom.rows import blocks as passes
from oddatom.rows.array.array_source import SHARDS
from oddatom.rows.files.readers import LET_ALONE, open_rows
from oddatom.rows.files.spilled import SpilledGroup, SpilledShard
from oddatom.rows.row_map import RowMap
from oddatom.rows.source import Source

BLOCK = 2**25  # bytes of the rows in a block; at most 1/64 of the memory
MOST_ROWS = 2**16  # of a block: the coordinates of a kernel are wider than the rows
PIECE = 2**23  # bytes of rows read at a time, at most
ROOM = 8  # a fit takes three to five times the room of its rows, and is not alone on the machine


class FileSource(Source):
    """Blocks of rows that are read from files whenever they are asked for.

    Shards are kept in memory where eight times the rows fit there, else in scratch files (see `SpilledShard`).

    Parameters
    ----------
    data : path, list of paths, or array
        Parquet files with the same columns, all of numbers, .npy files, a memory-mapped array, or a sparse matrix.
    block_rows : int, optional
        Rows of a block.
    folder : path, optional
        Where the scratch files go; None takes TMPDIR, then /var/tmp, then the system's folder for temporary files.
    spill : bool, optional
        Whether to use scratch files; None decides by the memory there is.
    missing : bool
        Whether NaN is a missing value, and not refused.
    """

    def __init__(
        self,
        data: Any,
        *,
        block_rows: int | None = None,
        folder: str | Path | None = None,
        spill: bool | None = None,
        missing: bool = False,
    ) -> None:
        self._reader = open_rows(data, missing=missing)
        self.n_features = self._reader.n_features
        self.feature_names = self._reader.names
        memory = usable_memory()
        n_rows, row = self._reader.n_rows, 8 * max(self.n_features, 1)
        size = max(1, min(min(BLOCK, memory // 64) // row, MOST_ROWS)) if block_rows is None else block_rows
        self.sizes = self._read_sizes = [min(size, n_rows - start) for start in range(0, n_rows, size)]
        self._keep: np.ndarray | None = None  # which rows of the files are rows of this source; None: all
        self._spill, self._memory = spill, memory
        self._folder = _scratch_folder() if folder is None else Path(folder)

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the blocks, read anew; the arrays are the caller's."""
        pieces = self._reader.pieces(
            max(1, min(PIECE // (8 * max(self.n_features, 1)), max(self._read_sizes, default=1)))
        )
        piece = np.empty((0, self.n_features))
        start = 0
        for size in self._read_sizes:
            block = np.empty((size, self.n_features))
            filled = 0
            while filled < size:
                if not piece.shape[0]:
                    piece = next(pieces)
                n = min(size - filled, piece.shape[0])
                block[filled : filled + n] = piece[:n]
                piece, filled = piece[n:], filled + n
            yield block if self._keep is None else block[self._keep[start : start + size]]
            del block
            start += size
        if piece.shape[0] or next(pieces, None) is not None:
            problem = "The last file has more rows than when it was opened."
            raise TableError(problem, parameter="X", advice=LET_ALONE)

    def map(self, function: Callable[..., Any], *args: Any, pieces: Sequence[Any] | None = None) -> list[Any]:
        """Return function(rows, *args) of every block, in order; with `pieces` function(rows, piece, *args)."""
        if pieces is None:
            return [function(rows, *args) for rows in self.blocks()]
        return [function(rows, piece, *args) for rows, piece in zip(self.blocks(), pieces, strict=True)]

    def group(self, row_map: RowMap, shard: str) -> ShardGroup[Any]:
        """Return shards of the rows that `row_map` makes, one a block; `close` removes their scratch files."""
        make = SHARDS[shard]
        width = self.n_features if row_map.kernel_map is None else row_map.kernel_map.T.shape[1]
        if not (ROOM * 8 * self.shape[0] * width > self._memory if self._spill is None else self._spill):
            return SpilledGroup(self.map(lambda rows: make(row_map(rows))))
        self._check_room(width)
        return SpilledGroup(self.map(lambda rows: SpilledShard(lambda: make(row_map(rows)), self._folder)))

    def select(self, keep: np.ndarray) -> FileSource:
        """Return the rows of a mask; they are read with the others."""
        view = copy.copy(self)
        view._keep = np.ones(sum(self._read_sizes), bool) if self._keep is None else self._keep.copy()
        view._keep[view._keep] = keep
        view.sizes = [int(part.sum()) for part in np.split(view._keep, np.cumsum(self._read_sizes)[:-1])]
        return view

    def code_statistics(self, detector: Any) -> CodeStatistics:
        """Return how the rows use the atoms; one array over all rows at a time."""
        n, m = detector.components_.shape
        counts, squares, residuals, s = np.zeros(n, np.int64), np.zeros(n), np.empty(self.shape[0]), 1
        for end, rows in zip(np.cumsum(self.sizes), self.blocks(), strict=True):
            used, square, residual, slots = passes.coded(rows, detector)
            s = max(s, slots)  # a block without rows has one
            counts += used
            squares += square
            residuals[end - rows.shape[0] : end] = residual
        return statistics_of(counts, squares, residuals, s, m, overwrite=True)

    def sorted_scores(self, detector: Any) -> np.ndarray:
        """Return the scores of all rows, sorted; one array over all rows at a time."""
        out = np.empty(self.shape[0])
        for end, rows in zip(np.cumsum(self.sizes), self.blocks(), strict=True):
            out[end - rows.shape[0] : end] = passes.scores(rows, detector)
        out.sort()
        return out

    def _check_room(self, width: int) -> None:
        """Refuse to start where not even the rows and their residuals have room."""
        needed, free = 16 * self.shape[0] * width, shutil.disk_usage(self._folder).free
        if needed > free:
            raise OSError(
                f"Rows larger than memory need scratch files of at least {needed / 1e9:.3g} GB, and {self._folder} has "
                f"{free / 1e9:.3g} GB free. Set TMPDIR to a folder on a larger disk."
            )


def too_large(shape: tuple[int, ...]) -> bool:
    """Whether a fit to so many dense rows at once would not fit in memory."""
    return ROOM * 8 * math.prod(shape) > usable_memory()


def _scratch_folder() -> Path:
    """A folder for large files: /tmp often is in memory."""
    large = Path("/var/tmp")
    if "TMPDIR" not in os.environ and large.is_dir() and os.access(large, os.W_OK):
        return large
    return Path(tempfile.gettempdir())
