"""The one-class SVM as the published program solves it: libsvm, stopped early, on codes as they are."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse

from oddatom.learning.one_class import OneClassFit
from oddatom.shards.base import ShardGroup

MAX_ITER = 5000


def fit_libsvm(group: ShardGroup[Any], n: int, nu: float, *, w0: np.ndarray | None = None) -> OneClassFit:
    """Fit `OneClassSVM(kernel="linear", max_iter=5000)` on all rows; w, rho and lam are divided by nu N.

    Stopping early and its dependence on the order of the rows are kept: they are part of the published figures.
    The gap reported is the true one, in unit-RMS units.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import OneClassSVM  # a slow import that few fits need

    N, _, sum_sq = group.map_reduce("svm_summary")
    C = nu * N
    if n == 0 or sum_sq == 0.0:
        group.map("svm_zero_rows", nu)
        return OneClassFit(np.zeros(n), 0.0, 0.0, 0.0, 0.0, True, 0, 0.0)
    rows = group.map("svm_all_rows")
    X = scipy.sparse.vstack(rows).toarray()
    model = OneClassSVM(kernel="linear", nu=nu, max_iter=MAX_ITER)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    a = np.zeros(N)
    a[model.support_] = np.abs(model.dual_coef_).ravel()
    w, rho = model.coef_.ravel() / C, float(model.offset_[0]) / C
    group.scatter("svm_set_all", np.split(a, np.cumsum([r.shape[0] for r in rows])[:-1]))

    scale = float(np.sqrt(sum_sq / N))
    group.map("svm_scale", scale)
    group.map("svm_margins", w / scale)
    slack = group.map_reduce("svm_slack", rho / scale**2)[0]
    primal = 0.5 * float(w @ w) / scale**2 - rho / scale**2 + slack / C
    gap = max(primal + 0.5 * float(w @ w) / scale**2, 0.0)
    residual = max(group.map("svm_residual", rho / scale**2))
    steps = int(np.sum(model.n_iter_))
    return OneClassFit(w, rho, gap, residual, primal * scale**2, False, steps, scale)
