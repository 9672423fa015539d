"""Which features make a row odd: each part of its score, shared out over the features that it is a sum of."""

from __future__ import annotations

import numpy as np

from oddatom.ensemble.joining import PARTS
from oddatom.ensemble.model import Ensemble, typicality


def feature_shares(X: np.ndarray, ensemble: Ensemble, Z: np.ndarray, name: str) -> np.ndarray:
    """Return what share of a row's score each feature has, (N, m), at least 0; a row sums to 1.

    Every part is a sum over the features, or nearly so: squares of what the code leaves and of what the atom adds
    (description length, residual), w_f (Σ⁻¹w)_f (distance), the feature with the largest residual, bits above the
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
    by_part = _by_part(X, ensemble)
    if name == "joined":
        lead = np.where(ensemble.weights > 0.0, np.log(np.maximum(ensemble.weights, 1e-300)) + Z, -np.inf)
        of_part = np.exp(lead - lead.max(axis=1, keepdims=True))
    elif name == "margin":
        of_part = np.zeros(Z.shape)
        joined = ensemble.weights > 0.0
        of_part[:, joined] = (1.0 - typicality(Z)) * np.abs(ensemble.plane) + 1e-300
    else:
        of_part = np.zeros(Z.shape)
        of_part[:, PARTS.index(name)] = 1.0
    of_part = of_part / of_part.sum(axis=1, keepdims=True)
    return np.einsum("jp,pjf->jf", of_part, by_part)


def share_out(scores: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Share scores out over the features, (N, m): the larger a feature's share, the less it gets; a row sums to its score.

    A negative score is shared out by the shares, a positive one by what they leave, (1 − share) / (m − 1).
    """
    m = shares.shape[1]
    left = (1.0 - shares) / (m - 1) if m > 1 else shares
    return scores[:, None] * np.where(scores[:, None] < 0.0, shares, left)


def _by_part(X: np.ndarray, ensemble: Ensemble) -> np.ndarray:
    """Return every part's shares, (6, N, m)."""
    scaling, histogram, packed = ensemble.scaling, ensemble.histogram, ensemble.packed
    Y = scaling.apply(X)
    M = packed.centroids.shape[0]
    out = np.zeros((len(PARTS), *X.shape))
    varied = {name: np.zeros(Y.shape) for name in PARTS}
    for b in range(M):
        half = packed.half_norms[b] - Y @ packed.centroids[b].T
        W = Y - packed.centroids[b][half.argmin(axis=1)]
        G = W @ packed.atoms[b].T
        chosen = np.abs(G).argmax(axis=1)
        A = np.take_along_axis(G, chosen[:, None], axis=1) * packed.atoms[b][chosen]
        E = (W - A) ** 2
        length = E * packed.precision[b] + A**2 * packed.gain_precision[b][chosen][:, None]
        solved = W * packed.rest_precision[b] + ((W @ packed.directions[b].T) * packed.direction_gain[b]) @ (
            packed.directions[b]
        )
        largest = E * packed.feature_precision[b]
        varied["description_length"] += _normal(length)
        varied["distance"] += _normal(np.maximum(W * solved, 0.0))
        varied["largest"] += _normal(np.where(largest == largest.max(axis=1, keepdims=True), largest, 0.0))
        varied["residual"] += _normal(E)
    varied["magnitude"] = M * _normal(Y * Y)
    for p, name in enumerate(PARTS):
        out[p][:, scaling.varied] = varied[name] / M
    with np.errstate(over="ignore"):
        bits = histogram.by_feature(X * scaling.unit)
    usual = (np.exp(-histogram.cost) * histogram.cost).sum(axis=1)  # the column's entropy
    out[PARTS.index("histogram")] = _normal(np.maximum(bits - usual, 0.0))
    return out


def _normal(values: np.ndarray) -> np.ndarray:
    """Return rows divided by their sums; even shares where all are 0."""
    total = values.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, values / np.where(total > 0.0, total, 1.0), 1.0 / max(values.shape[1], 1))
