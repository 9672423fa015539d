"""Every group by its own level and scale, shrunk towards all rows where the group is small.

Of a number x in group g:

    (x - c_g) / s_g,    c_g = c + n_g/(n_g + k) (m_g - c)

m_g is the median of the group, c that of all rows, and s_g lies between the group's own spread and the usual one, by
how unlike the spreads are (`grouped.shrunk_scales`). k is the variance of a median of one row over that between the
groups: where groups lie far apart, a group keeps its own level, and where they do not, it is that of all rows. Both
variances are those of groups of two rows or more; where there are hardly any, all levels are that of all rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oddatom.context.grouped import (
    by_group,
    clipped_spreads,
    effective_rows,
    robust_deviation,
    scale_rows,
    shrunk_scales,
)

LARGEST = 1e300  # size of a feature: a detector can still subtract two
MEDIAN_VARIANCE = 1.57  # of a median, over that of a mean
MOST_FEW = 0.25  # of the variance, the least that groups of few rows leave around their medians


class GroupLevels(NamedTuple):
    """Levels and scales.

    Attributes
    ----------
    keys : list of str
        The groups, sorted.
    centers, scales : (n_groups + 1, p)
        The last row is that of all rows, for a group that training did not have.
    """

    keys: list[str]
    centers: np.ndarray
    scales: np.ndarray

    def apply(self, numbers: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """Return numbers (N, p) by their group's level and scale; groups of -1, or beyond the known ones, are new."""
        known = np.where((groups >= 0) & (groups < len(self.keys)), groups, len(self.keys))
        with np.errstate(over="ignore"):
            found = (numbers - self.centers[known]) / self.scales[known]
        return np.clip(found, -LARGEST, LARGEST)


def learn_groups(numbers: np.ndarray, groups: np.ndarray, keys: list[str]) -> GroupLevels:
    """Learn the levels of all groups.

    Parameters
    ----------
    numbers : (N, p)
        NaN is missing.
    groups : (N,) int
        Places among the keys, -1 for a row without a group.
    keys : list of str
    """
    G, p = len(keys), numbers.shape[1]
    centers, scales = np.empty((G + 1, p)), np.empty((G + 1, p))
    for j in range(p):
        size = float(np.nanmax(np.abs(numbers[:, j]), initial=0.0)) or 1.0  # in units of it nothing overflows
        x = numbers[:, j] / size
        found = by_group(x, groups, G)
        center, scale = robust_deviation(x)
        several = found.n > 1  # a lone row lies at its own median
        few = float(np.mean(1.0 / found.n[several])) if several.any() else 1.0
        inside = np.where(np.append(several, False)[groups], x - np.append(found.median, np.nan)[groups], np.nan)
        usual = robust_deviation(inside)[1] / np.sqrt(max(1.0 - few, MOST_FEW))  # medians are near their own rows
        noise = MEDIAN_VARIANCE * usual**2
        apart = robust_deviation(found.median[several])[1] ** 2 - noise * few
        weight = np.zeros(G)
        if apart > 0.0:
            weight[found.n > 0] = 1.0 / (1.0 + noise / (apart * found.n[found.n > 0]))
        centers[:, j] = size * np.append(
            np.where(weight > 0.0, center + weight * (found.median - center), center), center
        )
        spreads = clipped_spreads(x, groups, found)
        own = shrunk_scales(spreads, usual or scale, scale_rows(spreads, usual or scale), effective_rows(found.n))
        scales[:, j] = size * np.append(own, scale or usual or 1.0)
    return GroupLevels(keys, centers, scales)
