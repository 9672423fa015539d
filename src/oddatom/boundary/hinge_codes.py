"""The codes of an atom that the boundary draws to its inside: the coupling as a hinge, boundary fixed.

An atom's row of codes x is chosen for r = R d, slack q_j = ρ − (margin of row j without the atom) and p ≥ 1:

    min_x  p/2 ‖x‖² − r·x + κ Σ_j (q_j − w x_j + h/2 x_j²)₊

with κ the weight of the SVM in a row, w the atom's part of the plane or of the ball's centre, and h the curvature (0 a
plane, 1 a ball). Each row has one of three minimisers: that of a row inside the boundary, r/p; that of one outside,
(r + κw)/(p + κh); or, where each of the two leaves its side, the point on the boundary between them. p stands for the
penalty of ‖x‖: x minimises ½‖x − r‖² + φ(‖x‖) where p = 1 + φ'(t)/t at t = ‖x‖. p = inf means x = 0.
"""

from __future__ import annotations

from math import isinf, sqrt
from typing import Any

import numpy as np
from numba import njit

from oddatom.arrays.namespaces import namespace
from oddatom.arrays.twins import twin_of


def hinge_codes(r: Any, q: Any, w: Any, kappa: float, curvature: float, p: float) -> Any:
    """Return the minimiser x of every row; w is one number a row."""
    xp = namespace(r)
    if isinf(p):
        return xp.zeros_like(r)
    inside = r / p
    outside = (r + kappa * w) / (p + kappa * curvature)
    if curvature > 0.0:
        root = xp.sqrt(xp.clip(w * w - 2.0 * q, 0.0, None))
        edge = xp.where(inside < w, w - root, w + root)
    else:
        edge = xp.where(w == 0.0, inside, q / xp.where(w == 0.0, xp.ones_like(w), w))
    is_in = slack(inside, q, w, curvature) <= 0.0
    is_out = slack(outside, q, w, curvature) >= 0.0
    return xp.where(is_in, inside, xp.where(is_out, outside, edge))


def slack(x: Any, q: Any, w: Any, curvature: float) -> Any:
    """How far rows lie outside the boundary with the code x: positive outside."""
    return q - w * x + 0.5 * curvature * x * x


@twin_of(hinge_codes)
def hinge_codes_twin(
    r: np.ndarray, q: np.ndarray, w: np.ndarray, kappa: float, curvature: float, p: float
) -> np.ndarray:
    """Return them row by row, as the kernels of the shards do."""
    out = np.empty_like(r)
    _rows(r, q, w, kappa, curvature, p, out)
    return out


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def slack_of(x, q, w, curvature):
    """`slack` of one row."""
    return q - w * x + 0.5 * curvature * x * x


@njit(cache=True, nogil=True, error_model="numpy")
def code_of(r, q, w, kappa, curvature, p):
    """The minimiser of one row."""
    if p == np.inf:
        return 0.0
    x = r / p
    if slack_of(x, q, w, curvature) <= 0.0:
        return x
    outside = (r + kappa * w) / (p + kappa * curvature)
    if slack_of(outside, q, w, curvature) >= 0.0:
        return outside
    if curvature > 0.0:
        root = sqrt(max(w * w - 2.0 * q, 0.0))
        return w - root if x < w else w + root
    return q / w if w != 0.0 else x


@njit(cache=True, nogil=True)
def _rows(r, q, w, kappa, curvature, p, out):
    for j in range(r.size):
        out[j] = code_of(r[j], q[j], w[j], kappa, curvature, p)
