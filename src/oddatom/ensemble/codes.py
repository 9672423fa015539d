"""The code of a row under every member: its centroid, its atom, and the gain of the atom."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oddatom.ensemble.model import Ensemble
from oddatom.ensemble.parts import Packed

CHUNK_ROWS = 16_384


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
    """Return the codes of rows X (N×m), those that the scores of the rows are made of.

    Parameters
    ----------
    X : (N, m)
        Rows, finite, in the units of the training rows.
    ensemble : Ensemble
        `OddAtomDetector.ensemble_`.
    """
    packed = ensemble.packed
    shape = X.shape[0], packed.centroids.shape[0]
    codes = RowCodes(np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape))
    for start in range(0, X.shape[0], CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        Y = ensemble.scaling.apply(X[rows])
        for b in range(shape[1]):
            codes.centroid[rows, b], codes.atom[rows, b], codes.gain[rows, b], _ = member_codes(Y, packed, b)
    return codes


def member_codes(Y: np.ndarray, packed: Packed, b: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return centroid, atom, gain, and y − c_k of scaled rows under member b.

    They are those of the kernel that scores rows, but for ties, which rounding may break otherwise.
    """
    C, D = packed.centroids[b], packed.atoms[b]
    nearest = (packed.half_norms[b] - Y @ C.T).argmin(axis=1)
    W = Y - C[nearest]
    G = W @ D.T
    chosen = np.abs(G).argmax(axis=1)
    return nearest, chosen, np.take_along_axis(G, chosen[:, None], axis=1)[:, 0], W
