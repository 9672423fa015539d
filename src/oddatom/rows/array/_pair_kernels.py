"""Passes over the rows of one dictionary pair: its direction, its rows in a basis, and the new codes."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from oddatom.arrays.blas import add_gram
from oddatom.arrays.sums import FUSED, dot
from oddatom.boundary.hinge_codes import slack_of

BLOCK = 2**15  # numbers in one BLAS product: they stay in the second-level cache
NARROW = 48  # below this many columns OpenBLAS's small dgemm beats its dsyrk

# Inside parallel=True numba runs every array expression in parallel too: arrays are made by the caller, and sums over
# chunks are loops. Each chunk has its own slice of the sums, and the slices are added in order.


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
def _target_rows(E, Y, flat, a, pos, s, lo, hi, old, new, kappa, bend, alpha, c, rows, sums):
    """c = R new + a (kappa − bend x), R = E + x old; the rows of Y beside it; ‖c‖² and ‖soft(c, alpha)‖² in `sums`."""
    m = E.shape[1]
    square, soft = 0.0, 0.0
    overlap = dot(old, new)
    for r in range(lo, hi):
        p = pos[r]
        j = p // s
        t = dot(E[j], new) + flat[p] * overlap + a[j] * (kappa - bend * flat[p])
        for f in range(m):
            rows[r, f] = Y[j, f]
        c[r] = t
        square += t * t
        soft += max(abs(t) - alpha, 0.0) ** 2
    sums[0] = square
    sums[1] = soft


@njit(cache=True, nogil=True, parallel=True)
def target(E, Y, flat, a, pos, s, old, new, kappa, bend, alpha, c, rows, sums, k, parallel):
    """The pair's rows of Y and its target c for the atom `new`; its norms in sums[0], a slice per chunk."""
    n = pos.size
    if parallel:
        for q in prange(k):
            lo, hi = n * q // k, n * (q + 1) // k
            _target_rows(E, Y, flat, a, pos, s, lo, hi, old, new, kappa, bend, alpha, c, rows, sums[q])
    else:
        for q in range(k):
            lo, hi = n * q // k, n * (q + 1) // k
            _target_rows(E, Y, flat, a, pos, s, lo, hi, old, new, kappa, bend, alpha, c, rows, sums[q])
    for q in range(1, k):
        sums[0, 0] += sums[q, 0]
        sums[0, 1] += sums[q, 1]


