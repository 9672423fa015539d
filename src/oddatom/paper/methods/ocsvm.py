"""One-class SVM of scikit-learn (libsvm) on standardised rows.

The published grid has nu at its default, 0.5, four kernels, 21 widths of those that have one, and at most 5000 steps.
"converged" lets libsvm run to its own tolerance; with more than 10,000 rows to at most 200,000 steps, and
`extra["stopped"]` tells fits that were cut off.

"quick" keeps each kernel at gamma "scale" and one other width of the RBF kernel. On sets of more than 10,000 rows it
fits to every sixteenth row ("every": 16), which may converge where the whole would not; all rows are labelled.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import OneClassSVM

from oddatom.paper.base import DataSet, Effort, Method, Setting, View
from oddatom.paper.learners import KERNEL_WIDTHS
from oddatom.paper.standardising import Standardised, standardise

GAMMAS = ("auto", "scale", *KERNEL_WIDTHS)
NU = 0.5
LARGE = 10_000
PUBLISHED_STEPS = 5000
MOST_STEPS = 200_000  # of a converged fit to more than LARGE rows


class OCSVM(Method):
    """Kernel one-class SVM."""

    label = "OC-SVM"
    views = ("published", "converged", "unlabelled")
    random = False
    order = 50

    def grid(self, data: DataSet, effort: Effort) -> Sequence[Setting]:
        """Return the linear kernel and every other one at every width: 64 settings."""
        linear: Setting = {"kernel": "linear", "nu": NU}
        if effort == "full":
            return [linear, *({"kernel": k, "gamma": g, "nu": NU} for k in ("poly", "rbf", "sigmoid") for g in GAMMAS)]
        large = data.n_rows > LARGE
        curved = [*((k, "scale") for k in ("poly", "rbf", "sigmoid")), ("rbf", 1 / 8 if large else 1 / 32)]
        quick: list[Setting] = [linear, *({"kernel": k, "gamma": g, "nu": NU} for k, g in curved)]
        return [{**setting, "every": 16} for setting in quick] if large else quick

    def fixed(self, data: DataSet) -> Setting:
        """Return scikit-learn's defaults at nu = 0.1."""
        return {"kernel": "rbf", "gamma": "scale", "nu": 0.1}

    def fit(self, X: np.ndarray, data: DataSet, setting: Setting, draw: int, view: View, nu: float) -> Standardised:
        """Fit libsvm; nu is the setting's, not the one handed over."""
        scaler, Z = standardise(X)
        options = dict(setting)
        rows = Z[:: options.pop("every", 1)]
        model = OneClassSVM(**options, max_iter=_most_steps(view, rows.shape[0]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # recorded as "stopped"
            model.fit(rows)
        steps = int(np.max(model.n_iter_))
        extra = {"stopped": 0 < model.max_iter <= steps, "n_iter": steps, "n_support": len(model.support_)}
        return Standardised(scaler, partial(_decide, model), *_decide(model, Z), extra)


def _most_steps(view: View, n_rows: int) -> int:
    """Steps allowed to libsvm; -1 for as many as it takes. Scikit-learn's default, too, is not to stop."""
    if view == "published":
        return PUBLISHED_STEPS
    return MOST_STEPS if n_rows > LARGE else -1


def _decide(model: OneClassSVM, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels as `predict` has them (a margin of zero is outside), and minus the margins."""
    margins = model.decision_function(Z)
    return margins <= 0.0, -margins


METHOD = OCSVM()
