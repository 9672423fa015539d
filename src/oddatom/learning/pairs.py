"""Theorem 2: one synthesis atom d and its analysis atom p, by two exact half-steps.

    min_{‖d‖=1, p}  ½‖R − x dᵀ‖² + beta phi(‖x‖) + alpha ‖x‖₁ − eta·w_i lam·x,     x = Y p

on the rows of the atom. With x fixed the best d is Rᵀx, normalised. With d fixed the problem in p is convex:

    min_x  ½‖x − c‖² + alpha ‖x‖₁ + beta phi(‖x‖)   over x in the range of Y,     c = R d + eta·w_i lam.

The row penalty depends on ‖x‖ alone and ‖x‖₁ is positively homogeneous, so it can wait: solve without it, x̂, and then
give x̂ the norm prox(‖x̂‖) (Y.-L. Yu, "On decomposing the proximal map", 2013, Theorem 4). With U an orthonormal basis of
the range, x̂ = Uq is what `box_qp` solves,

    min_q  ½‖q − b‖² + alpha ‖Uq‖₁,   b = Uᵀc      (dual: −½‖b − alpha Uᵀτ₁‖², |τ₁| ≤ 1),

whose dual, together with τ₂ = x/‖x‖, is the saddle form of the theorem. Where the rows of Y have full rank the range is
everything and x̂ = soft(c, alpha).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from oddatom.learning.box_qp import solve_box
from oddatom.learning.penalties import Penalty
from oddatom.shards._blas import DSYRK
from oddatom.shards.base import ShardGroup

GAP_TOL = 1e-13  # duality gap of the ℓ1 problem over ‖b‖²
KKT_TOL = 1e-6  # its natural residual over ‖b‖
RANK_TOL = 1e-12  # pivots of YᵀY below this share of the largest count as zero
GOOD_PIVOT = 1e-7  # above, one Cholesky factor makes an orthonormal basis; below, a second is taken
SMALL = 1500  # rows that are solved at once
TINY = 1e-6  # a solution shorter than this share of ‖b‖ is zero, as far as GAP_TOL can tell


class Basis(NamedTuple):
    """U = Y_Ω T has orthonormal columns; `W` spans the rows of Y_Ω, or is None where they span everything."""

    T: np.ndarray
    W: np.ndarray | None

    def analysis(self, q: np.ndarray) -> np.ndarray:
        """Return the shortest p with Y_Ω p = Uq."""
        p = self.T @ q
        if self.W is None:
            return p
        return self.W @ np.linalg.lstsq(self.W, p, rcond=None)[0]


class Pair(NamedTuple):
    """One pair to be updated: its number, atom, weights of the SVM and of ‖x‖₁, the row penalty, its number of rows."""

    i: int
    d: np.ndarray
    kappa: float
    alpha: float
    penalty: Penalty
    n_rows: int


class PairSolution(NamedTuple):
    """The new pair (p = 0: trimmed) and how exact p is: the natural residual relative to ‖b‖."""

    d: np.ndarray
    p: np.ndarray
    residual: float


def exact_pair(group: ShardGroup[Any], pair: Pair, halfway: Callable[[], None] = lambda: None) -> PairSolution:
    """Both half-steps, `halfway` called between them; the shards then hold the pair, its new atom and its old codes."""
    d = best_atom(group, pair.i, pair.d)
    by_rows = pair.n_rows <= d.size
    (G,) = group.map_reduce("pair_open", pair.i, pair.d, d, pair.kappa, not by_rows)
    halfway()
    t, p, residual = best_analysis(group, None if by_rows else G, d.size, pair)
    norm = pair.penalty.prox(t)
    return PairSolution(d, p * (norm / t) if norm > 0.0 else np.zeros(d.size), residual)


def best_atom(group: ShardGroup[Any], i: int, d: np.ndarray) -> np.ndarray:
    """The d half-step: Rᵀx normalised, or the old atom where that is zero."""
    (u,) = group.map_reduce("pair_direction", i, d)
    top = float(np.abs(u).max())
    if top == 0.0:
        return d.copy()
    u = u / top
    return u / np.linalg.norm(u)


def best_analysis(group: ShardGroup[Any], G: np.ndarray | None, m: int, pair: Pair) -> tuple[float, np.ndarray, float]:
    """The p half-step less the row penalty, for the pair the shards hold: ‖x̂‖, p with Y_Ω p = x̂, residual.

    G = Y_ΩᵀY_Ω, or None where there are so few rows that they are looked at themselves.
    """
    nothing = 0.0, np.zeros(m), 0.0
    if G is None:
        pieces = group.map("pair_rows")
        Y, c = np.concatenate([Y for Y, _ in pieces]), np.concatenate([c for _, c in pieces])
        found = _full_rank(Y, c, pair.alpha)
        if found is not None:
            return found
        G = Y.T @ Y
    basis = make_basis(group, G)
    if basis is None:
        return nothing
    b, soft = group.map_reduce("pair_targets", pair.alpha)
    norm = float(np.linalg.norm(b))
    # ‖x̂‖ is the least norm over all dual points; τ = 0 and τ = clip(c/alpha) are two of them, and prox is monotone.
    if pair.penalty.prox(min(norm, float(np.linalg.norm(soft)))) == 0.0:
        return nothing
    q, residual = (b, 0.0) if pair.alpha == 0.0 else solve_l1(group, b, pair.alpha, pair.n_rows)
    t = float(np.linalg.norm(q))
    return (t, basis.analysis(q), residual) if t > TINY * norm else (0.0, np.zeros(m), residual)


def _full_rank(Y: np.ndarray, c: np.ndarray, alpha: float) -> tuple[float, np.ndarray, float] | None:
    """Closed form where the rows are independent: x̂ = soft(c, alpha), p = Yᵀ(YYᵀ)⁻¹x̂."""
    K = Y @ Y.T
    factor, pivots, rank, _ = lapack.dpstrf(K, tol=RANK_TOL * float(np.diag(K).max(initial=0.0)), lower=1)
    if rank < K.shape[0]:
        return None
    x = np.sign(c) * np.maximum(np.abs(c) - alpha, 0.0)
    y = np.empty_like(x)
    y[pivots - 1] = lapack.dpotrs(factor, x[pivots - 1], lower=1)[0]
    return float(np.linalg.norm(x)), Y.T @ y, 0.0


def make_basis(group: ShardGroup[Any], G: np.ndarray) -> Basis | None:
    """An orthonormal basis U = Y_Ω T of the range from G = Y_ΩᵀY_Ω, kept by the shards; None where Y_Ω = 0.

    A pivoted Cholesky factor gives the rank and T; where it is ill-conditioned, UᵀU is factored once more.
    """
    m = G.shape[0]
    top = float(np.diag(G).max())
    if top <= 0.0:
        return None
    factor, pivots, rank, _ = lapack.dpstrf(G, tol=RANK_TOL * top, lower=1)
    order = pivots - 1
    W = np.zeros((m, rank))
    W[order] = np.tril(factor)[:, :rank]
    T = np.zeros((m, rank))
    T[order[:rank]] = np.tril(lapack.dtrtri(factor[:rank, :rank], lower=1)[0]).T
    (UU,) = group.map_reduce("pair_basis", T)
    if factor[rank - 1, rank - 1] ** 2 < GOOD_PIVOT * top:
        again = np.linalg.cholesky(UU)
        T = np.ascontiguousarray(T @ np.linalg.inv(again).T)
        group.map_reduce("pair_basis", T)
    return Basis(T, W if rank < m else None)


def solve_l1(group: ShardGroup[Any], b: np.ndarray, alpha: float, n_rows: int) -> tuple[np.ndarray, float]:
    """Minimise ½‖q − b‖² + alpha ‖Uq‖₁; return q and its natural residual, relative to ‖b‖. The shards keep τ.

    Up to SMALL rows are solved at once. Of more, those nearest x = 0 are, the others' signs fixed; the duality gap over
    all rows decides whether that was enough, and if not more rows are taken, in the end all.
    """
    norm = float(np.linalg.norm(b))
    q, threshold = (b, np.inf) if n_rows <= SMALL else _smooth_newton(group, b, alpha, n_rows)
    while True:
        pieces, sums = zip(*group.map("pair_band", q, threshold), strict=True)
        U, fixed = (pieces[0] if len(pieces) == 1 else np.concatenate(pieces)), np.sum(sums, axis=0)
        scale = alpha / norm
        inner, tau, _, _ = solve_box(DSYRK, np.ascontiguousarray(U), b / alpha - fixed, GAP_TOL / scale**2)
        group.scatter("pair_set_band", np.split(tau, np.cumsum([len(piece) for piece in pieces])[:-1]))
        q = alpha * inner
        total, slack, natural = group.map_reduce("pair_measure", q, alpha)
        apart = b - alpha * total - q
        gap = 0.5 * float(apart @ apart) + alpha * slack
        residual = float(np.sqrt(natural + apart @ apart)) / norm
        if gap <= 10.0 * GAP_TOL * norm**2 or threshold == np.inf:
            return q, residual
        threshold = 4.0 * threshold if len(U) < n_rows // 4 else np.inf


def _smooth_newton(group: ShardGroup[Any], b: np.ndarray, alpha: float, n_rows: int) -> tuple[np.ndarray, float]:
    """Newton's method on ½‖q − b‖² + alpha Σ huber(Uq), rounded less and less, until few rows are near zero.

    Returns q and a threshold that contains these rows.
    """
    size = max(SMALL // 2, 4 * b.size)
    eps = float(np.linalg.norm(b)) / np.sqrt(n_rows)
    q = b
    identity = np.eye(b.size)
    while True:
        grad, H = group.map_reduce("pair_smooth", q, eps)
        for _ in range(20):
            g = q - b + alpha * grad[:-2]
            if float(g @ g) <= 1e-6 * float(q @ q):
                break
            step = -np.linalg.solve(identity + (alpha / eps) * H, g)
            value, slope, length = _smooth_value(q, b, alpha, grad), float(g @ step), 1.0
            while True:
                trial = q + length * step
                grad, H = group.map_reduce("pair_smooth", trial, eps)
                if _smooth_value(trial, b, alpha, grad) <= value + 1e-4 * length * slope or length < 1e-3:
                    break
                length *= 0.5
            q = trial
        if grad[-1] <= size or eps <= 1e-9 * float(np.linalg.norm(b)):
            return q, 2.0 * eps
        eps *= 0.25


def _smooth_value(q: np.ndarray, b: np.ndarray, alpha: float, sums: np.ndarray) -> float:
    return 0.5 * float(q @ q) - float(q @ b) + alpha * float(sums[-2])
