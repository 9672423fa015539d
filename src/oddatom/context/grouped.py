"""Medians and spreads of the rows of every group, in one sort."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import polygamma

QUARTILES = (0.25, 0.75)
SCALE_ROWS = 10.0  # K of hours, and of groups where no spread is known
SCALE_NOISE = 0.6  # variance of the logarithm of a clipped spread of many rows, times their number
MOST_SCALE_ROWS = 50.0  # largest K, where groups are alike
CLIP, CLIPPED = 2.5, 0.97756  # deviations, and the mean of min(z², CLIP²) of a Gaussian
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


def clipped_spreads(values: np.ndarray, groups: np.ndarray, found: GroupSpread) -> GroupSpread:
    """Return the groups with spreads from all their values, those beyond 2.5 deviations clipped.

    Half the variance of the distance of the quartiles, and as little moved by a few odd values.

    Parameters
    ----------
    values, groups : (N,)
        As in `by_group`.
    found : GroupSpread
        Medians and distances of the quartiles.
    """
    there = ~np.isnan(values) & (groups >= 0)
    g = groups[there]
    deviation, first = np.abs(values[there] - found.median[g]), found.spread[g] / SIGMA
    z = np.divide(deviation, first, out=np.zeros(g.size), where=first > 0.0)
    mean = np.bincount(g, np.minimum(z, CLIP) ** 2, minlength=found.n.size) / np.maximum(found.n, 1)
    return found._replace(spread=found.spread * np.sqrt(mean / CLIPPED))


def effective_rows(n: np.ndarray) -> np.ndarray:
    """Return how many rows of a large group say as much of its spread as all n of a group: 0.4 of 2, and 8 of 10."""
    out = np.zeros(n.size)
    several = n > 1
    out[several] = 2.0 / polygamma(1, 0.5 * (n[several] - 1.0))  # the variance of log χ is a quarter of it
    return out


def scale_rows(found: GroupSpread, usual: float) -> float:
    """Return K of `shrunk_scales`: the noise of log v_g for one row, over the variance between the groups."""
    there = (found.n > 1) & (found.spread > 0.0)
    if not there.any() or usual <= 0.0:
        return SCALE_ROWS
    logs = np.log(np.maximum(found.spread[there] / SIGMA, LEAST_SCALE * usual))
    apart = robust_deviation(logs)[1] ** 2 - SCALE_NOISE * float(np.mean(1.0 / effective_rows(found.n[there])))
    return SCALE_NOISE / apart if apart > SCALE_NOISE / MOST_SCALE_ROWS else MOST_SCALE_ROWS


def shrunk_scales(
    found: GroupSpread, usual: float, rows: float = SCALE_ROWS, n: np.ndarray | None = None
) -> np.ndarray:
    """Return the scale of every group, between its own and the usual one by how many values it has.

    log s_g = (n_g log v_g + K log s) / (n_g + K), with v_g, the spread of the group but at least s/100, s, the usual
    one, K = `rows`, and n_g = `n`, or the number of values.
    """
    n = found.n if n is None else n
    own = np.maximum(np.where(found.n > 0, found.spread / SIGMA, usual), LEAST_SCALE * usual)
    if usual <= 0.0:
        return np.where(own > 0.0, own, 1.0)
    return np.exp((n * np.log(own) + rows * np.log(usual)) / (n + rows))


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
