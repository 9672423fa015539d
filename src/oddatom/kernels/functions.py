"""Kernels k(y, z) between rows. Entries of named ones are made in a fixed order: no matter what rows are around.

A new kernel is one line in `KERNELS` and one in `_value`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

from oddatom.arrays.sums import FUSED
from oddatom.arrays.threads import split
from oddatom.exceptions import OddAtomError

GAMMAS = ("scale", "auto", "median")
_RBF, _LAPLACIAN, _POLYNOMIAL, _SIGMOID, _LINEAR, _COSINE = range(6)
KERNELS = {
    "rbf": _RBF,
    "laplacian": _LAPLACIAN,
    "polynomial": _POLYNOMIAL,
    "poly": _POLYNOMIAL,
    "sigmoid": _SIGMOID,
    "linear": _LINEAR,
    "cosine": _COSINE,
}
_MEDIAN_ROWS = 1000  # rows whose pairs the median is taken over
LARGEST = 1e100  # of a kernel's values: their squares, and sums of these, are to be numbers

KernelFunction = Callable[[np.ndarray, np.ndarray], Any]


class Kernel(NamedTuple):
    """A kernel with its parameters filled in.

    rbf exp(−gamma‖y − z‖²), laplacian exp(−gamma Σ|y − z|), polynomial (gamma y·z + coef0)^degree (0 where that is no
    number), sigmoid tanh(gamma y·z + coef0), linear y·z, cosine y·z/(‖y‖‖z‖), or a function of two arrays of rows.
    """

    function: str | KernelFunction
    gamma: float = 1.0
    degree: float = 3.0
    coef0: float = 1.0

    @property
    def positive(self) -> bool:
        """Whether it is positive semi-definite whatever the rows."""
        if callable(self.function) or self.function == "sigmoid":
            return False
        if KERNELS[self.function] == _POLYNOMIAL:
            return self.coef0 >= 0 and self.degree == int(self.degree)
        return True

    def reach(self, m: int) -> float:
        """The largest entry of a row of m, beside training rows (at most 1 long), for values up to LARGEST."""
        if callable(self.function) or KERNELS[self.function] != _POLYNOMIAL:
            return LARGEST
        return max(1.0, LARGEST ** (1.0 / max(1.0, self.degree)) / max(1.0, self.gamma * m))

    def __call__(self, Y: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return k(y, z) for all rows y of Y (N×m) and z of Z (M×m), N×M."""
        if callable(self.function):
            return _called(self.function, Y, Z)
        kind = KERNELS[self.function]
        Y, Z = np.ascontiguousarray(Y), np.ascontiguousarray(Z)
        if kind == _COSINE:
            Y, Z = _unit_rows(Y), _unit_rows(Z)
        out = np.empty((Y.shape[0], Z.shape[0]))
        plan = split(Y.shape[0], Z.shape[0] * (Y.shape[1] / 6 + 8) + 5)
        weights = self.gamma, self.degree, self.coef0
        plan.run(_entries, kind, Y, np.ascontiguousarray(Z.T), *weights, out)
        return out

    def diagonal(self, Y: np.ndarray) -> np.ndarray:
        """Return k(y, y) for all rows."""
        if self.function in ("rbf", "laplacian"):
            return np.ones(Y.shape[0])
        blocks = [np.diag(self(Y[i : i + 64], Y[i : i + 64])) for i in range(0, Y.shape[0], 64)]
        return np.concatenate(blocks)


def _read_only(Y: np.ndarray) -> np.ndarray:
    """A view that a function cannot change our rows through."""
    Y = Y.view()
    Y.flags.writeable = False
    return Y


