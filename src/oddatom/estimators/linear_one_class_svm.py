"""The exact linear one-class SVM on its own, as a scikit-learn detector."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from oddatom._documented import DocumentedMixin
from oddatom.arrays.threads import threads
from oddatom.boundary.plane import GAP_TOL
from oddatom.boundary.row_space import as_block, fit_rows
from oddatom.decisions import flag
from oddatom.estimators._validation import N_JOBS, check_parameters, check_rows, old_model_on_error
from oddatom.estimators._weights import check_weights
from oddatom.exceptions import DegenerateMarginWarning, OddAtomError, SolverWarning
from oddatom.model_io.mixin import SaveMixin
from oddatom.rows.array import OneClassShard

CHUNK_ROWS = 16_384  # scored at a time


class LinearOneClassSVM(DocumentedMixin, SaveMixin, OutlierMixin, BaseEstimator):
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

    _parameter_constraints: ClassVar[dict] = {
        "nu": [Interval(Real, 0, 1, closed="right")],
        "n_jobs": N_JOBS,
    }

    def __init__(self, nu: float = 0.5, *, n_jobs: int | None = None) -> None:
        self.nu = nu
        self.n_jobs = n_jobs

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
        check_parameters(self, {"nu": "It is the share of rows allowed outside the margin; 0.1 is a usual choice."})
        with old_model_on_error(self), threads(self.n_jobs):
            X = check_rows(self, X, reset=True, accept_sparse=True)
            X, _, weights = check_weights(self, sample_weight, X)
            top = float(abs(X).max())
            unit = float(np.ldexp(1.0, np.frexp(top)[1] - 1))  # a power of two: dividing by it is exact
            fit, dual_coef = fit_rows(X / unit, float(self.nu), weights)
            with np.errstate(over="ignore"):
                offset = float((fit.rho - fit.tolerance) * np.float64(unit) * unit)
            if not np.isfinite(offset):
                problem = f"X is too large: its margin overflows (largest entry {top:.3g})."
                raise OddAtomError(problem, parameter="X", advice="Divide it first.")
            if unit * unit < np.finfo(np.float64).tiny:
                problem = f"X is too small: its margin vanishes (largest entry {top:.3g})."
                raise OddAtomError(problem, parameter="X", advice="Multiply it first.")
            self.coef_ = fit.w[None, :] * unit
            self.offset_ = offset
            self.dual_coef_ = dual_coef
            self.gap_ = fit.gap
            self.kkt_residual_ = fit.residual
            self.n_iter_ = fit.n_steps
        if fit.degenerate:
            warnings.warn(
                f"LinearOneClassSVM found no margin: the origin lies in the reduced hull of the rows at nu={self.nu}, "
                "the exact solution is w = 0, and every score is 0. It happens when columns are centred around zero. "
                "Do not centre the data, or try a larger nu.",
                DegenerateMarginWarning,
                stacklevel=2,
            )
        elif fit.gap > GAP_TOL:
            warnings.warn(
                f"LinearOneClassSVM ended with a duality gap of {fit.gap:.1e} instead of {GAP_TOL:.0e}. Look for "
                "weights or rows of extreme size; sklearn.preprocessing.RobustScaler(with_centering=False) tames them.",
                SolverWarning,
                stacklevel=2,
            )
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """Return w·x for each row: the higher, the more normal. One beyond every float is the largest there is."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False, accept_sparse=True)
        with threads(self.n_jobs):
            margins = _margins(X, self.coef_[0])
            beyond = np.flatnonzero(~np.isfinite(margins))
            if beyond.size:
                margins[beyond] = _large_margins(X[beyond], self.coef_[0])
        return margins

    def decision_function(self, X: Any) -> np.ndarray:
        """Return `score_samples(X) - offset_`: negative for anomalies."""
        with np.errstate(over="ignore"):  # of scores at the end of what numbers there are
            return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """Return +1 for inliers (rows on the margin included) and −1 for anomalies."""
        return 1 - 2 * flag(self.score_samples(X), self.offset_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _margins(X: Any, w: np.ndarray) -> np.ndarray:
    """Return w·x for every row, chunk by chunk."""
    margins = np.empty(X.shape[0])
    for start in range(0, X.shape[0], CHUNK_ROWS):
        rows = OneClassShard(as_block(X[start : start + CHUNK_ROWS]))
        rows.svm_margins(w)
        margins[start : start + CHUNK_ROWS] = rows.margins
    return margins


def _large_margins(X: Any, w: np.ndarray) -> np.ndarray:
    """Return w·x of rows whose terms or sum overflow: in units of powers of two, and then no more than the largest."""
    if scipy.sparse.issparse(X):  # rows without entries have no margin to overflow
        places, indices = np.unique(X.indices, return_inverse=True)
        w = w[places]
        exponents = np.frexp(np.maximum.reduceat(np.abs(X.data), X.indptr[:-1]))[1]
        data = np.ldexp(X.data, -np.repeat(exponents, np.diff(X.indptr)))
        Z = scipy.sparse.csr_array((data, indices, X.indptr), shape=(X.shape[0], places.size))
    else:
        exponents = np.frexp(np.abs(X).max(axis=1))[1]
        Z = np.ldexp(X, -exponents[:, None])
    plane = np.frexp(np.abs(w).max())[1]
    with np.errstate(over="ignore"):
        margins = np.ldexp(_margins(Z, np.ldexp(w, -plane)), exponents + plane)
    most = np.finfo(np.float64).max
    return np.clip(margins, -most, most)
