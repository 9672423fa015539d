"""A source over arrays in memory, the simplest there is."""

import numpy as np

from oddatom.passes.group import ShardGroup
from oddatom.rows import Source
from oddatom.rows.array import LocalShard, PairShard

SHARDS = {"sparse": LocalShard, "pairs": PairShard}


class BlockSource(Source):
    """Blocks of an array, a shard for each."""

    def __init__(self, X, ends=()):
        self.blocks = [np.ascontiguousarray(block) for block in np.split(X, ends)]
        self.sizes = [block.shape[0] for block in self.blocks]
        self.n_features = X.shape[1]

    def map(self, function, *args, pieces=None):
        if pieces is None:
            return [function(block, *args) for block in self.blocks]
        return [function(block, piece, *args) for block, piece in zip(self.blocks, pieces, strict=True)]

    def group(self, row_map, shard):
        return ShardGroup([SHARDS[shard](row_map(block)) for block in self.blocks])

    def select(self, keep):
        picked = BlockSource.__new__(BlockSource)
        masks = np.split(keep, np.cumsum(self.sizes)[:-1])
        picked.blocks = [block[mask] for block, mask in zip(self.blocks, masks, strict=True)]
        picked.sizes = [block.shape[0] for block in picked.blocks]
        picked.n_features = self.n_features
        return picked
