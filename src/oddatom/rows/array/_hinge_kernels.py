"""Passes over the rows of an atom where the boundary is fixed: see `boundary/hinge_codes.py` for the codes of a row.

A row of weight ω is kept as √ω y with codes √ω x: its slack is ω times that of the row, and w is √ω w. `roots` has √ω
of every row, or nothing where all are one.
"""

from __future__ import annotations

from numba import njit, prange

from oddatom.arrays.sums import FUSED, dot
from oddatom.boundary.hinge_codes import code_of, slack_of


@njit(cache=True, nogil=True, inline="always")
def _root(roots, j):
    return roots[j] if roots.size > 0 else 1.0


@njit(cache=True, nogil=True)
def start(indices, values, w, rho, curvature, roots, v):
    """v = ρ − x·w + h/2 ‖x‖² of every row, times its weight."""
    for j in range(indices.shape[0]):
        g = _root(roots, j)
        t = g * g * rho
        for k in range(indices.shape[1]):
            i = indices[j, k]
            if i >= 0:
                x = values[j, k]
                t += -g * w[i] * x + 0.5 * curvature * x * x
        v[j] = t


@njit(cache=True, nogil=True, fastmath=FUSED)
def _try_rows(E, flat, pos, s, old, new, w, kappa, curvature, roots, v, p, lo, hi, r, sums):
    overlap = dot(old, new)
    xx = xr = hinge = 0.0
    xx_old = xr_old = hinge_old = hinge_zero = most = 0.0
    for n in range(lo, hi):
        j = pos[n] // s
        x_old = flat[pos[n]]
        wj = w * _root(roots, j)
        q = v[j] + wj * x_old - 0.5 * curvature * x_old * x_old
        r[n] = dot(E[j], new) + x_old * overlap
        x = code_of(r[n], q, wj, kappa, curvature, p)
        xx += x * x
        xr += x * r[n]
        hinge += max(slack_of(x, q, wj, curvature), 0.0)
        xx_old += x_old * x_old
        xr_old += x_old * (dot(E[j], old) + x_old)
        hinge_old += max(v[j], 0.0)
        t = r[n]
        if q > 0.0:
            hinge_zero += q
            t += kappa * wj
        most += t * t
    sums[:] = xx, xr, hinge, xx_old, xr_old, hinge_old, hinge_zero, most


@njit(cache=True, nogil=True, parallel=True)
def attempt(E, flat, pos, s, old, new, w, kappa, curvature, roots, v, p, r, sums, k, parallel):
    """Keep r = R·new; put into sums Σ x², Σ x r and Σ hinge of the new codes and of the old ones.

    Last come Σ hinge at x = 0, and ‖r + kappa w‖² with w on the rows that lie outside there.
    """
    n = pos.size
    if parallel:
        for c in prange(k):
            lo, hi = n * c // k, n * (c + 1) // k
            _try_rows(E, flat, pos, s, old, new, w, kappa, curvature, roots, v, p, lo, hi, r, sums[c])
    else:
        for c in range(k):
            lo, hi = n * c // k, n * (c + 1) // k
            _try_rows(E, flat, pos, s, old, new, w, kappa, curvature, roots, v, p, lo, hi, r, sums[c])


@njit(cache=True, nogil=True)
def _value_rows(flat, pos, s, w, kappa, curvature, roots, v, p, r, lo, hi, sums):
    xx = xr = hinge = 0.0
    for n in range(lo, hi):
        j = pos[n] // s
        x_old = flat[pos[n]]
        wj = w * _root(roots, j)
        q = v[j] + wj * x_old - 0.5 * curvature * x_old * x_old
        x = code_of(r[n], q, wj, kappa, curvature, p)
        xx += x * x
        xr += x * r[n]
        hinge += max(slack_of(x, q, wj, curvature), 0.0)
    sums[:] = xx, xr, hinge


@njit(cache=True, nogil=True, parallel=True)
def values(flat, pos, s, w, kappa, curvature, roots, v, p, r, sums, k, parallel):
    """Put Σ x², Σ x r and Σ hinge for another p into sums."""
    n = pos.size
    if parallel:
        for c in prange(k):
            _value_rows(flat, pos, s, w, kappa, curvature, roots, v, p, r, n * c // k, n * (c + 1) // k, sums[c])
    else:
        for c in range(k):
            _value_rows(flat, pos, s, w, kappa, curvature, roots, v, p, r, n * c // k, n * (c + 1) // k, sums[c])


@njit(cache=True, nogil=True, fastmath=FUSED)
def _commit_rows(E, flat, pos, s, old, new, w, kappa, curvature, roots, v, p, r, lo, hi):
    m = E.shape[1]
    for n in range(lo, hi):
        j = pos[n] // s
        x_old = flat[pos[n]]
        wj = w * _root(roots, j)
        q = v[j] + wj * x_old - 0.5 * curvature * x_old * x_old
        x = code_of(r[n], q, wj, kappa, curvature, p)
        for f in range(m):
            E[j, f] = E[j, f] + x_old * old[f] - x * new[f]
        v[j] = slack_of(x, q, wj, curvature)
        flat[pos[n]] = x


@njit(cache=True, nogil=True, parallel=True)
def commit(E, flat, pos, s, old, new, w, kappa, curvature, roots, v, p, r, k, parallel):
    """Write the codes of one atom, and bring residual and slack up to date."""
    n = pos.size
    if parallel:
        for c in prange(k):
            lo, hi = n * c // k, n * (c + 1) // k
            _commit_rows(E, flat, pos, s, old, new, w, kappa, curvature, roots, v, p, r, lo, hi)
    else:
        _commit_rows(E, flat, pos, s, old, new, w, kappa, curvature, roots, v, p, r, 0, n)


@njit(cache=True, nogil=True)
def rows_outside(flat, pos, s, w, curvature, roots, v, out):
    """√ω on the rows that lie outside the boundary without the atom, 0 elsewhere."""
    for n in range(pos.size):
        j = pos[n] // s
        x = flat[pos[n]]
        g = _root(roots, j)
        out[j] = g if v[j] + g * w * x - 0.5 * curvature * x * x > 0.0 else 0.0


@njit(cache=True, nogil=True)
def total(v):
    """Σ v₊."""
    t = 0.0
    for j in range(v.size):
        t += max(v[j], 0.0)
    return t
