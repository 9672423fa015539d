"""Numbers as deviations from what is usual in their category, where a category explains them.

Where the medians of a column within the levels of a category take away half of its spread or more (machines that have
levels of their own), the column becomes x − (median of its level − median of all). A level of few rows, one that
training did not have and a missing one get the shift that brings the number nearest to the median. A category that is
made of the number itself, as age groups are of an age, explains nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.namespaces import namespace
from oddatom.arrays.twins import fastest, twin_of

LEAST_LEFT = 0.5  # of the spread: where levels leave less, the column is shifted by them
FEWEST_ROWS = 30  # of a level, for its median to count: a row must not set its own level
FEWEST_VALUES = 10  # of a column: one of fewer stays as it is
MOST_LEVELS = 256
MOST_PAIRS = 4096  # of a number and a category that are compared; numbers beyond stay as they are
LOOK = 2000  # rows by which a category is chosen
MIDDLE = (0.05, 0.95)
TOUCHING, MOSTLY = 0.25, 0.7  # a gap between bands, in units of their distance, and the share of levels without more
EDGE = 0.13  # of a level's range, that a tenth of its rows takes at either end: .08 where it is cut off, .19 of a bell
LARGEST = float(np.finfo(np.float64).max)
ROUNDING = 1e-12  # a shifted number that is the median but for this share of its size is the median


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
    return X if levels is None else fastest(shift_formula, X)(X, levels)


def shift_formula(X: Any, levels: Levels) -> Any:
    """Return the rows column by column."""
    xp = namespace(X)
    X = xp.where(levels.categorical & (X < 0.0), xp.nan, X)
    columns = [X[:, f] for f in range(X.shape[1])]
    for s, (f, g) in enumerate(zip(levels.columns, levels.categories, strict=True)):
        shifts, x = levels.shifts[s, :], columns[f]
        known = xp.isfinite(shifts)
        finite = xp.where(known, shifts, xp.zeros_like(shifts))
        apart = xp.abs(xp.expand_dims(x - levels.center[s], axis=1) - finite)
        nearest = xp.argmin(xp.where(known, apart, xp.inf), axis=1)
        code = xp.where(xp.isnan(X[:, g]), -1.0, X[:, g])
        inside = (code >= 0.0) & (code < float(shifts.shape[0]))
        place = xp.astype(xp.where(inside, code, xp.zeros_like(code)), nearest.dtype)
        place = xp.where(inside & xp.take(known, place, axis=0), place, nearest)
        columns[f] = _snapped(x, xp.take(finite, place, axis=0), levels.center[s])
    return xp.stack(columns, axis=1)


def _snapped(x: Any, shift: Any, center: Any) -> Any:
    """Return x − shift, and the center itself where the two differ by rounding."""
    xp = namespace(x)
    moved = xp.clip(x - shift, -LARGEST, LARGEST)
    near = ROUNDING * xp.abs(x) + ROUNDING * xp.abs(shift) + ROUNDING * xp.abs(center)
    return xp.where(xp.abs(moved - center) <= near, 0.0 * x + center, moved)


@twin_of(shift_formula)
def shift_twin(X: np.ndarray, levels: Levels) -> np.ndarray:
    """Return the rows; the nearest level is looked for where it is not known alone."""
    X = np.where(levels.categorical & (X < 0.0), np.nan, X)
    for s, (f, g) in enumerate(zip(levels.columns, levels.categories, strict=True)):
        shifts, x = levels.shifts[s], X[:, f]
        code = np.where(np.isnan(X[:, g]), -1.0, X[:, g])
        inside = (code >= 0.0) & (code < shifts.size)
        shift = np.where(inside, shifts[np.where(inside, code, 0.0).astype(np.int64)], np.nan)
        unknown = np.flatnonzero(np.isnan(shift))
        if unknown.size:
            there = shifts[np.isfinite(shifts)] if np.isfinite(shifts).any() else np.zeros(1)
            with np.errstate(over="ignore", invalid="ignore"):
                apart = np.abs((x[unknown] - levels.center[s])[:, None] - there)
            shift[unknown] = there[np.argmin(apart, axis=1)]
        with np.errstate(over="ignore", invalid="ignore"):
            X[:, f] = _snapped(x, shift, levels.center[s])
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
    categories = [g for g in np.flatnonzero(categorical) if np.nanmax(X[:, g], initial=-1.0) < MOST_LEVELS]
    numbers = np.flatnonzero(~categorical)[: MOST_PAIRS // max(len(categories), 1)] if categories else ()
    n_levels = max((int(np.nanmax(X[:, g])) + 1 for g in categories), default=0)
    look = X[: max(LOOK, 3 * FEWEST_ROWS * n_levels)]
    codes = {int(g): _as_codes(look[:, g]) for g in categories}
    found = []
    for f in numbers:
        v = look[:, f]
        order = np.argsort(v, kind="stable")
        order = order[: np.count_nonzero(~np.isnan(v))]
        if np.unique(v[order][:: max(order.size // (10 * FEWEST_VALUES), 1)]).size <= FEWEST_VALUES:
            continue
        left = {g: _left(v[order], code[order]) for g, code in codes.items()}
        best = min(left, key=left.__getitem__)
        if left[best] <= LEAST_LEFT:
            rows = np.argsort(X[:, f], kind="stable")[: np.count_nonzero(~np.isnan(X[:, f]))]
            center, shifts = _medians(X[rows, f], _as_codes(X[rows, best]))
            if np.count_nonzero(np.isfinite(shifts)) > 1:
                found.append((int(f), best, center, shifts))
    n = max((shifts.size for *_, shifts in found), default=1)
    table = np.full((len(found), n), np.nan)
    for s, (*_, some) in enumerate(found):
        table[s, : some.size] = some
    centers = np.array([center for _, _, center, _ in found])
    return Levels(categorical, tuple(f for f, *_ in found), tuple(g for _, g, *_ in found), centers, table)


def _as_codes(column: np.ndarray) -> np.ndarray:
    """Return codes as small integers, -1 where one is missing."""
    return np.where(np.isnan(column), -1.0, column).astype(np.int16)


def _medians(v: np.ndarray, codes: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the median of sorted numbers, and those of the levels less that, NaN where a level has few rows."""
    center = float(v[(v.size - 1) // 2])
    by_level = np.argsort(codes, kind="stable")
    counts = np.bincount(codes + 1, minlength=2)  # of -1 first
    first = np.cumsum(counts) - counts
    middle = np.minimum(first + np.maximum(counts - 1, 0) // 2, v.size - 1)
    with np.errstate(over="ignore"):
        shifts = v[by_level[middle]] - center
    return center, np.where((counts >= FEWEST_ROWS) & np.isfinite(shifts), shifts, np.nan)[1:]


def _left(v: np.ndarray, codes: np.ndarray) -> float:
    """Return which share of the spread of sorted numbers the medians of the levels leave; infinite where none is."""
    shifts = _medians(v, codes)[1]
    shift = np.append(shifts, np.nan)[codes]  # -1 is the last
    known = np.isfinite(shift)
    few = np.count_nonzero(np.isfinite(shifts)) < 2 or 2 * np.count_nonzero(known) < np.count_nonzero(codes >= 0)
    if few or _are_bands(v[known], codes[known]):
        return np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        (low, high), (low_left, high_left) = np.quantile(v[known], MIDDLE), np.quantile((v - shift)[known], MIDDLE)
        spread, left = high - low, high_left - low_left
        return float(left / spread) if 0.0 < spread < np.inf and np.isfinite(left) else np.inf


def _are_bands(v: np.ndarray, codes: np.ndarray) -> bool:
    """Return whether levels are intervals of sorted numbers that follow one another: most begin where another ends.

    And they are as dense at their ends as inside, which those of a bell's shape are not. A wrong cell or two in a level
    do not count: its ends are those of all but one in fifty rows.
    """
    by_level = v[np.argsort(codes, kind="stable")]
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    first, skipped = np.cumsum(counts) - counts, counts // 50
    low, high = by_level[first + skipped], by_level[first + counts - 1 - skipped]
    with np.errstate(over="ignore", invalid="ignore"):
        ends = by_level[first + counts // 10] - low, high - by_level[first + counts - 1 - counts // 10]
        if np.median(np.minimum(*ends) / np.maximum(high - low, 1e-300)) > EDGE:
            return False
    order = np.argsort(low, kind="stable")
    low, high = low[order], high[order]
    with np.errstate(over="ignore", invalid="ignore"):
        distance = 0.5 * (low[1:] - low[:-1] + high[1:] - high[:-1])
        gap = low[1:] - high[:-1]
        return bool(np.mean((gap >= 0.0) & (gap <= TOUCHING * distance)) >= MOSTLY)
