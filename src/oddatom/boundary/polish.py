"""Multipliers of a block of rows, made exact: their sum, and the equations of the rows on the margin."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from oddatom.arrays.block import Block, matvec, rmatvec

MOST = 2048  # rows on the margin that are solved for


def with_sum(a: np.ndarray, K: float, u: Any = 1.0) -> np.ndarray:
    """Change a until Σ a = K, 0 ≤ a ≤ u: those well between their bounds, which costs no gap; if they are too few all.

    Then a, or u − a, shrinks towards 0.
    """
    a = np.clip(a, 0.0, u)
    total = float(a.sum())
    free = a * (u - a)
    step = (K - total) / max(float(free.sum()), 1e-300)
    if abs(step) * float(np.max(u)) <= 1.0:
        return np.clip(a + step * free, 0.0, u)
    if total >= K:
        return a * (K / total)
    room = u - a
    return np.minimum(a + room * ((K - total) / max(float(room.sum()), 1e-300)), u)


def plane_of(block: Block, a: np.ndarray, fixed: np.ndarray, C: float) -> np.ndarray:
    """Return w = (fixed + Xᵀa) / C."""
    out = np.empty(block.n)
    rmatvec(*block, a, out)
    return (out + fixed) / C


def polished(
    block: Block, a: np.ndarray, rho: float, u: np.ndarray, b: np.ndarray, C: float, curvature: float = 0.0
) -> np.ndarray:
    """Solve for the multipliers of the rows F on the margin, the others at their bounds; a itself where that fails.

    All of F have the same margin x·w + o where, with the rows of F and o less their means, X_F w = −o. The
    smallest such move of w, and of δ with w = (b + Xᵀa + X_Fᵀδ) / C, has Σ δ = 0 of itself. It is taken where it keeps
    0 ≤ a ≤ u and the dual value is no worse than before.
    """
    o = -0.5 * curvature * block.row_squares()
    w = plane_of(block, a, b, C)
    f = np.empty(a.size)
    matvec(*block, w, f)
    f += o
    low, high = a / u < f - rho, 1.0 - a / u < rho - f
    free = np.flatnonzero(~(low | high))
    if not 0 < free.size <= MOST:
        return a
    new = np.where(high, u, np.where(low, 0.0, a))
    new[free] += (a.sum() - new.sum()) / free.size
    rows = _dense(block, free)
    rows -= rows.mean(axis=0)
    target = -C * plane_of(block, new, b, C)
    if curvature > 0.0:
        target += C * np.linalg.lstsq(rows, o[free].mean() - o[free], rcond=None)[0]
    new[free] += np.linalg.lstsq(rows.T, target, rcond=None)[0]
    if (new < 0.0).any() or (new > u).any():
        return a
    value, before = _dual(plane_of(block, new, b, C), new, o, C), _dual(w, a, o, C)
    return new if value <= before + 1e-12 * abs(before) else a


def _dual(w: np.ndarray, a: np.ndarray, o: np.ndarray, C: float) -> float:
    """½‖w‖² + Σ a o / C: what the dual minimises."""
    return 0.5 * float(w @ w) + float(a @ o) / C


def _dense(block: Block, rows: np.ndarray) -> np.ndarray:
    """Return some rows of a block as a new dense array."""
    if block.X.size:
        return block.X[rows]
    matrix = scipy.sparse.csr_array((block.data, block.indices, block.indptr), shape=(block.n_rows, block.n))
    return matrix[rows].toarray()
