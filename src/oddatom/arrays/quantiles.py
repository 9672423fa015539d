"""Quantiles of numbers with weights: those of numbers that are repeated as often as their weight says."""

from __future__ import annotations

import numpy as np

REPEATED = 2**24  # most numbers that weights are written out as


def weighted_quantile(values: np.ndarray, weights: np.ndarray, q: float) -> float:
    """Return the q-quantile of repeated numbers, interpolated as `np.quantile` does.

    Parameters
    ----------
    values, weights : (N,)
        Weights are positive; whole ones mean repeated numbers. Where they are less than one on average they are
        taken in units of that average.
    q : float
        In [0, 1].
    """
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(weights[order])
    ends *= max(1.0, values.size / ends[-1])
    place = max((ends[-1] - 1.0) * q, 0.0)
    low = np.floor(place)
    below, above = (_at(values, order, ends, k) for k in (low, low + 1.0))
    return below if place == low or below == above else float(below + (place - low) * (above - below))


def repeated(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return numbers in order, each as often as its whole weight; else as many as there are, spread by weight."""
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    ends = np.cumsum(weights)
    if ends[-1] <= REPEATED and (weights == np.floor(weights)).all():
        return np.repeat(values, weights.astype(np.int64))
    places = (np.arange(values.size) + 0.5) / values.size * ends[-1]
    return values[np.minimum(np.searchsorted(ends, places), values.size - 1)]


def _at(values: np.ndarray, order: np.ndarray, ends: np.ndarray, k: float) -> float:
    """The k-th (from 0) of the repeated numbers."""
    return float(values[order[min(int(np.searchsorted(ends, k, side="right")), order.size - 1)]])
