"""A primal-dual interior point for the one-class SVM's dual on a block of rows held in memory.

    min  ½‖w‖²,   C w = b + Xᵀa,   Σ_j a_j = K,   0 ≤ a_j ≤ u_j

X is M×n, dense or CSR; u is the rows' weights, one unless they are given. `b` and `C − K` stand for rows outside the
block whose a_j is fixed at u_j. For a ball (curvature h = 1, see `plane.py`) it is ½‖w‖² + Σ a_j o_j / C with
o_j = −h/2 ‖x_j‖². The optimality conditions are f − rho = z_l − z_u with f = Xw + o, a z_l = 0 and (u − a) z_u = 0.
Newton's equations are eliminated to the n + 1 unknowns (w, rho):

    H = diag(C I, 0) + [X, −1]ᵀ Θ [X, −1],   Θ = 1 / (z_l/a + z_u/(u − a)).

Mehrotra's predictor and corrector share one Cholesky factor of H.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from oddatom.arrays.block import Block, matvec, rmatvec
from oddatom.arrays.sums import dot

MAX_STEPS = 250
# numpy's error model: no test for division by zero, which would keep the loops from being vectorised.
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


class InteriorPoint(NamedTuple):
    """Solution on one block: plane, offset, multipliers, duality gap of the block's problem, steps taken."""

    w: np.ndarray
    rho: float
    a: np.ndarray
    gap: float
    n_steps: int


def interior_point(
    block: Block,
    b: np.ndarray,
    C: float,
    K: float,
    tol: float,
    u: np.ndarray | None = None,
    curvature: float = 0.0,
) -> InteriorPoint:
    """Solve the block's problem to a duality gap of `tol`; a plane's also to ½‖w‖² ≤ tol (origin in reduced hull)."""
    M = block.n_rows
    o = np.zeros(M) if curvature == 0.0 else -0.5 * curvature * block.row_squares()
    origin = tol if curvature == 0.0 else -1.0
    u = np.ones(M) if u is None else u
    total = float(u.sum())
    if total * (1.0 - 1e-13) <= K:  # every multiplier at its upper bound
        a = u * min(1.0, K / total)
        w = np.empty(block.n)
        _plane(*block, a, b, C, w)
        f = np.empty(M)
        matvec(*block, w, f)
        return InteriorPoint(w, float((f + o).max()), a, 0.0, 0)
    for ridge in (1e-13, 1e-9):
        try:
            w, rho, a, gap, steps = _solve(*block, u, o, b, C, K, tol, origin, ridge)
        except np.linalg.LinAlgError:
            continue
        return InteriorPoint(w, rho, a, gap, steps)
    raise FloatingPointError(  # pragma: no cover  (a unit-diagonal matrix plus 1e-9 I)
        "The interior point lost positive definiteness; are the rows scaled to unit RMS norm?"
    )


# Unsigned indices spare numba's test for negative ones.
@njit(**_OPTIONS)
def _plane(X, indptr, indices, data, n, a, b, C, w):
    """w = (b + Xᵀ a) / C."""
    rmatvec(X, indptr, indices, data, n, a, w)
    for i in range(n):
        w[i] = (w[i] + b[i]) / C


@njit(**_OPTIONS)
def _margins(X, indptr, indices, data, n, w, o, f):
    """f = Xw + o."""
    matvec(X, indptr, indices, data, n, w, f)
    for j in range(f.size):
        f[j] += o[j]


@njit(**_OPTIONS)
def _normal_matrix(X, indptr, indices, data, n, theta, C, buf, H):
    """The lower triangle of H = diag(C I, 0) + [X, −1]ᵀ Θ [X, −1]."""
    if X.size > 0:
        for j in range(X.shape[0]):
            r = np.sqrt(theta[j])
            for i in range(n):
                buf[j, i] = r * X[j, i]
            buf[j, n] = -r
        np.dot(buf.T, buf, H)
    else:
        for i in range(n + 1):
            for k in range(i + 1):
                H[i, k] = 0.0
        for j in range(indptr.size - 1):
            t = theta[j]
            H[n, n] += t
            for p in range(indptr[j], indptr[j + 1]):
                i = np.uint32(indices[p])
                tx = t * data[p]
                H[n, i] -= tx
                for q in range(indptr[j], p + 1):
                    k = np.uint32(indices[q])
                    H[max(i, k), min(i, k)] += tx * data[q]
    for i in range(n):
        H[i, i] += C


