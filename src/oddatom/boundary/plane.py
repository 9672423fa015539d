"""The linear one-class SVM, solved exactly: an interior point on the rows that matter, checked on all of them.

    min_w,rho  ½‖w‖² − rho + 1/(nu N) Σ_j (rho − f_j)₊,   f_j = w·x_j − h/2 ‖x_j‖²
    max_lam   −½‖w(lam)‖² + h/2 Σ_j lam_j ‖x_j‖²,   w = Σ_j lam_j x_j,   Σ lam_j = 1,   0 ≤ lam_j ≤ 1/(nu N)

With the curvature h = 0 the boundary is a plane. With h = 1 it is a ball (SVDD): centre c = w, R² = ‖c‖² − 2 rho, and
R² + 1/(nu N) Σ (‖x_j − c‖² − R²)₊ is twice the value above, as ‖x − c‖² − R² = 2 (rho − f).

Codes are taken in units of their root mean square row norm. With a = nu N lam, only rows near the margin have a_j
strictly between 0 and 1. Newton's method on a smoothed hinge finds a plane close to the best one; the rows
nearest its margin are then solved exactly with the others fixed at their bounds, and the duality gap over ALL rows
decides. If it is too large, more rows are taken, in the end all of them. Each choice of rows depends on their
values, never on their order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.block import Block
from oddatom.boundary.interior_point import interior_point
from oddatom.boundary.newton import smooth_newton
from oddatom.boundary.polish import plane_of, polished, with_sum
from oddatom.passes import MarginPasses, PlanePasses, ShardGroup
from oddatom.passes.protocol import DISTANCE, KEY_BITS, MARGIN

SMALL = 1500  # rows that are solved at once
BAND = 2**14  # most rows around the margin that are solved exactly at first
GAP_TOL = 1e-8


class OneClassFit(NamedTuple):
    """Boundary in the units of the rows; gap and residual in unit-RMS units. A ball has its centre in w."""

    w: np.ndarray
    rho: float
    gap: float
    residual: float
    objective: float
    degenerate: bool
    n_steps: int
    scale: float  # root mean square row norm
    flat: bool = False  # whether all rows have the same margin; only the last SVM of a fit is asked
    curvature: float = 0.0  # of the boundary: 0 a plane, 1 a ball

    @property
    def tolerance(self) -> float:
        """Rows whose margin is this close to rho, in the units of the rows, lie on it."""
        return 1e-6 * self.scale * (float(np.linalg.norm(self.w)) + self.curvature * self.scale)

    @property
    def score_offset(self) -> float:
        """The offset of a row's score, w·x or −‖x − c‖², such that rows on the boundary lie above it."""
        offset = self.rho - self.tolerance
        return offset if self.curvature == 0.0 else 2.0 * offset - float(self.w @ self.w)

    @property
    def squared_radius(self) -> float:
        """R² of a ball."""
        return float(self.w @ self.w) - 2.0 * self.rho


def fit_one_class(
    group: ShardGroup[PlanePasses],
    n: int,
    nu: float,
    *,
    w0: np.ndarray | None = None,
    tol: float = GAP_TOL,
    curvature: float = 0.0,
) -> OneClassFit:
    """Solve the one-class SVM on the rows of a group of shards; the shards keep the multipliers a = nu N lam."""
    count, n_zero, sum_sq = group.sum(MarginPasses.svm_summary)
    N = int(count)
    C = nu * N
    if all_at_origin(group, float(n_zero), float(N), C, curvature):
        return at_origin(n, curvature)
    scale = float(np.sqrt(sum_sq / N))
    group.map(MarginPasses.svm_scale, scale, curvature)
    w, rho, gap, steps = _solve(group, n, N, C, w0 if w0 is None else w0 / scale, tol, curvature)
    return as_fit(group, w, rho, gap, steps, scale, C, tol, curvature)


def all_at_origin(group: ShardGroup[MarginPasses], zero: float, total: float, C: float, curvature: float) -> bool:
    """Whether rows at the origin carry the whole weight, C of `total`; if so they get it. A ball needs all of them."""
    if zero < (C if curvature == 0.0 else total):
        return False
    group.map(MarginPasses.svm_zero_rows, C / zero)
    return True


def at_origin(n: int, curvature: float = 0.0) -> OneClassFit:
    """Return the boundary w = 0, rho = 0, which tells no row from another."""
    return OneClassFit(np.zeros(n), 0.0, 0.0, 0.0, 0.0, True, 0, 0.0, curvature=curvature)


def as_fit(
    group: ShardGroup[MarginPasses],
    w: np.ndarray,
    rho: float,
    gap: float,
    steps: int,
    scale: float,
    C: float,
    tol: float,
    curvature: float = 0.0,
) -> OneClassFit:
    """Return a solution for rows divided by `scale` in their own units; a plane no better than w = 0 is that."""
    half = 0.5 * float(w @ w)
    primal = half - rho + group.sum(MarginPasses.svm_slack, rho)[0] / C
    # A primal value below that of w = 0 proves a margin however small w is, unless all of it is rounding.
    degenerate = curvature == 0.0 and half <= tol and (primal > -0.1 * half or half < 1e-22)
    if degenerate:
        w, rho, gap, primal = np.zeros_like(w), 0.0, half, 0.0
        group.map(MarginPasses.svm_margins, w)
    residual = max(group.map(MarginPasses.svm_residual, rho))
    objective = (1.0 + curvature) * primal * scale**2  # of a ball R² + …, twice the value solved for
    return OneClassFit(
        w * scale, rho * scale**2, gap, residual, objective, degenerate, steps, scale, curvature=curvature
    )


