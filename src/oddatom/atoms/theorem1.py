"""Theorem 1: the atom that maximises ½‖R d + c‖² on the unit sphere.

With A = RᵀR and g = Rᵀc it maximises dᵀAd + 2gᵀd. d is a global maximiser if and only if

    (μI − A) d = g   and   μ ≥ λ_max(A).

Power steps d ← (Ad + g)/‖Ad + g‖, accelerated, find d; where they crawl, Newton steps do. Then the second
condition is proved. What cannot be proved goes to the eigenvectors of A. g is usually tiny beside A, so ±v₁
are two nearly equal maxima: the sign of gᵀd is watched all the way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oddatom.atoms._kernels import EPS, Matrix, Vector, climb, climb_rows, measure, power


class AtomSolution(NamedTuple):
    """An atom and the evidence for it: a global maximiser has `residual` ≈ 0 and is `certified`."""

    d: Vector
    gain: float  # dᵀAd + 2gᵀd = ‖Rd + c‖² − ‖c‖²
    mu: float  # dᵀAd + gᵀd
    residual: float  # ‖(μI − A)d − g‖ / ‖Ad + g‖
    certified: bool  # μI − A ⪰ 0 was proved, to rounding
    n_steps: int


def _norm(x: Vector) -> float:
    """Return ‖x‖ where the squares of x would vanish."""
    largest = float(np.max(np.abs(x), initial=0.0))
    return largest * float(np.linalg.norm(x / largest)) if largest > 0.0 else 0.0


def _secular(e: Vector, q: Vector, y0: Vector) -> Vector:
    """Return the unit y with (s + e_i) y_i = q_i, s ≥ 0, for the gaps e_i = λ_max − λ_i ≥ 0.

    s is the root of h(s) = 1/‖q/(s + e)‖ = 1; h rises and is concave, so Newton from below never overshoots.
    Ratios are formed before they are squared: q may be as small as 1e-300.
    """
    top = e == 0.0
    q_top = _norm(q[top])
    if q_top <= 8.0 * EPS * np.sqrt(q.size) * _norm(q):
        y = np.zeros_like(q)
        y[~top] = q[~top] / e[~top]
        rest = float(y @ y)
        if rest <= 1.0:  # the hard case: what is missing comes from the top eigenspace, on the side of y0
            v = y0[top]
            v = v / np.linalg.norm(v) if v.any() else np.eye(v.size)[0]
            y[top] = np.sqrt(1.0 - rest) * v
            return y
        q = np.where(top, 0.0, q)
        e = np.where(top, e.max(), e)
        q_top = 0.0
    s = q_top
    for _ in range(100):
        y = q / (s + e)
        norm = float(np.linalg.norm(y))
        rise = (norm - 1.0) * norm**2 / float(y @ (y / (s + e)))
        if not rise > 2.0 * EPS * s:
            break
        s += rise
    return y / np.linalg.norm(y)


def _exact(A: Matrix, g: Vector, d0: Vector, n_steps: int) -> AtomSolution:
    """Solve by the eigenvectors of A and the secular equation ‖(μI − A)⁻¹g‖ = 1."""
    scale = max(float(np.max(np.abs(A))), float(np.max(np.abs(g))))
    if scale == 0.0:
        return AtomSolution(d0.copy(), 0.0, 0.0, 0.0, True, n_steps)
    A, g = A / scale, g / scale
    lam, V = np.linalg.eigh(A)
    e = lam[-1] - lam
    e[e <= 4.0 * EPS * lam.size * abs(lam[-1])] = 0.0
    d = V @ _secular(e, V.T @ g, V.T @ d0)
    d /= np.linalg.norm(d)
    a = A @ d
    theta, gamma, norm2, res2 = measure(g, d, a)
    mu = theta + gamma
    certified = bool(mu >= lam[-1] - 1e-12 * max(mu, abs(lam[-1])))
    residual = float(np.sqrt(res2 / norm2)) if norm2 > 0.0 else 0.0
    return AtomSolution(d, scale * (mu + gamma), scale * mu, residual, certified, n_steps)


def solve_atom(A: Matrix, g: Vector, d0: Vector) -> AtomSolution:
    """Maximise dᵀAd + 2gᵀd over ‖d‖ = 1, exactly.

    Parameters
    ----------
    A : (m, m) array, symmetric and positive semi-definite.
    g : (m,) array.
    d0 : (m,) array, the current atom: the start, and the side to stay on where both are equally high.
    """
    A = np.ascontiguousarray(A, dtype=np.float64)
    g = np.ascontiguousarray(g, dtype=np.float64)
    d0 = np.ascontiguousarray(d0, dtype=np.float64)
    solution = AtomSolution(*climb(A, g, d0))
    return solution if solution.certified else _exact(A, g, d0, solution.n_steps)


def solve_atom_rows(R: Matrix, c: Vector, d0: Vector) -> AtomSolution:
    """Maximise ‖R d + c‖² over ‖d‖ = 1, exactly, for R with fewer rows than columns.

    The maximiser lies in the span of R's rows, so the work is done in N_i dimensions; it is the one of
    `solve_atom(R.T @ R, R.T @ c, d0)`.

    Parameters
    ----------
    R : (N_i, m) array.
    c : (N_i,) array.
    d0 : (m,) array, the current atom.
    """
    R = np.ascontiguousarray(R, dtype=np.float64)
    c = np.ascontiguousarray(c, dtype=np.float64)
    d0 = np.ascontiguousarray(d0, dtype=np.float64)
    solution = AtomSolution(*climb_rows(R, c, d0))
    if solution.certified:
        return solution
    scale = float(np.max(np.abs(R), initial=0.0))
    if scale == 0.0:
        return AtomSolution(d0.copy(), 0.0, 0.0, 0.0, True, solution.n_steps)
    # R = TᵀQᵀ and d = Qy: the same problem for y, with TTᵀ for A and Tc for g; R may have any rank.
    Q, T = np.linalg.qr(R.T / scale)
    small = solve_atom(T @ T.T, T @ (c / scale), Q.T @ d0)
    _, gain, mu, residual, certified, n_steps = small
    squared = scale * scale
    return AtomSolution(Q @ small.d, squared * gain, squared * mu, residual, certified, solution.n_steps + n_steps)


def power_atom(A: Matrix, g: Vector, d0: Vector, n_steps: int = 50) -> AtomSolution:
    """Raise dᵀAd + 2gᵀd over ‖d‖ = 1 by the paper's power method, started from the current atom.

    Nothing makes it end at the global maximum; `residual` and `certified` say whether it did.

    Parameters
    ----------
    A : (m, m) array, symmetric and positive semi-definite.
    g : (m,) array.
    d0 : (m,) array, the current atom.
    n_steps : at most so many steps.
    """
    A = np.ascontiguousarray(A, dtype=np.float64)
    g = np.ascontiguousarray(g, dtype=np.float64)
    return AtomSolution(*power(A, g, np.ascontiguousarray(d0, dtype=np.float64), n_steps))
