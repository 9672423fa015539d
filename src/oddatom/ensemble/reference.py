"""A table without anomalies to compare a table with: columns as they are, put together as those of the bulk are.

Numbers are drawn from a Gaussian copula, with the correlations that the least odd rows have between their ranks; each
column then takes the values that it has. So a row of the reference may hold any value of the table, but odd
combinations only as often as chance brings them. Categories and missing cells are those of rows drawn at random.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from oddatom.ensemble.levels import shift_rows
from oddatom.ensemble.model import Ensemble

ROWS = 2000
BULK = 0.8  # share of the rows, the least odd, whose correlations count
WIDE = 512  # columns, above which so many rows stand for the correlations
LOOK, COPY = 500, 0.999  # rows by which columns are compared, and the rank correlation of one that follows another
RARE = 0.05  # share of the rows that differ from the median in a column that counts as constant
NOISE = 0.01  # share of the variance that is drawn for every column by itself


def draw_reference(X: np.ndarray, ensemble: Ensemble, scores: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Return a table like X, with at most ROWS rows.

    Parameters
    ----------
    X : (n, m)
        A sample of the rows, in random order.
    ensemble : Ensemble
        Learned from it.
    scores : (n,)
        Its scores; higher = more normal.
    rng : RandomState
    """
    n = min(X.shape[0], ROWS)
    columns = np.flatnonzero(ensemble.scaling.spread < np.inf)
    shifted = shift_rows(X, ensemble.levels)[:, columns]
    bulk = np.flatnonzero(scores >= np.quantile(scores, 1.0 - BULK))[:ROWS]
    ranks = normal_ranks(shifted)[bulk]
    ranks -= ranks.mean(axis=0)
    deviation = np.sqrt(np.mean(ranks**2, axis=0))
    factor, of_rows = _factor(ranks)
    drawn = rng.standard_normal((n, factor.shape[0])) @ factor / np.sqrt(of_rows)  # with their correlations
    drawn /= np.where(deviation > 0.0, deviation, 1.0)
    drawn = np.sqrt(1.0 - NOISE) * drawn + np.sqrt(NOISE) * rng.standard_normal(drawn.shape)
    of = rng.randint(X.shape[0], size=n)
    table = X[of]
    for j, f in enumerate(columns):
        values = np.sort(shifted[:, j])
        values = values[: np.count_nonzero(~np.isnan(values))]
        if values.size:
            place = np.minimum((ndtr(drawn[:, j]) * values.size).astype(np.int64), values.size - 1)
            table[:, f] = values[place] + (X[of, f] - shifted[of, j])  # NaN where the row has no value
    return table


def lone_column(X: np.ndarray, ensemble: Ensemble) -> int | None:
    """Return the column of numbers that all others follow, or are nearly constant beside; None where there are more.

    Parameters
    ----------
    X : (n, m)
        Rows in random order, of which the first are looked at.
    ensemble : Ensemble
    """
    Y = ensemble.scaling.apply(ensemble.shifted(X[:LOOK]))
    others = np.count_nonzero(np.median(Y, axis=0) != Y, axis=0)
    varied = np.flatnonzero(others > RARE * Y.shape[0])
    if varied.size < 2:
        return int(np.argmax(others))
    ranks = rankdata(Y[:, varied], axis=0) - 0.5 * (Y.shape[0] + 1)
    sizes = np.sqrt(np.einsum("ij,ij->j", ranks, ranks))
    follow = np.abs(ranks[:, 1:].T @ ranks[:, 0]) >= COPY * sizes[1:] * sizes[0]
    return int(varied[0]) if follow.all() else None


def _factor(ranks: np.ndarray) -> tuple[np.ndarray, int]:
    """Return a matrix F and a number n of rows, such that FᵀF/n is the covariance; of many columns by some rows."""
    if ranks.shape[1] > WIDE:
        return ranks[:WIDE], min(WIDE, ranks.shape[0])
    return np.asarray(np.linalg.qr(ranks, mode="r")), ranks.shape[0]


def normal_ranks(X: np.ndarray) -> np.ndarray:
    """Return the normal scores of every column, Φ⁻¹((rank − ½)/n); 0 where a value is missing."""
    out = np.zeros(X.shape)
    for f in range(X.shape[1]):
        there = ~np.isnan(X[:, f])
        if there.any():
            out[there, f] = ndtri((rankdata(X[there, f]) - 0.5) / np.count_nonzero(there))
    return out
