"""How the values of a column are spread: bins with costs −log p_f(x_f) (a part in `parts/histogram.py`), and tails."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.namespaces import like, namespace
from oddatom.ensemble.naive_bayes import Context
from oddatom.ensemble.tails import Tails, fit_tails
from oddatom.scaling.asinh import column_ends, column_quantiles

LARGEST = 0.25 * float(np.finfo(np.float64).max)  # the range of a column without a value
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
    tails : Tails or None
        How far out a value lies; None in models that were saved before there were any.
    context : Context or None
        How well a category goes with other columns; None where there are no categories to judge.
    """

    low: np.ndarray
    high: np.ndarray
    steps: np.ndarray
    cost: np.ndarray
    held_out: np.ndarray
    tails: Tails | None = None
    context: Context | None = None


def bins(U: Any, histogram: Histogram) -> Any:
    """Return the bin of every number of rows in the scaling's units."""
    xp = namespace(U)
    low, high, last = histogram.low, histogram.high, histogram.cost.shape[1] - 1
    inside = xp.where(low > U, low, xp.where(high < U, high, xp.where(xp.isnan(U), low, U))) - low
    found = 1 + xp.astype(inside * histogram.steps, xp.int64)
    found = xp.clip(found, 1, last - 1)  # in a graph a NaN is any number
    return xp.where(low > U, xp.zeros_like(found), xp.where(high < U, xp.zeros_like(found) + last, found))


def nats(U: Any, histogram: Histogram, *, held_out: bool = False) -> Any:
    """Return −log p_f(x_f) of rows in the scaling's units, (N, m); what is expected of a value that is missing."""
    xp, cost = namespace(U), histogram.held_out if held_out else histogram.cost
    m, n_costs = cost.shape
    place = bins(U, histogram) + like(np.arange(m) * n_costs, U)
    found = xp.reshape(xp.take(xp.reshape(cost, (-1,)), xp.reshape(place, (-1,)), axis=0), (-1, m))
    return xp.where(xp.isnan(U), missing_nats(histogram), found)


def entropy(histogram: Histogram) -> Any:
    """Return the mean of −log p_f(x_f) over the training rows, by column."""
    xp = namespace(histogram.cost)
    return xp.sum(xp.exp(-histogram.cost) * histogram.cost, axis=-1)


def missing_nats(histogram: Histogram) -> Any:
    """Return the cost of a missing value, by column: the entropy, and what it adds where next to none is missing."""
    tails = histogram.tails
    return entropy(histogram) + (0.0 if tails is None or tails.missing is None else tails.missing)


def fit_histogram(U: np.ndarray, code_steps: np.ndarray | None = None, shifted: np.ndarray | None = None) -> Histogram:
    """Count the rows of U (N×m), in the scaling's units; NaN is a missing value.

    Parameters
    ----------
    U : (N, m)
    code_steps : (m,), optional
        The distance of two codes in columns of categories, each of which gets a bin of its own; 0 in other columns.
    shifted : (m,) of bool, optional
        Columns whose numbers have no zero of their own, see `fit_tails`.
    """
    N, m = U.shape
    n_bins = int(np.clip(np.sqrt(N), FEWEST, MOST))
    step = np.zeros(m) if code_steps is None else code_steps
    codes = step > 0.0
    (least, most_value), (low, high) = column_ends(U), column_quantiles(U, [0.01, 0.99])
    n_codes = 2 + np.round(most_value / np.where(codes, step, 1.0))  # from -1 on
    total = np.count_nonzero(~np.isnan(U), axis=0) + 0.5 * (np.where(codes, n_codes, n_bins) + 2)
    point = high <= low
    low, high = np.where(point, least, low), np.where(point, most_value, high)
    with np.errstate(divide="ignore", over="ignore"):
        steps = np.where(high > low, n_bins / (high - low), 0.0)
    steps[~np.isfinite(steps)] = 0.0
    low, high = np.where(codes, -1.5 * step, low), np.where(codes, (n_codes - 1.5) * step, high)
    steps = np.where(codes, 1.0 / np.where(codes, step, 1.0), steps)
    empty_columns = np.isnan(U).all(axis=0)  # whatever comes falls into the same bin
    low, high = np.where(empty_columns, -LARGEST, low), np.where(empty_columns, LARGEST, high)
    steps = np.where(empty_columns, 0.0, steps)
    if codes.any() and (most := int(n_codes[codes].max())) > n_bins:
        steps = np.where(codes, steps, steps * (1.0 - 1e-12))  # the largest value stays in the last of n_bins
        n_bins = most
    empty = np.zeros((m, n_bins + 2))
    histogram = Histogram(low, high, steps, empty, empty)
    found, present = bins(U, histogram), ~np.isnan(U)
    counts = np.stack([np.bincount(found[present[:, f], f], minlength=n_bins + 2) for f in range(m)])
    place = np.arange(n_bins + 2)
    own = (place <= np.round((high - low) * steps)[:, None]) | (place == n_bins + 1) | (steps == 0.0)[:, None]
    cost = np.where(own, -np.log((counts + 0.5) / total[:, None]), 0.0)  # bins of other columns alone cost nothing
    held_out = np.where(own, -np.log((np.maximum(counts - 1, 0) + 0.5) / (total[:, None] - 1)), 0.0)
    return histogram._replace(cost=cost, held_out=held_out, tails=fit_tails(U, step, shifted))
