"""Passes over rows that a sweep needs: the moments of an atom, the update of its row and of the residual."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

BLOCK = 256  # rows gathered for one BLAS product


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
        _residual_rows(Y, D, indices, values, 0, N, E)


@njit(cache=True, nogil=True)
def _moment_rows(E, values, a, pos, s, d, kappa, A, g):
    """Add RᵀR to A, Rᵀc to g, and return ‖c‖², for R = E_Ω + x dᵀ and c = kappa·a_Ω on the rows listed."""
    m = E.shape[1]
    buf = np.empty((min(BLOCK, pos.size), m))
    tmp = np.empty((m, m))
    flat = values.ravel()
    cc = 0.0
    for start in range(0, pos.size, BLOCK):
        b = min(BLOCK, pos.size - start)
        for r in range(b):
            p = pos[start + r]
            j = p // s
            x = flat[p]
            for f in range(m):
                buf[r, f] = E[j, f] + x * d[f]
            if kappa != 0.0 and a[j] != 0.0:
                c = kappa * a[j]
                cc += c * c
                for f in range(m):
                    g[f] += c * buf[r, f]
        np.dot(buf[:b].T, buf[:b], tmp)
        A += tmp
    return cc


@njit(cache=True, nogil=True, parallel=True)
def moments(E, values, a, pos, s, d, kappa, k, parallel):
    """A = RᵀR, g = Rᵀc and ‖c‖² of one atom, in k chunks of its rows."""
    m = E.shape[1]
    A = np.zeros((k, m, m))
    g = np.zeros((k, m))
    cc = np.zeros(k)
    n = pos.size
    if parallel:
        for c in prange(k):
            cc[c] = _moment_rows(E, values, a, pos[n * c // k : n * (c + 1) // k], s, d, kappa, A[c], g[c])
    else:
        for c in range(k):
            cc[c] = _moment_rows(E, values, a, pos[n * c // k : n * (c + 1) // k], s, d, kappa, A[c], g[c])
    for c in range(1, k):
        A[0] += A[c]
        g[0] += g[c]
        cc[0] += cc[c]
    return A[0], g[0], cc[0]


@njit(cache=True, nogil=True)
def _commit_rows(E, values, a, pos, s, old, new, shrink, kappa):
    """x ← shrink·(R new + c), E ← R − x newᵀ on the rows listed, R = E + x oldᵀ."""
    m = E.shape[1]
    flat = values.ravel()
    overlap = 0.0
    for f in range(m):
        overlap += old[f] * new[f]
    for r in range(pos.size):
        p = pos[r]
        j = p // s
        x = flat[p]
        t = 0.0
        if shrink != 0.0:
            for f in range(m):
                t += E[j, f] * new[f]
            t = shrink * (t + x * overlap + kappa * a[j])
        for f in range(m):
            E[j, f] += x * old[f] - t * new[f]
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
def gather_rows(E, values, a, pos, s, d, kappa, R, c):
    """R = E_Ω + x dᵀ and c = kappa·a_Ω themselves, for atoms with fewer rows than features."""
    flat = values.ravel()
    for r in range(pos.size):
        p = pos[r]
        j = p // s
        c[r] = kappa * a[j]
        for f in range(E.shape[1]):
            R[r, f] = E[j, f] + flat[p] * d[f]


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
