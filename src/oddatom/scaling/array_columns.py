"""Columns of rows that are one array, with or without weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oddatom.arrays.quantiles import weighted_quantile
from oddatom.scaling.column_statistics import Columns, Kind, fit_columns
from oddatom.scaling.linear import Scaling

_CHUNK = 65_536


def fit_scaling(X: np.ndarray, kind: Kind, weights: np.ndarray | None = None) -> tuple[Scaling, np.ndarray]:
    """Fit to X (N×m); return the scaling and the scaled rows, whose Frobenius norm is one (zero if X is).

    With weights (N,) it is the scaling of rows that are repeated so often.
    """
    columns = ArrayColumns(X, weights)
    scaling = fit_columns(columns, kind)
    columns.scaled /= scaling.scale  # the very operations of `apply`: a training row scores as the same row does later
    return scaling, columns.scaled


class ArrayColumns(Columns):
    """The columns of X (N×m), of rows that are repeated as often as weights (N,) say."""

    scaled: np.ndarray  # rows by the scaling that `norm` was asked for

    def __init__(self, X: np.ndarray, weights: np.ndarray | None = None) -> None:
        super().__init__(X.min(axis=0), X.max(axis=0))
        self._X, self._weights = X, weights

    def _in_units(self) -> np.ndarray:
        return np.divide(self._X, self.unit, order="C")  # in any other order sums are rounded otherwise

    def mean(self) -> np.ndarray:
        """Return the means."""
        return np.average(self._in_units(), axis=0, weights=self._weights)

    def deviation(self) -> np.ndarray:
        """Return the standard deviations."""
        Z = self._in_units()
        if self._weights is None:
            return Z.std(axis=0)
        return np.sqrt(np.average((Z - self.mean()) ** 2, axis=0, weights=self._weights))

    def quantiles(self, shares: Sequence[float]) -> np.ndarray:
        """Return quantiles, (len(shares), m)."""
        Z = self._in_units()
        if self._weights is None:
            return np.quantile(Z, shares, axis=0)
        return np.array([[weighted_quantile(column, self._weights, q) for column in Z.T] for q in shares])

    def norm(self, scaling: Scaling) -> float:
        """Return the Frobenius norm of the rows scaled, in units of their largest entry: no square overflows."""
        Y = self.scaled = scaling.apply(self._X)
        top = max(float(Y.max()), -float(Y.min()))
        if top == 0.0:
            return 0.0
        total = 0.0
        for start in range(0, Y.shape[0], _CHUNK):
            block = Y[start : start + _CHUNK] / top
            if self._weights is not None:
                block *= np.sqrt(self._weights[start : start + _CHUNK, None])
            total += float(np.vdot(block, block))
        return top * float(np.sqrt(total))
