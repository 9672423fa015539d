"""Passes over the rows of one dictionary pair: its direction, its rows in a basis, and the new codes."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from oddatom.shards._blas import add_gram

BLOCK = 2**15  # numbers in one BLAS product: they stay in the second-level cache
NARROW = 48  # below this many columns OpenBLAS's small dgemm beats its dsyrk

# Inside parallel=True numba runs every array expression in parallel too: arrays are made by the caller, and sums over
# chunks are loops. Each chunk has its own slice of the sums, and the slices are added in order.
_SUMS = {"contract", "nsz", "reassoc"}


@njit(cache=True, nogil=True)
def _gram_rows(dsyrk, rows, lo, hi, A):
    """Put rowsᵀ rows over rows lo..hi into the lower triangle of A."""
    m = rows.shape[1]
    A[:] = 0.0
    block = max(BLOCK // m, 64)
    letters, sizes, factors = np.empty(2, np.uint8), np.empty(2, np.int32), np.empty(1)
    narrow = m < NARROW
    tmp = np.empty((m, m)) if narrow else A
    for start in range(lo, hi, block):
        part = rows[start : min(start + block, hi)]
        if narrow:
            np.dot(part.T, part, tmp)
            A += tmp
        else:
            add_gram(dsyrk, part, part.shape[0], A, letters, sizes, factors)


@njit(cache=True, nogil=True)
def _add_slices(A, k):
    """Add the slices 1..k−1 of A to A[0], and mirror its lower triangle."""
    m = A.shape[1]
    for c in range(1, k):
        for i in range(m):
            for q in range(i + 1):
                A[0, i, q] += A[c, i, q]
    for i in range(m):
        for q in range(i):
            A[0, q, i] = A[0, i, q]


@njit(cache=True, nogil=True)
def _direction_rows(E, flat, pos, s, lo, hi, u):
    """u = E_Ωᵀ x over positions lo..hi; returns ‖x‖²."""
    m = E.shape[1]
    for f in range(m):
        u[f] = 0.0
    xx = 0.0
    for r in range(lo, hi):
        x = flat[pos[r]]
        j = pos[r] // s
        xx += x * x
        for f in range(m):
            u[f] += x * E[j, f]
    return xx


@njit(cache=True, nogil=True, parallel=True)
def direction(E, flat, pos, s, d, u, xx, k, parallel):
    """Rᵀx = E_Ωᵀ x + ‖x‖² d in u[0]; a slice per chunk."""
    n = pos.size
    if parallel:
        for c in prange(k):
            xx[c] = _direction_rows(E, flat, pos, s, n * c // k, n * (c + 1) // k, u[c])
    else:
        for c in range(k):
            xx[c] = _direction_rows(E, flat, pos, s, n * c // k, n * (c + 1) // k, u[c])
    for c in range(1, k):
        xx[0] += xx[c]
        for f in range(d.size):
            u[0, f] += u[c, f]
    for f in range(d.size):
        u[0, f] += xx[0] * d[f]


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _turn_rows(E, Y, flat, a, pos, s, lo, hi, old, new, kappa, c, rows):
    """E ← E + x (old − new); c = R new + kappa·a; the rows of Y, side by side."""
    m = E.shape[1]
    for r in range(lo, hi):
        p = pos[r]
        j = p // s
        x = flat[p]
        t = 0.0
        for f in range(m):
            e = E[j, f] + x * (old[f] - new[f])
            E[j, f] = e
            t += e * new[f]
            rows[r, f] = Y[j, f]
        c[r] = t + x + kappa * a[j]


@njit(cache=True, nogil=True, parallel=True)
def turn(dsyrk, E, Y, flat, a, pos, s, old, new, kappa, gram, c, rows, G, k, parallel):
    """Replace atom `old` by `new` with its codes as they are; with `gram`, YᵀY of the atom's rows in G[0]."""
    n = pos.size
    if parallel:
        for q in prange(k):
            lo, hi = n * q // k, n * (q + 1) // k
            _turn_rows(E, Y, flat, a, pos, s, lo, hi, old, new, kappa, c, rows)
            if gram:
                _gram_rows(dsyrk, rows, lo, hi, G[q])
    else:
        for q in range(k):
            lo, hi = n * q // k, n * (q + 1) // k
            _turn_rows(E, Y, flat, a, pos, s, lo, hi, old, new, kappa, c, rows)
            if gram:
                _gram_rows(dsyrk, rows, lo, hi, G[q])
    if gram:
        _add_slices(G, k)


