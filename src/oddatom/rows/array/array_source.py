"""Rows of one array in this process: the source whose rows, codes and scores are all at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oddatom.coding import Codes
from oddatom.passes import ShardGroup, SweepPasses, by_kind
from oddatom.rows.array.pair_shard import PairShard
from oddatom.rows.array.sparse_shard import LocalShard
from oddatom.rows.array.weighted_shard import WeightedShard
from oddatom.rows.row_map import RowMap
from oddatom.rows.source import Source
from oddatom.scaling.array_columns import fit_scaling
from oddatom.scaling.column_statistics import Kind
from oddatom.scaling.linear import Scaling

SHARDS = by_kind(LocalShard, PairShard)
WEIGHTED: dict[str, Callable[[np.ndarray, np.ndarray], SweepPasses]] = {"sparse": WeightedShard}


class ArraySource(Source):
    """One block, which is never copied but to scale it; the learner's rows are made once.

    Parameters
    ----------
    X : (N, m)
        Finite, float64.
    weights : (N,), optional
        How often each row counts.
    """

    keeps_rows = True

    def __init__(self, X: np.ndarray, weights: np.ndarray | None = None) -> None:
        self.X, self.weights = np.ascontiguousarray(X), weights
        self.sizes, self.n_features = [X.shape[0]], X.shape[1]
        self._made: tuple[RowMap, np.ndarray] | None = None  # the learner's rows made last

    def map(self, function: Callable[..., Any], *args: Any, pieces: Sequence[Any] | None = None) -> list[Any]:
        """Return function(rows, *args), in a list; with `pieces` function(rows, piece, *args)."""
        return [function(self.X, *args) if pieces is None else function(self.X, pieces[0], *args)]

    def group(self, row_map: RowMap, shard: str) -> ShardGroup[SweepPasses]:
        """Return one shard of the learner's rows."""
        Y = self.learner_rows(row_map)
        return ShardGroup([SHARDS[shard](Y) if self.weights is None else WEIGHTED[shard](Y, self.weights)])

    def select(self, keep: np.ndarray) -> ArraySource:
        """Return the rows of a mask, with their weights."""
        return ArraySource(self.X[keep], None if self.weights is None else self.weights[keep])

    def check_finite(self, *, missing: bool = False) -> None:
        """Nothing is left to check: the rows were when they were taken in."""

    def take(self, indices: np.ndarray) -> np.ndarray:
        """Return raw rows by their numbers, in the order asked for."""
        return self.X[indices]

    def fit_scaling(self, kind: Kind) -> Scaling:
        """Return the scaling of the rows by their weights."""
        scaling, Y = fit_scaling(self.X, kind, self.weights)
        self._made = RowMap(scaling), Y
        return scaling

    def learner_rows(self, row_map: RowMap) -> np.ndarray:
        """Return all rows as the learner takes them, not to be written to."""
        if self._made is None or not row_map.is_same(self._made[0]):
            Y, start = self.X, RowMap(row_map.scaling)
            if self._made is not None and start.is_same(self._made[0]):
                Y = self._made[1]
            elif row_map.scaling.center is not None or row_map.scaling.scale != 1.0:
                Y = start(self.X)
            if row_map.kernel_map is not None:
                Y = row_map.kernel_map.apply(Y)
            self._made = row_map, Y
        return self._made[1]

    def nonzero(self, row_map: RowMap) -> np.ndarray:
        """Return which of the learner's rows are not zero."""
        Y = self.learner_rows(row_map)
        return np.einsum("ij,ij->i", Y, Y) > 0

    def weighted(self, row_map: RowMap, A: np.ndarray) -> np.ndarray:
        """Return A Y, coefficients over all rows times the learner's rows."""
        return A @ self.learner_rows(row_map)

    def held_codes(self, group: ShardGroup[Any]) -> Codes:
        """Return the codes that a group of this source has made last."""
        return group.map(SweepPasses.last_codes)[0]
