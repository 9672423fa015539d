"""The passes over rows that a fit asks for, as types, and the group of shards that answers them."""

from oddatom.passes.group import ShardGroup
from oddatom.passes.protocol import MarginPasses, PairPasses, PlanePasses, SweepPasses, WeightedPasses, by_kind

__all__ = ["MarginPasses", "PairPasses", "PlanePasses", "ShardGroup", "SweepPasses", "WeightedPasses", "by_kind"]
