"""Robust scaling of columns that keeps far values from shouting: y = asinh(4z)/4, z = (x − median) / (q95 − q5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BEND = 4.0  # below |z| = 1/4 the scaling is nearly linear, above it a logarithm
TOP = 1e150  # |z| above it is cut: asinh makes 87 of it, and squares stay finite
BOTTOM = 1e-16  # |z| below it is rounding and taken for 0, so that squares do not vanish


class AsinhScaling(NamedTuple):
    """z = (x·unit − center) / spread for every column that varies, then y = asinh(4z)/4.

    Attributes
    ----------
    unit : (m,)
        A power of two for every column, constant ones included; in units of it nothing overflows.
    varied : (v,) int
        Which columns vary.
    center, spread : (v,)
        Of those columns, in units of `unit`.
    """

    unit: np.ndarray
    varied: np.ndarray
    center: np.ndarray
    spread: np.ndarray

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return the rows scaled, constant columns left out."""
        with np.errstate(over="ignore"):
            Z = (X[:, self.varied] * self.unit[self.varied] - self.center) / self.spread
        Z[np.abs(Z) < BOTTOM] = 0.0
        return np.arcsinh(BEND * np.clip(Z, -TOP, TOP)) / BEND


def fit_asinh(X: np.ndarray) -> AsinhScaling:
    """Fit to the rows of X: median and the range of the middle nine tenths; the deviation where that range is 0."""
    top = np.abs(X).max(axis=0)
    unit = np.ldexp(1.0, np.clip(-np.frexp(top)[1], -1000, 1000))
    U = X * unit
    low, center, high = np.quantile(U, [0.05, 0.5, 0.95], axis=0)
    varied = np.flatnonzero(U.min(axis=0) < U.max(axis=0))
    if varied.size == 0:
        varied = np.array([0])  # then every row is zero there
    spread = high - low
    for f in varied[spread[varied] <= 0.0]:  # most rows share one value
        spread[f] = np.sort(U[:, f]).std()  # sorted: the sum does not depend on the order of the rows
    spread = np.maximum(spread, 1e-12 * np.abs(center))  # what is below is rounding: do not blow it up
    spread[spread <= 0.0] = 1.0
    return AsinhScaling(unit, varied, center[varied], spread[varied])
