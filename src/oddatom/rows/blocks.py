"""Passes over the blocks of a source, and what their answers add up to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oddatom.arrays.threads import threads
from oddatom.coding import histograms
from oddatom.coding.histograms import CodeHistograms
from oddatom.coding.statistics import CodeStatistics, code_sums, statistics_of
from oddatom.rows.checks import not_finite
from oddatom.rows.row_map import RowMap
from oddatom.scaling.column_statistics import Columns, Kind, fit_columns
from oddatom.scaling.linear import Scaling

if TYPE_CHECKING:
    from oddatom.rows.source import Source

_KEY_BITS = 11


def take(rows: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return some of the rows."""
    return rows[indices]


def fit_scaling(source: Source, kind: Kind) -> Scaling:
    """Return the scaling of all rows, in a few passes over blocks."""
    return fit_columns(SourceColumns(source), kind)


def check_extent(source: Source) -> tuple[np.ndarray, np.ndarray]:
    """Return least and largest entry by column; refuse columns where they are not finite."""
    low, high = zip(*(found for found in source.map(extent) if found is not None), strict=True)
    low, high = np.min(low, axis=0), np.max(high, axis=0)
    bad = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))
    if bad.size:
        raise not_finite(bad, source.feature_names)
    return low, high


def check_infinite(source: Source) -> None:
    """Refuse columns with infinity."""
    bad = np.flatnonzero(np.any(source.map(infinite), axis=0))
    if bad.size:
        raise not_finite(bad, source.feature_names, missing=True)


def infinite(rows: np.ndarray) -> np.ndarray:
    """Return which columns hold infinity."""
    return np.isinf(rows).any(axis=0)


