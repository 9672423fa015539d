"""Medians and spreads of the rows of every group, in one sort."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

QUARTILES = (0.25, 0.75)
SCALE_ROWS = 10.0  # K: a group of so many rows has half its own scale
LEAST_SCALE = 0.01  # of a group, as a share of the usual one
SIGMA = 1.349  # distance of the quartiles of a Gaussian with unit deviation


class GroupSpread(NamedTuple):
    """Of one column, by group.

    Attributes
    ----------
    median, spread : (n_groups,)
        NaN where a group has no value. The spread is the distance of two quantiles.
    n : (n_groups,)
        Values.
    """

    median: np.ndarray
    spread: np.ndarray
    n: np.ndarray


def by_group(
    values: np.ndarray, groups: np.ndarray, n_groups: int, ends: tuple[float, float] = QUARTILES
) -> GroupSpread:
    """Return median and spread of the values of every group.

    Parameters
    ----------
    values : (N,)
        NaN is missing.
    groups : (N,) int
        From 0 to n_groups - 1; rows with -1 belong to none.
    n_groups : int
    ends : two shares
        The quantiles that the spread is between.
    """
    there = ~np.isnan(values) & (groups >= 0)
    x, g = values[there], groups[there]
    order = np.lexsort((x, g))
    x, n = x[order], np.bincount(g, minlength=n_groups)
    starts = np.cumsum(n) - n
    low, high = (_quantile(x, starts, n, q) for q in ends)
    return GroupSpread(_quantile(x, starts, n, 0.5), high - low, n)


def robust_deviation(values: np.ndarray) -> tuple[float, float]:
    """Return the median and the robust deviation of the values that are there, 0 and 0 where there is none."""
    found = by_group(values, np.zeros(values.size, np.int64), 1)
    return (float(found.median[0]), float(found.spread[0]) / SIGMA) if found.n[0] else (0.0, 0.0)


def shrunk_scales(found: GroupSpread, usual: float) -> np.ndarray:
    """Return the scale of every group, between its own and the usual one by how many values it has.

    log s_g = (n_g log v_g + K log s) / (n_g + K), with v_g, the spread of the group but at least s/100, and s, the
    usual one.
    """
    own = np.maximum(np.where(found.n > 0, found.spread / SIGMA, usual), LEAST_SCALE * usual)
    if usual <= 0.0:
        return np.where(own > 0.0, own, 1.0)
    return np.exp((found.n * np.log(own) + SCALE_ROWS * np.log(usual)) / (found.n + SCALE_ROWS))


def equal_steps(rows: np.ndarray, most: int) -> np.ndarray:
    """Return rows at equal steps, at most so many."""
    return rows[:: max(-(-rows.shape[0] // most), 1)]


def _quantile(x: np.ndarray, starts: np.ndarray, n: np.ndarray, q: float) -> np.ndarray:
    """Return a quantile of every stretch of sorted values, between two values by their distance."""
    if x.size == 0:
        return np.full(n.size, np.nan)
    place = q * np.maximum(n - 1, 0)
    low = np.floor(place).astype(np.int64)
    at = np.minimum(starts + low, x.size - 1)
    above = np.minimum(starts + np.minimum(low + 1, np.maximum(n - 1, 0)), x.size - 1)
    weight = place - low
    found = (1.0 - weight) * x[at] + weight * x[above]
    return np.where(n > 0, found, np.nan)
