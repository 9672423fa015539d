"""Entries of kernel matrices in numba. They are made in a fixed order: no matter what rows are around."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from oddatom.arrays.sums import FUSED
from oddatom.arrays.threads import split

SQUARES, ABSOLUTES, PRODUCTS = range(3)  # what is summed over the features of two rows, a number t
SAME, EXPONENTIAL, POWER, TANH = range(4)  # what becomes of t

Weights = tuple[float, float, float]  # gamma, degree, coef0
_NONE = (1.0, 1.0, 0.0)


def entries(pair: int, value: int, Y: np.ndarray, Z: np.ndarray, weights: Weights = _NONE) -> np.ndarray:
    """Return the values for all rows y of Y (N×m) and z of Z (M×m), N×M."""
    out = np.empty((Y.shape[0], Z.shape[0]))
    plan = split(Y.shape[0], Z.shape[0] * (Y.shape[1] / 6 + 8) + 5)
    plan.run(_entries, pair, value, np.ascontiguousarray(Y), np.ascontiguousarray(Z.T), *weights, out)
    return out


def values(value: int, t: np.ndarray, weights: Weights) -> np.ndarray:
    """Return the values of numbers t, of any shape."""
    out = np.array(t, dtype=np.float64, order="C")
    _values(value, out.reshape(-1), *weights)
    return out


@njit(cache=True, nogil=True, fastmath=FUSED)
def _sums(pair, y, ZT, out):
    """‖y − z‖², Σ|y − z| or y·z for all z, features in order."""
    m, n = ZT.shape
    for i in range(n):
        out[i] = 0.0
    for f in range(m):
        t = y[f]
        if pair == SQUARES:
            for i in range(n):
                out[i] += (t - ZT[f, i]) * (t - ZT[f, i])
        elif pair == ABSOLUTES:
            for i in range(n):
                out[i] += abs(t - ZT[f, i])
        else:
            for i in range(n):
                out[i] += t * ZT[f, i]


@njit(cache=True, nogil=True)
def _value(value, t, gamma, degree, coef0):
    if value == EXPONENTIAL:
        return np.exp(-gamma * t)
    if value == POWER:
        base = gamma * t + coef0
        return 0.0 if base < 0.0 and degree != np.floor(degree) else base**degree
    return np.tanh(gamma * t + coef0)


@njit(cache=True, nogil=True)
def _values(value, t, gamma, degree, coef0):
    if value != SAME:
        for i in range(t.size):
            t[i] = _value(value, t[i], gamma, degree, coef0)


@njit(cache=True, nogil=True)
def _entries_rows(pair, value, Y, ZT, gamma, degree, coef0, lo, hi, out):
    for j in range(lo, hi):
        _sums(pair, Y[j], ZT, out[j])
        _values(value, out[j], gamma, degree, coef0)


@njit(cache=True, nogil=True, parallel=True)
def _entries(pair, value, Y, ZT, gamma, degree, coef0, out, k, parallel):
    N = Y.shape[0]
    if parallel:
        for c in prange(k):
            _entries_rows(pair, value, Y, ZT, gamma, degree, coef0, N * c // k, N * (c + 1) // k, out)
    else:
        for c in range(k):
            _entries_rows(pair, value, Y, ZT, gamma, degree, coef0, N * c // k, N * (c + 1) // k, out)
