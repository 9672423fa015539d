"""The linear one-class SVM of rows in memory; of few, wide rows in coordinates of the space that they span.

The solvers factor dense matrices as wide as the rows. But the SVM knows rows by their products alone, and its plane,
or the centre of its ball, is w = Xᵀlam. So where X (N×n) has more columns than rows it is solved for Z (N×r, r ≤ N)
with ZZᵀ = XXᵀ instead:

    XXᵀ = D L Lᵀ D,   D = diag(‖x_j‖),   Z = D L.

L is a Cholesky factor with pivots, ended where no unit row has a squared distance above N eps from the span of those
taken. Products then have errors of about N eps ‖x_i‖ ‖x_j‖, small rows' as well as large ones'. Only the multipliers
are taken from there: plane, offset, gap and residual are worked out from the rows themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from scipy.linalg.lapack import dpstrf

from oddatom.arrays.block import Block, rmatvec
from oddatom.arrays.memory import usable_memory
from oddatom.arrays.threads import MAX_CHUNKS
from oddatom.boundary.plane import GAP_TOL, SMALL, OneClassFit, as_fit, fit_one_class, offset_rank
from oddatom.boundary.weighted import fit_weighted
from oddatom.passes.group import ShardGroup
from oddatom.rows.array import OneClassShard, WeightedOneClassShard

BLOCK = 2**22  # numbers of sparse rows that are made dense at a time, where that is faster


def fit_rows(
    X: Any, nu: float, weights: np.ndarray | None = None, curvature: float = 0.0
) -> tuple[OneClassFit, np.ndarray]:
    """Solve the SVM of dense or CSR rows X, in their columns or in the space that they span; return it and lam.

    Where there are more columns than rows, columns of zeros are left out first.
    """
    N, n = X.shape
    places, weighted = None, weights is not None
    if n > N or _bytes_in_columns(N, n, weighted) > usable_memory():
        X, places = _without_zero_columns(X)
    by_rows = _by_rows(X, n, weighted)
    shard = _shard(as_block(X), weights)
    fit = _fit_in_rows(shard, X, nu, curvature) if by_rows else _fit(shard, X.shape[1], nu, curvature)
    if places is not None:
        w = np.zeros(n)
        w[places] = fit.w
        fit = fit._replace(w=w)
    return fit, _lam(shard, nu)


def as_block(X: Any) -> Block:
    """Return dense or CSR rows as a block."""
    if scipy.sparse.issparse(X):
        return Block.csr(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data, X.shape[1])
    return Block.dense(np.ascontiguousarray(X))


def row_coordinates(X: Any) -> np.ndarray:
    """Return Z (N×r, of full rank r) with ZZᵀ = XXᵀ up to rounding, for dense or CSR rows X."""
    G = _products(X)
    norms = np.sqrt(G.diagonal())
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0)
    G *= inverse
    G *= inverse[:, None]
    tol = norms.size * np.finfo(np.float64).eps
    L, pivots, rank, _ = dpstrf(G.T, tol=tol, lower=1, overwrite_a=1)  # symmetric: Fortran's order without a copy
    Z = np.empty((norms.size, rank))
    Z[pivots - 1] = np.tril(L[:, :rank])
    Z *= norms[:, None]
    return Z


def _products(X: Any) -> np.ndarray:
    """Return XXᵀ; of sparse rows with many entries by blocks of columns, which BLAS multiplies 16 times as fast."""
    if not scipy.sparse.issparse(X):
        return X @ X.T
    N, n = X.shape
    columns = X.tocsc()
    entries = np.diff(columns.indptr).astype(np.float64)
    if 16.0 * (entries @ entries) < float(N) * N * n:
        return (X @ X.T).toarray(order="C")
    G, width = np.zeros((N, N)), max(1, BLOCK // N)
    for start in range(0, n, width):
        block = columns[:, start : start + width].toarray(order="C")
        G += block @ block.T
    return G


def _fit_in_rows(shard: OneClassShard, X: Any, nu: float, curvature: float) -> OneClassFit:
    """Take the multipliers from the space of the rows; the shard, which holds X, says how good they are."""
    weight, _, sum_sq = shard.svm_summary()
    Z = row_coordinates(X)
    inner = _shard(Block.dense(Z), getattr(shard, "weights", None))
    steps = _fit(inner, Z.shape[1], nu, curvature).n_steps
    shard.multipliers = inner.multipliers
    if isinstance(shard, WeightedOneClassShard):
        shard.shares = inner.multipliers
    C, scale = nu * weight, float(np.sqrt(sum_sq / weight))
    w = np.empty(X.shape[1])
    rmatvec(*as_block(X), _lam(shard, nu), w)
    w /= scale
    shard.svm_scale(scale, curvature)
    shard.svm_margins(w)
    rho = _offset(shard, C)
    gap = shard.svm_slack(rho)[1] / C
    return as_fit(ShardGroup([shard]), w, rho, gap, steps, scale, C, GAP_TOL, curvature)


def _shard(rows: Block, weights: np.ndarray | None) -> OneClassShard:
    return OneClassShard(rows) if weights is None else WeightedOneClassShard(rows, weights)


def _fit(shard: OneClassShard, n: int, nu: float, curvature: float) -> OneClassFit:
    if isinstance(shard, WeightedOneClassShard):
        return fit_weighted(ShardGroup([shard]), n, nu, curvature=curvature)
    return fit_one_class(ShardGroup([shard]), n, nu, curvature=curvature)


def _lam(shard: OneClassShard, nu: float) -> np.ndarray:
    return shard.svm_dual_coef(nu * shard.svm_summary()[0])


def _offset(shard: OneClassShard, C: float) -> float:
    """Return the best rho for the margins that the shard has: their nu-quantile."""
    if isinstance(shard, WeightedOneClassShard):
        return shard.svm_quantile(C)
    rank = offset_rank(C, shard.margins.size)
    return float(np.partition(shard.margins, rank)[rank])


def _without_zero_columns(X: Any) -> tuple[Any, np.ndarray]:
    """Return X without columns of zeros, and the places of the others; of zeros alone the first column stays."""
    if not scipy.sparse.issparse(X):
        places = np.flatnonzero(X.any(axis=0)) if X.any() else np.zeros(1, np.int64)
        return (X if places.size == X.shape[1] else X[:, places]), places
    X = X.copy()
    X.eliminate_zeros()
    if X.nnz == 0:
        return X[:, :1], np.zeros(1, np.int64)
    places, indices = np.unique(X.indices, return_inverse=True)
    return scipy.sparse.csr_array((X.data, indices, X.indptr), shape=(X.shape[0], places.size)), places


def _by_rows(X: Any, n: int, weighted: bool) -> bool:
    """Whether to solve X, what is left of n columns, in the space of its rows; refuse it where memory is too small."""
    N, kept = X.shape
    by_rows = kept > N
    plane = 24 * n  # w and two copies
    needed = {True: plane + _bytes_in_rows(N), False: plane + _bytes_in_columns(N, kept, weighted)}
    there = usable_memory()
    for choice in (by_rows, not by_rows):
        if needed[choice] <= there:
            return choice
    raise MemoryError(
        f"The exact one-class SVM of {N:,} rows × {n:,} columns ({kept:,} of them not all zero) takes "
        f"{min(needed.values()) / 1e9:.3g} GB, of {there / 1e9:.3g} GB that this process may use: its matrices are "
        "dense, and as wide as there are rows or columns, whichever are fewer. Fit to a sample of the rows, or make "
        "fewer columns first, for instance with sklearn.decomposition.TruncatedSVD."
    )


def _bytes_in_columns(N: int, n: int, weighted: bool) -> int:
    """What the solver takes of N rows with n columns, at least: its matrix, two factors, and sums by chunk."""
    chunks = 0 if weighted or max(SMALL, 5.6 * n) >= N else min(MAX_CHUNKS, N // max(1, 2 * n))
    return 8 * (n + 1) ** 2 * (3 + chunks)


def _bytes_in_rows(N: int) -> int:
    """What it takes in the space of N rows: Z and two copies of it, its matrix and two factors."""
    return 48 * N * N
