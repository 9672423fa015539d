"""The paper's score: the signed margin w·x of a row's code, higher for normal rows."""

from __future__ import annotations

import numpy as np
from numba import njit

from oddatom.coding import Codes


def margin(codes: Codes, w: np.ndarray) -> np.ndarray:
    """Return w·x_j for every row j of codes; w runs over the atoms."""
    out = np.empty(codes.indices.shape[0])
    _margin(codes.indices, codes.values, w, out)
    return out


@njit(cache=True, nogil=True)
def _margin(indices, values, w, out):
    for j in range(indices.shape[0]):
        t = 0.0
        for k in range(indices.shape[1]):
            if indices[j, k] >= 0:
                t += values[j, k] * w[indices[j, k]]
        out[j] = t
