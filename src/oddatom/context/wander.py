"""Columns whose level wanders: training has seen a stretch of their way, and later rows lie beyond it.

Beyond the least and the largest training value the value of such a column says little: it is taken back to a usual one,
and counts by a twentieth of its distance. What lies further beyond than training was wide counts more, and at twice
that distance in full: so far no way leads. Training rows stay as they are. In time, where other views judge such a
column, its value says nothing, and is the median.
"""

from __future__ import annotations

import numpy as np

from oddatom.context.grouped import by_group, equal_steps

BLOCKS = 8
FEWEST_ROWS, MOST_ROWS = 10 * BLOCKS, 10_000
WANDERS = 0.75  # range of the blocks' medians over the range that holds 90 % of a block
BEYOND = 20.0  # divides the distance from the training range
BACK, BACK_IN_TIME = 0.02, 0.5  # quantile that a value beyond is taken back to; the median where all values are
MOST = (0.05, 0.95)


def wander_limits(numbers: np.ndarray, back: float) -> np.ndarray:
    """Return the ends of the range of columns that wander, and what lies beyond is taken back to; NaN for the others.

    Parameters
    ----------
    numbers : (N, p)
        Training rows in the order of their times.
    back : float
        BACK or BACK_IN_TIME.

    Returns
    -------
    limits : (4, p)
        Least, largest; and the values that lower and larger ones are taken back to.
    """
    limits = np.full((4, numbers.shape[1]), np.nan)
    some = equal_steps(numbers, MOST_ROWS)
    n, p = some.shape
    if n < FEWEST_ROWS:
        return limits
    blocks = np.arange(n) * BLOCKS // n
    for j in range(p):
        found = by_group(some[:, j], blocks, BLOCKS, MOST)
        if found.n.min() < FEWEST_ROWS // BLOCKS:
            continue
        if np.ptp(found.median) > WANDERS * np.median(found.spread):
            ends = np.nanmin(numbers[:, j]), np.nanmax(numbers[:, j])
            limits[:, j] = *ends, *np.nanquantile(some[:, j], [back, 1.0 - back])
    return limits


def take_back(numbers: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return numbers (N, p), those of wandering columns taken back where they lie beyond the limits.

    Where low and high are equal, all of them become these.
    """
    wander = np.flatnonzero(~np.isnan(limits[0]))
    if not wander.size:
        return numbers
    out = numbers.copy()
    for j in wander:
        x, (least, largest, low, high) = numbers[:, j], limits[:, j]
        if low == high:
            out[:, j] = np.where(np.isnan(x), np.nan, low)
        else:
            distance = np.where(x > largest, x - largest, x - least)
            back = np.where(x > largest, high, low) + distance / BEYOND
            full = np.clip(np.abs(distance) / (largest - least) - 1.0, 0.0, 1.0)
            out[:, j] = np.where((x > largest) | (x < least), back + full * (x - back), x)
    return out
