"""Local outlier factor of scikit-learn on standardised rows.

The protocol counts 16 metrics without naming them: here they are the names scikit-learn takes for real vectors.
Some mean the same distance (cityblock, l1, manhattan; euclidean, l2, nan_euclidean; after standardising also
seuclidean), and the leaf size matters to ties alone. `minkowski` comes with p = 1, 2, 5, 50; `seuclidean` gets the
variances of the rows, `mahalanobis` the pseudo-inverse of their covariance.

Training rows get the labels that `fit_predict` gives; the model is made for new rows (novelty=True), too.

"quick" keeps leaf size 30, three numbers of neighbours and the metrics that a tree is fast for; on sets of at most
10,000 rows three metrics more.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.neighbors import LocalOutlierFactor

from oddatom.paper.base import DataSet, Effort, Method, Setting, View
from oddatom.paper.standardising import Standardised, standardise

NEIGHBORS = (3, 5, 7, 9, 11, 13)
LEAVES = (20, 30, 40, 50)
METRICS = (
    *("braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean", "hamming"),
    *("l1", "l2", "mahalanobis", "manhattan", "minkowski", "nan_euclidean", "seuclidean", "sqeuclidean"),
)
POWERS = (1, 2, 5, 50)  # of minkowski
LARGE = 10_000  # rows


class LOF(Method):
    """Local outlier factor."""

    label = "LOF"
    slow = True
    testable = False
    random = False
    order = 60

    def grid(self, data: DataSet, effort: Effort) -> Sequence[Setting]:
        """Return neighbours × leaf sizes × (15 metrics and four powers of minkowski): 456 settings."""
        if effort == "full":
            distances: list[dict[str, Any]] = [{"metric": name} for name in METRICS if name != "minkowski"]
            distances += [{"metric": "minkowski", "p": p} for p in POWERS]
            return [{"n_neighbors": k, "leaf_size": l, **d} for k in NEIGHBORS for l in LEAVES for d in distances]
        pairs = [*((k, "euclidean") for k in (3, 7, 13)), *((k, "chebyshev") for k in (3, 13))]
        if data.n_rows <= LARGE:
            pairs += [(13, name) for name in ("manhattan", "canberra", "cosine")]
        return [{"n_neighbors": k, "leaf_size": 30, "metric": name} for k, name in pairs]

    def fixed(self, data: DataSet) -> Setting:
        """Return scikit-learn's defaults."""
        return {"n_neighbors": 20, "leaf_size": 30, "metric": "minkowski", "p": 2}

    def fit(self, X: np.ndarray, data: DataSet, setting: Setting, draw: int, view: View, nu: float) -> Standardised:
        """Fit, labelling the rows by scikit-learn's own cut (contamination "auto")."""
        scaler, Z = standardise(X)
        model = LocalOutlierFactor(**setting, metric_params=_metric_params(setting["metric"], Z), novelty=True)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Duplicate values")  # they have huge factors, and are as published
            model.fit(Z)
        factors = model.negative_outlier_factor_
        return Standardised(scaler, partial(_decide, model), factors < model.offset_, -factors)


def _metric_params(metric: str, Z: np.ndarray) -> dict[str, np.ndarray] | None:
    """What a metric wants to know of the rows."""
    if metric == "seuclidean":
        variances = Z.var(axis=0)
        return {"V": np.where(variances > 0.0, variances, 1.0)}
    if metric == "mahalanobis":
        return {"VI": np.linalg.pinv(np.atleast_2d(np.cov(Z.T)), hermitian=True)}
    return None


def _decide(model: LocalOutlierFactor, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels and factors of rows not fitted to."""
    factors = -model.score_samples(Z)
    return factors > -model.offset_, factors


METHOD = LOF()
