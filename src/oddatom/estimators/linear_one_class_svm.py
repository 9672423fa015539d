"""The exact linear one-class SVM on its own, as a scikit-learn detector."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from oddatom._documented import DocumentedMixin
from oddatom.arrays.threads import threads
from oddatom.boundary.plane import GAP_TOL, OneClassFit
from oddatom.decisions import flag
from oddatom.estimators._saving import SaveMixin
from oddatom.estimators._validation import N_JOBS, check_parameters, check_rows, old_model_on_error
from oddatom.estimators._weights import check_weights
from oddatom.exceptions import DegenerateMarginWarning, SolverWarning
from oddatom.explanations import Explanation, as_frame_like
from oddatom.rows.array.linear_svm import fit_linear, sparse_margins
from oddatom.scaling.linear import Scaling
from oddatom.scores.margin import linear_margin, margin_terms


class OneClassBoundary(DocumentedMixin, SaveMixin, OutlierMixin, BaseEstimator):
    """What the plane and the ball of rows share: parameters, a cut on `score_samples`, warnings."""

    offset_: float

    _parameter_constraints: ClassVar[dict] = {
        "nu": [Interval(Real, 0, 1, closed="right")],
        "n_jobs": N_JOBS,
    }

    def __init__(self, nu: float = 0.5, *, n_jobs: int | None = None) -> None:
        self.nu = nu
        self.n_jobs = n_jobs

    def _checked(self, X: Any, sample_weight: Any) -> tuple[Any, np.ndarray | None]:
        """Return training rows and their weights."""
        X = check_rows(self, X, reset=True, accept_sparse=True)
        X, _, weights = check_weights(self, sample_weight, X)
        return X, weights

    def _checked_parameters(self) -> None:
        check_parameters(self, {"nu": "It is the share of rows allowed outside the margin; 0.1 is a usual choice."})

    def _keep(self, fit: OneClassFit) -> None:
        self.gap_ = fit.gap
        self.kkt_residual_ = fit.residual
        self.n_iter_ = fit.n_steps

    def _warn_of_gap(self, advice: str) -> None:
        if self.gap_ > GAP_TOL:
            warnings.warn(
                f"{type(self).__name__} ended with a duality gap of {self.gap_:.1e} instead of {GAP_TOL:.0e}. Look for "
                f"weights or rows of extreme size; {advice} tames them.",
                SolverWarning,
                stacklevel=3,
            )

    @abstractmethod
    def score_samples(self, X: Any) -> np.ndarray:
        """Return a number for each row: the higher, the more normal."""

    def decision_function(self, X: Any) -> np.ndarray:
        """Return `score_samples(X) - offset_`: negative for anomalies."""
        with np.errstate(over="ignore"):  # of scores at the end of what numbers there are
            return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """Return +1 for inliers (rows on the boundary included) and −1 for anomalies."""
        return 1 - 2 * flag(self.score_samples(X), self.offset_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearOneClassSVM(OneClassBoundary):
    r"""Linear one-class SVM, solved to optimality in time linear in the rows.

    .. math::
        \min_{w, \rho} \tfrac12\|w\|^2 - \rho + \tfrac{1}{\nu N} \sum_j (\rho - w^T x_j)_+

    The same answer whatever the order of the rows; no tolerance to tune, no random numbers. Rows may be dense or
    CSR, with any number of columns: where there are more of them than rows, the plane is found in the space that the
    rows span. As always with a linear one-class SVM the origin stands for "not normal": do not centre the data.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of rows outside the margin, in (0, 1].
    n_jobs : int or None, default=None
        Threads. None means all cores, unless joblib says otherwise. The result does not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        The plane w = Σ_j dual_coef_j x_j.
    offset_ : float
        `decision_function = score_samples - offset_`: rho, less a rounding margin of 1e-6 in units of
        ‖w‖ × RMS row norm, so that rows on the margin count as inliers.
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
    >>> from oddatom import LinearOneClassSVM
    >>> X = np.random.default_rng(0).normal(5, 1, size=(1000, 3))
    >>> model = LinearOneClassSVM(nu=0.1).fit(X)
    >>> bool(model.gap_ < 1e-8)
    True
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearOneClassSVM:
        """Find the plane.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often a row counts, at least 0; rows of weight 0 have no entry in `dual_coef_`.

        Returns
        -------
        self : LinearOneClassSVM
        """
        self._checked_parameters()
        with old_model_on_error(self), threads(self.n_jobs):
            X, weights = self._checked(X, sample_weight)
            fit, self.offset_, self.dual_coef_ = fit_linear(X, float(self.nu), weights)
            self.coef_ = fit.w[None, :]
            self._keep(fit)
        if fit.degenerate:
            warnings.warn(
                f"LinearOneClassSVM found no margin: the origin lies in the reduced hull of the rows at nu={self.nu}, "
                "the exact solution is w = 0, and every score is 0. It happens when columns are centred around zero. "
                "Do not centre the data, or try a larger nu.",
                DegenerateMarginWarning,
                stacklevel=2,
            )
        else:
            self._warn_of_gap("sklearn.preprocessing.RobustScaler(with_centering=False)")
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """Return w·x for each row: the higher, the more normal. One beyond every float is the largest there is."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False, accept_sparse=True)
        with threads(self.n_jobs):
            if scipy.sparse.issparse(X):
                return sparse_margins(X, self.coef_[0])
            return linear_margin(X, Scaling(None, None, 1.0), self.coef_[0])

    def explain(self, X: Any) -> Explanation:
        """Return what each feature adds to a row's score, w_f x_f: the lower, the more it makes the row odd.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        explanation : Explanation
            `contributions`, of shape (n_samples, n_features): rows sum to `score_samples(X)` up to rounding; a row
            whose numbers would overflow is shown shorter. An array; CSR where X is sparse; a frame of X's library
            where X is a pandas or polars frame whose columns have text names. `by_atom` is None.
        """
        check_is_fitted(self)
        checked = check_rows(self, X, reset=False, accept_sparse=True)
        return Explanation(as_frame_like(margin_terms(checked, self.coef_[0]), X), None)
