"""Passes over rows that a sweep needs: the moments of an atom, the update of its row and of the residual."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from oddatom.arrays.blas import add_gram
from oddatom.arrays.sums import FUSED, dot

BLOCK = 2**15  # numbers gathered for one BLAS product: they stay in the second-level cache
NARROW = 48  # below this many features OpenBLAS's small dgemm beats its dsyrk


@njit(cache=True, nogil=True)
def csc_positions(indices, n_atoms, ptr, pos):
    """List, atom by atom, the positions (row · s + slot) of its non-zeros, rows ascending."""
    N, s = indices.shape
    for j in range(N):
        for k in range(s):
            if indices[j, k] >= 0:
                ptr[indices[j, k] + 1] += 1
    for i in range(n_atoms):
        ptr[i + 1] += ptr[i]
    fill = ptr[:-1].copy()
    for j in range(N):
        for k in range(s):
            i = indices[j, k]
            if i >= 0:
                pos[fill[i]] = j * s + k
                fill[i] += 1


@njit(cache=True, nogil=True)
def _residual_rows(Y, D, indices, values, lo, hi, E):
    for j in range(lo, hi):
        for f in range(Y.shape[1]):
            E[j, f] = Y[j, f]
        for k in range(indices.shape[1]):
            i = indices[j, k]
            if i >= 0:
                x = values[j, k]
                for f in range(Y.shape[1]):
                    E[j, f] -= x * D[i, f]


@njit(cache=True, nogil=True, parallel=True)
def residual(Y, D, indices, values, E, k, parallel):
    """E = Y − X D."""
    N = Y.shape[0]
    if parallel:
        for c in prange(k):
            _residual_rows(Y, D, indices, values, N * c // k, N * (c + 1) // k, E)
    else:
        for c in range(k):
            _residual_rows(Y, D, indices, values, N * c // k, N * (c + 1) // k, E)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def target(a, roots, j, x, kappa, bend):
    """What the boundary asks of a row's code: a (kappa − bend x); a row of weight ω has multipliers √ω a."""
    share = a[j] / roots[j] if roots.size > 0 else a[j]
    return kappa * a[j] - bend * share * x