def extent(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return least and largest entry by column, NaN where there is one; None of no rows."""
    return (rows.min(axis=0), rows.max(axis=0)) if rows.shape[0] else None


def largest(rows: np.ndarray, scaling: Scaling) -> float:
    """Return the largest absolute entry of the scaled rows."""
    return float(np.abs(scaling.apply(rows)).max(initial=0.0))


def square(rows: np.ndarray, scaling: Scaling, top: float) -> float:
    """Return the sum of squares of the scaled rows, in units of `top`."""
    total = 0.0
    for start in range(0, rows.shape[0], 65_536):
        block = scaling.apply(rows[start : start + 65_536]) / top
        total += float(np.vdot(block, block))
    return total


class SourceColumns(Columns):
    """The columns of a source's rows; those where an entry is not finite are refused."""

    def __init__(self, source: Source) -> None:
        super().__init__(*check_extent(source))
        self._source = source

    def mean(self) -> np.ndarray:
        """Return the means."""
        return sum(self._source.map(column_sums, self.unit)) / self._source.shape[0]

    def deviation(self) -> np.ndarray:
        """Return the standard deviations."""
        return np.sqrt(sum(self._source.map(column_squares, self.unit, self.mean())) / self._source.shape[0])

    def quantiles(self, shares: Sequence[float]) -> np.ndarray:
        """Return quantiles: two neighbouring order statistics and what lies between them."""
        place = (self._source.shape[0] - 1) * np.array(shares)
        below = place.astype(np.int64)
        above = np.minimum(below + 1, self._source.shape[0] - 1)
        lower, upper = np.split(_order_statistics(self._source, np.concatenate([below, above])), 2)
        return (lower + (upper - lower) * (place - below)[:, None]) / self.unit

    def norm(self, scaling: Scaling) -> float:
        """Return the Frobenius norm of the rows scaled."""
        if scaling.center is None:
            top = float(max(self.high.max(), -self.low.min()))
        else:
            top = max(self._source.map(largest, scaling))
        return top * float(np.sqrt(sum(self._source.map(square, scaling, top)))) if top != 0.0 else 0.0


def ends_alone(rows: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return which columns of a block hold nothing but these numbers; of most columns a few entries tell."""
    few = rows[:64]
    alone = np.array(~((few > low) & (few < high)).any(axis=0))
    for f in np.flatnonzero(alone):
        alone[f] = not ((rows[:, f] > low[f]) & (rows[:, f] < high[f])).any()
    return alone


def column_sums(rows: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return Σ x/unit by column."""
    return (rows / unit).sum(axis=0)


def column_squares(rows: np.ndarray, unit: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Return Σ (x/unit − center)² by column."""
    apart = rows / unit - center
    return np.einsum("ij,ij->j", apart, apart)


def _order_statistics(source: Source, wanted: np.ndarray) -> np.ndarray:
    """Return the exact `wanted`-th smallest entries (from 0) of every column, from histograms of leading key bits."""
    m, R = source.n_features, wanted.size
    prefix, ranks = np.zeros((R, m), np.uint64), np.repeat(wanted[:, None], m, axis=1)
    shift = 64
    while shift > 0:
        bits = min(_KEY_BITS, shift)
        shift -= bits
        ends = np.cumsum(sum(source.map(key_counts, prefix, shift, bits)), axis=2)
        bins = (ends <= ranks[:, :, None]).sum(axis=2)
        below = np.take_along_axis(ends, np.maximum(bins - 1, 0)[:, :, None], axis=2)[:, :, 0]
        ranks = ranks - np.where(bins > 0, below, 0)
        prefix = (prefix << np.uint64(bits)) | bins.astype(np.uint64)
    return np.where(prefix >> np.uint64(63), prefix ^ np.uint64(2**63), ~prefix).view(np.float64)


def key_counts(rows: np.ndarray, prefix: np.ndarray, shift: int, bits: int) -> np.ndarray:
    """Return the counts of the next key bits among the entries of a column whose key starts with a prefix.

    `prefix` has one for each order statistic and column, (R, m); the counts are (R, m, 2^bits).
    """
    (R, m), size = prefix.shape, 1 << bits
    out = np.zeros((R, m, size), np.int64)
    for f in range(m):
        number = (rows[:, f] + 0.0).view(np.uint64)  # −0 + 0 is 0
        keys = np.where(number >> np.uint64(63), ~number, number | np.uint64(2**63))  # in the order of the numbers
        for r in range(R):
            mine = keys
            if shift + bits < 64:
                mine = keys[(keys >> np.uint64(shift + bits)) == prefix[r, f]]
            bins = ((mine >> np.uint64(shift)) & np.uint64(size - 1)).astype(np.int64)
            out[r, f] = np.bincount(bins, minlength=size)
    return out


def nonzero(rows: np.ndarray, row_map: RowMap) -> np.ndarray:
    """Return which of the learner's rows are not zero."""
    Y = row_map(rows)
    return np.einsum("ij,ij->i", Y, Y) > 0


def weighted(rows: np.ndarray, weights: np.ndarray, row_map: RowMap) -> np.ndarray:
    """Return A Y for coefficients A of this block's rows."""
    return weights @ row_map(rows)


def coded(rows: np.ndarray, detector: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return how often each atom is used, the squares of its coefficients, the rows' residuals and slots of a code."""
    n = detector.components_.shape[0]
    counts, squares, residuals, s = np.zeros(n, np.int64), np.zeros(n), [np.empty(0)], 1
    with threads(detector.n_jobs):
        for _, _, codes in detector._chunks(rows):
            part = code_sums(codes, n)
            counts += part[0]
            squares += part[1]
            residuals.append(codes.sq_residual)
            s = codes.indices.shape[1]
    return counts, squares, np.concatenate(residuals), s


def code_statistics(source: Source, detector: Any) -> CodeStatistics:
    """Return the statistics of all rows' codes."""
    counts, squares, residuals, slots = zip(*source.map(coded, detector), strict=True)
    m = detector.components_.shape[1]
    return statistics_of(sum(counts), sum(squares), np.concatenate(residuals), max(slots), m)


def scores(rows: np.ndarray, detector: Any) -> np.ndarray:
    """Return a detector's scores of one block."""
    return detector._block_scores(rows) if rows.shape[0] else np.empty(0)


def code_moments(rows: np.ndarray, detector: Any) -> np.ndarray:
    """Return what center and spread of the codes' histograms are made of, of one block."""
    n = detector.components_.shape[0]
    with threads(detector.n_jobs):
        return sum((histograms.code_moments(codes, n) for codes in detector._loda_codes(rows)), np.zeros((3, n)))


def bin_counts(rows: np.ndarray, detector: Any, center: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return how many rows of one block have a coefficient in each bin."""
    nothing = np.zeros((center.size, histograms.BINS))
    with threads(detector.n_jobs):
        return sum((histograms.bin_counts(codes, center, spread) for codes in detector._loda_codes(rows)), nothing)


def code_histograms(source: Source, detector: Any) -> CodeHistograms:
    """Return the histograms of all rows' codes, in two passes."""
    moments = sum(source.map(code_moments, detector))
    counts = sum(source.map(bin_counts, detector, *histograms.center_and_spread(moments)))
    return histograms.histograms_of(moments, counts, float(source.shape[0]))
