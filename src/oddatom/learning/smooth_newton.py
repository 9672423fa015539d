"""Newton's method on the one-class SVM with a rounded hinge: a plane near the best one in a few sums over the rows.

    min_w,rho  ½‖w‖² − rho + 1/C Σ_j ψ(rho − w·x_j),   ψ(u) = 0, (u + eps/2)²/(2 eps), u  as u leaves [−eps/2, eps/2]

ψ' = clip(½ + u/eps, 0, 1) is the multiplier a_j, so the gradient is w − Σ a x / C and −1 + Σ a / C, and only
rows within eps/2 of the margin enter the Hessian. Each width starts from the plane of the wider one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from oddatom.shards.base import ShardGroup

MAX_STEPS = 12
_SHORTER = 0.4 ** np.arange(1, 9)
_WHOLE = np.ones(1)


def smooth_newton(
    group: ShardGroup[Any], w: np.ndarray, rho: float, C: float, widths: Sequence[float]
) -> tuple[np.ndarray, int]:
    """Return the plane for the last of the widths, and the Newton steps taken; the shards keep its margins."""
    n = w.size
    taken = 0
    for eps in widths:
        value = _value(group, w, rho, C, eps)
        for _ in range(MAX_STEPS):
            sums, H = group.map_reduce("svm_smooth", rho, eps)
            grad = np.append(w - sums[:n] / C, sums[n] / C - 1.0)
            H = H / (C * eps)
            H[np.arange(n), np.arange(n)] += 1.0
            H[n, n] = H[n, n] + 1e-10 if H[n, n] > 0.0 else 1.0
            d = -scipy.linalg.solve(H, grad, lower=True, assume_a="pos", check_finite=False)
            slope = float(grad @ d)
            if -slope <= 1e-4 * max(0.5 * float(w @ w), 1e-8):
                break
            group.map("svm_direction", d[:n])
            step, value = _line_search(group, w, rho, d, C, eps, value, slope)
            if step == 0.0:
                break
            w, rho = w + step * d[:n], rho + step * float(d[n])
            group.map("svm_move", step)
            taken += 1
    return w, taken


def _value(group: ShardGroup[Any], w: np.ndarray, rho: float, C: float, eps: float) -> float:
    (hinge,) = group.map_reduce("svm_smooth_values", rho, 0.0, eps, np.zeros(1))
    return 0.5 * float(w @ w) - rho + float(hinge[0]) / C


def _line_search(
    group: ShardGroup[Any],
    w: np.ndarray,
    rho: float,
    d: np.ndarray,
    C: float,
    eps: float,
    value: float,
    slope: float,
) -> tuple[float, float]:
    """The whole step if it descends enough, else the best of eight shorter ones; (0, value) if none descends."""
    n = w.size
    for steps in (_WHOLE, _SHORTER):
        (hinge,) = group.map_reduce("svm_smooth_values", rho, float(d[n]), eps, steps)
        planes = w + steps[:, None] * d[:n]
        values = 0.5 * np.einsum("ij,ij->i", planes, planes) - (rho + steps * d[n]) + hinge / C
        best = int(np.argmin(values))
        if values[best] <= value + 1e-3 * steps[best] * slope:
            return float(steps[best]), float(values[best])
    return 0.0, value