@njit(cache=True, nogil=True, parallel=True)
def basis(dsyrk, rows, T, U, G, k, parallel):
    """U = rows T and UᵀU in G[0]."""
    n = rows.shape[0]
    if parallel:
        for q in prange(k):
            lo, hi = n * q // k, n * (q + 1) // k
            np.dot(rows[lo:hi], T, U[lo:hi])
            _gram_rows(dsyrk, U, lo, hi, G[q])
    else:
        for q in range(k):
            lo, hi = n * q // k, n * (q + 1) // k
            np.dot(rows[lo:hi], T, U[lo:hi])
            _gram_rows(dsyrk, U, lo, hi, G[q])
    _add_slices(G, k)


@njit(cache=True, nogil=True)
def _targets_rows(U, c, alpha, lo, hi, out):
    """out[0] = Uᵀc and out[1] = Uᵀ soft(c, alpha)."""
    for f in range(U.shape[1]):
        out[0, f] = 0.0
        out[1, f] = 0.0
    for r in range(lo, hi):
        t = np.sign(c[r]) * max(abs(c[r]) - alpha, 0.0)
        for f in range(U.shape[1]):
            out[0, f] += c[r] * U[r, f]
        if t != 0.0:
            for f in range(U.shape[1]):
                out[1, f] += t * U[r, f]


