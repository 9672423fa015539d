"""Members side by side: arrays with a first axis of members, padded to the largest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from oddatom.ensemble.members import Member
from oddatom.ensemble.trimmed import Spread
from oddatom.scaling.asinh import stretch


class Packed(NamedTuple):
    """M members with the numbers that scores take from them."""

    centroids: np.ndarray  # (M, K, m)
    half_norms: np.ndarray  # (M, K) ½‖c‖², infinite where padded
    atoms: np.ndarray  # (M, n, m)
    cost: np.ndarray  # (M, n)
    gain_precision: np.ndarray  # (M, n) 1 / 2s_i²
    precision: np.ndarray  # (M,) 1 / 2s_e²
    feature_precision: np.ndarray  # (M, m)
    directions: np.ndarray  # (M, q, m)
    direction_gain: np.ndarray  # (M, q) 1/λ − 1/σ²
    rest_precision: np.ndarray  # (M,) 1/σ²
    group_terms: np.ndarray | None = None  # (M, K, m) of `parts/group_distance.py`; None in older models


def pack(members: Sequence[Member], bulk: Spread | None = None) -> Packed:
    """Put members side by side.

    Parameters
    ----------
    members : sequence of Member
    bulk : Spread, optional
        That of all scaled rows around 0, by which the distances of the centroids are measured.
    """
    K = max(member.centroids.shape[0] for member in members)
    n = max(member.atoms.shape[0] for member in members)
    halves = [0.5 * np.einsum("ij,ij->i", member.centroids, member.centroids) for member in members]
    return Packed(
        centroids=np.stack([_pad(member.centroids, K) for member in members]),
        half_norms=np.stack([_pad(half, K, np.inf) for half in halves]),
        atoms=np.stack([_pad(member.atoms, n) for member in members]),
        cost=np.stack([_pad(member.cost, n) for member in members]),
        gain_precision=np.stack([_pad(0.5 / member.gain_variance, n) for member in members]),
        precision=np.array([0.5 / member.noise for member in members]),
        feature_precision=np.stack([1.0 / member.feature_noise for member in members]),
        directions=np.stack([member.spread.directions for member in members]),
        direction_gain=np.stack([1.0 / member.spread.variances - 1.0 / member.spread.rest for member in members]),
        rest_precision=np.array([1.0 / member.spread.rest for member in members]),
        group_terms=None if bulk is None else np.stack([_pad(_terms(member, bulk), K) for member in members]),
    )


def _terms(member: Member, bulk: Spread) -> np.ndarray:
    """Return the squared Mahalanobis distance of every centroid from the medians, feature by feature."""
    C = member.centroids * stretch(member.centroids)
    return bulk.terms(C)


def _pad(values: np.ndarray, size: int, fill: float = 0.0) -> np.ndarray:
    out = np.full((size, *values.shape[1:]), fill)
    out[: values.shape[0]] = values
    return out
