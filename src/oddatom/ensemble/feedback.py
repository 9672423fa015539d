"""Rows that a person has judged: rows like those called normal score higher, rows like anomalies lower.

    change(x) = strength · (S(x) − S₀ · min(1, κ(x)/κ₀)),  S = Σ_j σ_j k(x, x_j) / (1 + Σ_j k),  κ = Σ_j k / (1 + Σ_j k)

σ_j is −1 for a judged anomaly and 1 for a normal row, k = exp(−d²/2w²) with the distance d of scaled rows, and S₀, κ₀
are those of usual rows: these, and rows far from all judged ones, keep their scores. How strong the change is depends
on how well the judged rows foretell each other: where anomalies are not nearer to anomalies than normal rows are,
likeness says nothing and changes nothing. A row that was itself called normal is as normal as the upper quarter of the
rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oddatom.arrays.namespaces import has_missing, namespace, sum_of_squares

if TYPE_CHECKING:
    from oddatom.ensemble.model import Ensemble

STRENGTH = 3.0  # in units of the score, where judged rows foretell each other
ONE_KIND = 0.5  # of it, where fewer than two rows are of one kind: nothing can be foretold from that
WIDTH = 0.45  # of the distance that usual rows have from the judged ones
MISMATCH = 0.25  # squared distance of two categories; numbers q95 − q5 apart have a little less
SAME = 1.0 - 1e-9  # k of a row that is a judged one
LACKING = 0.5  # most k of a row that lacks a cell that the judged one has, or has one that it lacks


class Feedback(NamedTuple):
    """J judged rows.

    Attributes
    ----------
    rows : (J, m)
        As they came; NaN is a missing value.
    labels : (J,)
        −1 for anomalies, 1 for normal rows.
    strength, width : float
    usual : (2,)
        S₀ and κ₀.
    normal_score : float
        What a row that was called normal scores at least.
    """

    rows: np.ndarray
    labels: np.ndarray
    strength: float
    width: float
    usual: np.ndarray
    normal_score: float


def fit_feedback(rows: np.ndarray, labels: np.ndarray, ensemble: Ensemble, normal_score: float) -> Feedback:
    """Find how far likeness to judged rows reaches, and how strongly it counts.

    Parameters
    ----------
    rows : (J, m)
    labels : (J,)
        −1 and 1.
    ensemble : Ensemble
    normal_score : float
        See `Feedback`.
    """
    centroids = ensemble.packed.centroids[np.isfinite(ensemble.packed.half_norms)]
    scaled = ensemble.scaling.apply(ensemble.shifted(rows))
    mismatch = _usual_mismatch(ensemble)
    apart = np.stack([sum_of_squares(centroids - y) for y in scaled], axis=1) + mismatch
    width = WIDTH * float(np.sqrt(np.median(np.median(apart, axis=0)))) or 1.0
    k = np.exp(-apart / (2.0 * width**2))  # of usual rows
    found = Feedback(rows, labels.astype(np.float64), STRENGTH, width, np.array([0.0, 1.0]), normal_score)
    usual = np.median(_sums(k, found.labels), axis=1)
    found = found._replace(usual=np.array([usual[0], max(usual[1], 1e-12)]))
    anomalies = labels < 0
    if min(np.count_nonzero(anomalies), np.count_nonzero(~anomalies)) < 2:
        return found._replace(strength=ONE_KIND * STRENGTH)
    k = likeness(rows, found, ensemble)
    np.fill_diagonal(k, 0.0)
    foretold = _sums(k, found.labels)[0]
    right = float(np.mean(foretold[anomalies][:, None] < foretold[~anomalies]))
    return found._replace(strength=STRENGTH * max(2.0 * right - 1.0, 0.0))


def changed_scores(scores: Any, k: Any, feedback: Feedback) -> Any:
    """Return the scores of rows as judged rows change them, given their likeness to these, (N, J)."""
    xp = namespace(scores)
    changed = scores + change(k, feedback)
    normal = judged_normal(k, feedback) & (changed < feedback.normal_score)
    return xp.where(normal, feedback.normal_score * xp.ones_like(changed), changed)


def change(k: Any, feedback: Feedback) -> Any:
    """Return what is added to the scores of rows, (N,), given their likeness to the judged rows, (N, J)."""
    xp = namespace(k)
    S, kappa = _sums(k, feedback.labels)
    near = kappa / feedback.usual[1]
    return feedback.strength * (S - feedback.usual[0] * xp.where(near < 1.0, near, xp.ones_like(near)))


def judged_normal(k: Any, feedback: Feedback) -> Any:
    """Return which rows are judged ones themselves, and were called normal."""
    return namespace(k).any((k >= SAME) & (feedback.labels > 0.0), axis=1)


def _sums(k: Any, labels: Any) -> tuple[Any, Any]:
    """Return S and κ of rows, each (N,)."""
    xp = namespace(k)
    total = xp.sum(k, axis=1)
    return xp.sum(k * labels, axis=1) / (1.0 + total), total / (1.0 + total)


def likeness(X: Any, feedback: Feedback, ensemble: Ensemble) -> Any:
    """Return k(x, x_j) of rows X (N×m), (N, J); it does not depend on other rows."""
    xp = namespace(X)
    used = ensemble.scaling.spread < xp.inf
    shifted, judged = ensemble.shifted(X), ensemble.shifted(feedback.rows)
    Y, R = ensemble.scaling.apply(shifted), ensemble.scaling.apply(judged)
    plain = bool(xp.all(used)) and not has_missing(shifted) and not has_missing(judged)
    columns = []
    for j in range(feedback.rows.shape[0]):
        if plain:
            columns.append(xp.exp(-sum_of_squares(Y - R[j, :]) / (2.0 * feedback.width**2)))
            continue
        there, there_judged = ~xp.isnan(shifted), ~xp.isnan(judged[j, :])
        both = there & there_judged
        differs = xp.where(shifted != judged[j, :], MISMATCH * xp.ones_like(Y), xp.zeros_like(Y))
        terms = xp.where(both, xp.where(used, (Y - R[j, :]) ** 2, differs), xp.zeros_like(Y))
        n_both = xp.sum(xp.astype(both, Y.dtype), axis=1)
        whole = float(Y.shape[1]) / xp.where(n_both > 0.0, n_both, xp.ones_like(n_both))
        found = xp.exp(-xp.sum(terms, axis=1) * whole / (2.0 * feedback.width**2))
        lacking = ~xp.all(there == there_judged, axis=1) & (found > LACKING)
        columns.append(xp.where(lacking, LACKING * xp.ones_like(found), found))
    return xp.stack(columns, axis=1)


def _usual_mismatch(ensemble: Ensemble) -> float:
    """Return the squared distance that categories of two rows have, in expectation."""
    left_out = ensemble.scaling.spread == np.inf
    shares = np.where(ensemble.histogram.cost[left_out] > 0.0, np.exp(-ensemble.histogram.cost[left_out]), 0.0)
    return MISMATCH * float(np.maximum(1.0 - (shares**2).sum(axis=1), 0.0).sum())
