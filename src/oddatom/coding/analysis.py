"""Linear codes x = P y: a matrix product made so that a row's code is the same, bit for bit, in any batch."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from oddatom.arrays.sums import FUSED
from oddatom.arrays.threads import split

_BLOCK = 48  # rows of one BLAS product, always padded to it: see `batch_omp`
_WIDE = 4096  # numbers in P from which BLAS is worth a block


def analysis_codes(Y: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Return Y Pᵀ, N×n. Call it inside `threads`: BLAS must run on one thread.

    Parameters
    ----------
    Y : (N, m)
        Rows, C-ordered.
    P : (n, m)
        Analysis atoms.
    """
    (N, m), n = Y.shape, P.shape[0]
    out = np.empty((N, n))
    if m * n < _WIDE:
        split(N, m * n / 8 + 5).run(_codes, Y, np.ascontiguousarray(P.T), out)
    else:
        split(N, m * n / 20 + 5, rows_per_chunk=_BLOCK).run(_blocks, Y, np.ascontiguousarray(P.T), out)
    return out


@njit(cache=True, nogil=True)
def _block_rows(Y, PT, lo, hi, out):
    m, n = PT.shape
    rows, codes = np.zeros((_BLOCK, m)), np.empty((_BLOCK, n))
    for start in range(lo, hi, _BLOCK):
        b = min(_BLOCK, hi - start)
        for j in range(b):
            for f in range(m):
                rows[j, f] = Y[start + j, f]
        np.dot(rows, PT, codes)
        for j in range(b):
            for i in range(n):
                out[start + j, i] = codes[j, i]


@njit(cache=True, nogil=True, parallel=True)
def _blocks(Y, PT, out, k, parallel):
    N = Y.shape[0]
    if parallel:
        for c in prange(k):
            _block_rows(Y, PT, N * c // k, N * (c + 1) // k, out)
    else:
        for c in range(k):
            _block_rows(Y, PT, N * c // k, N * (c + 1) // k, out)


@njit(cache=True, nogil=True, fastmath=FUSED)
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
        for c in range(k):
            _codes_rows(Y, PT, N * c // k, N * (c + 1) // k, out)
