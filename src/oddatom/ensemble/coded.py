"""Rows under the members of an ensemble: y ≈ c_k + g d_i, what the code takes of a row and what it leaves.

A row with missing cells (NaN) is coded by those that it has: the centroid next to them, and the atom that takes most
of their deviation. The code then says what the missing ones are, so that they leave nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from oddatom.arrays.namespaces import chosen, has_missing, matmul, namespace
from oddatom.arrays.twins import fastest, twin_of
from oddatom.ensemble.fused import BLOCK, deviations, gains, scale_row
from oddatom.ensemble.histogram import Histogram
from oddatom.ensemble.packed import Packed
from oddatom.ensemble.trimmed import HIDDEN, ROUNDING
from oddatom.scaling.asinh import AsinhScaling, asinh_rows


class RowCodes(NamedTuple):
    """y ≈ c_k + g d_i under each of M members, for N rows.

    Attributes
    ----------
    centroid : (M, N) int
        k, the centroid next to the row: `packed.centroids[b, k]` of member b.
    atom : (M, N) int
        i, the atom nearest in direction to y − c_k: `packed.atoms[b, i]`.
    gain : (M, N)
        g = d_i · (y − c_k).
    """

    centroid: Any
    atom: Any
    gain: Any


class CodedRows(NamedTuple):
    """What the parts of a score are made of: arrays of one library, those of members with a first axis of members.

    Attributes
    ----------
    units : (N, m)
        Rows in the units of the scaling, as the histogram takes them; NaN where a value is missing.
    scaled : (N, m)
        y.
    stretch : (N, m)
        z/y, by which the square of a deviation is rescaled: see `oddatom.scaling.asinh`.
    deviation : (M, N, m)
        y − c_k, 0 where that is rounding, and g d_i where a cell is missing.
    taken, residual : (M, N, m)
        g d_i, and what it leaves of the deviation.
    centroid, atom : (M, N) int
    packed : Packed
    histogram : Histogram
    """

    units: Any
    scaled: Any
    stretch: Any
    deviation: Any
    taken: Any
    residual: Any
    centroid: Any
    atom: Any
    packed: Packed
    histogram: Histogram


def coded_rows(X: Any, scaling: AsinhScaling, histogram: Histogram, packed: Packed) -> CodedRows:
    """Return rows X (N×m) under the members; the model's arrays are of X's library."""
    xp = namespace(X)
    units, Y, stretch = asinh_rows(X, scaling)
    codes = fastest(choose, X)(X, scaling, packed)
    W = _deviation(Y, chosen(packed.centroids, codes.centroid))
    taken = xp.expand_dims(codes.gain, axis=-1) * chosen(packed.atoms, codes.atom)
    if has_missing(X):
        W = xp.where(find_absent(X, scaling), taken, W)
    return CodedRows(units, Y, stretch, W, taken, W - taken, codes.centroid, codes.atom, packed, histogram)


def rows_in_units(X: Any, scaling: AsinhScaling, histogram: Histogram, packed: Packed) -> CodedRows:
    """Return rows for parts that need them in units alone."""
    with np.errstate(over="ignore"):
        return CodedRows(X * scaling.unit, None, None, None, None, None, None, None, packed, histogram)


def find_absent(X: Any, scaling: AsinhScaling) -> Any:
    """Return which cells of rows are missing (NaN), in the columns that members look at; none of a row without cells.

    Such a row is coded as that of the medians.
    """
    xp = namespace(X)
    used = scaling.spread < np.inf
    lacking = xp.isnan(X)
    return lacking & used & xp.any(used & ~lacking, axis=1, keepdims=True)


def choose(X: Any, scaling: AsinhScaling, packed: Packed) -> RowCodes:
    """Return the codes of rows X (N×m): the nearest centroid, and the atom with the largest |g|."""
    xp = namespace(X)
    Y = scaling.apply(X)
    near = xp.expand_dims(packed.half_norms, axis=1) - matmul(Y, xp.matrix_transpose(packed.centroids))
    absent = xp.astype(find_absent(X, scaling), Y.dtype) if has_missing(X) else None
    if absent is not None:
        near = near - 0.5 * matmul(absent, xp.matrix_transpose(packed.centroids**2))
    k = xp.argmin(near, axis=-1)
    W = _deviation(Y, chosen(packed.centroids, k))
    if absent is None:
        i = xp.argmax(xp.abs(matmul(W, xp.matrix_transpose(packed.atoms))), axis=-1)
        gain = xp.sum(W * chosen(packed.atoms, i), axis=-1)
    else:
        W = W * (1.0 - absent)
        square = 1.0 - (1.0 - HIDDEN) * matmul(absent, xp.matrix_transpose(packed.atoms**2))
        i = xp.argmax(xp.abs(matmul(W, xp.matrix_transpose(packed.atoms))) / xp.sqrt(square), axis=-1)
        atoms = chosen(packed.atoms, i)
        gain = xp.sum(W * atoms, axis=-1) / (1.0 - (1.0 - HIDDEN) * xp.sum(absent * atoms**2, axis=-1))
    return RowCodes(k, xp.where(gain == 0.0, xp.zeros_like(i), i), gain)  # of gains that tie at 0 the first


def _deviation(Y: Any, centroid: Any) -> Any:
    """Return y − c, 0 where that is rounding, so that rounding chooses nothing."""
    xp = namespace(Y)
    W = Y - centroid
    return xp.where(xp.abs(W) > ROUNDING * (1.0 + xp.abs(Y)), W, xp.zeros_like(W))


@twin_of(choose)
def row_codes(X: np.ndarray, scaling: AsinhScaling, packed: Packed) -> RowCodes:
    """The codes that the fused kernel makes scores of, ties broken as there; they do not depend on other rows."""
    M, _, m = packed.centroids.shape
    shape = M, X.shape[0]
    codes = RowCodes(np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape))
    scratch = np.empty((4 * m + 4, BLOCK)), np.empty(BLOCK, np.int64)
    _codes(np.ascontiguousarray(X, np.float64), scaling, packed._replace(group_terms=None), *scratch, codes)
    return codes


@njit(cache=True, nogil=True)
def _codes(X, scaling, packed, scratch, best_place, codes):
    unit, center, spread = scaling
    v = unit.size
    Y, W, S, absent = scratch[:v], scratch[v : 2 * v], scratch[2 * v : 3 * v], scratch[3 * v : 4 * v]
    acc, best, gain, square = scratch[4 * v], scratch[4 * v + 1], scratch[4 * v + 2], scratch[4 * v + 3]
    for start in range(0, X.shape[0], BLOCK):
        size = min(BLOCK, X.shape[0] - start)
        some_missing = False
        for j in range(BLOCK):
            share = scale_row(X, start + min(j, size - 1), unit, center, spread, Y, S, absent, j)[1]
            some_missing |= share > 0.0
        for b in range(packed.centroids.shape[0]):
            deviations(Y, packed.centroids[b], packed.half_norms[b], W, acc, best, best_place, absent, some_missing)
            for j in range(size):
                codes.centroid[b, start + j] = best_place[j]
            gains(W, packed.atoms[b], acc, best, best_place, gain, absent, square, some_missing)
            for j in range(size):
                codes.atom[b, start + j] = best_place[j]
                codes.gain[b, start + j] = gain[j]
