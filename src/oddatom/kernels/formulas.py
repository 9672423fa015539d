"""The named kernels: each a function of a number of two rows, on arrays of any library.

`KERNELS[name] = KernelFormula(...)` adds one: detectors on NumPy and on torch, and model files, take it from there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oddatom.arrays.namespaces import namespace
from oddatom.arrays.twins import fastest, twin_of
from oddatom.exceptions import OddAtomError
from oddatom.kernels import _compiled as compiled
from oddatom.kernels.pairs import ABSOLUTE_DISTANCES, COSINES, PRODUCTS, SQUARED_DISTANCES, Pairs

if TYPE_CHECKING:
    from oddatom.kernels.functions import Kernel

RANK_TOL = 1e-8


class KernelFormula(NamedTuple):
    """k(y, z) = value(t), where t is a number of the rows y and z.

    Attributes
    ----------
    pairs : Pairs
        The numbers t: SQUARED_DISTANCES, ABSOLUTE_DISTANCES, PRODUCTS, COSINES, or others.
    value : function of t and the Kernel (gamma, degree, coef0), optional
        Returns the values of an array t of any shape; the kernel is t itself without it. Infinite where it
        overflows, never NaN.
    positive : function of the Kernel
        Whether it is positive semi-definite whatever the rows; where it is said not to be, the matrix is looked at.
    bounded : bool
        Whether |k| is at most 1.
    power : function of the Kernel, optional
        The power of gamma y·z that it grows with, where that may be above 1.
    rank_tol : float
        Share of the matrix that its coordinates may leave out, unless the detector is told another.
    """

    pairs: Pairs
    value: Callable[[Any, Kernel], Any] | None = None
    positive: Callable[[Kernel], bool] = lambda kernel: False
    bounded: bool = False
    power: Callable[[Kernel], float] | None = None
    rank_tol: float = RANK_TOL

    def of(self, t: Any, kernel: Kernel) -> Any:
        """Return the values of numbers t."""
        return t if self.value is None else fastest(self.value, t)(t, kernel)


def exponential(t: Any, kernel: Kernel) -> Any:
    """Return exp(−gamma t)."""
    return namespace(t).exp(-kernel.gamma * t)


def power(t: Any, kernel: Kernel) -> Any:
    """Return (gamma t + coef0)^degree, 0 where that is no number."""
    base = kernel.gamma * t + kernel.coef0
    if not _is_whole(kernel.degree):
        xp = namespace(t)
        base = xp.where(base < 0.0, xp.zeros_like(base), base)
    return base**kernel.degree


def tanh(t: Any, kernel: Kernel) -> Any:
    """Return tanh(gamma t + coef0)."""
    return namespace(t).tanh(kernel.gamma * t + kernel.coef0)


def matrix(Y: Any, Z: Any, kernel: Kernel) -> Any:
    """Return k(y, z) of a named kernel for all rows y of Y (N×m) and z of Z (M×m), N×M."""
    return kernel.formula.of(kernel.formula.pairs.of(Y, Z), kernel)


def _always(kernel: Kernel) -> bool:
    return True


def _is_whole(degree: float) -> bool:
    return degree == int(degree)


_POLYNOMIAL = KernelFormula(
    PRODUCTS,
    power,
    positive=lambda kernel: kernel.coef0 >= 0 and _is_whole(kernel.degree),
    power=lambda kernel: kernel.degree,
)
KERNELS: dict[str, KernelFormula] = {
    "rbf": KernelFormula(SQUARED_DISTANCES, exponential, _always, bounded=True),
    "laplacian": KernelFormula(ABSOLUTE_DISTANCES, exponential, _always, bounded=True),
    "polynomial": _POLYNOMIAL,
    "poly": _POLYNOMIAL,
    "sigmoid": KernelFormula(PRODUCTS, tanh, bounded=True),
    "linear": KernelFormula(PRODUCTS, positive=_always, rank_tol=1e-14),  # of low rank: taken as it is
    "cosine": KernelFormula(COSINES, positive=_always, bounded=True, rank_tol=1e-14),
}


def find_formula(name: str) -> KernelFormula:
    """Return a kernel by its name."""
    if name not in KERNELS:
        problem, advice = f"There is no kernel {name!r}.", f"Choose from {', '.join(map(repr, KERNELS))}."
        raise OddAtomError(problem, parameter="kernel", value=name, advice=advice)
    return KERNELS[name]


# Twins

_PAIRS = {
    SQUARED_DISTANCES: compiled.SQUARES,
    ABSOLUTE_DISTANCES: compiled.ABSOLUTES,
    PRODUCTS: compiled.PRODUCTS,
}
_VALUES = {
    None: compiled.SAME,
    exponential: compiled.EXPONENTIAL,
    power: compiled.POWER,
    tanh: compiled.TANH,
}


def _weights(kernel: Kernel) -> compiled.Weights:
    return kernel.gamma, kernel.degree, kernel.coef0


@twin_of(exponential)
def _exponential(t: np.ndarray, kernel: Kernel) -> np.ndarray:
    return compiled.values(compiled.EXPONENTIAL, t, _weights(kernel))


@twin_of(power)
def _power(t: np.ndarray, kernel: Kernel) -> np.ndarray:
    return compiled.values(compiled.POWER, t, _weights(kernel))


@twin_of(tanh)
def _tanh(t: np.ndarray, kernel: Kernel) -> np.ndarray:
    return compiled.values(compiled.TANH, t, _weights(kernel))


@twin_of(matrix)
def _matrix(Y: np.ndarray, Z: np.ndarray, kernel: Kernel) -> np.ndarray:
    """The numbers of pairs and the values in one loop, where both are compiled."""
    pairs, value = kernel.formula.pairs, kernel.formula.value
    if pairs in _PAIRS and value in _VALUES:
        return compiled.entries(_PAIRS[pairs], _VALUES[value], Y, Z, _weights(kernel))
    return matrix(Y, Z, kernel)
