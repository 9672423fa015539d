"""Fit to rows that come in time: folds are blocks of time with gaps between them, and scores have stretches."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from oddatom.rows.draws import draw_order

MOST_IN_GAPS = 0.2  # share of the rows


class RowOrder(NamedTuple):
    """What is known of training rows that come in time.

    Attributes
    ----------
    rows : (N, m)
        C-ordered.
    by_time : (N,) int64
        The rows from the earliest on.
    gap : int
        Rows between two folds that are in neither.
    n_columns : int
        So many columns are of the table, the others are views of them, which the first rows of a series lack.
    with_stretches : function
        From the scores of all rows, each by itself, to their scores.
    """

    rows: np.ndarray
    by_time: np.ndarray
    gap: int
    n_columns: int
    with_stretches: Callable[[np.ndarray], np.ndarray]


def arrange(order: RowOrder, n_folds: int, most: int, seed: int) -> np.ndarray:
    """Return a random sample of the rows such that row j of it is in the block of time j mod n_folds.

    Parameters
    ----------
    order : RowOrder
    n_folds : int
    most : int
        Rows of the sample.
    seed : int
    """
    N = order.by_time.size
    if 2 * n_folds > N:
        return draw_order(order.rows, seed)
    gap = min(order.gap, int(MOST_IN_GAPS * N) // max(n_folds - 1, 1))
    size = (N - gap * (n_folds - 1)) // n_folds
    n = min(size, most // n_folds)
    drawn = []
    for fold in range(n_folds):
        rows = order.by_time[fold * (size + gap) :][:size]
        drawn.append(rows[draw_order(order.rows[rows], seed)][:n])
    return np.stack(drawn, axis=1).ravel()
