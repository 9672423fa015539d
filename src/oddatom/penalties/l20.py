"""The support: phi(t) = 1 if t ≠ 0. It keeps a row as it is, or trims it."""

from __future__ import annotations

from dataclasses import dataclass


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
