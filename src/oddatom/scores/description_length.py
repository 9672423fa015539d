"""Minus the code length of a row under a dictionary (`parts/description_length.py` has it under a member).

    L = Σ_{i in support} [log((1 − π_i)/π_i) + c_i²/2s_i² + ½ log⁺(s_i²/s_e²)] − Σ_k log(1 − π_k) + ‖y − x D‖²/2s_e²

which atoms are used, each of them with the odds π_i that training rows use it; their coefficients c_i, Gaussian with
variance s_i² and told to the precision s_e of the noise; and the reconstruction error. `statistics.py` has π, s_i² and
s_e².
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oddatom.arrays.namespaces import namespace
from oddatom.arrays.twins import twin_of
from oddatom.coding import Codes
from oddatom.coding.statistics import CodeStatistics
from oddatom.scaling.linear import LIMIT
from oddatom.scores.terms import Terms, in_slots


def description_length(codes: Codes, w: Any, statistics: CodeStatistics) -> Terms:
    """−L of every row of codes. w is not used."""
    xp = namespace(codes.values)
    usage, variance, noise, _ = statistics
    c = codes.values * in_slots(1.0 / xp.sqrt(variance), codes)
    return Terms(-in_slots(_cost(statistics), codes) - 0.5 * c * c, xp.log1p(-usage), -0.5 / noise)


def _cost(statistics: CodeStatistics) -> Any:
    """log((1 − π_i)/π_i) + ½ log⁺(s_i²/s_e²) of every atom."""
    usage, variance, noise, _ = statistics
    xp = namespace(usage)
    ratio = xp.log(variance) - float(np.log(noise))
    return xp.log1p(-usage) - xp.log(usage) + 0.5 * xp.where(ratio > 0.0, ratio, xp.zeros_like(ratio))


@twin_of(description_length)
def description_length_twin(codes: Codes, w: np.ndarray, statistics: CodeStatistics) -> np.ndarray:
    """Return the scores themselves, see `margin_twin`."""
    usage, variance, noise, _ = statistics
    out = np.empty(codes.values.shape[0])
    nothing = -float(np.log1p(-usage).sum())
    cost, deviation = _cost(statistics), np.sqrt(variance)
    _sparse(codes.indices, codes.values, codes.sq_residual, cost, nothing, deviation, noise, out)
    return np.maximum(out, -LIMIT, out=out)


@njit(cache=True, nogil=True)
def _sparse(indices, values, sq_residual, cost, nothing, deviation, noise, out):
    for j in range(indices.shape[0]):
        t = nothing
        for k in range(indices.shape[1]):
            i = indices[j, k]
            if i >= 0:
                c = values[j, k] / deviation[i]
                t += cost[i] + 0.5 * c * c
        out[j] = -(t + 0.5 * sq_residual[j] / noise)
