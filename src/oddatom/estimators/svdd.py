"""The smallest ball around most of the rows, as a scikit-learn detector."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from oddatom.arrays.threads import threads
from oddatom.estimators._validation import check_rows, old_model_on_error
from oddatom.estimators.linear_one_class_svm import OneClassBoundary
from oddatom.explanations import Explanation, as_frame_like
from oddatom.rows.array.linear_svm import fit_ball
from oddatom.scores.center_distance import distance_terms, row_distances, sparse_distances


class SVDD(OneClassBoundary):
    r"""Support vector data description: the smallest ball around most rows, exact, in time linear in the rows.

    .. math::
        \min_{c, R} R^2 + \tfrac{1}{\nu N} \sum_j (\|x_j - c\|^2 - R^2)_+

    It is the problem of `LinearOneClassSVM` with an offset for each row, and the same solver finds it: the same answer
    whatever the order of the rows, no tolerance to tune, no random numbers. Unlike a plane, a ball does not ask what
    the origin means: shifted rows have a shifted ball. Columns in different units should be scaled first. Where very
    many rows lie on the ball, as of columns of 0 and 1, a fit takes several times as long.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of rows outside the ball, in (0, 1].
    n_jobs : int or None, default=None
        Threads. None means all cores, unless joblib says otherwise. The result does not depend on it.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,)
        The centre c = Σ_j dual_coef_j x_j.
    radius_ : float
        R.
    offset_ : float
        `decision_function = score_samples - offset_`: −R², less a rounding margin of 2e-6 in units of the mean square
        of the rows (dense ones: less their mean), so that rows on the sphere count as inliers.
    dual_coef_ : ndarray of shape (n_samples,)
        Multipliers, between 0 and 1/(nu n_samples), summing to 1; with weights, between 0 and their share of that.
    gap_ : float
        Duality gap, rows in units of their root mean square norm; at most 1e-8.
    kkt_residual_ : float
        Largest violation of the optimality conditions, in the same units.
    n_iter_ : int
        Newton and interior-point steps.

    Examples
    --------
    >>> import numpy as np
    >>> from oddatom import SVDD
    >>> X = np.random.default_rng(0).normal(5, 1, size=(1000, 3))
    >>> model = SVDD(nu=0.1).fit(X)
    >>> model.predict([[5, 5, 5], [9, 5, 5]])
    array([ 1, -1])
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SVDD:
        """Find the ball.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            Sparse rows are not centred: give them where the origin lies among them.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often a row counts, at least 0; rows of weight 0 have no entry in `dual_coef_`.

        Returns
        -------
        self : SVDD
        """
        self._checked_parameters()
        with old_model_on_error(self), threads(self.n_jobs):
            X, weights = self._checked(X, sample_weight)
            fit, self.center_, square, self.offset_, self.dual_coef_ = fit_ball(X, float(self.nu), weights)
            self.radius_ = float(np.sqrt(square))
            self._keep(fit)
        self._warn_of_gap("sklearn.preprocessing.RobustScaler()")
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """Return −‖x − c‖² for each row: the higher, the more normal. One beyond every float is the lowest there is."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False, accept_sparse=True)
        return (sparse_distances if scipy.sparse.issparse(X) else row_distances)(X, self.center_)

    def explain(self, X: Any) -> Explanation:
        """Return what each feature adds to a row's score, −(x_f − c_f)²: the lower, the more it makes the row odd.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        explanation : Explanation
            `contributions`, of shape (n_samples, n_features), dense: rows sum to `score_samples(X)` up to rounding. A
            frame of X's library where X is a pandas or polars frame whose columns have text names. `by_atom` is None.
        """
        check_is_fitted(self)
        checked = check_rows(self, X, reset=False, accept_sparse=True)
        rows = checked.toarray() if scipy.sparse.issparse(checked) else checked
        return Explanation(as_frame_like(distance_terms(rows, self.center_), X), None)
