"""Which rows take no part in a fit: the share `trim` of them whose values are rarest, column by column."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from oddatom.arrays.namespaces import namespace
from oddatom.arrays.quantiles import repeated, weighted_quantile
from oddatom.boundary.plane import OneClassFit
from oddatom.decisions import quantile_offset
from oddatom.ensemble.histogram import Histogram, fit_histogram, nats
from oddatom.estimators._validation import fitted_attributes
from oddatom.exceptions import ParameterError
from oddatom.rows import Source
from oddatom.rows import blocks as passes
from oddatom.rows.array import ArraySource
from oddatom.rows.draws import draw_order, draw_rows
from oddatom.scaling.linear import Scaling

SAMPLE = 20_000  # rows that the histograms are made of
MOST_REPEATED = 2**20  # rows that weights are written out as, for that
# How fast a value gets rarer by the logarithm of its distance from the median, and from how many interquartile ranges.
TAIL, USUAL = 3.0, 2.0


def check_trim(detector: Any, source: Source) -> None:
    """Refuse `trim` that leaves too little to learn from."""
    name, trim, N = type(detector).__name__, detector.trim, source.shape[0]
    if trim and N > 2 and N * (1.0 - trim) < 2:
        problem = f"must leave two rows. Got {trim} with {N} rows instead"
        raise ParameterError(name, "trim", problem, value=trim, advice="pass less.")


def fit_trimmed(detector: Any, source: Source, given: tuple[Any, Any]) -> OneClassFit:
    """Fit a detector to the rows that `trim` leaves.

    Center and spread of the columns, scores and thresholds are of all rows: the offset is the nu-quantile of their
    scores. What else has an entry for each row is of the rows kept.
    """
    check_trim(detector, source)
    detector.__dict__.pop("kept_rows_", None)
    if not detector.trim or getattr(detector, "kernel", None) == "precomputed":
        return detector._fit(source, given)
    scaling = source.fit_scaling("robust")
    kept = choose_rows(source, float(detector.trim), scaling)
    part = source if kept.all() or kept.sum() < 2 else source.select(kept)
    low, high = passes.check_extent(part)
    if part is source or (low == high).all():  # rows that are all the same teach nothing
        return detector._fit(source, given)
    twin = copy.copy(detector)
    for name, value in detector._without_parameters(np.flatnonzero(~kept)).items():
        setattr(twin, name, value)
    if detector.scaling is not None:
        twin._column_scaling = scaling if detector.scaling == "robust" else source.fit_scaling(detector.scaling)
    svm = twin._fit(part, given)
    detector.__dict__.update(fitted_attributes(twin))
    if source.keeps_rows:
        detector.kept_rows_ = kept
    detector.train_scores_ = _sorted_scores(detector, source)
    detector.svm_offset_ = quantile_offset(detector.train_scores_, float(detector.nu))
    detector._apply_threshold(detector._check_threshold(detector.threshold, fitted=False))
    return svm


def choose_rows(source: Source, trim: float, scaling: Scaling) -> np.ndarray:
    """Return a mask of the rows: all but a share `trim`, those of the largest `rarity`; `scaling` is the robust one.

    Columns of two values do not count: rows with the flag of a rare thing stay in their share. Rows that tie with the
    last one kept are kept, too.
    """
    low, high = passes.check_extent(source)
    flags = np.all(source.map(passes.ends_alone, low, high), axis=0)
    exponent = np.frexp(np.maximum(np.abs(low), np.abs(high)))[1]
    unit = np.ldexp(1.0, np.clip(1 - exponent, -1000, 1000))  # in units of it nothing overflows
    histogram = fit_histogram(_sample(source) * unit)
    histogram = histogram._replace(cost=np.where(flags[:, None], 0.0, histogram.cost), tails=None)
    by_columns = Scaling(scaling.center, np.where(flags, np.inf, scaling.spread), 1.0)
    costs = np.concatenate(source.map(rarity, histogram, unit, by_columns))
    weights = np.ones(costs.size) if source.weights is None else source.weights
    return np.asarray(costs <= weighted_quantile(costs, weights, 1.0 - trim))


def rarity(X: Any, histogram: Histogram, unit: Any, scaling: Scaling) -> Any:
    """Return Σ_f −log p_f(x_f) + 3 log(1 + (|z_f| − 2)₊) of rows, z_f by a robust scaling, (N,).

    The histogram is that of the columns times `unit`.
    """
    xp = namespace(X)
    X = xp.astype(X, xp.float64)
    with np.errstate(over="ignore"):
        far = xp.clip(xp.abs(scaling.apply(X)) - USUAL, 0.0, None)
    return xp.sum(nats(X * unit, histogram) + TAIL * xp.log1p(far), axis=-1)


rarity.on_arrays = True  # type: ignore[attr-defined]  # a device works on its own arrays


def _sample(source: Source) -> np.ndarray:
    """Return the rows that histograms are made of: all, or as many as are enough, drawn by what they hold."""
    if source.weights is None:
        here = isinstance(source, ArraySource) and source.shape[0] <= SAMPLE
        return source.X if here else draw_rows(source, 0, SAMPLE)  # type: ignore[attr-defined]
    assert isinstance(source, ArraySource)
    X, weights = source.X, source.weights
    if weights.sum() <= MOST_REPEATED and (weights == np.floor(weights)).all():
        X = np.repeat(X, weights.astype(np.int64), axis=0)
    return X if X.shape[0] <= SAMPLE else X[draw_order(X, 0)[:SAMPLE]]


def _sorted_scores(detector: Any, source: Source) -> np.ndarray:
    """Return the scores of all rows, sorted, each as often as its weight says."""
    if source.weights is None:
        return source.sorted_scores(detector)
    return repeated(np.concatenate(source.map(passes.scores, detector)), source.weights)
