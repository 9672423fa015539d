"""Theorem 2 as the paper approximates it: projected gradient steps on the saddle form, kept for comparison.

    min_{‖d‖=1}  max_{|τ₁| ≤ 1, ‖τ₂‖ ≤ 1}  −½‖Uᵀ(R d + eta·w_i lam − alpha τ₁ − beta τ₂)‖²

U is an orthonormal basis of the range of the pair's rows of Y, so that UUᵀ = H_Y. τ₂ starts at zero and only ever moves
within that range: Uᵀτ₂, which is short, stands for it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import hypot

import numpy as np

from oddatom.pairs.theorem2 import SAFE, Pair, PairSolution, make_basis
from oddatom.passes import PairPasses, ShardGroup
from oddatom.penalties import L21

STEPS = 200  # as in the published program


def gradient_pair(
    group: ShardGroup[PairPasses], pair: Pair, halfway: Callable[[np.ndarray], None] | None = None, steps: int = STEPS
) -> PairSolution:
    """Take `steps` descent steps in d and ascent steps in τ₁ and τ₂; p comes from the last of them.

    The row is trimmed where τ₁ proves that x = 0 is best: ‖b − alpha Uᵀτ₁‖ ≤ beta, b = Uᵀ(R d + eta·w_i lam). d is
    not the best atom for any codes. The shards then hold the pair, opened for d.
    """
    i, old, kappa, alpha, penalty, _, basis, _, bend, _ = pair
    assert isinstance(penalty, L21)
    d, p, beta = old, np.zeros(old.size), penalty.beta
    group.map(PairPasses.pair_open, i, old, old, kappa, alpha, bend)
    basis = basis or make_basis(group, pair, full=False)[0]
    ((b, _, _),) = group.sum(PairPasses.pair_basis, basis.T, alpha)
    (M,) = group.sum(PairPasses.pair_cross, old)  # UᵀR
    constant = b - M @ old  # Uᵀ(eta·w_i lam)
    (one,) = group.sum(PairPasses.pair_ascend, np.zeros(b.size), 0.0)  # Uᵀτ₁
    two = np.zeros(b.size)  # Uᵀτ₂
    size, curvature = float(np.vdot(M, M)), hypot(alpha, beta)  # the latter's square may overflow
    for _ in range(steps):
        v = M @ d + constant - alpha * one - beta * two
        if size > 0.0:
            d = d + (v @ M) / size
            d = d / np.linalg.norm(d)
        if curvature > SAFE:  # weights below are rounding
            (one,) = group.sum(PairPasses.pair_ascend, v, alpha / curvature / curvature)
            two = two + (beta / curvature / curvature) * v
            two = two / max(1.0, float(np.linalg.norm(two)))
    rest = M @ d + constant - alpha * one
    residual = 0.0
    if float(np.linalg.norm(rest)) > beta:
        q = rest - beta * two
        p = basis.T @ q
        _, _, natural = group.sum(PairPasses.pair_measure, q, alpha)
        apart = beta * (two - q / max(float(np.linalg.norm(q)), 1e-300))
        residual = float(np.sqrt(natural + apart @ apart) / np.linalg.norm(M @ d + constant))
    if halfway is not None:
        halfway(d)
    group.sum(PairPasses.pair_open, i, old if halfway is None else d, d, kappa, alpha, bend)
    return PairSolution(d, p, residual, basis, retried=True)
