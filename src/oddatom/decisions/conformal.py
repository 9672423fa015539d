"""Cross-conformal p-values (Vovk, 2015): every training row is scored by a model that has not seen it.

    p(x) = (1 + Σ_k #{i in fold k: s_i ≤ s_k(x)}) / (N + 1)

s_i is the score of row i under the model fitted without its fold, s_k(x) that of x under the model without fold k.
Where the models are parts of one ensemble, s_k(x) may be that of the whole ensemble, s(x): then p never rises as the
score falls, and rows with equal scores have equal p.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


class CrossConformal:
    """The held-out scores s_i of K folds, and p-values of new rows by them.

    For a row like the training rows p is uniform, and P(p ≤ t) ≤ t, as nearly as the K models agree (2t + O(1/N) is
    guaranteed). The least p is 1/(N + 1). Anomalies among the training rows raise p: the p-values are then cautious.

    Parameters
    ----------
    held_out : K arrays of one dimension
        Scores of each fold, higher = more normal, in any order; kept sorted.
    keys : K arrays of int64, optional
        A number for every one of these rows, by what it holds, by which it can be found again.
    """

    keys: tuple[np.ndarray, ...] | None = None  # that of models pickled before there were any

    def __init__(self, held_out: Sequence[np.ndarray], keys: Sequence[np.ndarray] | None = None) -> None:
        order = [np.argsort(scores, kind="stable") for scores in held_out]
        self.held_out = tuple(np.asarray(s, np.float64)[o] for s, o in zip(held_out, order, strict=True))
        self.keys = None if keys is None else tuple(k[o] for k, o in zip(keys, order, strict=True))

    def replaced(self, known: np.ndarray, added: np.ndarray, *, only_known: bool = False) -> CrossConformal:
        """Return it with other scores of some rows, and without those whose score becomes NaN.

        Parameters
        ----------
        known : (n,) int64
            Keys of the rows, in rising order.
        added : (n,)
            What is added to their scores.
        only_known : bool
            Whether to leave out all other rows.
        """
        assert self.keys is not None
        folds, keys = [], []
        for held_out, own in zip(self.held_out, self.keys, strict=True):
            place = np.minimum(np.searchsorted(known, own), known.size - 1)
            found = known[place] == own
            moved = held_out + np.where(found, added[place], np.nan if only_known else 0.0)
            there = ~np.isnan(moved)
            folds.append(moved[there])
            keys.append(own[there])
        return CrossConformal(folds, keys)

    @property
    def n_samples(self) -> int:
        """N, the number of held-out scores."""
        return sum(scores.size for scores in self.held_out)

    def p_values(self, scores: np.ndarray) -> np.ndarray:
        """Return p of n rows, each in [1/(N + 1), 1]; scores that tie count against an anomaly.

        Parameters
        ----------
        scores : (n, K) or (n,)
            Scores of the rows under each fold's model, or under the model of all.
        """
        below = np.zeros(scores.shape[0], np.int64)
        for k, held_out in enumerate(self.held_out):
            below += np.searchsorted(held_out, scores if scores.ndim == 1 else scores[:, k], side="right")
        return (1.0 + below) / (self.n_samples + 1.0)

    def offset(self, level: float) -> float:
        """Return the score below which p is at most a level, 1/(N + 1) or more, for scores under the model of all."""
        pooled = np.sort(np.concatenate(self.held_out))
        possible = np.arange(1, pooled.size + 2) / (pooled.size + 1.0)
        k = int(np.searchsorted(possible, level, side="right")) - 1
        return float(pooled[k]) if k < pooled.size else float(np.nextafter(pooled[-1], np.inf))

    def __repr__(self) -> str:
        return f"CrossConformal({len(self.held_out)} folds of {self.n_samples} rows)"


def fold_rows(n_rows: int, n_folds: int, random_state: Any) -> list[np.ndarray]:
    """Return the rows of each fold, sorted: a random partition into parts whose sizes differ by one at most."""
    order = check_random_state(random_state).permutation(n_rows)
    return [np.sort(part) for part in np.array_split(order, n_folds)]
