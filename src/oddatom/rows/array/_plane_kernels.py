"""Passes over rows that the one-class SVM needs: margins, the smoothed objective, exact order statistics."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

# Distances to the margin are |f − rho| / (‖x‖ + KAPPA): how far the plane must turn before the row crosses it.
KAPPA = 1e-3


@njit(cache=True, nogil=True, inline="always")
def _bounds(n, k, c):
    return n * c // k, n * (c + 1) // k


@njit(cache=True, nogil=True)
def _margins_rows(X, indptr, indices, data, w, lo, hi, f):
    for j in range(lo, hi):
        t = 0.0
        if X.size > 0:
            for i in range(w.size):
                t += X[j, i] * w[i]
        else:
            for p in range(indptr[j], indptr[j + 1]):
                t += data[p] * w[np.uint32(indices[p])]
        f[j] = t


@njit(cache=True, nogil=True, parallel=True)
def margins(X, indptr, indices, data, w, f, k, parallel):
    """f = X w in k chunks of rows."""
    if parallel:
        for c in prange(k):
            lo, hi = _bounds(f.size, k, c)
            _margins_rows(X, indptr, indices, data, w, lo, hi, f)
    else:
        for c in range(k):
            lo, hi = _bounds(f.size, k, c)
            _margins_rows(X, indptr, indices, data, w, lo, hi, f)


@njit(cache=True, nogil=True, error_model="numpy")
def _smooth_rows(X, indptr, indices, data, n, f, rho, eps, scale, lo, hi, grad, H):
    """Put Σ a [x, 1] into grad and Σ_free [x, −1]ᵀ[x, −1] into the lower triangle of H."""
    grad[:] = 0.0
    H[:] = 0.0
    per_eps, per_scale = 1.0 / eps, 1.0 / scale
    for j in range(lo, hi):
        a = 0.5 + (rho - f[j]) * per_eps
        if a <= 0.0:
            continue
        free = a < 1.0
        a = min(a, 1.0)
        grad[n] += a
        if X.size > 0:
            for i in range(n):
                xi = X[j, i] * per_scale
                grad[i] += a * xi
                if free:
                    H[n, i] -= xi
                    for q in range(i + 1):
                        H[i, q] += xi * X[j, q] * per_scale
        else:
            for p in range(indptr[j], indptr[j + 1]):
                i = np.uint32(indices[p])
                xi = data[p] * per_scale
                grad[i] += a * xi
                if free:
                    H[n, i] -= xi
                    for q in range(indptr[j], p + 1):
                        i2 = np.uint32(indices[q])
                        H[max(i, i2), min(i, i2)] += xi * data[q] * per_scale
        if free:
            H[n, n] += 1.0


@njit(cache=True, nogil=True, parallel=True)
def smooth(X, indptr, indices, data, n, f, rho, eps, scale, grad, H, k, parallel):
    """Sums of the smoothed objective in k chunks: grad (k, n+1), H (k, n+1, n+1)."""
    if parallel:
        for c in prange(k):
            lo, hi = _bounds(f.size, k, c)
            _smooth_rows(X, indptr, indices, data, n, f, rho, eps, scale, lo, hi, grad[c], H[c])
    else:
        for c in range(k):
            lo, hi = _bounds(f.size, k, c)
            _smooth_rows(X, indptr, indices, data, n, f, rho, eps, scale, lo, hi, grad[c], H[c])


@njit(cache=True, nogil=True, error_model="numpy")
def bend(f, norms, scale, curvature):
    """f ← f − curvature/2 (‖x‖/scale)²."""
    for j in range(f.size):
        t = norms[j] / scale
        f[j] -= 0.5 * curvature * t * t


@njit(cache=True, nogil=True)
def move(f, g, step):
    """f ← f + step g."""
    for j in range(f.size):
        f[j] += step * g[j]


@njit(cache=True, nogil=True)
def smooth_value(f, g, rho, drho, step, eps):
    """Σ ψ(rho' − f') at f' = f + step g, rho' = rho + step drho; ψ is the hinge rounded over a width eps."""
    total = 0.0
    r = rho + step * drho + 0.5 * eps
    half = 0.5 / eps
    for j in range(f.size):
        u = max(r - f[j] - step * g[j], 0.0)
        v = min(u, eps)
        total += v * v * half + (u - v)
    return total


@njit(cache=True, nogil=True)
def row_norms(X, indptr, indices, data, norms):
    """Euclidean norm of each row."""
    for j in range(norms.size):
        t = 0.0
        if X.size > 0:
            for i in range(X.shape[1]):
                t += X[j, i] * X[j, i]
        else:
            for p in range(indptr[j], indptr[j + 1]):
                t += data[p] * data[p]
        norms[j] = np.sqrt(t)


@njit(cache=True, nogil=True, error_model="numpy")
def distances(f, norms, scale, rho, by_norm, out):
    """out = |f − rho|, or |f − rho| / (‖x‖/scale + KAPPA)."""
    for j in range(f.size):
        out[j] = abs(f[j] - rho)
        if by_norm:
            out[j] /= norms[j] / scale + KAPPA


@njit(cache=True, nogil=True)
def _key(bits):
    """Map the bits of a double to an unsigned integer in the same order."""
    if bits >> np.uint64(63):
        return ~bits
    return bits | np.uint64(1) << np.uint64(63)


@njit(cache=True, nogil=True)
def key_histogram(values, prefix, shift, n_bits, counts):
    """Count, by the `n_bits` key bits from `shift` up, the values whose key bits above those are `prefix`."""
    bits = values.view(np.uint64)
    mask = np.uint64((1 << n_bits) - 1)
    for j in range(values.size):
        key = _key(bits[j]) >> np.uint64(shift)
        if shift + n_bits >= 64 or key >> np.uint64(n_bits) == prefix:
            counts[key & mask] += 1


@njit(cache=True, nogil=True)
def values_with_prefix(values, prefix, shift, out):
    """Copy the values whose key bits above `shift` are `prefix`; returns how many there are."""
    bits = values.view(np.uint64)
    n = 0
    for j in range(values.size):
        if _key(bits[j]) >> np.uint64(shift) == prefix:
            out[n] = values[j]
            n += 1
    return n


@njit(cache=True, nogil=True, error_model="numpy")
def take_csr(indptr, indices, data, rows, scale, out_indptr, out_indices, out_data):
    """Copy the given rows, divided by `scale`."""
    out_indptr[0] = 0
    q = 0
    for r in range(rows.size):
        for p in range(indptr[rows[r]], indptr[rows[r] + 1]):
            out_indices[q] = indices[p]
            out_data[q] = data[p] / scale
            q += 1
        out_indptr[r + 1] = q


@njit(cache=True, nogil=True)
def slack(f, rho, a):
    """Σ (rho − f)₊, and Σ a (f − rho)₊ + (1 − a)(rho − f)₊."""
    t = 0.0
    gap = 0.0
    for j in range(f.size):
        if f[j] < rho:
            t += rho - f[j]
            gap += (1.0 - a[j]) * (rho - f[j])
        else:
            gap += a[j] * (f[j] - rho)
    return t, gap


@njit(cache=True, nogil=True)
def natural_residual(f, rho, a):
    """Largest |a − clip(a − (f − rho), 0, 1)|: zero exactly at a solution."""
    worst = 0.0
    for j in range(f.size):
        t = min(max(a[j] - (f[j] - rho), 0.0), 1.0)
        worst = max(worst, abs(a[j] - t))
    return worst


@njit(cache=True, nogil=True)
def split_band(f, dist, rho, threshold, band, below):
    """Mark rows within the band and rows fixed at their upper bound; returns (rows in band, rows below)."""
    n_band = 0
    n_below = 0
    for j in range(f.size):
        inside = dist[j] <= threshold
        low = (not inside) and f[j] < rho
        if inside:
            band[n_band] = j
            n_band += 1
        if low:
            n_below += 1
        below[j] = 1.0 if low else 0.0
    return n_band, n_below
