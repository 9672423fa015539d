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
    with np.errstate(over="ignore", invalid="ignore"):
        center, spread = (None, None) if kind is None else _columns(X, kind)
        Y = Scaling(center, spread, 1.0).apply(X)
        top = max(float(Y.max()), -float(Y.min()))
        if top == 0.0:
            return Scaling(center, spread, 1.0), Y
        scale = top * _norm(Y, top)
        Y /= scale  # the very operations of `apply`: a training row scores as the same row does later
    if not np.isfinite(scale):
        raise ValueError("X is too large: its Frobenius norm overflows. Divide the data by a power of ten first.")
    return Scaling(center, spread, scale), Y


def _norm(Y: np.ndarray, top: float) -> float:
    """Frobenius norm of Y / top, in which neither squares nor their sum overflow or vanish."""
    total = 0.0
    for start in range(0, Y.shape[0], 65_536):
        block = Y[start : start + 65_536] / top
        total += float(np.vdot(block, block))
    return float(np.sqrt(total))


def _columns(X: np.ndarray, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Center and spread of each column; a constant one has its value and 1, so that it comes out as zeros."""
    # In units of a power of two (exact) all entries are within ±2: neither sums nor squares overflow or vanish.
    unit = np.ldexp(1.0, np.frexp(np.abs(X).max(axis=0))[1] - 1)
    Z = X / unit
    center, spread = Z.mean(axis=0), Z.std(axis=0)
    if kind == "robust":
        low, center, high = np.percentile(Z, [25, 50, 75], axis=0)
        # An interquartile range of 0 says nothing about the column's spread: keep its deviation then.
        spread = np.where(high > low, high - low, spread)
    spread = np.maximum(spread, 10 * np.finfo(np.float64).eps)  # what is below is rounding: do not blow it up
    constant = X.min(axis=0) == X.max(axis=0)
    return np.where(constant, X[0], center * unit), np.where(constant, 1.0, spread * unit)
