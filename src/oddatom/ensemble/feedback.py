"""Rows that a person has judged: rows like those called normal score higher, rows like anomalies lower.

    change(x) = −strength · Σ_j σ_j k(x, x_j) / (1 + Σ_j k(x, x_j)),   k = exp(−d²/2w²)

σ_j is 1 for a judged anomaly and −1 for a normal row, d the distance of scaled rows. The change is at most the
strength, and next to nothing far from all judged rows. How strong it is depends on how well the judged rows foretell
each other: where anomalies are not nearer to anomalies than normal rows are, likeness says nothing and
changes nothing.
A row that was itself called normal is never odder than a usual row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oddatom.arrays.namespaces import namespace

if TYPE_CHECKING:
    from oddatom.ensemble.model import Ensemble

STRENGTH = 3.0  # in units of the score, where judged rows foretell each other
ONE_KIND = 0.5  # of it, where fewer than two rows are of one kind: nothing can be foretold from that
WIDTH = 0.5  # of the distance that usual rows have from the judged ones
MISMATCH = 0.25  # squared distance of two categories; numbers q95 − q5 apart have a little less
SAME = 1.0 - 1e-9  # k of a row that is a judged one
USUAL = 0.0  # score of a usual row


class Feedback(NamedTuple):
    """J judged rows.

    Attributes
    ----------
    rows : (J, m)
        As they came; NaN is a missing value.
    labels : (J,)
        −1 for anomalies, 1 for normal rows.
    strength, width : float
    """

    rows: np.ndarray
    labels: np.ndarray
    strength: float
    width: float


def fit_feedback(rows: np.ndarray, labels: np.ndarray, ensemble: Ensemble) -> Feedback:
    """Find how far likeness to judged rows reaches, and how strongly it counts.

    Parameters
    ----------
    rows : (J, m)
    labels : (J,)
        −1 and 1.
    ensemble : Ensemble
    """
    some = Feedback(rows, labels.astype(np.float64), STRENGTH, 1.0)
    centroids = ensemble.packed.centroids[np.isfinite(ensemble.packed.half_norms)]
    levels = np.count_nonzero(ensemble.scaling.spread == np.inf)
    scaled = ensemble.scaling.apply(ensemble.shifted(rows))
    apart = [float(np.median(((centroids - y) ** 2).sum(axis=1))) for y in scaled]
    squared = float(np.median(apart)) + 0.5 * MISMATCH * levels
    some = some._replace(width=WIDTH * float(np.sqrt(squared)) or 1.0)
    anomalies = labels < 0
    if min(np.count_nonzero(anomalies), np.count_nonzero(~anomalies)) < 2:
        return some._replace(strength=ONE_KIND * STRENGTH)
    k = likeness(rows, some, ensemble)
    np.fill_diagonal(k, 0.0)
    foretold = change(k, some)
    right = float(np.mean(foretold[anomalies][:, None] < foretold[~anomalies]))
    return some._replace(strength=STRENGTH * max(2.0 * right - 1.0, 0.0))


def changed_scores(scores: Any, X: Any, feedback: Feedback, ensemble: Ensemble) -> Any:
    """Return the scores of rows X (N×m) as judged rows change them; arrays are of X's library."""
    xp = namespace(scores)
    k = likeness(X, feedback, ensemble)
    changed = scores + change(k, feedback)
    normal = xp.any((k >= SAME) & (feedback.labels > 0.0), axis=1)
    return xp.where(normal & (changed < USUAL), USUAL * xp.ones_like(changed), changed)


def change(k: Any, feedback: Feedback) -> Any:
    """Return what is added to the scores of rows, (N,), given their likeness to the judged rows, (N, J)."""
    xp = namespace(k)
    return feedback.strength * xp.sum(k * feedback.labels, axis=1) / (1.0 + xp.sum(k, axis=1))


def likeness(X: Any, feedback: Feedback, ensemble: Ensemble) -> Any:
    """Return k(x, x_j) of rows X (N×m), (N, J); it does not depend on other rows."""
    xp = namespace(X)
    used = ensemble.scaling.spread < xp.inf
    shifted, judged = ensemble.shifted(X), ensemble.shifted(feedback.rows)
    Y, R = ensemble.scaling.apply(shifted), ensemble.scaling.apply(judged)
    there, there_judged = ~xp.isnan(shifted), ~xp.isnan(judged)
    columns = []
    for j in range(feedback.rows.shape[0]):
        both = there & there_judged[j, :]
        differs = xp.where(shifted != judged[j, :], MISMATCH * xp.ones_like(Y), xp.zeros_like(Y))
        terms = xp.where(both, xp.where(used, (Y - R[j, :]) ** 2, differs), xp.zeros_like(Y))
        n_both = xp.sum(xp.astype(both, Y.dtype), axis=1)
        whole = float(Y.shape[1]) / xp.where(n_both > 0.0, n_both, xp.ones_like(n_both))
        same_gaps = xp.all(there == there_judged[j, :], axis=1)
        squared = xp.sum(terms, axis=1) * whole
        found = xp.exp(-squared / (2.0 * feedback.width**2))
        columns.append(xp.where(same_gaps, found, xp.where(found < 0.5, found, 0.5 * xp.ones_like(found))))
    return xp.stack(columns, axis=1)