@njit(cache=True, nogil=True, parallel=True)
def targets(U, c, alpha, out, k, parallel):
    """Uᵀc and Uᵀ soft(c, alpha) in out[0]; a slice per chunk."""
    n = c.size
    if parallel:
        for q in prange(k):
            _targets_rows(U, c, alpha, n * q // k, n * (q + 1) // k, out[q])
    else:
        for q in range(k):
            _targets_rows(U, c, alpha, n * q // k, n * (q + 1) // k, out[q])
    for q in range(1, k):
        for f in range(U.shape[1]):
            out[0, 0, f] += out[q, 0, f]
            out[0, 1, f] += out[q, 1, f]


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _dot(row, q):
    t = 0.0
    for f in range(q.size):
        t += row[f] * q[f]
    return t


@njit(cache=True, nogil=True)
def _smooth_rows(dsyrk, U, q, eps, lo, hi, grad, H):
    """grad = [Uᵀt, Σ huber(x), number of |x| < eps] with t = clip(x/eps, −1, 1), x = Uq; H the Gram of those rows."""
    r = U.shape[1]
    for f in range(r + 2):
        grad[f] = 0.0
    H[:] = 0.0
    block = max(BLOCK // r, 64)
    buf = np.empty((block, r))
    tmp = np.empty((r, r))
    letters, sizes, factors = np.empty(2, np.uint8), np.empty(2, np.int32), np.empty(1)
    held = 0
    for j in range(lo, hi):
        x = _dot(U[j], q)
        t = min(max(x / eps, -1.0), 1.0)
        for f in range(r):
            grad[f] += t * U[j, f]
        grad[r] += t * x - 0.5 * eps * t * t
        if abs(x) < eps:
            grad[r + 1] += 1.0
            for f in range(r):
                buf[held, f] = U[j, f]
            held += 1
        if held == block or (j == hi - 1 and held > 0):
            if r < NARROW:
                np.dot(buf[:held].T, buf[:held], tmp)
                H += tmp
            else:
                add_gram(dsyrk, buf, held, H, letters, sizes, factors)
            held = 0


@njit(cache=True, nogil=True, parallel=True)
def smooth(dsyrk, U, q, eps, grad, H, k, parallel):
    """The sums of the smoothed ℓ1 norm in grad[0] and H[0]; a slice per chunk."""
    n = U.shape[0]
    if parallel:
        for c in prange(k):
            _smooth_rows(dsyrk, U, q, eps, n * c // k, n * (c + 1) // k, grad[c], H[c])
    else:
        for c in range(k):
            _smooth_rows(dsyrk, U, q, eps, n * c // k, n * (c + 1) // k, grad[c], H[c])
    for c in range(1, k):
        for f in range(grad.shape[1]):
            grad[0, f] += grad[c, f]
    _add_slices(H, k)


@njit(cache=True, nogil=True)
def split_band(U, q, threshold, tau, band, fixed):
    """List the rows with |x| ≤ threshold, x = Uq; elsewhere τ = sign(x), and Uᵀτ of those in `fixed`."""
    fixed[:] = 0.0
    n = 0
    for j in range(U.shape[0]):
        x = _dot(U[j], q)
        if abs(x) <= threshold:
            band[n] = j
            n += 1
        else:
            tau[j] = np.sign(x)
            for f in range(q.size):
                fixed[f] += tau[j] * U[j, f]
    return n


@njit(cache=True, nogil=True)
def measure(U, q, tau, alpha, out):
    """Uᵀτ in `out`; returns Σ |x| − τ x and Σ (x − soft(x + alpha τ, alpha))², x = Uq."""
    out[:] = 0.0
    slack = 0.0
    natural = 0.0
    for j in range(U.shape[0]):
        x = _dot(U[j], q)
        slack += abs(x) - tau[j] * x
        y = x + alpha * tau[j]
        natural += (x - np.sign(y) * max(abs(y) - alpha, 0.0)) ** 2
        for f in range(q.size):
            out[f] += tau[j] * U[j, f]
    return slack, natural


@njit(cache=True, nogil=True)
def ascend(U, v, step, tau, out):
    """τ ← clip(τ + step·Uv, −1, 1), Uᵀτ in `out`: a projected gradient step."""
    out[:] = 0.0
    for j in range(U.shape[0]):
        t = min(max(tau[j] + step * _dot(U[j], v), -1.0), 1.0)
        tau[j] = t
        for f in range(v.size):
            out[f] += t * U[j, f]


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _commit_rows(E, flat, pos, s, lo, hi, rows, p, d):
    """x ← Y_Ω p, E ← E − (x_new − x) d; returns ‖x_new‖²."""
    m = E.shape[1]
    xx = 0.0
    for r in range(lo, hi):
        j = pos[r] // s
        t = 0.0
        for f in range(m):
            t += rows[r, f] * p[f]
        change = flat[pos[r]] - t
        for f in range(m):
            E[j, f] += change * d[f]
        flat[pos[r]] = t
        xx += t * t
    return xx


@njit(cache=True, nogil=True, parallel=True)
def commit(E, flat, pos, s, rows, p, d, xx, k, parallel):
    """Write one pair's new row of codes, in k chunks; ‖x‖² in xx[0]."""
    n = pos.size
    if parallel:
        for c in prange(k):
            xx[c] = _commit_rows(E, flat, pos, s, n * c // k, n * (c + 1) // k, rows, p, d)
    else:
        for c in range(k):
            xx[c] = _commit_rows(E, flat, pos, s, n * c // k, n * (c + 1) // k, rows, p, d)
    for c in range(1, k):
        xx[0] += xx[c]


@njit(cache=True, nogil=True)
def analysis_codes(Y, P, indices, values):
    """Set every code that OMP made to p_i·y."""
    for j in range(indices.shape[0]):
        for k in range(indices.shape[1]):
            if indices[j, k] >= 0:
                values[j, k] = _dot(Y[j], P[indices[j, k]])


@njit(cache=True, nogil=True)
def cross_moments(Y, indices, values, out):
    """out = XᵀY, n×m."""
    out[:] = 0.0
    for j in range(Y.shape[0]):
        for k in range(indices.shape[1]):
            if indices[j, k] >= 0:
                for f in range(Y.shape[1]):
                    out[indices[j, k], f] += values[j, k] * Y[j, f]


@njit(cache=True, nogil=True)
def absolute_sums(indices, values, out):
    """Add Σ_j |x_j| by atom to `out`."""
    for j in range(indices.shape[0]):
        for k in range(indices.shape[1]):
            if indices[j, k] >= 0:
                out[indices[j, k]] += abs(values[j, k])
