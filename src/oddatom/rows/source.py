"""What a fit needs to know of rows, wherever they are: blocks in a fixed order, and shards made of them.

A new place for rows (an array, files, a cluster, a device) is one subclass with `map`, `group` and `select`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oddatom.coding import Codes
from oddatom.coding.histograms import CodeHistograms
from oddatom.coding.statistics import CodeStatistics
from oddatom.passes import ShardGroup
from oddatom.rows import blocks as passes
from oddatom.rows.row_map import RowMap
from oddatom.scaling.column_statistics import Kind
from oddatom.scaling.linear import Scaling

KEPT_ROWS = 2**20


class Source(ABC):
    """N raw rows of m features, in blocks whose order and sizes are fixed.

    Attributes
    ----------
    sizes : list of int
        Rows of every block, zeros included.
    n_features : int
    feature_names : list of str or None
        Of a frame's columns.
    weights : (N,) array or None
        How often each row counts; None where each counts once.
    """

    sizes: list[int]
    n_features: int
    feature_names: list[str] | None = None
    weights: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(N, m)."""
        return sum(self.sizes), self.n_features

    @abstractmethod
    def map(self, function: Callable[..., Any], *args: Any, pieces: Sequence[Any] | None = None) -> list[Any]:
        """Return `function(rows, *args)` of every block, in order; with `pieces` `function(rows, piece, *args)`.

        `rows` is a float64 array (block size × m), C-ordered, not to be written to. The function and what it is given
        can be pickled; the source may call it elsewhere, or for several blocks at once.
        """

    @abstractmethod
    def group(self, row_map: RowMap, shard: str) -> ShardGroup[Any]:
        """Return shards of the rows that `row_map` makes: "sparse" as `LocalShard`, "pairs" as `PairShard`.

        The group has `close()`, which frees what it holds.
        """

    @property
    def keeps_rows(self) -> bool:
        """Whether a fit keeps what has an entry for every row: of rows that are not here, only if they are not many."""
        return self.shape[0] <= KEPT_ROWS

    def nonzero(self, row_map: RowMap) -> np.ndarray:
        """Return which of the learner's rows are not zero."""
        return np.concatenate(self.map(passes.nonzero, row_map))

    def weighted(self, row_map: RowMap, A: np.ndarray) -> np.ndarray:
        """Return A Y, coefficients over all rows times the learner's rows."""
        pieces = np.split(A, np.cumsum(self.sizes)[:-1], axis=1)
        return sum(self.map(passes.weighted, row_map, pieces=pieces))

    def held_codes(self, group: ShardGroup[Any]) -> Codes | None:
        """Return the codes that a group of this source has made last, where they are in this process."""
        return None

    @abstractmethod
    def select(self, keep: np.ndarray) -> Source:
        """Return the rows of a mask, (N,), as a source of the same place; it lives as long as this one."""

    def take(self, indices: np.ndarray) -> np.ndarray:
        """Return raw rows by their numbers, in the order asked for."""
        indices = np.asarray(indices, dtype=np.int64)
        ends = np.cumsum(self.sizes)
        block = np.searchsorted(ends, indices, side="right")
        pieces = [indices[block == b] - (ends[b] - size) for b, size in enumerate(self.sizes)]
        found = np.concatenate([np.empty((0, self.n_features)), *self.map(passes.take, pieces=pieces)])
        out = np.empty((indices.size, self.n_features))
        out[np.argsort(block, kind="stable")] = found
        return out

    def check_finite(self, *, missing: bool = False) -> None:
        """Refuse columns with infinity, and with NaN unless that is a missing value."""
        if missing:
            passes.check_infinite(self)
        else:
            passes.check_extent(self)

    def fit_scaling(self, kind: Kind) -> Scaling:
        """Return the scaling of all rows, see `fit_columns`; refuse NaN and infinity by column."""
        return passes.fit_scaling(self, kind)

    def code_statistics(self, detector: Any) -> CodeStatistics:
        """Return how the rows use the atoms of a detector that is fitted but for its scores."""
        return passes.code_statistics(self, detector)

    def code_histograms(self, detector: Any) -> CodeHistograms:
        """Return the histograms of the codes that scoring="loda" takes, of such a detector."""
        return passes.code_histograms(self, detector)

    def sorted_scores(self, detector: Any) -> np.ndarray:
        """Return the scores of all rows, sorted, of a detector that is fitted but for its threshold."""
        return np.sort(np.concatenate(self.map(passes.scores, detector)))

    def close(self) -> None:  # noqa: B027  most hold nothing
        """Free what the source holds."""
