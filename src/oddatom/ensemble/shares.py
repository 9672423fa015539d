"""Which features make a row odd: each part of its score, shared out over the features that it is a sum of."""

from __future__ import annotations

from typing import Any

from oddatom.arrays.namespaces import namespace
from oddatom.ensemble.coded import coded_rows
from oddatom.ensemble.joining import join_terms
from oddatom.ensemble.model import Ensemble
from oddatom.ensemble.parts import PARTS, attributed


def feature_shares(X: Any, ensemble: Ensemble, Z: Any, name: str) -> Any:
    """Return what share of a row's score each feature has, (N, m), at least 0; a row sums to 1.

    A part is shared out in proportion to its terms, see `ensemble/parts`. A part's share of the joined score is its
    weight times exp z; of the margin 1 − typicality times the plane's number.

    Parameters
    ----------
    X : (N, m)
        Rows; the model's arrays are of their library.
    ensemble : Ensemble
    Z : (N, n_parts)
        Their calibrated parts.
    name : str
        The score.
    """
    rows = coded_rows(ensemble.shifted(X), ensemble.scaling, ensemble.histogram, ensemble.packed)
    of_part = _part_shares(ensemble, Z, name)
    total = 0.0 * rows.scaled
    for part, share in of_part.items():
        total = total + share[:, None] * attributed(PARTS[part], rows)
    return total


def _part_shares(ensemble: Ensemble, Z: Any, name: str) -> dict[str, Any]:
    """Return the share of the parts in a score, (N,) by name."""
    xp = namespace(Z)
    if name not in ("joined", "margin"):
        return {name: xp.ones_like(Z[:, 0])}
    if name == "joined":
        terms = join_terms(Z, ensemble.weights)[1]
        names = [name for p, name in enumerate(ensemble.names) if ensemble.weights[p] > 0.0]
        sizes = [terms[:, ensemble.names.index(name)] for name in names]
    else:
        names = [part for part in ensemble.names if PARTS[part].joined]
        odd = (1.0 - ensemble.typicality(Z)) * xp.abs(ensemble.plane) + 1e-300
        sizes = [odd[:, p] for p in range(len(names))]
    whole = sum(sizes[1:], sizes[0])
    return {part: size / whole for part, size in zip(names, sizes, strict=True)}


def share_out(scores: Any, shares: Any) -> Any:
    """Share scores out over the features, (N, m): the larger a feature's share, the less it gets. Rows sum to scores.

    A negative score is shared out by the shares, a positive one by what they leave, (1 − share) / (m − 1).
    """
    m = shares.shape[1]
    left = (1.0 - shares) / (m - 1) if m > 1 else shares
    return scores[:, None] * namespace(shares).where(scores[:, None] < 0.0, shares, left)
