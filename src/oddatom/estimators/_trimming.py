"""Which rows take no part in a fit: the share `trim` of them that lie farthest from the medians of the columns."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from oddatom.arrays.quantiles import repeated, weighted_quantile
from oddatom.boundary.plane import OneClassFit
from oddatom.decisions import quantile_offset
from oddatom.estimators._validation import fitted_attributes
from oddatom.exceptions import ParameterError
from oddatom.rows import Source
from oddatom.rows import blocks as passes
from oddatom.scaling.robust import robust_but_flags


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
    kept = np.ones(0, bool)
    if detector.trim and getattr(detector, "kernel", None) != "precomputed":
        kept = choose_rows(source, float(detector.trim))
    if kept.all():
        return detector._fit(source, given)
    twin = copy.copy(detector)
    for name, value in detector._without_parameters(np.flatnonzero(~kept)).items():
        setattr(twin, name, value)
    twin._column_scaling = None if detector.scaling is None else source.fit_scaling(detector.scaling)
    svm = twin._fit(source.select(kept), given)
    detector.__dict__.update(fitted_attributes(twin))
    if source.keeps_rows:
        detector.kept_rows_ = kept
    detector.train_scores_ = _sorted_scores(detector, source)
    detector.svm_offset_ = quantile_offset(detector.train_scores_, float(detector.nu))
    detector._apply_threshold(detector._check_threshold(detector.threshold, fitted=False))
    return svm


def choose_rows(source: Source, trim: float) -> np.ndarray:
    """Return a mask of the rows: all but a share `trim`, those with the largest `distance_from_medians`.

    Columns of two values do not count: rows with the flag of a rare thing stay in their share. Rows that tie with the
    last one kept are kept, too; all are where those kept would be the same.
    """
    scaling = source.fit_scaling(robust_but_flags)._replace(scale=1.0)
    distances = np.concatenate(source.map(passes.distances_from_medians, scaling))
    weights = np.ones(distances.size) if source.weights is None else source.weights
    kept = distances <= weighted_quantile(distances, weights, 1.0 - trim)
    if kept.sum() < 2 or not distances[kept].max() > 0.0:
        kept[:] = True
    return kept


def _sorted_scores(detector: Any, source: Source) -> np.ndarray:
    """Return the scores of all rows, sorted, each as often as its weight says."""
    if source.weights is None:
        return source.sorted_scores(detector)
    return repeated(np.concatenate(source.map(passes.scores, detector)), source.weights)
