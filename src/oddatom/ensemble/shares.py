"""Which features make a row odd: each part of its score, shared out over the features that it is a sum of."""

from __future__ import annotations

import numpy as np

from oddatom.ensemble.codes import row_codes
from oddatom.ensemble.joining import JOINED, PARTS
from oddatom.ensemble.model import Ensemble, typicality
from oddatom.ensemble.trimmed import deviations
from oddatom.scaling.asinh import stretch


def feature_shares(X: np.ndarray, ensemble: Ensemble, Z: np.ndarray, name: str) -> np.ndarray:
    """Return what share of a row's score each feature has, (N, m), at least 0; a row sums to 1.

    Every part is a sum over the features, or nearly so: squares of what the code leaves and of what the atom adds
    (description length, residual), w_f (Σ⁻¹w)_f (distance), the feature with the largest residual, nats above the
    column's usual number (histogram), y_f² (magnitude). A part's share of the score is its weight times exp z.

    Parameters
    ----------
    X : (N, m)
        Rows.
    ensemble : Ensemble
    Z : (N, 6)
        Their calibrated parts.
    name : str
        The score.
    """
    by_part = _by_part(np.ascontiguousarray(X), ensemble)  # sums are rounded by the order of the memory
    if name == "joined":
        lead = np.where(ensemble.weights > 0.0, np.log(np.maximum(ensemble.weights, 1e-300)) + Z, -np.inf)
        of_part = np.exp(lead - lead.max(axis=1, keepdims=True))
    elif name == "margin":
        of_part = np.zeros(Z.shape)
        joined = [PARTS.index(part) for part in JOINED]
        of_part[:, joined] = (1.0 - typicality(Z)) * np.abs(ensemble.plane) + 1e-300
    else:
        of_part = np.zeros(Z.shape)
        of_part[:, PARTS.index(name)] = 1.0
    of_part = of_part / of_part.sum(axis=1, keepdims=True)
    return np.einsum("jp,pjf->jf", of_part, by_part)


def share_out(scores: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Share scores out over the features, (N, m): the larger a feature's share, the less it gets. Rows sum to scores.

    A negative score is shared out by the shares, a positive one by what they leave, (1 − share) / (m − 1).
    """
    m = shares.shape[1]
    left = (1.0 - shares) / (m - 1) if m > 1 else shares
    return scores[:, None] * np.where(scores[:, None] < 0.0, shares, left)


def _by_part(X: np.ndarray, ensemble: Ensemble) -> np.ndarray:
    """Return every part's shares, (6, N, m)."""
    scaling, histogram, packed = ensemble.scaling, ensemble.histogram, ensemble.packed
    Y = scaling.apply(X)
    S = stretch(Y) ** 2
    M = packed.centroids.shape[0]
    codes = row_codes(X, ensemble)
    out = {name: np.zeros(Y.shape) for name in PARTS}
    for b in range(M):
        chosen = codes.atom[:, b]
        W = deviations(Y, packed.centroids[b], codes.centroid[:, b])
        A = codes.gain[:, b, None] * packed.atoms[b][chosen]
        E = (W - A) ** 2
        length = E * packed.precision[b] + A**2 * packed.gain_precision[b][chosen][:, None]
        V = packed.directions[b]
        solved = W * packed.rest_precision[b] + ((W @ V.T) * packed.direction_gain[b]) @ V
        largest = S * E * packed.feature_precision[b]
        out["description_length"] += _normal(length)
        out["distance"] += _normal(np.maximum(W * solved, 0.0))
        out["max_residual"] += _normal(np.where(largest == largest.max(axis=1, keepdims=True), largest, 0.0))
        out["residual"] += _normal(E)
    with np.errstate(over="ignore"):
        nats = histogram.by_feature(X * scaling.unit)
    usual = (np.exp(-histogram.cost) * histogram.cost).sum(axis=1)  # the column's entropy
    out["histogram"] = M * _normal(np.maximum(nats - usual, 0.0))
    out["norm"] = M * _normal(Y * Y)
    return np.stack([out[name] for name in PARTS]) / M


def _normal(values: np.ndarray) -> np.ndarray:
    """Return rows divided by their sums; even shares where all are 0."""
    total = values.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, values / np.where(total > 0.0, total, 1.0), 1.0 / max(values.shape[1], 1))
