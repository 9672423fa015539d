"""The norm: phi(t) = t. It shrinks every row, and trims those of norm up to beta."""

from __future__ import annotations

from dataclasses import dataclass


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
