"""Where the rows live: a shard answers small questions, a group of shards adds up the answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

S = TypeVar("S")


class ShardGroup(Generic[S]):
    """Shards in a fixed order, spoken to as one.

    Nothing in `learning/` knows how many shards there are or where they are. A shard on a GPU or on another
    machine has the methods of `LocalShard`; a group that reaches it has the three methods below.
    """

    def __init__(self, shards: Sequence[S]) -> None:
        if not shards:
            raise ValueError("A ShardGroup needs at least one shard. Got none; put the rows into one LocalShard.")
        self.shards = list(shards)

    def map(self, method: str, *args: Any) -> list[Any]:
        """Ask every shard the same; return the answers in the order of the shards."""
        return [getattr(shard, method)(*args) for shard in self.shards]

    def map_reduce(self, method: str, *args: Any) -> Any:
        """Ask every shard the same and add up the answers (tuples of arrays or numbers), first shard first."""
        answers = self.map(method, *args)
        total = answers[0]
        for answer in answers[1:]:
            total = tuple(t + x for t, x in zip(total, answer, strict=True))
        return total

    def scatter(self, method: str, pieces: Sequence[Any], *args: Any) -> list[Any]:
        """Hand the k-th piece to the k-th shard."""
        return [getattr(s, method)(p, *args) for s, p in zip(self.shards, pieces, strict=True)]
