"""Newton's method on the one-class SVM with a rounded hinge: a plane near the best one in a few sums over the rows.

    min_w,rho  ½‖w‖² − rho + 1/C Σ_j ψ(rho − f_j),   ψ(u) = 0, (u + eps/2)²/(2 eps), u  as u leaves [−eps/2, eps/2]

ψ' = clip(½ + u/eps, 0, 1) is the multiplier a_j, so the gradient is w − Σ a x / C and −1 + Σ a / C, and only
rows within eps/2 of the margin enter the Hessian. Each width starts from the plane of the wider one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg.lapack import dposv

from oddatom.passes import PlanePasses, ShardGroup

MAX_STEPS = 12
_SHORTER = 0.4 ** np.arange(1, 9)


def smooth_newton(
    group: ShardGroup[PlanePasses], w: np.ndarray, rho: float, C: float, widths: Sequence[float], least: float = 1e-8
) -> tuple[np.ndarray, int]:
    """Return w for the last of the widths, and the Newton steps taken; the shards keep its margins.

    `least` is the size below which a change of the objective is small.
    """
    n = w.size
    diagonal = np.arange(n)
    taken, step = 0, 0.0
    for eps in widths:
        # The last width may have used up its steps: then its last one is still to be taken by the shards.
        (hinge,) = group.sum(PlanePasses.svm_smooth_values, rho, 0.0, eps, np.full(1, step))
        value = 0.5 * float(w @ w) - rho + float(hinge[0]) / C
        enough, most = (1e-3, 0.1 * eps * eps) if eps == widths[-1] else (1e-1, np.inf)
        for _ in range(MAX_STEPS):
            sums, H = group.sum(PlanePasses.svm_smooth, rho, eps, step)
            step = 0.0
            grad = sums / C
            grad[:n] = w - grad[:n]
            grad[n] -= 1.0
            H *= 1.0 / (C * eps)
            H[diagonal, diagonal] += 1.0
            H[n, n] = H[n, n] + 1e-10 if H[n, n] > 0.0 else 1.0
            _, d, failed = dposv(H.T, -grad, lower=0, overwrite_a=1)  # in Fortran's order, without a copy
            slope = float(grad @ d)
            # Little to gain, and the step is shorter than the width: ‖Δw‖² ≤ −slope, and rows have norms about one.
            if failed or -slope <= min(enough * max(0.5 * float(w @ w), least), most):
                break
            step, value = _line_search(group, w, rho, d, C, eps, value, slope)
            if step == 0.0:
                break
            w, rho = w + step * d[:n], rho + step * float(d[n])
            taken += 1
    if step != 0.0:
        group.sum(PlanePasses.svm_smooth, rho, widths[-1], step)
    return w, taken


def _line_search(
    group: ShardGroup[PlanePasses],
    w: np.ndarray,
    rho: float,
    d: np.ndarray,
    C: float,
    eps: float,
    value: float,
    slope: float,
) -> tuple[float, float]:
    """The whole step if it descends enough, else the best of eight shorter ones; (0, value) if none descends."""
    dw, drho = d[:-1], float(d[-1])
    flat, tilt, bend = 0.5 * float(w @ w) - rho, float(w @ dw) - drho, 0.5 * float(dw @ dw)
    (hinge,) = group.sum(PlanePasses.svm_try, dw, rho, drho, eps)
    whole = flat + tilt + bend + hinge / C
    if whole <= value + 1e-3 * slope:
        return 1.0, whole
    (hinges,) = group.sum(PlanePasses.svm_smooth_values, rho, drho, eps, _SHORTER)
    values = flat + _SHORTER * tilt + _SHORTER**2 * bend + hinges / C
    best = int(np.argmin(values))
    if values[best] <= value + 1e-3 * _SHORTER[best] * slope:
        return float(_SHORTER[best]), float(values[best])
    return 0.0, value