@njit(cache=True, nogil=True, parallel=True)
def gram(dsyrk, rows, G, k, parallel):
    """rowsᵀ rows in G[0]; a slice per chunk."""
    n = rows.shape[0]
    if parallel:
        for q in prange(k):
            _gram_rows(dsyrk, rows, n * q // k, n * (q + 1) // k, G[q])
    else:
        for q in range(k):
            _gram_rows(dsyrk, rows, n * q // k, n * (q + 1) // k, G[q])
    _add_slices(G, k)


@njit(cache=True, nogil=True)
def _basis_rows(rows, T, U, c, flat, pos, alpha, lo, hi, out):
    """U = rows T; Uᵀc, Uᵀ soft(c, alpha) and Uᵀx in `out`."""
    r = U.shape[1]
    np.dot(rows[lo:hi], T, U[lo:hi])
    for f in range(r):
        for q in range(3):
            out[q, f] = 0.0
    for j in range(lo, hi):
        x = flat[pos[j]]
        for f in range(r):
            out[0, f] += c[j] * U[j, f]
            out[2, f] += x * U[j, f]
        if abs(c[j]) > alpha:
            t = c[j] - np.sign(c[j]) * alpha
            for f in range(r):
                out[1, f] += t * U[j, f]


@njit(cache=True, nogil=True, parallel=True)
def basis(rows, T, U, c, flat, pos, alpha, out, k, parallel):
    """U = rows T, and Uᵀc, Uᵀ soft(c, alpha) and Uᵀx in out[0]; a slice per chunk."""
    n = c.size
    if parallel:
        for q in prange(k):
            _basis_rows(rows, T, U, c, flat, pos, alpha, n * q // k, n * (q + 1) // k, out[q])
    else:
        for q in range(k):
            _basis_rows(rows, T, U, c, flat, pos, alpha, n * q // k, n * (q + 1) // k, out[q])
    for q in range(1, k):
        for i in range(3):
            for f in range(U.shape[1]):
                out[0, i, f] += out[q, i, f]


@njit(cache=True, nogil=True)
def split_band(U, x, threshold, tau, band, fixed):
    """List the rows with |x| ≤ threshold; elsewhere τ = sign(x), and Uᵀτ of those in `fixed`; returns their number."""
    fixed[:] = 0.0
    n = 0
    for j in range(U.shape[0]):
        if abs(x[j]) <= threshold:
            band[n] = j
            n += 1
        else:
            tau[j] = np.sign(x[j])
            for f in range(fixed.size):
                fixed[f] += tau[j] * U[j, f]
    return n


@njit(cache=True, nogil=True)
def measure(U, q, tau, alpha, out):
    """Uᵀτ in `out`; returns Σ |x| − τ x and Σ (x − soft(x + alpha τ, alpha))², x = Uq."""
    out[:] = 0.0
    slack = 0.0
    natural = 0.0
    for j in range(U.shape[0]):
        x = dot(U[j], q)
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
        t = min(max(tau[j] + step * dot(U[j], v), -1.0), 1.0)
        tau[j] = t
        for f in range(v.size):
            out[f] += t * U[j, f]


@njit(cache=True, nogil=True, fastmath=FUSED)
def _commit_rows(E, flat, pos, s, lo, hi, rows, p, old, new):
    """E ← E + x old − x_new new with x_new = Y_Ω p; returns ‖x_new‖²."""
    m = E.shape[1]
    xx = 0.0
    for r in range(lo, hi):
        j = pos[r] // s
        t = dot(rows[r], p)
        x = flat[pos[r]]
        for f in range(m):
            E[j, f] = E[j, f] + x * old[f] - t * new[f]
        flat[pos[r]] = t
        xx += t * t
    return xx


@njit(cache=True, nogil=True, parallel=True)
def commit(E, flat, pos, s, rows, p, old, new, xx, k, parallel):
    """Write one pair's new row of codes, in k chunks; ‖x‖² in xx[0]."""
    n = pos.size
    if parallel:
        for c in prange(k):
            xx[c] = _commit_rows(E, flat, pos, s, n * c // k, n * (c + 1) // k, rows, p, old, new)
    else:
        for c in range(k):
            xx[c] = _commit_rows(E, flat, pos, s, n * c // k, n * (c + 1) // k, rows, p, old, new)
    for c in range(1, k):
        xx[0] += xx[c]


@njit(cache=True, nogil=True)
def analysis_codes(Y, P, indices, values):
    """Set every code that OMP made to p_i·y."""
    for j in range(indices.shape[0]):
        for k in range(indices.shape[1]):
            if indices[j, k] >= 0:
                values[j, k] = dot(Y[j], P[indices[j, k]])


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


@njit(cache=True, nogil=True)
def line(flat, pos, s, rows, p, c, a, kappa, bend, w, curvature, v, rest, step, products, absolute, hinge):
    """Add the sums of the objective at rest·x + step·y, y = Y_Ω p, r = c − a (kappa − bend x): see `pair_line`."""
    for n in range(pos.size):
        j = pos[n] // s
        x = flat[pos[n]]
        y = dot(rows[n], p)
        r = c[n] - a[j] * (kappa - bend * x)
        q = v[j] + w * x - 0.5 * curvature * x * x
        products[0] += x * x
        products[1] += x * y
        products[2] += y * y
        products[3] += x * r
        products[4] += y * r
        for k in range(step.size):
            t = rest[k] * x + step[k] * y
            absolute[k] += abs(t)
            hinge[k] += max(slack_of(t, q, w, curvature), 0.0)


@njit(cache=True, nogil=True)
def move_slack(flat, pos, s, rows, p, w, kappa, curvature, roots, v):
    """Bring the slack of the rows up to date with the codes Y_Ω p."""
    for n in range(pos.size):
        j = pos[n] // s
        x = flat[pos[n]]
        v[j] = slack_of(dot(rows[n], p), v[j] + w * x - 0.5 * curvature * x * x, w, curvature)
