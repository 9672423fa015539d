"""The passes over rows that a fit asks for, and the group of shards that answers them."""

from oddatom.passes.group import ShardGroup

__all__ = ["ShardGroup"]
