"""The norm, clipped: phi(t) = min(t, epsilon). It leaves large rows as they are."""

from __future__ import annotations

from dataclasses import dataclass


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
