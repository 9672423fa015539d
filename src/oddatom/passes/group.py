"""Where the rows live: a shard answers small questions, a group of shards adds up the answers."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, ClassVar, Generic, TypeVar

from oddatom.passes.meter import Meter, n_bytes

S = TypeVar("S")


class ShardGroup(Generic[S]):
    """Shards in a fixed order, spoken to as one.

    Nothing in `learners/` knows how many shards there are or where they are. A shard on a GPU or on another
    machine has the methods of `LocalShard`; a group that reaches it overrides `_ask`.

    Attributes
    ----------
    meter : Meter
        Rounds, bytes and seconds so far. Of shards in this process, bytes are what messages to them would hold.
    """

    can_lose: ClassVar[bool] = False  # whether shards may be lost for good in the middle of a fit (`WorkerLostError`)

    def __init__(self, shards: Sequence[S]) -> None:
        if not shards:
            raise ValueError("A ShardGroup needs at least one shard. Got none; put the rows into one LocalShard.")
        self.shards = list(shards)
        self.meter = Meter()

    def map(self, method: str, *args: Any) -> list[Any]:
        """Ask every shard the same; return the answers in the order of the shards."""
        return self._round(method, args, None)

    def map_reduce(self, method: str, *args: Any) -> Any:
        """Ask every shard the same and add up the answers (tuples of arrays or numbers), first shard first."""
        answers = self._round(method, args, None)
        total = answers[0]
        for answer in answers[1:]:
            total = tuple(t + x for t, x in zip(total, answer, strict=True))
        return total

    def scatter(self, method: str, pieces: Sequence[Any], *args: Any) -> list[Any]:
        """Hand the k-th piece to the k-th shard."""
        return self._round(method, args, pieces)

    def close(self) -> None:
        """Free what the shards hold; the group answers no more."""
        self.shards = []

    def _round(self, method: str, args: tuple[Any, ...], pieces: Sequence[Any] | None) -> list[Any]:
        started = perf_counter()
        answers, sent, received = self._ask(method, args, pieces)
        self.meter.add(method, sent, received, perf_counter() - started)
        return answers

    def _ask(self, method: str, args: tuple[Any, ...], pieces: Sequence[Any] | None) -> tuple[list[Any], int, int]:
        """Return the answers in the order of the shards, and the bytes sent and received."""
        if pieces is None:
            answers = [getattr(shard, method)(*args) for shard in self.shards]
            sent = len(self.shards) * n_bytes(args)
        else:
            answers = [getattr(s, method)(p, *args) for s, p in zip(self.shards, pieces, strict=True)]
            sent = len(self.shards) * n_bytes(args) + n_bytes(pieces)
        return answers, sent, n_bytes(answers)
