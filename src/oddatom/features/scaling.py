"""Scaling of columns and of the whole table, fitted once and applied to new rows unchanged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SCALINGS = ("standard", "robust")


class Scaling(NamedTuple):
    """y = ((x − center) / spread) / scale; `scale` is the Frobenius norm of the rows at fit."""

    center: np.ndarray | None
    spread: np.ndarray | None
    scale: float

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return scaled rows, a new C-ordered float64 array."""
        Y = np.array(X, dtype=np.float64, order="C")
        if self.center is not None and self.spread is not None:
            Y -= self.center
            Y /= self.spread
        Y /= self.scale
        return Y

    def undo(self, Y: np.ndarray) -> np.ndarray:
        """Return rows in the units of the input."""
        X = Y * self.scale
        if self.center is not None and self.spread is not None:
            X = X * self.spread + self.center
        return X


def fit_scaling(X: np.ndarray, kind: str | None) -> tuple[Scaling, np.ndarray]:
    """Fit to X (N×m); return the scaling and the scaled rows, whose Frobenius norm is one (zero if X is)."""
    center = spread = None
    if kind == "standard":
        center, spread = X.mean(axis=0), X.std(axis=0)
    elif kind == "robust":
        low, center, high = np.percentile(X, [25, 50, 75], axis=0)
        # An interquartile range of 0 says nothing about the column's spread: fall back on its deviation.
        spread = np.where(high > low, high - low, X.std(axis=0))
    if center is not None and spread is not None:
        # Spread of a constant column is rounding, at most: leave the column at zero.
        tiny = 10 * np.finfo(np.float64).eps * np.abs(X).max(axis=0)
        spread = np.where(spread > tiny, spread, 1.0)
        center = np.where(
            spread == 1.0, X[0] * (np.ptp(X, axis=0) <= tiny) + center * (np.ptp(X, axis=0) > tiny), center
        )
    Y = Scaling(center, spread, 1.0).apply(X)
    top = float(np.abs(Y).max())
    if top == 0.0:
        return Scaling(center, spread, 1.0), Y
    Y /= top  # so that neither squares nor their sum can overflow or vanish
    norm = float(np.sqrt(np.vdot(Y, Y)))
    Y /= norm
    return Scaling(center, spread, top * norm), Y
