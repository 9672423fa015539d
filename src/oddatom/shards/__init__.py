"""Where the rows live. A shard holds rows, codes, residuals and multipliers, and answers with small sums."""

from oddatom.shards.base import ShardGroup
from oddatom.shards.local import LocalShard
from oddatom.shards.one_class import OneClassShard
from oddatom.shards.pairs import PairShard
from oddatom.shards.weighted import WeightedOneClassShard, WeightedShard

__all__ = ["LocalShard", "OneClassShard", "PairShard", "ShardGroup", "WeightedOneClassShard", "WeightedShard"]
