"""Coordinates of a kernel's feature space: rows φ(y) as vectors of r numbers, Φ = K(Y, landmarks) T.

    K(landmarks, landmarks) = T⁻ᵀT⁻¹ on its positive part, so that ΦΦᵀ = K wherever the landmarks span the space

Exact: the landmarks are rows that span all of them up to `rank_tol`, found by a pivoted Cholesky factor. Nyström: a
given number of rows. In these coordinates kernel dictionary learning is dictionary learning.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from oddatom.coding.analysis import analysis_codes
from oddatom.kernels.functions import Kernel, check_range, shorten
from oddatom.kernels.landmarks import choose_landmarks

BLOCK_NUMBERS = 2**21  # entries of K made at a time
NEGATIVE = 1e-8  # an eigenvalue below minus this share of the largest is no rounding


class KernelMap(NamedTuple):
    """φ(y) = k(y, landmarks) T. `kernel` is None for precomputed matrices, whose columns `landmarks` picks."""

    kernel: Kernel | None
    indices: np.ndarray  # training rows that are landmarks
    landmarks: np.ndarray  # those rows themselves; empty for precomputed
    T: np.ndarray  # landmarks × r
    n_samples: int
    negative: float  # share of the negative eigenvalues that were left out

    def blocks(self, Y: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """K(Y, landmarks), some rows at a time; for precomputed, Y is K(Y, training rows)."""
        size = max(64, BLOCK_NUMBERS // max(1, self.indices.size))
        for start in range(0, Y.shape[0], size):
            rows = slice(start, min(start + size, Y.shape[0]))
            if self.kernel is None:
                yield rows, shorten(np.ascontiguousarray(Y[rows][:, self.indices]))
            else:
                yield rows, shorten(self.kernel(Y[rows], self.landmarks))

    def apply(self, Y: np.ndarray) -> np.ndarray:
        """Return the coordinates Φ of rows, N×r."""
        out = np.empty((Y.shape[0], self.T.shape[1]))
        P = self.T.T
        for rows, K in self.blocks(Y):
            out[rows] = analysis_codes(K, P)
        return out

    def outside(self, Y: np.ndarray, Phi: np.ndarray) -> np.ndarray:
        """Return k(y, y) − ‖Φ‖², what φ(y) has outside the landmarks' span; 0 for precomputed, which do not tell."""
        if self.kernel is None:
            return np.zeros(Y.shape[0])
        return np.maximum(self.kernel.diagonal(Y) - np.einsum("ij,ij->i", Phi, Phi), 0.0)

    def coefficients(self, D: np.ndarray) -> np.ndarray:
        """Return A, n_samples × n, with D = AᵀΦ over the training rows: zero but on the landmarks."""
        A = np.zeros((self.n_samples, D.shape[0]))
        A[self.indices] = self.T @ D.T
        return A


def fit_kernel_map(
    kernel: Kernel | None,
    Y: np.ndarray,
    rank_tol: float,
    n_landmarks: int | None,
    method: str,
    rng: np.random.RandomState,
) -> KernelMap:
    """Fit coordinates to the rows Y (for precomputed: their Gram matrix); exact where n_landmarks is None."""
    N = Y.shape[0]
    indices = np.arange(N)
    if n_landmarks is not None and n_landmarks < N:
        indices = np.sort(choose_landmarks(method, kernel, Y, n_landmarks, rng))
    rows = np.ascontiguousarray(Y[indices]) if kernel is not None else np.empty((0, 0))
    K = check_range(Y[np.ix_(indices, indices)] if kernel is None else kernel(rows, rows))
    if kernel is None or callable(kernel.function):  # named ones are symmetric
        K = 0.5 * (K + K.T)
    kept, T, negative = factor(K, rank_tol, kernel is not None and kernel.positive)
    if kernel is not None:
        rows = np.ascontiguousarray(rows[kept])
    return KernelMap(kernel, indices[kept], rows, T, N, negative)


def factor(K: np.ndarray, rank_tol: float, positive: bool = False) -> tuple[np.ndarray, np.ndarray, float]:
    """Rows `kept` of K and T with TᵀK(kept, kept)T = I, which span K's positive part up to `rank_tol` of its size.

    Returns also the sum of the negative eigenvalues over that of the positive ones, 0 where there are none. A
    pivoted Cholesky factor serves where K is `positive` or the factor reproduces it; otherwise its eigenvectors do.
    """
    top = float(np.diag(K).max(initial=0.0))
    if top > 0.0:
        L, pivots, rank, _ = lapack.dpstrf(K.T, tol=rank_tol * top, lower=1)  # K.T: as LAPACK wants it, without a copy
        order = pivots - 1
        # What is left has a diagonal below the tolerance; if its entries are not, it is no positive matrix.
        if positive or _rest_is_small(K, np.tril(L[:, :rank]), order, 10.0 * rank_tol * top):
            T = np.tril(lapack.dtrtri(L[:rank, :rank], lower=1)[0]).T
            return order[:rank], np.ascontiguousarray(T), 0.0
    values, vectors = np.linalg.eigh(K)
    size = float(np.abs(values).max(initial=0.0))
    keep = values > rank_tol * size
    negative = -float(values[values < -NEGATIVE * size].sum())
    T = vectors[:, keep] / np.sqrt(values[keep])
    return np.arange(K.shape[0]), np.ascontiguousarray(T), negative / max(float(values[keep].sum()), 1e-300)


def _rest_is_small(K: np.ndarray, L: np.ndarray, order: np.ndarray, tol: float) -> bool:
    for start in range(0, K.shape[0], 1024):
        rows = slice(start, start + 1024)
        if float(np.abs(K[order[rows]][:, order] - L[rows] @ L.T).max()) > tol:
            return False
    return True
