"""The whole ensemble: learned from a sample of rows in random order, and the scores it gives to any row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from oddatom.arrays.block import Block
from oddatom.boundary.plane import fit_one_class
from oddatom.ensemble.histogram import Histogram, fit_histogram
from oddatom.ensemble.joining import JOINED, PARTS, Calibration, agreement_weights, fit_calibration, join, z_scores
from oddatom.ensemble.members import Sizes, learn_member, usual_rows
from oddatom.ensemble.parts import Packed, RowParts, pack, row_parts
from oddatom.passes.group import ShardGroup
from oddatom.rows.array import OneClassShard
from oddatom.scaling.asinh import AsinhScaling, fit_asinh

SCORES = ("joined", "margin", *PARTS)
PLANE_ROWS = 4096  # enough for a plane in five dimensions
_JOINED = np.array([PARTS.index(name) for name in JOINED])


class Ensemble(NamedTuple):
    """Members in groups, each group learned without one fold of the sample, and what joins their parts.

    Attributes
    ----------
    scaling : AsinhScaling
    histogram : Histogram
    packed : Packed
        Members, group by group, `n_trims` to a group.
    n_trims : int
    calibration : Calibration
    weights : (6,)
        Of PARTS, in the joined score.
    plane : (5,)
        w of the one-class SVM on the typicalities 1/(1 + exp z) of the joined parts.
    rho : float
        Its offset.
    history : (M, 9)
        How each member was learned, see `Member`.
    """

    scaling: AsinhScaling
    histogram: Histogram
    packed: Packed
    n_trims: int
    calibration: Calibration
    weights: np.ndarray
    plane: np.ndarray
    rho: float
    history: np.ndarray

    @property
    def n_groups(self) -> int:
        """Groups, and folds: group g was learned without the rows g, g + n_groups, … of the sample."""
        return self.packed.centroids.shape[0] // self.n_trims

    def weights_by_part(self) -> dict[str, float]:
        """Weights in the joined score by the names of the parts."""
        return {name: float(weight) for name, weight in zip(PARTS, self.weights, strict=True)}

    def parts(self, X: np.ndarray) -> RowParts:
        """Return the parts of rows."""
        return row_parts(X, self.scaling, self.histogram, self.packed)

    def rarity(self, X: np.ndarray, *, held_out: bool) -> np.ndarray:
        """Return the histogram's part alone; `held_out`: of rows that it counts, each left out of its own counts."""
        return self.histogram.by_feature(X * self.scaling.unit, held_out=held_out).sum(axis=1)

    def z_scores(self, parts: RowParts, group: int | None = None) -> np.ndarray:
        """Return calibrated parts (N, 6), larger = odder: by all members, or by those of one group."""
        members = slice(None) if group is None else slice(group * self.n_trims, (group + 1) * self.n_trims)
        return z_scores(parts, self.calibration, members)

    def score(self, Z: np.ndarray, name: str) -> np.ndarray:
        """Return one of SCORES from calibrated parts: higher = more normal."""
        if name == "joined":
            return -join(Z, self.weights)
        if name == "margin":
            # Row by row: the order of the sum is that of the memory, and that of a few columns is not always the same.
            return np.einsum("ij,j->i", np.ascontiguousarray(typicality(Z)), self.plane)
        return -Z[:, PARTS.index(name)]


def typicality(Z: np.ndarray) -> np.ndarray:
    """Return 1/(1 + exp z) of the joined parts, in (0, 1): the origin is a row that every part finds odd."""
    return 1.0 / (1.0 + np.exp(np.minimum(Z[:, _JOINED], 700.0)))


def learn_ensemble(
    X: np.ndarray,
    trims: Sequence[float],
    n_groups: int,
    sizes: Sizes,
    agreement: float,
    nu: float,
    rng: np.random.RandomState,
) -> tuple[Ensemble, RowParts]:
    """Learn from rows in random order; return the ensemble and the parts of those rows.

    Parameters
    ----------
    X : (n, m)
        A random sample of the rows, in random order, C-ordered.
    trims : sequence of float
        Shares of surprising rows to leave out; a member for each in every group.
    n_groups : int
        Row j of X is kept from group j mod n_groups.
    sizes : Sizes
    agreement : float
        Power of the weights, see `agreement_weights`.
    nu : float
        Of the one-class SVM.
    rng : RandomState
    """
    scaling = fit_asinh(X)
    U = X * scaling.unit
    histogram = fit_histogram(U)
    rarity = histogram.by_feature(U).sum(axis=1)
    Y = scaling.apply(X)
    place = np.arange(X.shape[0])
    usual = [usual_rows(Y, rarity, t, 2 * sizes.n_centroids) for t in trims]
    members = []
    for group in range(n_groups):
        pool = place[place % n_groups != group]
        for t, kinds in zip(trims, usual, strict=True):
            rows = rng.permutation(pool)[: sizes.n_rows]
            members.append(learn_member(Y[rows], rarity[rows], t, sizes, rng, kinds))
    packed = pack(members)
    parts = row_parts(X, scaling, histogram, packed)
    calibration = fit_calibration(parts)
    Z = z_scores(parts, calibration)
    weights = agreement_weights(Z, agreement)
    some = np.ascontiguousarray(typicality(Z[:PLANE_ROWS]))
    svm = fit_one_class(ShardGroup([OneClassShard(Block.dense(some))]), len(JOINED), nu)
    history = np.stack([member.history for member in members])
    rho = svm.rho - svm.tolerance
    model = Ensemble(scaling, histogram, packed, len(trims), calibration, weights, svm.w, rho, history)
    return model, parts
