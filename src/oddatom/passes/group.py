"""A group of shards, spoken to as one: it asks every shard for a pass and adds up the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, ClassVar, Concatenate, Generic, ParamSpec, TypeVar

from oddatom.passes.declared import Pass, declared
from oddatom.passes.meter import Meter, n_bytes

S_co = TypeVar("S_co", covariant=True)
P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")


class ShardGroup(Generic[S_co]):
    """Shards in a fixed order. A pass is named by its method in a protocol: `group.sum(SweepPasses.moments, i, d, k)`.

    Drivers know neither how many shards there are nor where they are. A group that reaches shards elsewhere overrides
    `_ask`.

    Attributes
    ----------
    meter : Meter
        Rounds, bytes and seconds so far. Of shards in this process, bytes are what messages to them would hold.
    """

    can_lose: ClassVar[bool] = False  # whether shards may be lost for good in the middle of a fit (`WorkerLostError`)

    def __init__(self, shards: Sequence[S_co]) -> None:
        if not shards:
            raise ValueError("A ShardGroup needs at least one shard. Got none; put the rows into one LocalShard.")
        self.shards: Sequence[S_co] = list(shards)
        self.meter = Meter()

    def map(self, method: Callable[Concatenate[S_co, P], T], *args: P.args, **kwargs: P.kwargs) -> list[T]:
        """Ask every shard the same; return the answers in the order of the shards."""
        _refuse(kwargs)
        return self._round(declared(method), args, None)

    def sum(self, method: Callable[Concatenate[S_co, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Ask every shard the same and add up the answers (tuples of arrays or numbers), first shard first."""
        _refuse(kwargs)
        answers = self._round(declared(method), args, None)
        total = answers[0]
        for answer in answers[1:]:
            total = tuple(t + x for t, x in zip(total, answer, strict=True))
        return total

    def scatter(
        self, method: Callable[Concatenate[S_co, A, P], T], pieces: Sequence[A], *args: P.args, **kwargs: P.kwargs
    ) -> list[T]:
        """Hand the k-th piece to the k-th shard."""
        _refuse(kwargs)
        return self._round(declared(method), args, pieces)

    def close(self) -> None:
        """Free what the shards hold; the group cannot be used afterwards."""
        self.shards = []

    def _round(self, declaration: Pass, args: tuple[Any, ...], pieces: Sequence[Any] | None) -> list[Any]:
        started = perf_counter()
        answers, sent, received = self._ask(declaration.name, args, pieces)
        self.meter.add(declaration.phase, sent, received, perf_counter() - started)
        return answers

    def _ask(self, name: str, args: tuple[Any, ...], pieces: Sequence[Any] | None) -> tuple[list[Any], int, int]:
        """Return the answers in the order of the shards, and the bytes sent and received."""
        if pieces is None:
            answers = [getattr(shard, name)(*args) for shard in self.shards]
            sent = len(self.shards) * n_bytes(args)
        else:
            answers = [getattr(s, name)(p, *args) for s, p in zip(self.shards, pieces, strict=True)]
            sent = len(self.shards) * n_bytes(args) + n_bytes(pieces)
        return answers, sent, n_bytes(answers)


def _refuse(kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise TypeError(f"Passes take arguments by position. Got {', '.join(kwargs)} by name.")
