"""Slow, obvious NumPy versions of every kernel, for the tests to compare against."""

import numpy as np


def best_atom(A, g):
    """Global maximiser of dᵀAd + 2gᵀd on the unit sphere, and its value: bisection on ‖(μI − A)⁻¹g‖ = 1."""
    scale = max(np.abs(A).max(), np.abs(g).max())
    lam, V = np.linalg.eigh(A / scale)
    q = (V.T @ (g / scale)).astype(np.longdouble)
    e = (lam[-1] - lam).astype(np.longdouble)  # μ = λ_max + s, so μ − λ_i = s + e_i
    e[e < 1e-14] = 0
    top = e == 0
    y = np.zeros_like(q)
    y[~top] = q[~top] / e[~top]
    if np.linalg.norm(q[top]) == 0 and y @ y <= 1:
        y[np.argmax(top)] = np.sqrt(1 - y @ y)
    else:
        lo, hi = np.linalg.norm(q[top]), np.linalg.norm(q)
        for _ in range(300):
            s = np.sqrt(lo) * np.sqrt(hi) if lo > 0 else (lo + hi) / 2
            if np.linalg.norm(q / (s + e)) > 1:
                lo = s
            else:
                hi = s
        y = q / (hi + e)
    d = np.asarray(V @ (y / np.linalg.norm(y)), dtype=float)
    return d, float(d @ A @ d + 2 * g @ d)


def omp(Y, D, s, tol=1e-10):
    """Orthogonal matching pursuit, a least-squares fit a step: indices padded with −1, values with 0."""
    indices = np.full((len(Y), s), -1)
    values = np.zeros((len(Y), s))
    for row, y in enumerate(Y):
        support = []
        residual = y
        while len(support) < min(s, len(D)):
            correlation = np.abs(D @ residual)
            i = int(np.argmax(correlation))
            wider = [*support, i]
            if correlation[i] <= tol * np.linalg.norm(y) or np.linalg.matrix_rank(D[wider]) < len(wider):
                break
            support = wider
            x = np.linalg.lstsq(D[support].T, y)[0]
            residual = y - x @ D[support]
        if support:
            indices[row, : len(support)] = support
            values[row, : len(support)] = x
    return indices, values
