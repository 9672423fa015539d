"""Scaling of columns and of the whole table, fitted once and applied to new rows unchanged."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.namespaces import exceeds, full, largest, namespace, own_rows
from oddatom.arrays.quantiles import weighted_quantile

SCALINGS = ("standard", "robust")
HUGE, LARGEST = 1e100, 1e300  # sizes of a scaled row: squares overflow above the first, sums above the second
LIMIT = float(np.finfo(np.float64).max)
SMALL = 2.0**-500  # an exact factor


class Scaling(NamedTuple):
    """y = ((x − center) / spread) / scale; `scale` is the Frobenius norm of the rows at fit."""

    center: Any  # (m,) or None
    spread: Any
    scale: float

    def apply(self, X: Any) -> Any:
        """Return scaled rows, a new C-ordered float64 array of X's library, which the scaling's arrays are of."""
        Y = own_rows(X)
        if self.center is not None and self.spread is not None:
            Y -= self.center
            Y /= self.spread
        Y /= full(self.scale, Y)
        return Y

    def sized(self, X: Any, huge: float = HUGE) -> tuple[Any, Any]:
        """Return scaled rows in units of their size, a column, for work on squares; None where every size is 1.

        The size is 1 for rows with entries up to `huge`, else their largest entry, and LARGEST at most.
        """
        with np.errstate(over="ignore"):
            Y = self.apply(X)
        if not exceeds(Y, huge):
            return Y, None
        xp = namespace(Y)
        top = largest(xp.abs(Y))
        with np.errstate(all="ignore"):
            small = self.small(X)
            small = small / largest(xp.abs(small))
        Y = xp.where(top > LARGEST, LARGEST * small, Y)
        most = xp.where(top > LARGEST, xp.zeros_like(top) + LARGEST, top)
        size = xp.where(top > huge, most, xp.ones_like(top))
        return Y / size, size

    def small(self, X: Any) -> Any:
        """Return scaled rows times SMALL, a power of two: of rows that overflow where they are just scaled."""
        with np.errstate(over="ignore"):
            center = None if self.center is None else SMALL * self.center
            return namespace(X).clip(self._replace(center=center).apply(SMALL * X), -LIMIT, LIMIT)

    def undo(self, Y: np.ndarray) -> np.ndarray:
        """Return rows in the units of the input."""
        X = Y * self.scale
        if self.center is not None and self.spread is not None:
            X = X * self.spread + self.center
        return X


def fit_scaling(X: np.ndarray, kind: str | None, weights: np.ndarray | None = None) -> tuple[Scaling, np.ndarray]:
    """Fit to X (N×m); return the scaling and the scaled rows, whose Frobenius norm is one (zero if X is).

    With weights (N,) it is the scaling of rows that are repeated so often.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        center, spread = (None, None) if kind is None else _columns(X, kind, weights)
        Y = Scaling(center, spread, 1.0).apply(X)
        top = max(float(Y.max()), -float(Y.min()))
        if top == 0.0:
            return Scaling(center, spread, 1.0), Y
        scale = top * _norm(Y, top, weights)
        Y /= scale  # the very operations of `apply`: a training row scores as the same row does later
    if not np.isfinite(scale):
        raise ValueError("X is too large: its Frobenius norm overflows. Divide the data by a power of ten first.")
    return Scaling(center, spread, scale), Y


def _norm(Y: np.ndarray, top: float, weights: np.ndarray | None) -> float:
    """Frobenius norm of Y / top, in which neither squares nor their sum overflow or vanish."""
    total = 0.0
    for start in range(0, Y.shape[0], 65_536):
        block = Y[start : start + 65_536] / top
        if weights is not None:
            block *= np.sqrt(weights[start : start + 65_536, None])
        total += float(np.vdot(block, block))
    return float(np.sqrt(total))


def _columns(X: np.ndarray, kind: str, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Center and spread of each column; a constant one has its value and 1, so that it comes out as zeros."""
    # In units of a power of two (exact) all entries are within ±2: neither sums nor squares overflow or vanish.
    unit = np.ldexp(1.0, np.frexp(np.abs(X).max(axis=0))[1] - 1)
    Z = np.divide(X, unit, order="C")  # in any other order sums are rounded otherwise
    if weights is None:
        center, spread = Z.mean(axis=0), Z.std(axis=0)
    else:
        center = np.average(Z, axis=0, weights=weights)
        spread = np.sqrt(np.average((Z - center) ** 2, axis=0, weights=weights))
    if kind == "robust":
        low, center, high = _quartiles(Z, weights)
        # An interquartile range of 0 says nothing about the column's spread: keep its deviation then.
        spread = np.where(high > low, high - low, spread)
    spread = np.maximum(spread, 10 * np.finfo(np.float64).eps)  # what is below is rounding: do not blow it up
    constant = X.min(axis=0) == X.max(axis=0)
    spread = np.maximum(spread * unit, np.finfo(np.float64).smallest_subnormal)  # half of that is nothing
    return np.where(constant, X[0], center * unit), np.where(constant, 1.0, spread)


def _quartiles(Z: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    if weights is None:
        return np.percentile(Z, [25, 50, 75], axis=0)
    return np.array([[weighted_quantile(column, weights, q) for column in Z.T] for q in (0.25, 0.5, 0.75)])
