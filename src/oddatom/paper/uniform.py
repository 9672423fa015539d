"""Uniform-support dictionary learning alone, and the anomalies of its set-inclusion rule (Section 2 of the paper).

    min  ½‖Y − X D‖² + beta Σ_i phi(‖x^i‖),   ‖d_i‖ = 1,   support of X fixed by OMP

Y is the data divided by its Frobenius norm. Six sweeps over the atoms leave I, the atoms whose row of codes is not
zero. A row is coded by OMP with all atoms, trimmed ones too; it is normal if its support lies in I. Where every row of
codes is trimmed, I is empty and every row but a zero one is an anomaly. No SVM is solved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from oddatom.arrays.threads import threads
from oddatom.boundary.plane import at_origin
from oddatom.coding import batch_omp
from oddatom.learners.alternate import Model
from oddatom.learners.dl import DL
from oddatom.learners.initial import random_atoms
from oddatom.paper.base import DataSet, Effort, Method, Setting, View
from oddatom.paper.learners import FINE
from oddatom.passes import ShardGroup, SweepPasses
from oddatom.penalties import Penalty, make_penalty
from oddatom.rows.array import LocalShard
from oddatom.scaling.array_columns import fit_scaling

SWEEPS = 6
EPSILON = 0.1  # where ℓ2,ε is clipped; the paper does not say, this is the detectors' default
QUICK_BETAS = (0.01, 0.05, 0.1, 0.2, 0.4)


@dataclass
class UniformFit:
    """Dictionary, the atoms in I, and the labels and scores of the training rows."""

    dictionary: np.ndarray  # (n, m), unit rows
    active: np.ndarray  # (n,) bool: the atoms in I
    n_nonzero: int
    train_labels: np.ndarray
    train_scores: np.ndarray
    extra: dict[str, Any]

    def labels(self, X: np.ndarray) -> np.ndarray:
        """Return whether a row's support leaves I."""
        return inclusion(X, self.dictionary, self.active, self.n_nonzero)[0]

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return the share of a code's energy outside I."""
        return inclusion(X, self.dictionary, self.active, self.n_nonzero)[1]


class Uniform(Method):
    """Dictionary learning with one row penalty; `penalty` says which of `oddatom.penalties`."""

    penalty: ClassVar[str]
    dictionaries = True
    scaling = "frobenius"

    def grid(self, data: DataSet, effort: Effort) -> Sequence[Setting]:
        """Return 50 weights of the penalty from 0.01 to 0.5; five of them for "quick"."""
        return [{"beta": beta} for beta in (FINE if effort == "full" else QUICK_BETAS)]

    def fixed(self, data: DataSet) -> Setting:
        """Return beta = 0.1 for every set."""
        return {"beta": 0.1}

    def fit(self, X: np.ndarray, data: DataSet, setting: Setting, draw: int, view: View, nu: float) -> UniformFit:
        """Learn from the draw's dictionary: 2m atoms, uniform on (0, 1), normalised.

        The paper's number of non-zeros differs by data set; the view "unlabelled" takes the square root of m.
        """
        _, Y = fit_scaling(X, None)
        s = max(1, round(Y.shape[1] ** 0.5)) if view == "unlabelled" else data.sparsity
        D = random_atoms(2 * Y.shape[1], Y.shape[1], check_random_state(draw))
        D, active = learn_uniform(Y, D, s, make_penalty(self.penalty, setting["beta"], EPSILON))
        labels, scores = inclusion(X, D, active, s)
        return UniformFit(D, active, s, labels, scores, {"n_active": int(active.sum())})


def learn_uniform(
    Y: np.ndarray, D: np.ndarray, s: int, penalty: Penalty, sweeps: int = SWEEPS
) -> tuple[np.ndarray, np.ndarray]:
    """Sweep over the atoms from D; return the dictionary and which atoms still have codes."""
    learner = DL(s=s, penalty=penalty, nu=1.0, eta=0.0)
    n = D.shape[0]
    no_plane = at_origin(n)
    with threads(None):
        group = ShardGroup([LocalShard(Y)])
        counts, _ = group.sum(SweepPasses.encode, D, s)
        group.map(SweepPasses.start_sweeps, D)
        active = counts > 0
        group.map(SweepPasses.svm_open, active)  # a sweep asks it for the number of rows
        model = Model(D.copy(), active, counts, np.sqrt(group.sum(SweepPasses.code_sums)[1]), no_plane)
        for _ in range(sweeps):
            learner.sweep(group, model)
    return model.D, model.active


def inclusion(X: np.ndarray, D: np.ndarray, active: np.ndarray, s: int) -> tuple[np.ndarray, np.ndarray]:
    """Code rows by OMP with all atoms; return whether an atom outside I is used, and its share of the energy.

    The rows may be in any units: the pursuit's choices do not depend on the size of a row.
    """
    with threads(None):
        codes = batch_omp(np.ascontiguousarray(X, dtype=np.float64), D, s)
    outside = (codes.indices >= 0) & ~active[codes.indices]
    energy = codes.values**2
    total = energy.sum(axis=1)
    share = np.divide((energy * outside).sum(axis=1), total, out=np.zeros_like(total), where=total > 0.0)
    return outside.any(axis=1), share
