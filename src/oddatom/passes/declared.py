"""What a pass over the rows of a shard declares: its phase, what it reads and changes, and how its answer travels.

The meter goes by the phase, the log by which lost shards are made again by what is read and changed, and the messages
of a cluster by the kind of the answer. A pass is declared once, in `protocol.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

PHASES = ("coding", "atoms", "svm", "other")

# The state of a shard, by parts that passes read and write:
STATE = frozenset(
    {
        "codes",  # sparse codes X and their support
        "residual",  # E = Y − X D
        "multipliers",  # a, of the one-class SVM
        "svm_rows",  # the codes that the one-class SVM sees
        "scale",  # their unit, and the curvature of the boundary
        "margins",  # f, of the rows
        "direction",  # g, along which the margins move
        "distances",  # from the margin
        "band",  # rows nearest the margin
        "hinge",  # the boundary that is fixed while atoms change, and how far outside it rows lie
        "hinge_target",  # r = R d of the atom that is tried
        "pair",  # of the pair that is open, its rows and target
        "basis",  # U, of those rows
        "pair_codes",  # x = U q
        "pair_multipliers",  # τ, of ‖Uq‖₁
        "pair_band",  # rows with x nearest 0
    }
)

F = TypeVar("F", bound=Callable[..., Any])


class Pass(NamedTuple):
    """The declaration of a pass.

    Attributes
    ----------
    name : str
        Of the method of a shard.
    phase : one of PHASES
    reads, writes, changes : sets of STATE
        What its effect depends on, what it overwrites whole, and what it changes in place.
    symmetric : tuple of int
        Positions in the answer of symmetric matrices, or of those whose lower triangle alone is used.
    counts : tuple of int
        Positions of counts, 64-bit integers that are seldom large.
    """

    name: str
    phase: str
    reads: frozenset[str]
    writes: frozenset[str]
    changes: frozenset[str]
    symmetric: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def is_query(self) -> bool:
        """Whether it leaves the shard as it is."""
        return not self.writes and not self.changes


PASSES: dict[str, Pass] = {}


def shard_pass(
    phase: str,
    *,
    reads: str = "",
    writes: str = "",
    changes: str = "",
    symmetric: tuple[int, ...] = (),
    counts: tuple[int, ...] = (),
) -> Callable[[F], F]:
    """Declare a method of a protocol to be a pass; parts of the state are words, with spaces between them."""
    read, written, changed = (frozenset(words.split()) for words in (reads, writes, changes))
    unknown = (read | written | changed) - STATE
    if unknown or phase not in PHASES:
        raise ValueError(f"A pass belongs to one of {PHASES} and names parts of STATE. Got {phase!r}, {set(unknown)}.")

    def declare(method: F) -> F:
        name = method.__name__
        if name in PASSES:
            raise ValueError(f"The pass {name!r} is declared twice; inherit it from the protocol that has it.")
        PASSES[name] = Pass(name, phase, read, written, changed, symmetric, counts)
        return method

    return declare


def declared(method: Callable[..., Any]) -> Pass:
    """Return the declaration of a protocol's method."""
    if method.__name__ not in PASSES:
        raise ValueError(f"{method.__qualname__} is not a declared pass; declare it with shard_pass in a protocol.")
    return PASSES[method.__name__]
