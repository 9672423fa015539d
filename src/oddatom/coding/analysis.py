"""Linear codes x = P y: a matrix product, row by row in a fixed order, so that a row's code is its own."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from oddatom._threads import split


def analysis_codes(Y: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Return Y Pᵀ, N×n: the same bits for a row in any batch, unlike a BLAS product.

    Parameters
    ----------
    Y : (N, m)
        Rows, C-ordered.
    P : (n, m)
        Analysis atoms.
    """
    (N, m), n = Y.shape, P.shape[0]
    out = np.empty((N, n))
    split(N, m * n / 8 + 5).run(_codes, Y, np.ascontiguousarray(P.T), out)
    return out


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def _codes_rows(Y, PT, lo, hi, out):
    m, n = PT.shape
    for j in range(lo, hi):
        for i in range(n):
            out[j, i] = 0.0
        for f in range(m):
            y = Y[j, f]
            for i in range(n):
                out[j, i] += y * PT[f, i]


@njit(cache=True, nogil=True, parallel=True)
def _codes(Y, PT, out, k, parallel):
    N = Y.shape[0]
    if parallel:
        for c in prange(k):
            _codes_rows(Y, PT, N * c // k, N * (c + 1) // k, out)
    else:
        _codes_rows(Y, PT, 0, N, out)
