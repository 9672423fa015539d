"""LODA on the codes: the sum over atoms of the log density of a row's coefficient, higher for normal rows.

    Σ_{i in support} log p_i(x_i) + Σ_{i not in support} log P(x_i = 0)

p_i is a histogram of atom i's coefficients over the training rows, and P(x_i = 0) the share of rows that do not use it
(T. Pevný, "Loda: Lightweight on-line detector of anomalies", 2016, with atoms in the place of random projections).
"""

from __future__ import annotations

from typing import Any

from oddatom.arrays.namespaces import namespace
from oddatom.coding import Codes
from oddatom.coding.histograms import BINS, code_bins
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
