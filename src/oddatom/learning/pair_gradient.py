"""Theorem 2 as the paper approximates it: projected gradient steps on the saddle form, kept for comparison.

    min_{‖d‖=1}  max_{|τ₁| ≤ 1, ‖τ₂‖ ≤ 1}  −½‖Uᵀ(R d + eta·w_i lam − alpha τ₁ − beta τ₂)‖²

U is an orthonormal basis of the range of the pair's rows of Y, so that UUᵀ = H_Y. τ₂ starts at zero and only ever moves
within that range: Uᵀτ₂, which is short, stands for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oddatom.learning.pairs import Pair, PairSolution, make_basis
from oddatom.learning.penalties import L21
from oddatom.shards.base import ShardGroup

STEPS = 200  # as in the published program


def gradient_pair(
    group: ShardGroup[Any], pair: Pair, halfway: Callable[[], None] = lambda: None, steps: int = STEPS
) -> PairSolution:
    """Take `steps` descent steps in d and ascent steps in τ₁ and τ₂; p comes from the last of them.

    The row is trimmed where τ₁ proves that x = 0 is best: ‖b − alpha Uᵀτ₁‖ ≤ beta, b = Uᵀ(R d + eta·w_i lam).
    """
    i, old, kappa, alpha, penalty, _ = pair
    assert isinstance(penalty, L21)
    d, p = old, np.zeros(old.size)
    (G,) = group.map_reduce("pair_open", i, old, old, kappa, True)
    basis = make_basis(group, G)
    if basis is not None:
        (M,) = group.map_reduce("pair_cross", old)
        b, _ = group.map_reduce("pair_targets", alpha)
        constant = b - M @ old  # Uᵀ(eta·w_i lam)
        (one,) = group.map_reduce("pair_ascend", np.zeros(b.size), 0.0)  # Uᵀτ₁
        two = np.zeros(b.size)  # Uᵀτ₂
        size, curvature = float(np.vdot(M, M)), alpha**2 + penalty.beta**2
        for _ in range(steps):
            v = M @ d + constant - alpha * one - penalty.beta * two
            if size > 0.0:
                d = d + (v @ M) / size
                d = d / np.linalg.norm(d)
            if curvature > 0.0:
                (one,) = group.map_reduce("pair_ascend", v, alpha / curvature)
                two = two + (penalty.beta / curvature) * v
                two = two / max(1.0, float(np.linalg.norm(two)))
        rest = M @ d + constant - alpha * one
        if float(np.linalg.norm(rest)) > penalty.beta:
            p = basis.analysis(rest - penalty.beta * two)
    group.map_reduce("pair_open", i, old, d, kappa, False)
    halfway()
    return PairSolution(d, p, 0.0)
