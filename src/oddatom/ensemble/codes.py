"""The code of a row under every member: its centroid, its atom, and the gain of the atom."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from oddatom.ensemble.model import Ensemble
from oddatom.ensemble.parts import BLOCK, deviations, gains, scale_row


class RowCodes(NamedTuple):
    """y ≈ c_k + g d_i under each of M members, for N rows.

    Attributes
    ----------
    centroid : (N, M) int
        k, the centroid next to the row: `packed.centroids[b, k]` of member b.
    atom : (N, M) int
        i, the atom nearest in direction to y − c_k: `packed.atoms[b, i]`.
    gain : (N, M)
        g = d_i · (y − c_k).
    """

    centroid: np.ndarray
    atom: np.ndarray
    gain: np.ndarray


def row_codes(X: np.ndarray, ensemble: Ensemble) -> RowCodes:
    """Return the codes of rows X (N×m): those that the scores of the rows are made of, ties broken as there.

    Parameters
    ----------
    X : (N, m)
        Rows, finite, in the units of the training rows.
    ensemble : Ensemble
        `OddAtomDetector.ensemble_`.
    """
    M, _, m = ensemble.packed.centroids.shape
    shape = X.shape[0], M
    codes = RowCodes(np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape))
    scratch = np.empty((3 * m + 3, BLOCK)), np.empty(BLOCK, np.int64)
    _codes(np.ascontiguousarray(X, np.float64), ensemble.scaling, ensemble.packed, *scratch, codes)
    return codes


@njit(cache=True, nogil=True)
def _codes(X, scaling, packed, scratch, chosen, codes):
    unit, center, spread = scaling
    v = unit.size
    Y, W, S = scratch[:v], scratch[v : 2 * v], scratch[2 * v : 3 * v]
    acc, best, gain = scratch[3 * v], scratch[3 * v + 1], scratch[3 * v + 2]
    for start in range(0, X.shape[0], BLOCK):
        size = min(BLOCK, X.shape[0] - start)
        for j in range(BLOCK):
            scale_row(X, start + min(j, size - 1), unit, center, spread, Y, S, j)
        for b in range(packed.centroids.shape[0]):
            deviations(Y, packed.centroids[b], packed.half_norms[b], W, acc, best, chosen)
            codes.centroid[start : start + size, b] = chosen[:size]
            gains(W, packed.atoms[b], acc, best, chosen, gain)
            codes.atom[start : start + size, b] = chosen[:size]
            codes.gain[start : start + size, b] = gain[:size]
