"""The one-class SVM as the published program solves it: libsvm's steps, stopped early, on codes as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from oddatom.boundary.libsvm_smo import walk
from oddatom.boundary.plane import OneClassFit, at_origin
from oddatom.passes import MarginPasses, PlanePasses, ShardGroup

MAX_ITER = 5000
TOL = 1e-3  # libsvm's own, on codes as they are: far too coarse for codes of rows divided by their Frobenius norm


def fit_libsvm(
    group: ShardGroup[PlanePasses], n: int, nu: float, *, w0: np.ndarray | None = None, curvature: float = 0.0
) -> OneClassFit:
    """Fit what `OneClassSVM(kernel="linear", max_iter=5000)` gives for all rows; w, rho and lam are divided by nu N.

    Stopping early and its dependence on the order of the rows are kept: they are part of the published figures.
    The gap reported is the true one, in unit-RMS units. It knows planes alone.
    """
    if curvature != 0.0:
        raise ValueError("libsvm's one-class SVM has a plane, no ball.")
    N, _, sum_sq = group.sum(MarginPasses.svm_summary)
    C = nu * N
    if n == 0 or sum_sq == 0.0:
        group.map(MarginPasses.svm_zero_rows, nu)
        return at_origin(n)
    rows = group.map(PlanePasses.svm_all_rows)
    X = scipy.sparse.vstack(rows).tocsr()
    a, rho, steps = walk(*_slots(X), n, nu, TOL, MAX_ITER)
    w, rho = X.T @ a / C, rho / C
    group.scatter(PlanePasses.svm_set_all, np.split(a, np.cumsum([r.shape[0] for r in rows])[:-1]))

    scale = float(np.sqrt(sum_sq / N))
    group.map(MarginPasses.svm_scale, scale)
    group.map(MarginPasses.svm_margins, w / scale)
    slack = group.sum(MarginPasses.svm_slack, rho / scale**2)[0]
    primal = 0.5 * float(w @ w) / scale**2 - rho / scale**2 + slack / C
    gap = max(primal + 0.5 * float(w @ w) / scale**2, 0.0)
    residual = max(group.map(MarginPasses.svm_residual, rho / scale**2))
    return OneClassFit(w, rho, gap, residual, primal * scale**2, False, steps, scale)


def _slots(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return a CSR array's columns and values, (N, s) each, s being the most non-zeros of a row."""
    counts = np.diff(X.indptr)
    rows = np.repeat(np.arange(X.shape[0]), counts)
    slots = np.arange(X.nnz) - np.repeat(X.indptr[:-1], counts)
    shape = (X.shape[0], max(int(counts.max()), 1))
    index, value = np.zeros(shape, np.int32), np.zeros(shape)
    index[rows, slots], value[rows, slots] = X.indices, X.data
    return index, value