@njit(**_OPTIONS)
def _solve_factored(L, scale, rhs, x):
    """Solve (S⁻¹ L Lᵀ S⁻¹) x = rhs with S = diag(scale), L lower triangular with contiguous rows."""
    n = rhs.size
    for i in range(n):
        x[i] = (rhs[i] * scale[i] - dot(L[i], x[:i])) / L[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= L[i, i]
        t = x[i]
        for k in range(i):
            x[k] -= L[i, k] * t
    for i in range(n):
        x[i] *= scale[i]


@njit(**_OPTIONS)
def _newton(X, indptr, indices, data, n, L, scale, theta, r, base, K_minus_sum, work, rhs, d, da):
    """Direction (d = [Δw, Δrho], Δa) for the right-hand side r of f − rho = z_l − z_u."""
    total = 0.0
    for j in range(theta.size):
        work[j] = theta[j] * r[j]
        total += work[j]
    rmatvec(X, indptr, indices, data, n, work, rhs[:n])
    for i in range(n):
        rhs[i] += base[i]
    rhs[n] = K_minus_sum - total
    _solve_factored(L, scale, rhs, d)
    matvec(X, indptr, indices, data, n, d[:n], da)
    for j in range(theta.size):
        da[j] = theta[j] * (r[j] - da[j] + d[n])


@njit(**_OPTIONS, fastmath={"nnan", "nsz"})  # maxima have no order: vectors may take them
def _longest_step(u, a, zl, zu, da, dzl, dzu):
    """Largest step in [0, 1] that keeps a, u − a, z_l and z_u non-negative."""
    worst = 1.0  # largest of −Δv/v, so that step = 1/worst
    for j in range(a.size):
        worst = max(worst, max(-da[j] / a[j], da[j] / (u[j] - a[j])))
        worst = max(worst, max(-dzl[j] / zl[j], -dzu[j] / zu[j]))
    return 1.0 / worst


@njit(**_OPTIONS)
def _start(f, u, k, a, zl, zu):
    """a = k u and well-centred multipliers; returns rho."""
    M = f.size
    mean = 0.0
    for j in range(M):
        mean += f[j]
    mean /= M
    spread = 0.0
    for j in range(M):
        spread = max(spread, abs(f[j] - mean))
    m0 = max(0.1 * spread * k * (1.0 - k), 1e-12)
    for j in range(M):
        a[j] = k * u[j]
        zl[j] = m0 / k + max(f[j] - mean, 0.0)
        zu[j] = m0 / (1.0 - k) + max(mean - f[j], 0.0)
    return mean - m0 * (1.0 / k - 1.0 / (1.0 - k))


@njit(**_OPTIONS)
def _measures(u, a, zl, zu, f, rho):
    """Return Σ a(f − rho)₊ + (u − a)(rho − f)₊, Σ a, and the mean complementarity product by weight."""
    slack = 0.0
    weight = 0.0
    total = 0.0
    comp = 0.0
    for j in range(a.size):
        e = f[j] - rho
        slack += a[j] * e if e > 0.0 else (a[j] - u[j]) * e
        total += a[j]
        weight += u[j]
        comp += a[j] * zl[j] + (u[j] - a[j]) * zu[j]
    return slack, total, comp / (2.0 * weight)


@njit(**_OPTIONS)
def _mean_product(u, a, zl, zu, da, dzl, dzu, step):
    """Mean complementarity product, by weight, after a step."""
    t = 0.0
    weight = 0.0
    for j in range(a.size):
        weight += u[j]
        aj = a[j] + step * da[j]
        t += aj * (zl[j] + step * dzl[j]) + (u[j] - aj) * (zu[j] + step * dzu[j])
    return t / (2.0 * weight)


@njit(**_OPTIONS)
def _weights(u, a, zl, zu, f, rho, theta, r):
    """Θ = 1 / (z_l/a + z_u/(u − a)), r = rho − f."""
    for j in range(a.size):
        b = u[j] - a[j]
        theta[j] = a[j] * b / (zl[j] * b + zu[j] * a[j])
        r[j] = rho - f[j]


@njit(**_OPTIONS)
def _multiplier_steps(u, a, zl, zu, da, dzl, dzu):
    """Turn the targets of a z_l and (u − a) z_u, held in dzl and dzu, into steps Δz_l and Δz_u."""
    for j in range(a.size):
        dzl[j] = (dzl[j] - zl[j] * da[j]) / a[j] - zl[j]
        dzu[j] = (dzu[j] + zu[j] * da[j]) / (u[j] - a[j]) - zu[j]


@njit(**_OPTIONS)
def _correct(u, a, da, dzl, dzu, target, r):
    """Replace the predictor's Δz by the corrector's targets, and add those to the right-hand side r."""
    for j in range(a.size):
        dzl[j] = target * u[j] - da[j] * dzl[j]
        dzu[j] = target * u[j] + da[j] * dzu[j]
        r[j] += dzl[j] / a[j] - dzu[j] / (u[j] - a[j])


@njit(**_OPTIONS)
def _copy(values, to):
    """Put values into an array of their size; numba takes a second to compile what a slice would check."""
    for j in range(values.size):
        to[j] = values[j]


@njit(**_OPTIONS)
def _solve(X, indptr, indices, data, n, u, o, b, C, K, tol, origin, ridge):
    """Mehrotra's method, ended also where ½‖w‖² ≤ origin; returns (w, rho, a, gap, steps) of the best iterate."""
    M = X.shape[0] if X.size > 0 else indptr.size - 1
    a, zl, zu = np.empty(M), np.empty(M), np.empty(M)
    f, theta, r, work = np.empty(M), np.empty(M), np.empty(M), np.empty(M)
    da, dzl, dzu = np.empty(M), np.empty(M), np.empty(M)
    H, rhs, d, scale = np.empty((n + 1, n + 1)), np.empty(n + 1), np.empty(n + 1), np.empty(n + 1)
    buf = np.empty((M, n + 1)) if X.size > 0 else np.empty((0, 0))
    wa, base, w = np.empty(n), np.empty(n), np.empty(n)
    share = K / u.sum()
    for j in range(M):
        a[j] = share * u[j]
    best_w, best_a, best_rho, best_gap = np.zeros(n), a.copy(), 0.0, np.inf

    _plane(X, indptr, indices, data, n, a, b, C, w)
    _margins(X, indptr, indices, data, n, w, o, f)
    rho = _start(f, u, share, a, zl, zu)
    step = 1.0
    for steps in range(MAX_STEPS + 1):
        if steps > 0:
            _margins(X, indptr, indices, data, n, w, o, f)
        _plane(X, indptr, indices, data, n, a, b, C, wa)
        slack, total, mu = _measures(u, a, zl, zu, f, rho)
        apart, half = 0.0, 0.0
        for i in range(n):
            apart += (wa[i] - w[i]) ** 2
            half += 0.5 * wa[i] * wa[i]
            base[i] = C * (wa[i] - w[i])
        gap = slack / C + 0.5 * apart
        if not np.isfinite(gap):
            break
        if gap < best_gap:
            best_gap, best_rho = gap, rho
            _copy(w, best_w)
            _copy(a, best_a)
        if gap <= tol or half <= origin or step < 1e-9 or steps == MAX_STEPS:
            if half <= origin:
                best_gap, best_rho = gap, rho
                _copy(wa, best_w)
                _copy(a, best_a)
            break

        _weights(u, a, zl, zu, f, rho, theta, r)
        _normal_matrix(X, indptr, indices, data, n, theta, C, buf, H)
        for i in range(n + 1):
            scale[i] = 1.0 / np.sqrt(max(H[i, i], 1e-300))
        for i in range(n + 1):
            for k in range(i + 1):
                H[i, k] *= scale[i] * scale[k]
            H[i, i] += ridge
        L = np.linalg.cholesky(H)  # reads the lower triangle alone

        _newton(X, indptr, indices, data, n, L, scale, theta, r, base, K - total, work, rhs, d, da)
        for j in range(M):  # complementarity targets of the predictor
            dzl[j] = 0.0
            dzu[j] = 0.0
        _multiplier_steps(u, a, zl, zu, da, dzl, dzu)
        step = _longest_step(u, a, zl, zu, da, dzl, dzu)
        target = mu * (_mean_product(u, a, zl, zu, da, dzl, dzu, step) / mu) ** 3
        _correct(u, a, da, dzl, dzu, target, r)
        _newton(X, indptr, indices, data, n, L, scale, theta, r, base, K - total, work, rhs, d, da)
        _multiplier_steps(u, a, zl, zu, da, dzl, dzu)
        step = 0.995 * _longest_step(u, a, zl, zu, da, dzl, dzu)
        for j in range(M):
            a[j] += step * da[j]
            zl[j] += step * dzl[j]
            zu[j] += step * dzu[j]
        for i in range(n):
            w[i] += step * d[i]
        rho += step * d[n]
    return best_w, best_rho, best_a, best_gap, steps
