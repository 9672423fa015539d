"""Rows in NumPy arrays of this process: shards whose passes run in numba."""

from oddatom.rows.array.array_source import ArraySource
from oddatom.rows.array.pair_shard import PairShard
from oddatom.rows.array.plane_shard import OneClassShard
from oddatom.rows.array.sparse_shard import LocalShard
from oddatom.rows.array.weighted_shard import WeightedOneClassShard, WeightedShard

__all__ = ["ArraySource", "LocalShard", "OneClassShard", "PairShard", "WeightedOneClassShard", "WeightedShard"]
