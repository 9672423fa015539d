"""How many nats it takes to describe a row by its code, less for normal rows: the score is minus that length.

    L = Σ_{i in support} [log((1 − π_i)/π_i) + c_i²/2s_i² + ½ log⁺(s_i²/s_e²)] − Σ_k log(1 − π_k) + ‖y − x D‖²/2s_e²

which atoms are used, each of them with the odds π_i that training rows use it; their coefficients c_i, Gaussian with
variance s_i² and told to the precision s_e of the noise; and what the atoms leave. `statistics.py` has π, s_i² and
s_e².
"""

from __future__ import annotations

import numpy as np
from numba import njit

from oddatom.coding import Codes
from oddatom.scores.statistics import CodeStatistics


def description_length(codes: Codes, w: np.ndarray, statistics: CodeStatistics) -> np.ndarray:
    """Return −L for every row of codes, the lowest number there is where a square overflows. w is not used."""
    usage, variance, noise = statistics
    out = np.empty(codes.values.shape[0])
    cost = np.log1p(-usage) - np.log(usage) + 0.5 * np.maximum(np.log(variance) - np.log(noise), 0.0)
    nothing = -float(np.log1p(-usage).sum())
    _sparse(codes.indices, codes.values, codes.sq_residual, cost, nothing, np.sqrt(variance), noise, out)
    return np.maximum(out, -np.finfo(np.float64).max, out=out)


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
