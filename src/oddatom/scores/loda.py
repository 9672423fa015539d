"""LODA on the codes: the sum over atoms of the log density of a row's coefficient, higher for normal rows.

    Σ_{i in support} log p_i(x_i) + Σ_{i not in support} log P(x_i = 0)

p_i is a histogram of atom i's coefficients over the training rows, and P(x_i = 0) the share of rows that do not use it
(T. Pevný, "Loda: Lightweight on-line detector of anomalies", 2016, with atoms in the place of random projections).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oddatom.arrays.namespaces import namespace
from oddatom.arrays.twins import twin_of
from oddatom.coding import Codes
from oddatom.coding.histograms import BINS, FAR, code_bins
from oddatom.coding.statistics import CodeStatistics
from oddatom.scores.terms import Terms, in_slots


def loda(codes: Codes, w: Any, statistics: CodeStatistics) -> Terms:
    """The log density of every row of codes. w is not used."""
    histograms = statistics.histograms
    assert histograms is not None
    if histograms.present.shape[0] == 0:
        return Terms()
    xp = namespace(codes.values)
    empty = codes.indices < 0
    spread = in_slots(histograms.spread, codes)
    spread = xp.where(empty, xp.ones_like(spread), spread)
    bins = code_bins(codes.values, in_slots(histograms.center, codes), spread)
    place = xp.where(empty, xp.zeros_like(codes.indices), codes.indices) * BINS + xp.astype(bins, codes.indices.dtype)
    flat = xp.reshape(histograms.present, (-1,))
    density = xp.reshape(xp.take(flat, xp.reshape(place, (-1,)), axis=0), (-1, codes.indices.shape[1]))
    gain = density - in_slots(histograms.absent, codes)
    return Terms(slots=xp.where(empty, xp.zeros_like(gain), gain), atoms=histograms.absent)


@twin_of(loda)
def loda_twin(codes: Codes, w: np.ndarray, statistics: CodeStatistics) -> np.ndarray:
    """Return the scores themselves: a third of the time of the arrays where every atom has a slot."""
    out = np.zeros(codes.values.shape[0])
    assert statistics.histograms is not None
    if statistics.histograms.present.shape[0]:
        _densities(codes.indices, codes.values, *statistics.histograms, out)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _densities(indices, values, center, spread, absent, present, out):
    nothing = absent.sum()
    for j in range(indices.shape[0]):
        total = nothing
        for k in range(indices.shape[1]):
            i = indices[j, k]
            if i >= 0:
                u = min(max((values[j, k] - center[i]) / spread[i], -FAR), FAR)
                t = u / (1.0 + abs(u))
                total += present[i, min(max(int((t + 1.0) * (0.5 * BINS)), 0), BINS - 1)] - absent[i]
        out[j] = total
