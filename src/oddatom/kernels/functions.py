"""A kernel with its parameters: its matrix between rows, the range of its values, and rules for gamma."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.twins import fastest
from oddatom.exceptions import OddAtomError
from oddatom.kernels.formulas import RANK_TOL, KernelFormula, find_formula, matrix
from oddatom.kernels.pairs import COSINES, PRODUCTS, diagonal

GAMMAS = ("scale", "auto", "median")
_MEDIAN_ROWS = 1000  # rows whose pairs the median is taken over
LARGEST = 1e100  # of a kernel's values: their squares, and sums of these, are to be numbers

KernelFunction = Callable[[np.ndarray, np.ndarray], Any]


class Kernel(NamedTuple):
    """A kernel with its parameters filled in.

    rbf exp(−gamma‖y − z‖²), laplacian exp(−gamma Σ|y − z|), polynomial (gamma y·z + coef0)^degree (0 where that is no
    number), sigmoid tanh(gamma y·z + coef0), linear y·z, cosine y·z/(‖y‖‖z‖), another of `KERNELS`, or a function of
    two arrays of rows.
    """

    function: str | KernelFunction
    gamma: float = 1.0
    degree: float = 3.0
    coef0: float = 1.0

    @property
    def formula(self) -> KernelFormula:
        """The formula of a named kernel."""
        assert isinstance(self.function, str)
        return find_formula(self.function)

    @property
    def positive(self) -> bool:
        """Whether it is positive semi-definite whatever the rows."""
        return not callable(self.function) and self.formula.positive(self)

    @property
    def rank_tol(self) -> float:
        """Share of its matrix that coordinates may leave out."""
        return RANK_TOL if callable(self.function) else self.formula.rank_tol

    def reach(self, m: int) -> float:
        """The largest entry of a row of m, beside training rows (at most 1 long), for values up to LARGEST."""
        if callable(self.function) or self.formula.power is None:
            return LARGEST
        return max(1.0, LARGEST ** (1.0 / max(1.0, self.formula.power(self))) / max(1.0, self.gamma * m))

    def __call__(self, Y: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return k(y, z) for all rows y of Y (N×m) and z of Z (M×m), N×M."""
        if callable(self.function):
            return _called(self.function, Y, Z)
        with np.errstate(over="ignore"):
            return fastest(matrix, Y)(Y, Z, self)

    def diagonal(self, Y: np.ndarray) -> np.ndarray:
        """Return k(y, y) for all rows."""
        if callable(self.function):
            return diagonal(self.__call__, Y)
        with np.errstate(over="ignore"):
            return self.formula.of(self.formula.pairs.diagonal(Y), self)


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
    pairs = PRODUCTS if callable(function) else find_formula(function).pairs
    numbers = np.abs(rows @ rows.T if pairs in (PRODUCTS, COSINES) else pairs.of(rows, rows))
    values = numbers[np.triu_indices(rows.shape[0], 1)]
    values = values[values > 0]
    return 1.0 / float(np.median(values)) if values.size else 1.0