@njit(cache=True, nogil=True)
def _moment_rows(dsyrk, E, values, a, roots, pos, s, d, kappa, bend, A, g):
    """Put RᵀR into A (lower triangle), Rᵀc into g, and return ‖c‖², for R = E_Ω + x dᵀ and c = a (kappa − bend x)."""
    m = E.shape[1]
    A[:] = 0.0
    g[:] = 0.0
    block = min(max(BLOCK // m, 64), pos.size)
    buf = np.empty((block, m))
    letters, sizes, factors = np.empty(2, np.uint8), np.empty(2, np.int32), np.empty(1)
    narrow = m < NARROW
    tmp = np.empty((m, m)) if narrow else A
    flat = values.ravel()
    cc = 0.0
    for start in range(0, pos.size, max(block, 1)):
        b = min(block, pos.size - start)
        for r in range(b):
            p = pos[start + r]
            j = p // s
            x = flat[p]
            for f in range(m):
                buf[r, f] = E[j, f] + x * d[f]
            if a[j] != 0.0 and (kappa != 0.0 or bend != 0.0):
                c = target(a, roots, j, x, kappa, bend)
                cc += c * c
                for f in range(m):
                    g[f] += c * buf[r, f]
        if narrow:
            np.dot(buf[:b].T, buf[:b], tmp)
            A += tmp
        else:
            add_gram(dsyrk, buf, b, A, letters, sizes, factors)
    return cc


# Inside parallel=True numba runs every array expression in parallel too, at the price of a parallel region:
# arrays are made by the caller, and what is not per row is written as loops.
@njit(cache=True, nogil=True, parallel=True)
def moments(dsyrk, E, values, a, roots, pos, s, d, kappa, bend, A, g, cc, k, parallel):
    """A = RᵀR, g = Rᵀc and ‖c‖² of one atom in A[0], g[0], cc[0]; a slice of each per chunk."""
    m = E.shape[1]
    n = pos.size
    if parallel:
        for c in prange(k):
            part = pos[n * c // k : n * (c + 1) // k]
            cc[c] = _moment_rows(dsyrk, E, values, a, roots, part, s, d, kappa, bend, A[c], g[c])
    else:
        for c in range(k):
            part = pos[n * c // k : n * (c + 1) // k]
            cc[c] = _moment_rows(dsyrk, E, values, a, roots, part, s, d, kappa, bend, A[c], g[c])
    for c in range(1, k):
        for i in range(m):
            g[0, i] += g[c, i]
            for q in range(i + 1):
                A[0, i, q] += A[c, i, q]
        cc[0] += cc[c]
    for i in range(m):
        for q in range(i):
            A[0, q, i] = A[0, i, q]


@njit(cache=True, nogil=True, fastmath=FUSED)
def _commit_rows(E, values, a, pos, s, old, new, shrink, kappa):
    """x ← shrink·(R new + c), E ← R − x newᵀ on the rows listed, R = E + x oldᵀ."""
    m = E.shape[1]
    flat = values.ravel()
    overlap = dot(old, new)
    for r in range(pos.size):
        p = pos[r]
        j = p // s
        x = flat[p]
        t = 0.0
        if shrink != 0.0:
            t = shrink * (dot(E[j], new) + x * overlap + kappa * a[j])
        for f in range(m):
            E[j, f] = E[j, f] + x * old[f] - t * new[f]
        flat[p] = t


@njit(cache=True, nogil=True, parallel=True)
def commit(E, values, a, pos, s, old, new, shrink, kappa, k, parallel):
    """Write one atom's new row of codes, in k chunks."""
    n = pos.size
    if parallel:
        for c in prange(k):
            _commit_rows(E, values, a, pos[n * c // k : n * (c + 1) // k], s, old, new, shrink, kappa)
    else:
        _commit_rows(E, values, a, pos, s, old, new, shrink, kappa)


@njit(cache=True, nogil=True)
def gather_rows(E, values, a, roots, pos, s, d, kappa, bend, R, c):
    """R = E_Ω + x dᵀ and c = a (kappa − bend x) themselves, for atoms with fewer rows than features."""
    flat = values.ravel()
    for r in range(pos.size):
        p = pos[r]
        j = p // s
        c[r] = target(a, roots, j, flat[p], kappa, bend)
        for f in range(E.shape[1]):
            R[r, f] = E[j, f] + flat[p] * d[f]


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


@njit(cache=True, nogil=True)
def code_sums(indices, values, a, weighted, squares):
    """Add Σ_j a_j x_j and Σ_j x_j² to the two vectors over atoms."""
    for j in range(indices.shape[0]):
        for k in range(indices.shape[1]):
            i = indices[j, k]
            if i >= 0:
                x = values[j, k]
                weighted[i] += a[j] * x
                squares[i] += x * x


@njit(cache=True, nogil=True)
def compress(indices, values, column, indptr, out_indices, out_data):
    """Write the non-zero codes as CSR, atom i in column[i]; returns their number."""
    q = 0
    for j in range(indices.shape[0]):
        for k in range(indices.shape[1]):
            i = indices[j, k]
            if i >= 0 and values[j, k] != 0.0 and column[i] >= 0:
                out_indices[q] = column[i]
                out_data[q] = values[j, k]
                q += 1
        indptr[j + 1] = q
    return q


@njit(cache=True, nogil=True)
def sort_rows(indptr, indices, data):
    """Bring the few entries of each CSR row into the order of their columns."""
    for j in range(indptr.size - 1):
        for p in range(indptr[j] + 1, indptr[j + 1]):
            i, x = indices[p], data[p]
            q = p
            while q > indptr[j] and indices[q - 1] > i:
                indices[q], data[q] = indices[q - 1], data[q - 1]
                q -= 1
            indices[q], data[q] = i, x
