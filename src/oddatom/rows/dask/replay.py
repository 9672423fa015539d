"""The calls that have made a shard what it is, so that a lost one can be made again, bit for bit.

Every call that changes a shard is kept until later calls have overwritten all that it left behind, by what the passes
declare to read, overwrite and change in place (`oddatom.passes`).
"""

from __future__ import annotations

from typing import NamedTuple

from oddatom.passes.declared import PASSES, STATE


class Call(NamedTuple):
    """A call of every shard: its method, its arguments, and each shard's own piece, all pickled."""

    method: str
    args: bytes
    pieces: tuple[bytes, ...] | None = None


class Log:
    """Calls in their order, less those that no longer matter."""

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._limit = 64

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, call: Call) -> None:
        """Keep a call that has been answered by every shard."""
        if PASSES[call.method].is_query:
            return
        self._calls.append(call)
        if len(self._calls) > self._limit:
            self._prune()
            self._limit = 2 * len(self._calls) + 64

    def calls(self) -> list[Call]:
        """Return the calls that make a new shard what the others are."""
        self._prune()
        return list(self._calls)

    def _prune(self) -> None:
        """Go backwards; drop a call none of whose effects is still to be seen."""
        seen, kept = set(STATE), []
        for call in reversed(self._calls):
            effect = PASSES[call.method]
            if seen.isdisjoint(effect.writes) and seen.isdisjoint(effect.changes):
                continue
            seen.difference_update(effect.writes)
            seen.update(effect.reads | effect.changes)
            kept.append(call)
        self._calls = kept[::-1]
