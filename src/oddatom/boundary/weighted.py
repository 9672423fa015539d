"""The linear one-class SVM of rows with weights, solved exactly.

    min_w,rho  ½‖w‖² − rho + 1/(nu W) Σ_j ω_j (rho − f_j)₊,   W = Σ ω_j

It is the SVM of rows that are repeated ω_j times. As in `plane.py`, rows near the margin are solved by an interior
point, those farther away are fixed at their bounds, and the duality gap over all rows decides whether more are taken.
The multipliers of the rows on the margin are then solved for once more, as linear equations: the conditions of the
optimum hold to rounding. The rows are in one shard, in memory.
"""

from __future__ import annotations

import numpy as np

from oddatom.boundary.interior_point import interior_point
from oddatom.boundary.plane import GAP_TOL, OneClassFit, all_at_origin, as_fit, at_origin
from oddatom.boundary.polish import plane_of, polished, with_sum
from oddatom.passes import MarginPasses, ShardGroup, WeightedPasses

BAND = 2048  # rows around the margin that are solved at first


def fit_weighted(
    group: ShardGroup[WeightedPasses],
    n: int,
    nu: float,
    *,
    w0: np.ndarray | None = None,
    tol: float = GAP_TOL,
    curvature: float = 0.0,
) -> OneClassFit:
    """Solve the one-class SVM on the rows of one `WeightedOneClassShard`, which keeps the multipliers."""
    W, zero, sum_sq = group.sum(MarginPasses.svm_summary)
    if all_at_origin(group, zero, W, nu * W, curvature):
        return at_origin(n, curvature)
    scale = float(np.sqrt(sum_sq / W))
    group.map(MarginPasses.svm_scale, scale, curvature)
    w, rho, gap, steps = _solve(group, n, W, nu * W, None if w0 is None else w0 / scale, tol, curvature)
    return as_fit(group, w, rho, gap, steps, scale, nu * W, tol, curvature)


def weighted_quantile_offset(group: ShardGroup[WeightedPasses], w: np.ndarray, nu: float) -> float:
    """The nu-quantile of the margins w·x by weight: rows below it have at most a share nu of it."""
    W = group.sum(MarginPasses.svm_summary)[0]
    group.map(MarginPasses.svm_scale, 1.0)
    group.map(MarginPasses.svm_margins, w)
    return float(group.map(WeightedPasses.svm_quantile, nu * W)[0])


def _solve(
    group: ShardGroup[WeightedPasses], n: int, W: float, C: float, w: np.ndarray | None, tol: float, curvature: float
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
        inner = interior_point(block, fixed / unit, C / unit, K, 1e-2 * tol, u, curvature)
        steps += inner.n_steps
        a = polished(block, with_sum(inner.a, K, u), inner.rho, u, fixed / unit, C / unit, curvature)
        group.map(MarginPasses.svm_set_band, a * unit)
        w = plane_of(block, a, fixed / unit, C / unit)
        group.map(MarginPasses.svm_margins, w)
        rho = group.map(WeightedPasses.svm_quantile, C)[0]
        half = 0.5 * float(w @ w)
        gap = group.sum(MarginPasses.svm_slack, rho)[1] / C
        if gap <= tol or (half <= tol and curvature == 0.0) or everything:
            return w, rho, gap, steps
        size *= 4
