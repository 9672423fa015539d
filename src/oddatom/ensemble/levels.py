"""Numbers as deviations from what is usual in their category, where a category explains them.

Where the medians of a column within the levels of a category take away half of its spread or more (machines that have
levels of their own), the column becomes x − (median of its level − median of all). A level of few rows, one that
training did not have and a missing one get the shift that brings the number nearest to the median.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.namespaces import like, namespace

LEAST_LEFT = 0.5  # of the spread: where levels leave less, the column is shifted by them
FEWEST_ROWS = 10  # of a level, for its median to count
FEWEST_VALUES = 10  # of a column: one of fewer stays as it is
MOST_LEVELS = 256
LOOK = 2000  # rows by which a category is chosen
MIDDLE = (0.05, 0.95)


class Levels(NamedTuple):
    """S shifted columns, and which columns hold categories.

    Attributes
    ----------
    categorical : (m,) of bool
    columns, categories : tuples of S ints
        A shifted column and the category that explains it.
    center : (S,)
        Median of the column.
    shifts : (S, L)
        Median of a level less that of the column, by code; NaN where a level has none.
    """

    categorical: np.ndarray
    columns: tuple[int, ...]
    categories: tuple[int, ...]
    center: np.ndarray
    shifts: np.ndarray


def shift_rows(X: Any, levels: Levels | None) -> Any:
    """Return rows X (N×m) with shifted columns, and with NaN for missing categories, which are -1."""
    if levels is None:
        return X
    xp = namespace(X)
    X = xp.where(levels.categorical & (X < 0.0), xp.nan, X)
    for s, (f, g) in enumerate(zip(levels.columns, levels.categories, strict=True)):
        shifts, m = levels.shifts[s, :], X.shape[1]
        known = xp.isfinite(shifts)
        finite = xp.where(known, shifts, xp.zeros_like(shifts))
        apart = xp.abs(X[:, f : f + 1] - levels.center[s] - finite)
        nearest = xp.argmin(xp.where(known, apart, xp.inf), axis=1)
        code = xp.where(xp.isnan(X[:, g]), -1.0, X[:, g])
        inside = (code >= 0.0) & (code < float(shifts.shape[0]))
        place = xp.astype(xp.where(inside, code, xp.zeros_like(code)), nearest.dtype)
        place = xp.where(inside & xp.take(known, place, axis=0), place, nearest)
        X = X - xp.expand_dims(xp.take(finite, place, axis=0), axis=1) * like(np.eye(1, m, f), X)
    return X


def fit_levels(X: np.ndarray, categorical: np.ndarray) -> Levels | None:
    """Fit to rows X (N×m) in random order; None where there is no category.

    Parameters
    ----------
    X : (N, m)
        NaN is a missing number.
    categorical : (m,) of bool
        Columns that hold codes.
    """
    if not categorical.any():
        return None
    look = X[:LOOK]
    found = []
    for f in np.flatnonzero(~categorical):
        left = {int(g): _left(look[:, f], look[:, g]) for g in np.flatnonzero(categorical)}
        best = min(left, key=left.__getitem__)
        if left[best] <= LEAST_LEFT:
            found.append((int(f), best, *_medians(X[:, f], X[:, best])))
    n = max((shifts.size for *_, shifts in found), default=1)
    shifts = np.full((len(found), n), np.nan)
    for s, (*_, some) in enumerate(found):
        shifts[s, : some.size] = some
    centers = np.array([center for _, _, center, _ in found])
    return Levels(categorical, tuple(f for f, *_ in found), tuple(g for _, g, *_ in found), centers, shifts)


def _medians(v: np.ndarray, codes: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the median of a column, and the medians of the levels less that, NaN where a level has few rows."""
    present = ~np.isnan(v)
    rows = present & (codes >= 0.0)
    level, v_known = codes[rows].astype(np.int64), v[rows]
    order = np.lexsort((v_known, level))
    level, v_known = level[order], v_known[order]
    counts = np.bincount(level, minlength=1)
    first = np.cumsum(counts) - counts
    shifts = np.full(counts.size, np.nan)
    center = float(np.median(v[present])) if present.any() else 0.0
    for code in np.flatnonzero(counts >= FEWEST_ROWS):
        shifts[code] = np.median(v_known[first[code] : first[code] + counts[code]]) - center
    return center, shifts


def _left(v: np.ndarray, codes: np.ndarray) -> float:
    """Return which share of a column's spread the medians of the levels leave, infinite where it is not to be told."""
    rows = ~np.isnan(v) & (codes >= 0.0)
    if np.unique(v[rows][: 10 * FEWEST_VALUES]).size <= FEWEST_VALUES or codes.max() >= MOST_LEVELS:
        return np.inf
    _, shifts = _medians(v, codes)
    shift = shifts[codes[rows].astype(np.int64)]
    known = np.isfinite(shift)
    if np.count_nonzero(np.isfinite(shifts)) < 2 or not known.any():
        return np.inf
    values, shift = v[rows][known], shift[known]
    with np.errstate(over="ignore", invalid="ignore"):
        (low, high), (low_left, high_left) = np.quantile(values, MIDDLE), np.quantile(values - shift, MIDDLE)
        return float((high_left - low_left) / (high - low)) if high > low else np.inf
