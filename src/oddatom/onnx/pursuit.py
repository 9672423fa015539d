"""Matching pursuit on arrays of any library, step by step, as an ONNX graph has it written out.

With G = D Dᵀ, α = D r and the k-th chosen atom i, a step of the pursuit is, as in `oddatom.coding.batch_omp`,

    c_l = u_l[i] / δ_l  (l < k),    u_k = G_i − Σ_l c_l u_l,    δ_k = G_ii − Σ_l c_l u_l[i],
    z_k = α_i / δ_k,    α ← α − z_k u_k,    ‖r‖² ← ‖r‖² − z_k α_i.

A row that has stopped goes on with z = 0, which changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oddatom.arrays.namespaces import like, matmul, namespace
from oddatom.coding import Codes, resize

_EPS = float(np.finfo(np.float64).eps)
_NEGLIGIBLE, _DEPENDENT = 64 * _EPS, _EPS**0.6  # as in `batch_omp`


def pursue(Z: Any, size: Any, D: np.ndarray, s: int) -> Codes:
    """Return the codes of rows Z (N×m) times their size, a column or None, at most s atoms each."""
    xp = namespace(Z)
    atoms, used, values, left = _steps(Z, D, s)
    indices = [xp.where(alive, i, xp.zeros_like(i) - 1) for i, alive in zip(atoms, used, strict=True)]
    indices, values = (xp.stack([xp.reshape(each, (-1,)) for each in some], axis=1) for some in (indices, values))
    return resize(Codes(indices, values, left[:, 0]), size)


def _steps(Y: Any, D: np.ndarray, s: int) -> tuple[list[Any], list[Any], list[Any], Any]:
    """Return what each step makes of N rows, columns (N, 1): atoms, whether one was taken, values; and the rest."""
    xp = namespace(Y)
    G = like(D @ D.T, Y)
    diagonal = like((D @ D.T).diagonal(), Y)
    alpha = matmul(Y, like(D.T, Y))
    zero = xp.zeros_like(alpha[:, :1])
    left = xp.sum(Y * Y, axis=1, keepdims=True)
    negligible = _NEGLIGIBLE * xp.sqrt(left)
    U: list[Any] = []
    factor: list[list[Any]] = []  # factor[k][l] = c_l of step k
    atoms: list[Any] = []
    used: list[Any] = []
    inverse: list[Any] = []  # 1/δ_k
    z: list[Any] = []
    for k in range(s):
        i = xp.argmax(xp.abs(alpha), axis=1, keepdims=True)
        a = xp.take_along_axis(alpha, i, axis=1)
        g = xp.take(diagonal, i[:, 0], axis=0)[:, None]
        c, delta = [], g
        for l in range(k):
            u = xp.take_along_axis(U[l], i, axis=1)
            c.append(u * inverse[l])
            delta = delta - c[l] * u
        alive = (xp.abs(a) > negligible * xp.sqrt(g)) & (delta > _DEPENDENT * g)
        alive = alive & used[-1] if used else alive
        inverse.append(xp.where(alive, 1.0 / xp.where(alive, delta, zero + 1.0), zero))
        z.append(a * inverse[k])
        left = left - z[k] * a
        atoms.append(i)
        used.append(alive)
        factor.append(c)
        if k + 1 < s:
            u = xp.take(G, i[:, 0], axis=0)
            for l in range(k):
                u = u - c[l] * U[l]
            U.append(u)
            alpha = alpha - z[k] * u
    x = list(z)  # the unit triangular system Tᵀ x = z, from its end
    for k in range(s - 1, -1, -1):
        for l in range(k + 1, s):
            x[k] = x[k] - factor[l][k] * x[l]
        x[k] = xp.where(used[k], x[k], zero)
    return atoms, used, x, xp.where(left > 0.0, left, zero)
