"""How rare each value of a row is in its own column: Σ_f −log p_f(x_f), p_f a histogram of column f."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

FEWEST, MOST = 5, 30  # bins between the 1st and the 99th percentile, √N of them; one more at either end


class Histogram(NamedTuple):
    """Bins of every column, constant ones included: there any other value falls outside.

    Attributes
    ----------
    low, high : (m,)
        Ends of the bins' range, in the scaling's units. Bin 0 lies below it, the last above.
    steps : (m,)
        Bins per unit of length, 0 where the range is a point.
    cost : (m, n_bins + 2)
        −log of a bin's share of the rows, with half a row added to every bin.
    held_out : (m, n_bins + 2)
        The same for a row of that bin that is itself left out of the count.
    """

    low: np.ndarray
    high: np.ndarray
    steps: np.ndarray
    cost: np.ndarray
    held_out: np.ndarray

    def bins(self, U: np.ndarray) -> np.ndarray:
        """Return the bin of every number of rows in the scaling's units."""
        n_bins = self.cost.shape[1] - 2
        inside = np.clip(U, self.low, self.high) - self.low
        bins = 1 + np.minimum((inside * self.steps).astype(np.int64), n_bins - 1)
        return np.where(self.low > U, 0, np.where(self.high < U, n_bins + 1, bins))

    def by_feature(self, U: np.ndarray, *, held_out: bool = False) -> np.ndarray:
        """Return −log p_f(x_f), (N, m)."""
        return np.take_along_axis((self.held_out if held_out else self.cost).T, self.bins(U), axis=0)


def fit_histogram(U: np.ndarray) -> Histogram:
    """Count the rows of U (N×m), in the scaling's units."""
    N, m = U.shape
    n_bins = int(np.clip(np.sqrt(N), FEWEST, MOST))
    low, high = np.quantile(U, [0.01, 0.99], axis=0)
    point = high <= low
    low, high = np.where(point, U.min(axis=0), low), np.where(point, U.max(axis=0), high)
    with np.errstate(divide="ignore", over="ignore"):
        steps = np.where(high > low, n_bins / (high - low), 0.0)
    steps[~np.isfinite(steps)] = 0.0
    empty = np.zeros((m, n_bins + 2))
    histogram = Histogram(low, high, steps, empty, empty)
    bins = histogram.bins(U)
    counts = np.stack([np.bincount(bins[:, f], minlength=n_bins + 2) for f in range(m)])
    total = N + 0.5 * (n_bins + 2)
    cost = -np.log((counts + 0.5) / total)
    held_out = -np.log((np.maximum(counts - 1, 0) + 0.5) / (total - 1))
    return histogram._replace(cost=cost, held_out=held_out)
