"""The paper's score: the signed margin w·x of a row's code, higher for normal rows."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from oddatom.arrays.sums import dot
from oddatom.arrays.threads import split
from oddatom.coding import Codes
from oddatom.scaling.linear import Scaling
from oddatom.scores.statistics import CodeStatistics

LARGEST = float(np.finfo(np.float64).max)


def margin(codes: Codes, w: np.ndarray, statistics: CodeStatistics | None = None) -> np.ndarray:
    """Return w·x_j for every row j of codes; w runs over the atoms. The statistics are not used."""
    out = np.empty(codes.indices.shape[0])
    _margin(codes.indices, codes.values, w, out)
    return out


def linear_margin(X: np.ndarray, scaling: Scaling, v: np.ndarray) -> np.ndarray:
    """Return v·y for every row x, scaled to y: the margin w·Py of linear codes, v = Pᵀw, in one pass over X."""
    out = np.empty(X.shape[0])
    zero, one = np.zeros(v.size), np.ones(v.size)
    center = zero if scaling.center is None else scaling.center
    spread = one if scaling.spread is None else scaling.spread
    split(X.shape[0], 2.0 * v.size).run(_linear, np.ascontiguousarray(X), center, spread, scaling.scale, v, out)
    return out


@njit(cache=True, nogil=True)
def _margin(indices, values, w, out):
    for j in range(indices.shape[0]):
        t = 0.0
        for k in range(indices.shape[1]):
            if indices[j, k] >= 0:
                t += values[j, k] * w[indices[j, k]]
        out[j] = t


@njit(cache=True, nogil=True, error_model="numpy")
def _huge_row(x, center, spread, scale, v):
    """The margin of a row so large that a term overflows: in units of the largest number in it, and finite."""
    size = 0.0
    for f in range(v.size):
        size = max(size, abs(x[f]), abs(center[f]))
    t = 0.0
    for f in range(v.size):
        t += ((x[f] / size - center[f] / size) / spread[f]) * v[f]
    return min(max(t / scale * size, -LARGEST), LARGEST)


@njit(cache=True, nogil=True, error_model="numpy")
def _linear_rows(X, center, spread, scale, v, lo, hi, out):
    y = np.empty(v.size)
    for j in range(lo, hi):
        for f in range(v.size):
            y[f] = (X[j, f] - center[f]) / spread[f]
        t = dot(y, v) / scale
        out[j] = t if np.isfinite(t) else _huge_row(X[j], center, spread, scale, v)


@njit(cache=True, nogil=True, parallel=True)
def _linear(X, center, spread, scale, v, out, k, parallel):
    N = X.shape[0]
    if parallel:
        for c in prange(k):
            _linear_rows(X, center, spread, scale, v, N * c // k, N * (c + 1) // k, out)
    else:
        _linear_rows(X, center, spread, scale, v, 0, N, out)
