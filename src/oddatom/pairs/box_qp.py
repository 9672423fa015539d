"""The ℓ1 part of Theorem 2 on rows held in memory: a primal-dual interior point on the rows that matter.

    min_q  ½‖q − b‖² + ‖Uq‖₁      =      max_τ  ½‖b‖² − ½‖b − Uᵀτ‖²,   |τ_j| ≤ 1

U is M×r. At the solution q = b − Uᵀτ, and x = Uq has τ_j as its sign where x_j ≠ 0. The optimality conditions are
x = z_u − z_l, (1 + τ) z_l = 0 and (1 − τ) z_u = 0. Newton's equations are eliminated to the r unknowns q:

    H = I + Uᵀ Θ U,   Θ = 1 / (z_l/(1 + τ) + z_u/(1 − τ)).

Mehrotra's predictor and corrector share one Cholesky factor of H.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oddatom.arrays.blas import add_gram
from oddatom.arrays.cholesky import cholesky
from oddatom.arrays.sums import dot

MAX_STEPS = 100
MORE = 16  # rows solved at first, besides one per column of U
WHOLE = 0.7  # solve all rows rather than more than this share
ZERO = 1e-6  # rows of a guess below this share of the largest are zeros
NARROW = 48  # below this many columns OpenBLAS's small dgemm beats its dsyrk
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_OPTIONS)
def _start(x, zl, zu):
    """Well-centred multipliers with z_u − z_l = x, for τ = 0."""
    spread = 0.0
    for j in range(x.size):
        spread += abs(x[j])
    start = max(0.5 * spread / x.size, 1e-300)
    for j in range(x.size):
        zu[j] = max(x[j], 0.0) + start
        zl[j] = max(-x[j], 0.0) + start


@njit(**_OPTIONS, fastmath={"nnan", "nsz"})  # maxima have no order: vectors may take them
def _longest_step(tau, zl, zu, dt, dzl, dzu):
    """Largest step in [0, 1] that keeps 1 + τ, 1 − τ, z_l and z_u non-negative."""
    worst = 1.0  # largest of −Δv/v, so that step = 1/worst
    for j in range(tau.size):
        worst = max(worst, max(-dt[j] / (1.0 + tau[j]), dt[j] / (1.0 - tau[j])))
        worst = max(worst, max(-dzl[j] / zl[j], -dzu[j] / zu[j]))
    return 1.0 / worst


@njit(**_OPTIONS)
def _multiplier_steps(tau, zl, zu, dt, dzl, dzu):
    """Turn the targets of (1 + τ) z_l and (1 − τ) z_u, held in dzl and dzu, into steps."""
    for j in range(tau.size):
        dzl[j] = (dzl[j] - zl[j] * dt[j]) / (1.0 + tau[j]) - zl[j]
        dzu[j] = (dzu[j] + zu[j] * dt[j]) / (1.0 - tau[j]) - zu[j]


@njit(**_OPTIONS)
def _product(tau, zl, zu, dt, dzl, dzu, step):
    """Mean complementarity product after a step."""
    t = 0.0
    for j in range(tau.size):
        tj = tau[j] + step * dt[j]
        t += (1.0 + tj) * (zl[j] + step * dzl[j]) + (1.0 - tj) * (zu[j] + step * dzu[j])
    return t / (2.0 * tau.size)


@njit(**_OPTIONS)
def _scaled_rows(U, tau, zl, zu, theta, buf):
    """Θ, and the rows of Θ^½ U."""
    for j in range(U.shape[0]):
        lo, hi = 1.0 + tau[j], 1.0 - tau[j]
        theta[j] = lo * hi / (zl[j] * hi + zu[j] * lo)
        root = np.sqrt(theta[j])
        for i in range(U.shape[1]):
            buf[j, i] = root * U[j, i]


@njit(**_OPTIONS)
def _correct(tau, dt, dzl, dzu, target, x, r):
    """Replace the predictor's Δz by the corrector's targets; r = x + t_l/(1 + τ) − t_u/(1 − τ)."""
    for j in range(tau.size):
        dzl[j] = target - dt[j] * dzl[j]
        dzu[j] = target + dt[j] * dzu[j]
        r[j] = x[j] + dzl[j] / (1.0 + tau[j]) - dzu[j] / (1.0 - tau[j])


@njit(**_OPTIONS)
def _solve_factored(L, x):
    """Overwrite x with (L Lᵀ)⁻¹ x, L lower triangular with contiguous rows."""
    n = x.size
    for i in range(n):
        x[i] = (x[i] - dot(L[i], x[:i])) / L[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= L[i, i]
        t = x[i]
        for k in range(i):
            x[k] -= L[i, k] * t


@njit(**_OPTIONS)
def _newton(U, L, theta, rq, r, work, dq, dt):
    """(I + UᵀΘU) Δq = r_q − UᵀΘr, then Δτ = Θ(r + UΔq)."""
    for j in range(theta.size):
        work[j] = theta[j] * r[j]
    np.dot(U.T, work, dq)
    for i in range(dq.size):
        dq[i] = rq[i] - dq[i]
    _solve_factored(L, dq)
    np.dot(U, dq, dt)
    for j in range(theta.size):
        dt[j] = theta[j] * (r[j] + dt[j])


@njit(**_OPTIONS)
def solve_box(dsyrk, U, b, tol):
    """Solve to a duality gap of `tol`; returns (q, τ, gap, steps) of the best iterate."""
    M, n = U.shape
    tau, zl, zu, theta = np.zeros(M), np.empty(M), np.empty(M), np.empty(M)
    x, r, work, dt, dzl, dzu = np.empty(M), np.empty(M), np.empty(M), np.empty(M), np.empty(M), np.empty(M)
    H, buf, dq, rq, q = np.empty((n, n)), np.empty((M, n)), np.empty(n), np.empty(n), b.copy()
    letters, sizes, factors = np.empty(2, np.uint8), np.empty(2, np.int32), np.empty(1)
    best_q, best_tau, best_gap = q.copy(), tau.copy(), np.inf
    np.dot(U, q, x)
    _start(x, zl, zu)
    step = 1.0
    for steps in range(MAX_STEPS + 1):
        if steps > 0:
            np.dot(U, q, x)
        np.dot(U.T, tau, rq)
        gap = 0.0
        for i in range(n):
            rq[i] = b[i] - rq[i] - q[i]
            gap += 0.5 * rq[i] * rq[i]
        mu = 0.0
        for j in range(M):
            gap += abs(x[j]) - tau[j] * x[j]
            mu += (1.0 + tau[j]) * zl[j] + (1.0 - tau[j]) * zu[j]
        mu /= 2.0 * M
        if not np.isfinite(gap):
            break
        if gap < best_gap:
            best_gap = gap
            best_q[:] = q
            best_tau[:] = tau
        if gap <= tol or step < 1e-9 or steps == MAX_STEPS:
            break

        _scaled_rows(U, tau, zl, zu, theta, buf)
        if n < NARROW:
            np.dot(buf.T, buf, H)
        else:
            H[:] = 0.0
            add_gram(dsyrk, buf, M, H, letters, sizes, factors)
        for i in range(n):
            H[i, i] += 1.0
        L, exists = cholesky(H)  # reads the lower triangle alone
        if not exists:  # weights have overflowed: the best iterate so far it is
            break
        _newton(U, L, theta, rq, x, work, dq, dt)
        for j in range(M):  # complementarity targets of the predictor
            dzl[j] = 0.0
            dzu[j] = 0.0
        _multiplier_steps(tau, zl, zu, dt, dzl, dzu)
        step = _longest_step(tau, zl, zu, dt, dzl, dzu)
        target = mu * (_product(tau, zl, zu, dt, dzl, dzu, step) / mu) ** 3
        _correct(tau, dt, dzl, dzu, target, x, r)
        _newton(U, L, theta, rq, r, work, dq, dt)
        _multiplier_steps(tau, zl, zu, dt, dzl, dzu)
        step = 0.995 * _longest_step(tau, zl, zu, dt, dzl, dzu)
        for j in range(M):
            tau[j] += step * dt[j]
            zl[j] += step * dzl[j]
            zu[j] += step * dzu[j]
        for i in range(n):
            q[i] += step * dq[i]
    return best_q, best_tau, best_gap, steps


@njit(**_OPTIONS)
def solve_complement(dsyrk, V, c, tol):
    """The same problem for M rows in few dimensions less than M: min ½‖x − c‖² + ‖x‖₁ with Vᵀx = 0, VᵀV = I, Vᵀc = 0.

    With UUᵀ = I − VVᵀ Newton's equations are eliminated to as many unknowns as V has columns,
    Vᵀ(I + Θ)⁻¹V s = Vᵀ Θ(I + Θ)⁻¹ g and Δτ = Θ(I + Θ)⁻¹(g + Vs). Returns (x, τ, gap, steps) of the best iterate.
    """
    M, n = V.shape
    tau, zl, zu, theta, x = np.zeros(M), np.empty(M), np.empty(M), np.empty(M), c.copy()
    r, g, rest, dt, dzl, dzu = np.empty(M), np.empty(M), np.empty(M), np.empty(M), np.empty(M), np.empty(M)
    S, buf, s, inside = np.empty((n, n)), np.empty((M, n)), np.empty(n), np.empty(M)
    letters, sizes, factors = np.empty(2, np.uint8), np.empty(2, np.int32), np.empty(1)
    best_x, best_tau, best_gap = x.copy(), tau.copy(), np.inf
    _start(x, zl, zu)
    step = 1.0
    for steps in range(MAX_STEPS + 1):
        np.dot(V.T, tau, s)
        np.dot(V, s, inside)
        gap, mu = 0.0, 0.0
        for j in range(M):
            rest[j] = c[j] - tau[j] + inside[j] - x[j]
            gap += 0.5 * rest[j] * rest[j] + abs(x[j]) - tau[j] * x[j]
            mu += (1.0 + tau[j]) * zl[j] + (1.0 - tau[j]) * zu[j]
        mu /= 2.0 * M
        if not np.isfinite(gap):
            break
        if gap < best_gap:
            best_gap = gap
            best_x[:] = x
            best_tau[:] = tau
        if gap <= tol or step < 1e-9 or steps == MAX_STEPS:
            break

        for j in range(M):
            lo, hi = 1.0 + tau[j], 1.0 - tau[j]
            theta[j] = lo * hi / (zl[j] * hi + zu[j] * lo)
            root = np.sqrt(1.0 / (1.0 + theta[j]))
            for i in range(n):
                buf[j, i] = root * V[j, i]
        S[:] = 0.0
        add_gram(dsyrk, buf, M, S, letters, sizes, factors)
        L, exists = cholesky(S)
        if not exists:
            break
        for corrected in range(2):
            if corrected == 0:
                for j in range(M):
                    dzl[j] = 0.0
                    dzu[j] = 0.0
                    r[j] = x[j]
            else:
                target = mu * (_product(tau, zl, zu, dt, dzl, dzu, step) / mu) ** 3
                _correct(tau, dt, dzl, dzu, target, x, r)
            for j in range(M):
                g[j] = r[j] + rest[j]
                inside[j] = theta[j] / (1.0 + theta[j]) * g[j]
            np.dot(V.T, inside, s)
            _solve_factored(L, s)
            np.dot(V, s, inside)
            for j in range(M):
                dt[j] = theta[j] / (1.0 + theta[j]) * (g[j] + inside[j])
            _multiplier_steps(tau, zl, zu, dt, dzl, dzu)
            step = _longest_step(tau, zl, zu, dt, dzl, dzu)
        step *= 0.995
        for j in range(M):
            x[j] += step * (rest[j] - dt[j] + inside[j])
            tau[j] += step * dt[j]
            zl[j] += step * dzl[j]
            zu[j] += step * dzu[j]
    return best_x, best_tau, best_gap, steps


@njit(**_OPTIONS)
def natural_residual(x, tau):
    """‖x − soft(x + τ, 1)‖², which is zero where τ is a subgradient of ‖x‖₁."""
    total = 0.0
    for j in range(x.size):
        y = x[j] + tau[j]
        total += (x[j] - np.sign(y) * max(abs(y) - 1.0, 0.0)) ** 2
    return total


@njit(**_OPTIONS)
def _gap(U, b, q, tau, x, rest):
    """x = Uq, rest = b − Uᵀτ − q; returns the duality gap ½‖rest‖² + Σ |x| − τ x."""
    np.dot(U, q, x)
    np.dot(U.T, tau, rest)
    gap = 0.0
    for i in range(q.size):
        rest[i] = b[i] - rest[i] - q[i]
        gap += 0.5 * rest[i] * rest[i]
    for j in range(x.size):
        gap += abs(x[j]) - tau[j] * x[j]
    return gap


@njit(**_OPTIONS)
def _set_zeros(rows, q, band, tau):
    """Take q to x = 0 on these rows: q ← q − rowsᵀτ with rows·q = 0, and that τ, brought within ±1, for them."""
    n = rows.shape[0]
    if n == 0 or n > q.size:
        return
    K = np.dot(rows, rows.T)
    for i in range(n):
        K[i, i] *= 1.0 + 1e-14  # repeated rows: any of their τ will do
    part = np.dot(rows, q)
    L, exists = cholesky(K)
    if not exists:
        return
    _solve_factored(L, part)
    for i in range(n):
        part[i] = min(max(part[i], -1.0), 1.0)
        tau[band[i]] = part[i]
    q -= np.dot(rows.T, part)


@njit(**_OPTIONS)
def solve_rows(dsyrk, U, b, start, tol, guess_only=False):
    """Solve to a duality gap of `tol` from a first guess of q; returns (q, τ, gap, natural residual, rows solved).

    At the solution few x = Uq are zero, and elsewhere τ is the sign of x. So the zeros and signs of the guess are
    tried, which takes linear equations only; then the rows nearest zero are solved with the others' signs fixed, more
    and more of them, in the end all. The duality gap over all rows decides, and every choice of rows depends on their
    values, never on their order. With `guess_only` only the zeros and signs of the guess are tried.
    """
    M, n = U.shape
    x, size_of, tau = np.empty(M), np.empty(M), np.empty(M)
    rest, fixed, q = np.empty(n), np.empty(n), np.empty(n)
    band, rows = np.empty(M, np.int64), np.empty((M, n))
    np.dot(U, start, x)
    size, before, solved = 0, np.inf, 0
    while True:
        threshold = ZERO * np.max(np.abs(x))
        if size > WHOLE * M:
            threshold = np.inf
        elif size > 0:
            for j in range(M):
                size_of[j] = abs(x[j])
            threshold = np.partition(size_of, size - 1)[size - 1]
        count = 0
        for j in range(M):
            if abs(x[j]) <= threshold:
                band[count] = j
                tau[j] = 0.0
                for i in range(n):
                    rows[count, i] = U[j, i]
                count += 1
            else:
                tau[j] = np.sign(x[j])
        np.dot(U.T, tau, fixed)
        for i in range(n):
            q[i] = b[i] - fixed[i]
        if size == 0:
            _set_zeros(rows[:count], q, band, tau)
            gap = _gap(U, b, q, tau, size_of, rest)  # keep x: the guess may be better than what wrong signs give
        else:
            inner, part, _, _ = solve_box(dsyrk, rows[:count], q.copy(), tol)
            q[:] = inner
            for r in range(count):
                tau[band[r]] = part[r]
            solved += count
            gap = _gap(U, b, q, tau, x, rest)
        if (
            guess_only or not gap > 2.0 * tol or threshold == np.inf
        ):  # numbers that overflow have no gap: do not look for ever
            break
        if size == 0:
            size = n + MORE
        else:
            wrong = 0
            for j in range(M):
                if x[j] * tau[j] < 0.0:
                    wrong += 1
            size = max(2 * size, size + 3 * wrong) if gap > 0.1 * before else size
            before = gap
    if size == 0:
        x[:] = size_of
    natural = natural_residual(x, tau)
    for i in range(n):
        natural += rest[i] * rest[i]
    return q, tau, gap, np.sqrt(natural), solved
