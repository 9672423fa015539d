"""Isolation forest of scikit-learn on standardised rows, labelled by its own cut (contamination "auto").

The published grid has 50 to 400 trees, bootstrap or not, and 1, 3, 5, … features a tree. "quick" keeps 100 trees and
the fewest, the middle and the largest of those numbers of features.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from sklearn.ensemble import IsolationForest

from oddatom.paper.base import DataSet, Effort, Method, Setting, View
from oddatom.paper.standardising import Standardised, standardise

TREES = tuple(range(50, 401, 50))


class IForest(Method):
    """Isolation forest."""

    label = "IForest"
    order = 70

    def grid(self, data: DataSet, effort: Effort) -> Sequence[Setting]:
        """Return trees × bootstrap × numbers of features: 16 settings for each odd number up to that of the set."""
        features = list(range(1, data.n_features + 1, 2))
        trees = TREES
        if effort == "quick":
            features = sorted({features[0], features[len(features) // 2], features[-1]})
            trees = (100,)
        return [
            {"n_estimators": n, "bootstrap": b, "max_features": k}
            for n in trees
            for b in (False, True)
            for k in features
        ]

    def fixed(self, data: DataSet) -> Setting:
        """Return scikit-learn's defaults: 100 trees, all features (the share 1.0), no bootstrap."""
        return {"n_estimators": 100, "bootstrap": False, "max_features": 1.0}

    def fit(self, X: np.ndarray, data: DataSet, setting: Setting, draw: int, view: View, nu: float) -> Standardised:
        """Fit with the draw as seed."""
        scaler, Z = standardise(X)
        model = IsolationForest(**setting, random_state=draw).fit(Z)
        return Standardised(scaler, partial(_decide, model), *_decide(model, Z))


def _decide(model: IsolationForest, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels as `predict` has them, and the scores of the forest's paper, in (0, 1]."""
    scores = -model.score_samples(Z)
    return scores > -model.offset_, scores


METHOD = IForest()
