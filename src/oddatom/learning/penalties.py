"""Row penalties β φ(‖x‖): what one atom's codes cost, and how the penalty shrinks them.

A new penalty is one class with `value` and `prox`, and one line in `PENALTIES`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Penalty(Protocol):
    """β φ(t) for a row of norm t ≥ 0."""

    def value(self, t: float) -> float:
        """Return β φ(t)."""

    def prox(self, t: float) -> float:
        """Return a minimiser of ½(z − t)² + β φ(z) over z ≥ 0: the new norm of a row of norm t."""


@dataclass(frozen=True)
class L21:
    """φ(t) = t."""

    beta: float

    def value(self, t: float) -> float:
        """Return β t."""
        return self.beta * t

    def prox(self, t: float) -> float:
        """Return (t − β)₊."""
        return max(t - self.beta, 0.0)


@dataclass(frozen=True)
class L20:
    """φ(t) = 1 if t ≠ 0, else 0."""

    beta: float

    def value(self, t: float) -> float:
        """Return β if t ≠ 0, else 0."""
        return self.beta if t != 0.0 else 0.0

    def prox(self, t: float) -> float:
        """Return t if ½t² > β, else 0."""
        return t if 0.5 * t * t > self.beta else 0.0


@dataclass(frozen=True)
class L2Eps:
    """φ(t) = min(t, ε): ℓ2,1 up to ε, constant above."""

    beta: float
    epsilon: float

    def value(self, t: float) -> float:
        """Return β min(t, ε)."""
        return self.beta * min(t, self.epsilon)

    def prox(self, t: float) -> float:
        """Return the better of clip(t − β, 0, ε), best below ε, and max(t, ε), best above."""
        below = min(max(t - self.beta, 0.0), self.epsilon)
        above = max(t, self.epsilon)
        cost_below = 0.5 * (below - t) ** 2 + self.beta * below
        cost_above = 0.5 * (above - t) * (above - t) + self.beta * self.epsilon  # ** raises where it overflows
        return below if cost_below <= cost_above else above


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
