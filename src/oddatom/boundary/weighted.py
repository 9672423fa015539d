"""The linear one-class SVM of rows with weights, solved exactly.

    min_w,rho  ½‖w‖² − rho + 1/(nu W) Σ_j ω_j (rho − w·x_j)₊,   W = Σ ω_j

It is the SVM of rows that are repeated ω_j times. As in `plane.py`, rows near the margin are solved by an interior
point, those farther away are fixed at their bounds, and the duality gap over all rows decides whether more are taken.
The multipliers of the rows on the margin are then solved for once more, as linear equations: the conditions of the
optimum hold to rounding. The rows are in one shard, in memory.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from oddatom.arrays.block import Block, matvec
from oddatom.boundary.interior_point import interior_point
from oddatom.boundary.plane import GAP_TOL, OneClassFit, as_fit, plane_of, with_sum
from oddatom.passes import MarginPasses, ShardGroup, WeightedPasses

BAND = 2048  # rows around the margin that are solved at first


def fit_weighted(
    group: ShardGroup[WeightedPasses], n: int, nu: float, *, w0: np.ndarray | None = None, tol: float = GAP_TOL
) -> OneClassFit:
    """Solve the one-class SVM on the rows of one `WeightedOneClassShard`, which keeps the multipliers."""
    W, zero, sum_sq = group.sum(MarginPasses.svm_summary)
    if zero >= nu * W:
        group.map(MarginPasses.svm_zero_rows, nu * W / zero)
        return OneClassFit(np.zeros(n), 0.0, 0.0, 0.0, 0.0, True, 0, 0.0)
    scale = float(np.sqrt(sum_sq / W))
    group.map(MarginPasses.svm_scale, scale)
    w, rho, gap, steps = _solve(group, n, W, nu * W, None if w0 is None else w0 / scale, tol)
    return as_fit(group, w, rho, gap, steps, scale, nu * W, tol)


def weighted_quantile_offset(group: ShardGroup[WeightedPasses], w: np.ndarray, nu: float) -> float:
    """The nu-quantile of the margins w·x by weight: rows below it have at most a share nu of it."""
    W = group.sum(MarginPasses.svm_summary)[0]
    group.map(MarginPasses.svm_scale, 1.0)
    group.map(MarginPasses.svm_margins, w)
    return float(group.map(WeightedPasses.svm_quantile, nu * W)[0])


def _solve(
    group: ShardGroup[WeightedPasses], n: int, W: float, C: float, w: np.ndarray | None, tol: float
) -> tuple[np.ndarray, float, float, int]:
    """Rounds of: rows near the margin, interior point, gap over all rows."""
    size, steps = max(BAND, 4 * n), 0
    if w is None or not w.any():
        w = group.sum(MarginPasses.svm_total)[0] / W
    while True:
        group.map(MarginPasses.svm_margins, w)
        rho = group.map(WeightedPasses.svm_quantile, C)[0]
        block, weights, fixed, below, everything = group.map(WeightedPasses.svm_weighted_band, rho, size)[0]
        unit = float(weights.mean())  # multipliers about one: the interior point's constants are made for that
        u, K = weights / unit, (C - below) / unit
        inner = interior_point(block, fixed / unit, C / unit, K, 1e-2 * tol, u)
        steps += inner.n_steps
        a = _polished(block, with_sum(inner.a, K, u), inner.rho, u, fixed / unit, C / unit)
        group.map(MarginPasses.svm_set_band, a * unit)
        w = plane_of(block, a, fixed / unit, C / unit)
        group.map(MarginPasses.svm_margins, w)
        rho = group.map(WeightedPasses.svm_quantile, C)[0]
        half = 0.5 * float(w @ w)
        gap = 2.0 * half - rho + group.sum(MarginPasses.svm_slack, rho)[0] / C
        if gap <= tol or half <= tol or everything:
            return w, rho, max(gap, 0.0), steps
        size *= 4


def _polished(block: Block, a: np.ndarray, rho: float, u: np.ndarray, b: np.ndarray, C: float) -> np.ndarray:
    """Solve for the multipliers of the rows F on the margin, the others at their bounds; a itself where that fails.

        min_δ ‖b + Xᵀa + X_Fᵀδ‖,  Σ δ = 0:   the least squares of the rows of F less their mean

    Its smallest solution has Σ δ = 0 of itself. It is taken where it keeps 0 ≤ a ≤ u and w is no longer than before.
    """
    w = plane_of(block, a, b, C)
    f = np.empty(a.size)
    matvec(*block, w, f)
    low, high = a / u < f - rho, 1.0 - a / u < rho - f
    free = np.flatnonzero(~(low | high))
    if not free.size:
        return a
    new = np.where(high, u, np.where(low, 0.0, a))
    new[free] += (a.sum() - new.sum()) / free.size
    rows = _dense(block, free)
    rows -= rows.mean(axis=0)
    new[free] -= np.linalg.lstsq(rows.T, C * plane_of(block, new, b, C), rcond=None)[0]
    if (new < 0.0).any() or (new > u).any():
        return a
    polished = plane_of(block, new, b, C)
    return new if polished @ polished <= (1.0 + 1e-12) * (w @ w) else a


def _dense(block: Block, rows: np.ndarray) -> np.ndarray:
    """Return some rows of a block as a new dense array."""
    if block.X.size:
        return block.X[rows]
    matrix = scipy.sparse.csr_array((block.data, block.indices, block.indptr), shape=(block.n_rows, block.n))
    return matrix[rows].toarray()
