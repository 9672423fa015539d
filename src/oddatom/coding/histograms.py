"""Histograms of the codes, atom by atom, with the share of rows that do not use the atom: what LODA keeps of them.

A coefficient c of atom i falls into one of BINS equal parts of (−1, 1) by t = u/(1 + |u|), u = (c − center_i)/spread_i.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.namespaces import namespace
from oddatom.coding.batch_omp import Codes

BINS = 15  # odd: a coefficient that is the same in all rows lies in the middle of one
_FLOOR = 1e-5  # a spread below this share of the coefficients' root mean square is rounding
FAR = 1e100  # u beyond it falls into the last bin, and is not worked with


class CodeHistograms(NamedTuple):
    """Of the N training rows, coded as new rows are.

    Attributes
    ----------
    center, spread : (n,)
        Mean and standard deviation of atom i's coefficient where it is used.
    absent : (n,)
        Log of the share of the rows that do not use it, (N − N_i + ½)/(N + 1).
    present : (n, BINS)
        Log of the density of t among the rows: that of the share that use it, (N_i + ½)/(N + 1), in a bin.
    """

    center: np.ndarray
    spread: np.ndarray
    absent: np.ndarray
    present: np.ndarray


def code_bins(values: Any, center: Any, spread: Any) -> Any:
    """Return the bins of coefficients, whose atoms have this center and spread."""
    xp = namespace(values)
    with np.errstate(over="ignore"):
        u = xp.clip((values - center) / spread, -FAR, FAR)
    t = u / (1.0 + xp.abs(u))
    return xp.clip(xp.astype((t + 1.0) * (0.5 * BINS), xp.int64), 0, BINS - 1)


def code_histograms(codes: Codes, n_atoms: int, weights: np.ndarray | None = None) -> CodeHistograms:
    """Return the histograms of the codes of N rows, of rows repeated by their weights."""
    moments = code_moments(codes, n_atoms, weights)
    counts = bin_counts(codes, *center_and_spread(moments), weights)
    N = float(codes.values.shape[0] if weights is None else weights.sum())
    return histograms_of(moments, counts, N)


def code_moments(codes: Codes, n_atoms: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Return, by atom, how many rows use it (or what weight of them), Σ c and Σ c²: (3, n)."""
    atoms, values, share = _used(codes, weights)
    return np.stack([np.bincount(atoms, each, n_atoms) for each in (share, share * values, share * values * values)])


def center_and_spread(moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of each atom's coefficients; 0 and 1 where it is never used."""
    counts, sums, squares = moments
    used = counts > 0
    n = np.where(used, counts, 1.0)
    center = sums / n
    square = squares / n
    spread = np.sqrt(np.maximum(square - center * center, _FLOOR * _FLOOR * square))
    return center, np.where(spread > 0.0, spread, 1.0)


def bin_counts(codes: Codes, center: np.ndarray, spread: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return how many rows (or what weight of them) have a coefficient in each bin, (n, BINS)."""
    atoms, values, share = _used(codes, weights)
    place = atoms * BINS + code_bins(values, center[atoms], spread[atoms])
    return np.bincount(place, share, center.size * BINS).reshape(-1, BINS)


def histograms_of(moments: np.ndarray, counts: np.ndarray, N: float) -> CodeHistograms:
    """Return the histograms of N rows by their sums."""
    used = moments[0]
    share = (used + 0.5) / (N + 1.0)
    density = (counts + 0.5) / (used + 0.5 * BINS)[:, None] * BINS
    absent = np.log((N - used + 0.5) / (N + 1.0))
    return CodeHistograms(*center_and_spread(moments), absent, np.log(share)[:, None] + np.log(density))


def _used(codes: Codes, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return atom, coefficient and weight of every slot that is used."""
    used = codes.indices >= 0
    share = np.ones(used.shape[0]) if weights is None else weights
    by_slot = np.broadcast_to(share[:, None], used.shape)[used]
    return codes.indices[used].astype(np.int64), codes.values[used], by_slot
