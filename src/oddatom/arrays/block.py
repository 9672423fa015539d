"""Rows in memory, dense or CSR, as kernels take them; products with them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

_NO_DENSE = np.empty((0, 0))
_NO_INDPTR = np.zeros(1, np.int64)
_NO_INDICES = np.empty(0, np.int32)
_NO_DATA = np.empty(0)


class Block(NamedTuple):
    """Rows in memory: dense (`X` filled) or CSR (`indptr`, `indices`, `data` filled)."""

    X: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    n: int

    @classmethod
    def dense(cls, X: np.ndarray) -> Block:
        """Return a block of dense rows."""
        return cls(X, _NO_INDPTR, _NO_INDICES, _NO_DATA, X.shape[1])

    @classmethod
    def csr(cls, indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, n: int) -> Block:
        """Return a block of sparse rows with n columns."""
        return cls(_NO_DENSE, indptr, indices, data, n)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.X.shape[0] if self.X.size else self.indptr.size - 1

    def row_squares(self) -> np.ndarray:
        """Return ‖x‖² of each row."""
        if self.X.size:
            return np.einsum("ji,ji->j", self.X, self.X)
        rows = np.repeat(np.arange(self.n_rows), np.diff(self.indptr))
        return np.bincount(rows, self.data * self.data, self.n_rows)


# Unsigned indices spare numba's test for negative ones.
@njit(cache=True, nogil=True, error_model="numpy")
def matvec(X, indptr, indices, data, n, w, out):
    """out = X w."""
    if X.size > 0:
        np.dot(X, w, out)
        return
    for j in range(indptr.size - 1):
        t = 0.0
        for p in range(indptr[j], indptr[j + 1]):
            t += data[p] * w[np.uint32(indices[p])]
        out[j] = t


@njit(cache=True, nogil=True, error_model="numpy")
def rmatvec(X, indptr, indices, data, n, v, out):
    """out = Xᵀ v."""
    if X.size > 0:
        np.dot(X.T, v, out)
        return
    out[:] = 0.0
    for j in range(indptr.size - 1):
        for p in range(indptr[j], indptr[j + 1]):
            out[np.uint32(indices[p])] += data[p] * v[j]
