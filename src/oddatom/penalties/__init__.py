"""Row penalties β φ(‖x‖): what one atom's codes cost, and how the penalty shrinks them.

A new penalty is one file with one class that has `value` and `prox`, and one line in `PENALTIES`.
"""

from __future__ import annotations

from typing import Protocol

from oddatom.penalties.l2eps import L2Eps
from oddatom.penalties.l20 import L20
from oddatom.penalties.l21 import L21

__all__ = ["L20", "L21", "PENALTIES", "L2Eps", "Penalty", "make_penalty"]


class Penalty(Protocol):
    """β φ(t) for a row of norm t ≥ 0."""

    def value(self, t: float) -> float:
        """Return β φ(t)."""

    def prox(self, t: float) -> float:
        """Return a minimiser of ½(z − t)² + β φ(z) over z ≥ 0: the new norm of a row of norm t."""


PENALTIES: dict[str, type] = {
    "l21": L21,
    "l20": L20,
    "l2eps": L2Eps,
}


def make_penalty(name: str, beta: float, epsilon: float) -> Penalty:
    """Return the penalty called `name`; `epsilon` goes only to those that have one."""
    penalty = PENALTIES[name]
    fields = penalty.__dataclass_fields__  # type: ignore[attr-defined]
    values = {"beta": beta, "epsilon": epsilon}
    return penalty(**{k: v for k, v in values.items() if k in fields})
