"""Whether new rows are like the training rows, column by column: numbers, shares of categories, missing values.

Numbers are compared by the Kolmogorov–Smirnov test, shares of levels by the chi-squared test, missing values by that of
two shares. A column has moved where its test is significant, corrected for the number of columns, and the difference is
large: of many rows the smallest is significant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2, kstwobign, norm

from oddatom.context.grouped import equal_steps
from oddatom.table.decision import DAYS, ColumnDecision

POINTS = 257  # quantiles of the training values that are kept
FEWEST_ROWS, MOST_ROWS = 100, 10_000  # fewer new rows are not compared, and of more those at equal steps are
LEVEL = 0.01  # the chance of a warning, all columns together, where rows are like the training rows
LEAST = 0.1  # difference of two distribution functions, of shares of rows, or of missing values
SHOWN = 5  # columns named in a message


class ColumnReference(NamedTuple):
    """What is kept of a training column, as encoded.

    Attributes
    ----------
    points : (K,)
        Quantiles of its numbers at equal steps; empty where it holds codes, or nothing.
    shares : (L,)
        Shares of its levels, by code; empty where it holds numbers.
    missing : float
        Share of missing values.
    n_rows : int
        That these are of.
    """

    points: np.ndarray
    shares: np.ndarray
    missing: float
    n_rows: int


class Drift(NamedTuple):
    """A column that has moved.

    Attributes
    ----------
    place : int
        Among the encoded columns.
    size : float
        By how much, from 0 to 1.
    words : str
        The same in words.
    shift : float or None
        Of the median, where it holds numbers.
    """

    place: int
    size: float
    words: str
    shift: float | None = None


def take_references(numbers: np.ndarray, codes: Sequence[bool]) -> list[ColumnReference]:
    """Return what to keep of encoded training rows.

    Parameters
    ----------
    numbers : (N, m)
    codes : m bools
        Columns that hold codes of categories.
    """
    found = []
    numbers = equal_steps(numbers, MOST_ROWS)
    for column, coded in zip(numbers.T, codes, strict=True):
        values = column[_present(column, coded)]
        points, shares = np.empty(0), np.empty(0)
        if coded and values.size:
            shares = np.bincount(values.astype(np.int64)) / values.size
        elif values.size:
            points = np.quantile(values, np.linspace(0.0, 1.0, POINTS), method="inverted_cdf")
        found.append(ColumnReference(points, shares, 1.0 - values.size / column.size, column.size))
    return found


def find_drift(numbers: np.ndarray, references: Sequence[ColumnReference]) -> list[Drift]:
    """Return the columns of encoded rows that have moved, those that moved most first."""
    if numbers.shape[0] < FEWEST_ROWS or not references:
        return []
    numbers = equal_steps(numbers, MOST_ROWS)
    level = LEVEL / (2 * len(references))
    found = []
    for place, (column, reference) in enumerate(zip(numbers.T, references, strict=True)):
        for drift, p in (_missing(column, reference), _values(column, reference)):
            if drift.size >= LEAST and p <= level:
                found.append(drift._replace(place=place))
                break
    return sorted(found, key=lambda drift: -drift.size)


def drift_words(found: Sequence[Drift], decisions: Sequence[ColumnDecision], can_update: bool = True) -> str:
    """Return the message that columns have moved."""
    sources = [(decision.name, feature) for decision in decisions for feature in decision.output_features]
    by_name: dict[str, str] = {}
    for drift in found:
        name, feature = sources[drift.place]
        if feature == DAYS and drift.shift is not None:
            by_name[name] = f"median {drift.shift:+.3g} days"  # says more than other weekdays or months
        elif feature in ("", DAYS):
            by_name.setdefault(name, drift.words)
        else:
            plural = f"{feature.removeprefix('rare ').removesuffix(' cycle')}s"
            words = drift.words.replace("categories", plural) if drift.shift is None else f"other {plural}"
            by_name.setdefault(name, words)
    several = len(by_name) > 1
    listed = "; ".join(f"{name}: {words}" for name, words in list(by_name.items())[:SHOWN])
    more = f"; and {len(by_name) - SHOWN} more" if len(by_name) > SHOWN else ""
    return (
        f"{len(by_name)} column{'s have' if several else ' has'} moved since training ({listed}{more}). Scores and "
        "p-values compare with the training rows, so that more rows may be flagged than are odd today. Fit again, "
        f"{'update the model (`oddatom update`, partial_fit), ' if can_update else ''}or leave such columns out."
    )


def _present(column: np.ndarray, coded: bool) -> np.ndarray:
    return np.isfinite(column) & (column >= 0.0) if coded else np.isfinite(column)


def _missing(column: np.ndarray, reference: ColumnReference) -> tuple[Drift, float]:
    """Return the difference of the shares of missing values, and its p-value."""
    n, share = column.size, 1.0 - _present(column, reference.shares.size > 0).mean()
    pooled = (n * share + reference.n_rows * reference.missing) / (n + reference.n_rows)
    deviation = np.sqrt(max(pooled * (1.0 - pooled), 1e-300) * (1.0 / n + 1.0 / reference.n_rows))
    difference = abs(share - reference.missing)
    words = f"{100 * share:.3g} % missing, was {100 * reference.missing:.3g} %"
    return Drift(0, float(difference), words), float(2.0 * norm.sf(difference / deviation))


def _values(column: np.ndarray, reference: ColumnReference) -> tuple[Drift, float]:
    """Return how much the values differ, and the p-value of that."""
    values = column[_present(column, reference.shares.size > 0)]
    n_before = reference.n_rows * (1.0 - reference.missing)
    if values.size < FEWEST_ROWS or not (reference.shares.size or reference.points.size):
        return Drift(0, 0.0, ""), 1.0
    harmonic = values.size * n_before / (values.size + n_before)
    if reference.shares.size:
        L = reference.shares.size
        counts = np.bincount(np.minimum(values, L).astype(np.int64), minlength=L + 1)
        before, after = np.append(reference.shares, 0.0), counts / values.size
        pooled = (values.size * after + n_before * before) / (values.size + n_before)
        there = pooled > 0.0
        statistic = harmonic * float(((after - before)[there] ** 2 / pooled[there]).sum())
        size = 0.5 * float(np.abs(after - before).sum())
        p = float(chi2.sf(statistic, max(np.count_nonzero(there) - 1, 1)))
        return Drift(0, size, f"other categories in {100 * size:.3g} % of the rows"), p
    points = reference.points
    before = np.searchsorted(points, points, side="right") / points.size
    after = np.searchsorted(np.sort(values), points, side="right") / values.size
    size = float(np.abs(after - before).max())
    p = float(kstwobign.sf(size * np.sqrt(harmonic)))
    now, then = float(np.quantile(values, 0.5, method="inverted_cdf")), float(points[points.size // 2])
    return Drift(0, size, f"median {now:.4g}, was {then:.4g}", now - then), p
