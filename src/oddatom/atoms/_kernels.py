"""Compiled steps of the atom update: the ascent, its acceleration and the proofs. `atoms` says what for.

With P = I − ddᵀ, θ = dᵀAd, γ = gᵀd, μ = θ + γ and b = PAd, a Schur complement gives

    μI − A ⪰ 0   if and only if   μI − PAP ⪰ 0 on the tangent space of d and γ ≥ bᵀ(μI − PAP)⁻¹b.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from oddatom.arrays.cholesky import cholesky

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Fields = tuple[Vector, float, float, float, bool, int]

TOL = 1e-11  # ‖(μI − A)d − g‖ ≤ TOL ‖Ad + g‖ ends the ascent
PROOF = 1e-14  # the proof is of μ(1 + PROOF) ≥ λ_max(A): in the value of d this is rounding
SHIFT = 2e-14  # added to the tangent Hessian, which is singular where the top eigenvalue is repeated
MAX_STEPS = 400
MAX_FACTORS = 8
LOOK = 4  # steps between two looks at the rate
WORTH = 60.0  # power steps that cost as much as two Newton steps; asked once the acceleration has settled
MAX_STEPS_ROWS = 100  # a basis of the rows costs as much as about 2m steps
SMALL, LARGE = 1e-140, 1e140  # outside, a square may overflow or vanish: such problems are rescaled first
EPS = float(np.finfo(float).eps)

_kernel = njit(cache=True, nogil=True, error_model="numpy")


@_kernel
def measure(g: Vector, d: Vector, a: Vector) -> tuple[float, float, float, float]:
    """Return θ, γ = gᵀd, ‖a + g‖² and the squared residual ‖a + g − (θ + γ)d‖² for a = Ad."""
    theta = np.dot(d, a)
    gamma = np.dot(g, d)
    mu = theta + gamma
    norm2, res2 = 0.0, 0.0
    for k in range(d.size):
        v = a[k] + g[k]
        norm2 += v * v
        res2 += (v - mu * d[k]) ** 2
    return theta, gamma, norm2, res2


@_kernel
def _bounded(frob2: float, d: Vector, a: Vector, theta: float, gamma: float, doubt: float) -> bool:
    """Prove μI − A ⪰ 0 in O(m): PAP ⪯ S I with S² = ‖PAP‖_F² = ‖A‖_F² − 2‖Ad‖² + θ².

    A residual r leaves d uncertain by ‖r‖/(μ − S), and μ by ‖g‖ times that: `doubt` is ‖g‖‖r‖. It matters
    where g is nearly orthogonal to the top eigenvector, so that both sides look like the right one.
    """
    mu = theta + gamma
    a2, b2 = 0.0, 0.0
    for k in range(d.size):
        a2 += a[k] * a[k]
        b2 += (a[k] - theta * d[k]) ** 2
    S = np.sqrt(max(frob2 - 2.0 * a2 + theta * theta, 0.0))
    return mu > S and (gamma + PROOF * mu) * (mu - S) >= b2 + doubt


@_kernel
def _solve_factored(L: Matrix, x: Vector) -> None:
    """Overwrite x with (LLᵀ)⁻¹x."""
    m = x.size
    for i in range(m):
        x[i] = (x[i] - np.dot(L[i, :i], x[:i])) / L[i, i]
    for i in range(m - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]


@_kernel
def _newton(A: Matrix, g: Vector, d: Vector, a: Vector, theta: float, gamma: float) -> tuple[Vector, float]:
    """Return the Newton step in the tangent space of d, and a proved upper bound of λ_max(A), or inf.

    M = μI − PAP leaves the tangent space invariant; the step is M⁻¹r. With b = PAd and M ≻ 0 the Schur
    complement of μI − A is γ − bᵀM⁻¹b; where it is negative, raising μ by its size makes it non-negative.
    """
    m = d.size
    mu = theta + gamma
    M = np.empty((m, m))
    for i in range(m):
        left, right = a[i] - theta * d[i], d[i]
        for k in range(m):
            M[i, k] = left * d[k] + right * a[k] - A[i, k]
        M[i, i] += mu * (1.0 + SHIFT)
    L, found = cholesky(M)
    if not found:
        return d, np.inf
    L = np.ascontiguousarray(L)
    b = a - theta * d
    step = b + g - gamma * d
    h = b.copy()
    _solve_factored(L, step)
    _solve_factored(L, h)
    return step, mu + max(0.0, np.dot(b, h) - gamma)


@_kernel
def _look(kappa: float, beta: float, n: float, gone: float, left: float) -> tuple[float, float, float]:
    """Return κ, β for the iteration n₊d₊ = (A − κI)d + g − (β/n)d₋, and the steps it still needs.

    It is Chebyshev's iteration for a spectrum in [0, λ₂] below the top; κ = β = 0 is the power method. A
    component λ grows by the larger root x of x² − (λ − κ)x + β = 0, so the growth observed tells λ₂; at best
    it is √β and tells nothing. LOOK steps left `gone` of the residual; `left` of it may stay.
    """
    rate = gone ** (1.0 / LOOK)
    x = min(rate, 1.0) * n
    if x * x > beta:
        lam2 = min(x + kappa + beta / x, 0.97 * (n + kappa + beta / n))  # n grows for the top one
        kappa, beta = lam2 / 2.0, lam2 * lam2 / 16.0
    return kappa, beta, np.log(left) / np.log(rate) if rate < 1.0 else np.inf


@_kernel
def climb(A: Matrix, g: Vector, d0: Vector) -> Fields:
    """Power steps, Newton where they crawl, and the proof. Return the fields of AtomSolution."""
    d = d0 / max(np.sqrt(np.dot(d0, d0)), 1e-300)
    before, a = np.zeros_like(d), np.empty_like(d)
    kappa, beta, n = 0.0, 0.0, 1.0
    seen2, value, lam_bound = np.inf, -np.inf, np.inf
    factors, look, steps, slow = 0, 1, 0, False
    gain, mu, residual, proved, polished = 0.0, 0.0, 1.0, False, False
    norm_g = np.sqrt(np.dot(g, g))
    size = np.trace(A) + norm_g
    while SMALL < size < LARGE and steps < MAX_STEPS:
        steps += 1
        np.dot(A, d, a)
        theta, gamma, norm2, res2 = measure(g, d, a)
        if gamma < 0.0:  # −d is higher by −4γ
            d, a, before = -d, -a, -before
            theta, gamma, norm2, res2 = measure(g, d, a)
        gain, mu = theta + 2.0 * gamma, theta + gamma
        if norm2 == 0.0 or gain < value:
            break
        residual = np.sqrt(res2 / norm2)
        done = residual <= TOL
        if done:
            flat = A.ravel()
            proved = lam_bound <= mu * (1.0 + PROOF) or _bounded(
                np.dot(flat, flat), d, a, theta, gamma, norm_g * np.sqrt(res2)
            )
            if proved or polished:
                break
        elif steps == look:
            kappa, beta, more = _look(kappa, beta, n, np.sqrt(res2 / seen2), TOL / residual)
            slow = slow or (more > WORTH and steps > 3 * LOOK)
            seen2, look = res2, steps + LOOK
        if done or slow:
            factors += 1
            step, lam_bound = _newton(A, g, d, a, theta, gamma)
            if lam_bound < np.inf and factors < MAX_FACTORS:
                polished = done
                d = d + step
                d /= np.sqrt(np.dot(d, d))
                value = gain - PROOF * mu
                before[:] = 0.0
                continue
            if done or factors == MAX_FACTORS:
                break
            slow, look = False, steps + LOOK
        v = a + g - kappa * d - (beta / n) * before
        n = np.sqrt(np.dot(v, v))
        before, d = d, v / n
    return d, gain, mu, residual, proved, steps


@_kernel
def climb_rows(R: Matrix, c: Vector, d0: Vector) -> Fields:
    """Climb with d = Rᵀz on z alone: with K = RRᵀ, p = Rd = Kz and u = p + c, Ad + g is Rᵀu and its image Ku.

    The squared residual is (u − μz)ᵀK(u − μz).
    """
    K = np.dot(R, R.T)
    size = np.trace(K)
    d, p, z = d0, np.dot(R, d0), np.zeros_like(c)
    p_before, z_before = np.zeros_like(c), np.zeros_like(c)
    kappa, beta, n, seen2, residual = 0.0, 0.0, 1.0, np.inf, 1.0
    look, steps = 2, 0
    while SMALL < size < LARGE and np.dot(c, c) < LARGE * LARGE and steps < MAX_STEPS_ROWS:
        steps += 1
        if np.dot(c, p) < 0.0:
            z, p, z_before, p_before = -z, -p, -z_before, -p_before
        u = p + c
        w = np.dot(K, u)
        if steps > 1:  # d0 may lie outside the span
            mu = np.dot(p, u)
            norm2 = np.dot(u, w)
            res2 = max(np.dot(u - mu * z, w - mu * p), 0.0)
            residual = np.sqrt(res2 / norm2)
            if residual <= TOL:
                break
            if steps == look:
                kappa, beta, _ = _look(kappa, beta, n, np.sqrt(res2 / seen2), TOL / residual)
                seen2, look = res2, steps + LOOK
        u -= kappa * z + (beta / n) * z_before
        w -= kappa * p + (beta / n) * p_before
        z_before, p_before = z, p
        n = np.sqrt(max(np.dot(u, w), 0.0))
        z, p = u / n, w / n
    if not residual <= TOL:
        return d, 0.0, 0.0, residual, False, steps
    d = np.dot(R.T, z)
    d /= np.sqrt(np.dot(d, d))
    a, g = np.dot(R.T, np.dot(R, d)), np.dot(R.T, c)
    theta, gamma, norm2, res2 = measure(g, d, a)
    residual = np.sqrt(res2 / norm2)
    doubt = np.sqrt(np.dot(g, g) * res2)
    flat = K.ravel()
    proved = _bounded(np.dot(flat, flat), d, a, theta, gamma, doubt)
    if not proved and doubt <= PROOF * norm2:  # λ_max(K) = λ_max(A); Rd is for K what d is for A
        mu = theta + gamma
        p = np.dot(R, d)
        p /= np.sqrt(np.dot(p, p))
        w = np.dot(K, p)
        theta_K = np.dot(p, w)
        proved = _newton(K, np.zeros_like(c), p, w, theta_K, mu - theta_K)[1] <= mu * (1.0 + PROOF)
    proved = proved and residual <= 10.0 * TOL
    return d, theta + 2.0 * gamma, theta + gamma, residual, proved, steps


@_kernel
def power(A: Matrix, g: Vector, d0: Vector, n_steps: int) -> Fields:
    """Plain power steps; stop early only where there is nothing left to gain."""
    d = d0.copy()
    for steps in range(n_steps + 1):
        a = np.dot(A, d)
        theta, gamma, norm2, res2 = measure(g, d, a)
        if steps == n_steps or res2 <= EPS * EPS * norm2:
            break
        d = (a + g) / np.sqrt(norm2)
    residual = np.sqrt(res2 / norm2) if norm2 > 0.0 else 0.0
    flat = A.ravel()
    proved = _bounded(np.dot(flat, flat), d, a, theta, gamma, np.sqrt(np.dot(g, g) * res2))
    return d, theta + 2.0 * gamma, theta + gamma, residual, proved, steps
