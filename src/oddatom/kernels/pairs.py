"""Numbers t of two rows y and z that kernels are functions of: distances and products, on arrays of any library.

NumPy arrays have numba twins, which add up features in order: an entry is the same in any block of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.namespaces import is_numpy, largest, matmul, namespace, sum_of_squares
from oddatom.arrays.twins import fastest, twin_of
from oddatom.kernels import _compiled as compiled

_BLOCK = 64  # rows whose matrix is made for the sake of its diagonal


class Pairs(NamedTuple):
    """A number for every pair of rows.

    Attributes
    ----------
    between : function of rows Y (N×m) and Z (M×m)
        Returns the numbers of all pairs, N×M.
    own : function of rows Y (N×m), optional
        Returns the number of each row with itself, (N,), without those of other pairs.
    """

    between: Callable[[Any, Any], Any]
    own: Callable[[Any], Any] | None = None

    def of(self, Y: Any, Z: Any) -> Any:
        """Return the numbers of all pairs, N×M."""
        return fastest(self.between, Y)(Y, Z)

    def diagonal(self, Y: Any) -> Any:
        """Return the number of each row with itself, (N,)."""
        return diagonal(self.of, Y) if self.own is None else fastest(self.own, Y)(Y)


def diagonal(between: Callable[[Any, Any], Any], Y: Any) -> Any:
    """Return the diagonal of between(Y, Y), of some rows at a time."""
    blocks = (Y[start : start + _BLOCK] for start in range(0, max(Y.shape[0], 1), _BLOCK))
    return namespace(Y).concat([namespace(Y).linalg.diagonal(between(block, block)) for block in blocks])


def squared_distances(Y: Any, Z: Any) -> Any:
    """Return ‖y − z‖² for all rows of Y and Z."""
    total = 0.0
    for f in range(Y.shape[1]):
        apart = Y[:, f : f + 1] - Z[:, f]
        total = total + apart * apart
    return total


def absolute_distances(Y: Any, Z: Any) -> Any:
    """Return Σ|y − z| for all rows of Y and Z."""
    xp = namespace(Y, Z)
    total = 0.0
    for f in range(Y.shape[1]):
        total = total + xp.abs(Y[:, f : f + 1] - Z[:, f])
    return total


def products(Y: Any, Z: Any) -> Any:
    """Return y·z for all rows of Y and Z."""
    return matmul(Y, Z.T)


def cosines(Y: Any, Z: Any) -> Any:
    """Return y·z / (‖y‖‖z‖) for all rows of Y and Z, 0 for rows of zeros."""
    return PRODUCTS.of(unit_rows(Y), unit_rows(Z))


def own_distance(Y: Any) -> Any:
    """Return the distance of each row to itself."""
    return namespace(Y).zeros_like(Y[:, 0])


def own_product(Y: Any) -> Any:
    """Return ‖y‖² of each row."""
    return sum_of_squares(Y)


def own_cosine(Y: Any) -> Any:
    """Return 1 for each row, 0 for rows of zeros: up to rounding, which is that of `cosines`."""
    return PRODUCTS.diagonal(unit_rows(Y))


def unit_rows(Y: Any) -> Any:
    """Return y/‖y‖ for all rows; rows of zeros stay."""
    xp = namespace(Y)
    Y = np.ascontiguousarray(Y) if is_numpy(Y) else Y  # in any other order sums are rounded otherwise
    size = largest(xp.abs(Y))
    Y = Y / xp.where(size > 0.0, size, xp.ones_like(size))  # so that squares neither overflow nor vanish
    norms = xp.sqrt(sum_of_squares(Y))[:, None]
    return Y / xp.where(norms > 0.0, norms, xp.ones_like(norms))


SQUARED_DISTANCES = Pairs(squared_distances, own_distance)
ABSOLUTE_DISTANCES = Pairs(absolute_distances, own_distance)
PRODUCTS = Pairs(products, own_product)
COSINES = Pairs(cosines, own_cosine)


# Twins


@twin_of(squared_distances)
def _squared_distances(Y: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return compiled.entries(compiled.SQUARES, compiled.SAME, Y, Z)


@twin_of(absolute_distances)
def _absolute_distances(Y: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return compiled.entries(compiled.ABSOLUTES, compiled.SAME, Y, Z)


@twin_of(products)
def _products(Y: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return compiled.entries(compiled.PRODUCTS, compiled.SAME, Y, Z)


@twin_of(own_product)
def _own_product(Y: np.ndarray) -> np.ndarray:
    """Return the diagonal of `products`, to the last bit."""
    return diagonal(_products, Y)