def _called(function: KernelFunction, Y: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return what a kernel function gives for two arrays of rows, if that is their kernel matrix."""
    n, m = Y.shape[0], Z.shape[0]
    K = np.asarray(function(_read_only(Y), _read_only(Z)))
    if K.dtype.kind not in "fiub":
        problem = f"A kernel function must return a dense array of real numbers. Got an array of {K.dtype} instead."
        raise OddAtomError(problem, parameter="kernel", value=function)
    K = np.asarray(K, dtype=np.float64, order="C")
    if K.shape != (n, m):
        problem = (
            f"A kernel function must return an array of shape {(n, m)} for {n} and {m} rows. Got {K.shape} instead"
        )
        advice = "it is called with two arrays of rows, not with two rows."
        raise OddAtomError(problem, parameter="kernel", value=function, advice=advice)
    if not np.isfinite(K).all():
        problem, advice = "The kernel function returned NaN or infinity.", "Make it finite for all rows."
        raise OddAtomError(problem, parameter="kernel", value=function, advice=advice)
    return K


def _unit_rows(Y: np.ndarray) -> np.ndarray:
    size = np.abs(Y).max(axis=1, keepdims=True)
    Y = Y / np.where(size > 0, size, 1.0)  # so that squares neither overflow nor vanish
    norms = np.sqrt(np.einsum("ij,ij->i", Y, Y))[:, None]
    return Y / np.where(norms > 0, norms, 1.0)


def check_range(K: np.ndarray) -> np.ndarray:
    """Return K, a matrix of training rows, where its entries leave room to work with."""
    size = float(np.abs(K).max(initial=0.0))
    if not size <= LARGEST:
        raise OddAtomError(
            f"The kernel overflows on the training rows: its values go up to {size:.3g}, and {LARGEST:g} is the most.",
            parameter="kernel",
            value=size,
            advice="Scale the data, or lower gamma or degree; divide a precomputed matrix by a constant.",
        )
    return K


def shorten(K: np.ndarray, largest: float = LARGEST) -> np.ndarray:
    """Return K with rows of larger entries divided so that their largest is that; K itself where there are none."""
    if max(K.max(initial=0.0), -K.min(initial=0.0)) <= largest:
        return K
    K = np.clip(K, -np.finfo(np.float64).max, np.finfo(np.float64).max)
    size = np.abs(K).max(axis=1, keepdims=True)
    too_large = size[:, 0] > largest
    K[too_large] = K[too_large] / size[too_large] * largest
    return K


def find_gamma(gamma: float | str, function: Any, Y: np.ndarray, rng: np.random.RandomState) -> float:
    """Return gamma as a number: 1/(m var(Y)), 1/m, or one over the median of what it multiplies, over pairs of rows."""
    if not isinstance(gamma, str):
        return float(gamma)
    m = Y.shape[1]
    if gamma == "auto":
        return 1.0 / m
    if gamma == "scale":
        variance, noise = float(Y.var()), (10 * np.finfo(np.float64).eps) ** 2 * float(np.mean(Y * Y))
        return 1.0 / (m * variance) if variance > noise else 1.0
    rows = Y if Y.shape[0] <= _MEDIAN_ROWS else Y[rng.choice(Y.shape[0], _MEDIAN_ROWS, replace=False)]
    kind = _LINEAR if callable(function) else KERNELS[function]
    if kind in (_RBF, _LAPLACIAN):
        distances = np.empty((rows.shape[0], rows.shape[0]))
        _distances(kind, np.ascontiguousarray(rows), np.ascontiguousarray(rows.T), distances)
        values = distances[np.triu_indices(rows.shape[0], 1)]
    else:
        values = np.abs(rows @ rows.T)[np.triu_indices(rows.shape[0], 1)]
    values = values[values > 0]
    return 1.0 / float(np.median(values)) if values.size else 1.0


@njit(cache=True, nogil=True, fastmath=FUSED)
def _bases(kind, y, ZT, out):
    """‖y − z‖², Σ|y − z| or y·z for all z, features in order."""
    m, n = ZT.shape
    for i in range(n):
        out[i] = 0.0
    for f in range(m):
        t = y[f]
        if kind == _RBF:
            for i in range(n):
                out[i] += (t - ZT[f, i]) * (t - ZT[f, i])
        elif kind == _LAPLACIAN:
            for i in range(n):
                out[i] += abs(t - ZT[f, i])
        else:
            for i in range(n):
                out[i] += t * ZT[f, i]


@njit(cache=True, nogil=True)
def _value(kind, t, gamma, degree, coef0):
    if kind in (_RBF, _LAPLACIAN):
        return np.exp(-gamma * t)
    if kind == _POLYNOMIAL:
        base = gamma * t + coef0
        return 0.0 if base < 0.0 and degree != np.floor(degree) else base**degree
    if kind == _SIGMOID:
        return np.tanh(gamma * t + coef0)
    return t


@njit(cache=True, nogil=True)
def _entries_rows(kind, Y, ZT, gamma, degree, coef0, lo, hi, out):
    for j in range(lo, hi):
        _bases(kind, Y[j], ZT, out[j])
        if kind != _LINEAR and kind != _COSINE:
            for i in range(ZT.shape[1]):
                out[j, i] = _value(kind, out[j, i], gamma, degree, coef0)


@njit(cache=True, nogil=True, parallel=True)
def _entries(kind, Y, ZT, gamma, degree, coef0, out, k, parallel):
    N = Y.shape[0]
    if parallel:
        for c in prange(k):
            _entries_rows(kind, Y, ZT, gamma, degree, coef0, N * c // k, N * (c + 1) // k, out)
    else:
        _entries_rows(kind, Y, ZT, gamma, degree, coef0, 0, N, out)


@njit(cache=True, nogil=True)
def _distances(kind, Y, ZT, out):
    for j in range(Y.shape[0]):
        _bases(kind, Y[j], ZT, out[j])