def quantile_offset(group: ShardGroup[PlanePasses], w: np.ndarray, nu: float) -> float:
    """The nu-quantile of a plane's margins w·x: with it as offset, at most a share nu of the rows lies below."""
    N = int(group.sum(MarginPasses.svm_summary)[0])
    group.map(MarginPasses.svm_scale, 1.0)
    group.map(MarginPasses.svm_margins, w)
    return _kth(group, MARGIN, offset_rank(nu * N, N))


def is_flat(group: ShardGroup[MarginPasses], svm: OneClassFit) -> bool:
    """Whether the margins of all rows are the same, up to the tolerance: it then says nothing about them."""
    group.map(MarginPasses.svm_scale, 1.0, svm.curvature)
    group.map(MarginPasses.svm_margins, svm.w)
    lowest, highest = zip(*group.map(MarginPasses.svm_range), strict=True)
    return max(highest) - min(lowest) <= svm.tolerance


def _solve(
    group: ShardGroup[PlanePasses], n: int, N: int, C: float, w: np.ndarray | None, tol: float, curvature: float
) -> tuple[np.ndarray, float, float, int]:
    """Rounds of: smoothed plane, rows near the margin, interior point, gap over all rows."""
    size = max(300, 4 * n, min(N // 32, 2048), min(N // 64, BAND))
    # A plane handed in may be so close already that the rows around it settle the matter.
    widths: tuple[float, ...] = ()
    if w is None or not w.any():
        w = group.sum(MarginPasses.svm_total)[0] / N
        widths = (10.0, 1.0)
    origin, least = (tol, 1e-8) if curvature == 0.0 else (-1.0, 0.5)  # a ball's value is about ½
    steps = 0
    while True:
        everything = max(SMALL, 1.4 * size) >= N
        group.map(MarginPasses.svm_margins, w)
        rho = _kth(group, MARGIN, offset_rank(C, N))
        if widths and not everything:
            group.map(PlanePasses.svm_distances, rho, False)
            eps = max(_kth(group, DISTANCE, size), 1e-9)
            w, taken = smooth_newton(group, w, rho, C, [eps * t for t in widths], least)
            steps += taken
            rho = _kth(group, MARGIN, offset_rank(C, N))
        group.map(PlanePasses.svm_distances, rho, True)
        threshold = np.inf if everything else _kth(group, DISTANCE, size - 1)
        pieces, sums, counts = zip(*group.map(PlanePasses.svm_band, rho, threshold), strict=True)
        block, fixed, K = _concatenate(pieces), np.sum(sums, axis=0), C - sum(counts)
        inner = interior_point(block, fixed, C, K, 1e-2 * tol, curvature=curvature)
        steps += inner.n_steps
        a = with_sum(inner.a, K)
        if curvature > 0.0:
            a = polished(block, a, inner.rho, np.ones(a.size), fixed, C, curvature)
        group.scatter(MarginPasses.svm_set_band, np.split(a, np.cumsum([p.n_rows for p in pieces])[:-1]))
        start, w = w, plane_of(block, a, fixed, C)
        group.map(MarginPasses.svm_margins, w)
        rho = _kth(group, MARGIN, offset_rank(C, N))
        half = 0.5 * float(w @ w)
        gap = group.sum(MarginPasses.svm_slack, rho)[1] / C
        if gap <= tol or half <= origin or everything:
            return w, rho, gap, steps
        if not widths:
            w = start
        elif gap < half or curvature > 0.0:  # the primal value is negative: there is a margin
            size *= 2
        else:  # perhaps there is none, and that takes many rows to see
            size *= 8
        widths = (1.0,)


def offset_rank(C: float, N: int) -> int:
    """Position (from 0) of the offset among the sorted margins: the nu-quantile."""
    return min(max(int(np.ceil(C)) - 1, 0), N - 1)


def _concatenate(pieces: Any) -> Block:
    """One block out of the shards' pieces, in their order."""
    if len(pieces) == 1:
        return pieces[0]
    if any(p.X.size for p in pieces):
        return Block.dense(np.concatenate([p.X for p in pieces if p.X.size]))
    ends = np.cumsum([0] + [p.data.size for p in pieces])
    indptr = np.concatenate([[0]] + [p.indptr[1:] + e for p, e in zip(pieces, ends[:-1], strict=True)])
    return Block.csr(
        indptr.astype(np.int64),
        np.concatenate([p.indices for p in pieces]),
        np.concatenate([p.data for p in pieces]),
        pieces[0].n,
    )


def _kth(group: ShardGroup[PlanePasses], which: int, rank: int) -> float:
    """The exact `rank`-th smallest (from 0) number over all shards, from histograms of leading key bits."""
    prefix, shift = 0, 64
    while shift > 0:
        bits = min(KEY_BITS, shift)
        shift -= bits
        (counts,) = group.sum(PlanePasses.svm_histogram, which, prefix, shift, bits)
        ends = np.cumsum(counts)
        bin_ = int(np.searchsorted(ends, rank, side="right"))
        rank -= int(ends[bin_ - 1]) if bin_ else 0
        prefix = (prefix << bits) | bin_
        if counts[bin_] <= 4096:
            break
    values = np.concatenate(group.map(PlanePasses.svm_values, which, prefix, shift))
    return float(np.partition(values, rank)[rank])
