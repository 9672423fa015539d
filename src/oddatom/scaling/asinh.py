"""Robust scaling of columns that compresses outliers: y = asinh(4z)/4, z = (x − median) / (q95 − q5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.namespaces import asinh, namespace

BEND = 4.0  # below |z| = 1/4 the scaling is nearly linear, above it a logarithm
TOP = 1e150  # |z| above it is cut: asinh makes 87 of it, and squares stay finite
FARTHEST = 1e6  # |z| above it is as far as can be where numbers are stretched
RARE = 8.0  # spread of a column that is mostly one value, in units of the usual deviation from it
CONSTANT = 0.1  # spread of a constant column, in units of its value
BOTTOM = 1e-16  # |z| below it is rounding and taken for 0, so that squares do not vanish


class AsinhScaling(NamedTuple):
    """z = (x·unit − center) / spread for every column, then y = asinh(4z)/4.

    Attributes
    ----------
    unit : (m,)
        A power of two for every column; in units of it nothing overflows.
    center, spread : (m,)
        In units of `unit`.
    """

    unit: np.ndarray
    center: np.ndarray
    spread: np.ndarray

    def apply(self, X: Any) -> Any:
        """Return the rows scaled."""
        return asinh_rows(X, self)[1]


def asinh_rows(X: Any, scaling: AsinhScaling) -> tuple[Any, Any, Any]:
    """Return rows X (N×m) in the scaling's units, the rows scaled, and z/y, the square of `stretch`.

    A missing value (NaN) stays one in the units; scaled it is 0.
    """
    xp = namespace(X)
    with np.errstate(over="ignore"):
        U = X * scaling.unit
        Z = (U - scaling.center) / scaling.spread
    Z = xp.where(scaling.spread < xp.inf, Z, xp.zeros_like(Z))  # a column that is left out, whatever its numbers
    Z = xp.where(xp.abs(Z) >= BOTTOM, Z, xp.zeros_like(Z))  # also a missing value
    Y = asinh(BEND * xp.clip(Z, -TOP, TOP)) / BEND
    bent = xp.abs(Y)
    ones = xp.ones_like(Y)
    farthest = xp.where(xp.abs(Z) < FARTHEST, xp.abs(Z), FARTHEST * ones)
    return U, Y, xp.where(bent > 0.0, farthest / xp.where(bent > 0.0, bent, ones), ones)


def stretch(Y: np.ndarray) -> np.ndarray:
    """Return √(z/y), at least 1: times it, a deviation in y is halfway, by factors, to what it was before it was bent.

    |z| counts up to 1e6.
    """
    bent = np.abs(Y)
    with np.errstate(over="ignore"):
        straight = np.minimum(np.sinh(BEND * bent) / BEND, FARTHEST)
    return np.sqrt(np.where(bent > 0.0, straight / np.where(bent > 0.0, bent, 1.0), 1.0))


def fit_asinh(X: np.ndarray) -> AsinhScaling:
    """Fit to the rows of X: median and the range of the middle nine tenths.

    Where that range is 0 the spread is eight times the median deviation of the rows that deviate: that of a rare value
    such as "is missing" must not outweigh everything else.
    A constant column has a tenth of its value for a spread, or 1 where that is 0: training rows are 0 there, and a new
    row with another value is far away. Missing values (NaN) do not count. A column without a value is left out: its
    spread is infinite.
    """
    top = np.maximum(*np.abs(column_ends(X)))
    unit = np.ldexp(1.0, np.clip(-np.frexp(top)[1], -1000, 1000))
    U = X * unit
    (least, most), (low, center, high) = column_ends(U), column_quantiles(U, [0.05, 0.5, 0.95])
    spread = high - low
    for f in np.flatnonzero(spread <= 0.0):  # most rows share one value: go by the others
        apart = np.abs(U[:, f] - center[f])
        others = apart[apart > BOTTOM * np.nanmax(apart)] if np.isfinite(apart).any() else apart[:0]
        spread[f] = RARE * np.median(others) if others.size else 0.0
    spread = np.maximum(spread, 1e-12 * np.abs(center))  # what is below is rounding: do not blow it up
    spread = np.where(least == most, CONSTANT * np.abs(center), spread)
    spread[spread <= 0.0] = 1.0
    spread[np.isnan(X).all(axis=0)] = np.inf
    return AsinhScaling(unit, center, spread)


def column_ends(X: np.ndarray) -> np.ndarray:
    """Return the least and the largest value of every column, (2, m), but for missing ones; 0 where all are."""
    ends = np.stack([X.min(axis=0), X.max(axis=0)])
    if np.isnan(ends).any():
        ends = np.stack([np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)])
    return np.where(np.isnan(ends), 0.0, ends)


def column_quantiles(X: np.ndarray, shares: Sequence[float]) -> np.ndarray:
    """Return quantiles of every column, (n_shares, m), of the values that are not missing; 0 where all are."""
    if not np.isnan(X).any():
        return np.quantile(X, shares, axis=0)
    found = np.zeros((len(shares), X.shape[1]))
    for f, v in enumerate(X.T):
        values = v[~np.isnan(v)]
        if values.size:
            found[:, f] = np.quantile(values, shares)
    return found
