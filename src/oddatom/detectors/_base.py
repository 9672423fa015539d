"""What the dictionary detectors share: scikit-learn's contract on top of a fitted dictionary and plane."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, OutlierMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_array, check_is_fitted

from oddatom._threads import threads
from oddatom.coding import Codes, batch_omp
from oddatom.detectors._callbacks import DEPTH, CallbackSupportMixin
from oddatom.detectors._validation import check_rows
from oddatom.exceptions import AllAtomsTrimmedWarning, DegenerateMarginWarning, SolverWarning
from oddatom.learning.one_class import GAP_TOL, OneClassFit
from oddatom.scores import SCORES

# Rows coded at a time: enough to keep every thread busy, small enough to keep scoring's memory flat.
CHUNK_ROWS = 16_384
HUGE = 1e100


class DictionaryDetector(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, OutlierMixin, BaseEstimator
):
    """Detector with `components_` (active atoms as unit rows), `coef_`, `offset_` and `scaling_`."""

    components_: np.ndarray
    coef_: np.ndarray
    offset_: float

    def _chunks(self, X: np.ndarray) -> Iterator[tuple[slice, Codes]]:
        """Code new rows chunk by chunk, inside `threads`; a row's code does not depend on the rows around it."""
        D = self.components_
        gram = D @ D.T
        for start in range(0, X.shape[0], CHUNK_ROWS):
            rows = slice(start, min(start + CHUNK_ROWS, X.shape[0]))
            Y = self.scaling_.apply(X[rows])
            size = None
            if max(Y.max(), -Y.min()) > HUGE:  # squares would overflow; codes grow with the row
                size = np.abs(Y).max(axis=1, keepdims=True)
                size[size <= HUGE] = 1.0
                Y /= size
            if D.shape[0] == 0:
                nothing = np.full((Y.shape[0], 1), -1, np.int32)
                yield rows, Codes(nothing, np.zeros(nothing.shape), np.einsum("ij,ij->i", Y, Y))
            else:
                codes = batch_omp(Y, D, min(self.n_nonzero_, D.shape[0]), gram=gram)
                if size is not None:
                    with np.errstate(over="ignore"):
                        codes = Codes(codes.indices, codes.values * size, codes.sq_residual * size[:, 0] ** 2)
                yield rows, codes

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the margin w·x of each row's code: the higher, the more normal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        scores = np.empty(X.shape[0])
        with threads(self.n_jobs):
            for rows, codes in self._chunks(X):
                scores[rows] = SCORES["margin"](codes, self.coef_)
        return scores

    def decision_function(self, X: Any) -> np.ndarray:
        """Return `score_samples(X) - offset_`: negative for anomalies."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """Return +1 for inliers (rows on the margin included) and −1 for anomalies."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def transform(self, X: Any) -> Any:
        """Return the codes of the rows on the active atoms.

        Returns
        -------
        codes : CSR array of shape (n_samples, n_active_atoms); dense after `set_output` to a frame.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        n = self.components_.shape[0]
        with threads(self.n_jobs):
            pieces = [_to_csr(codes, n) for _, codes in self._chunks(X)]
        out = scipy.sparse.vstack(pieces, format="csr") if len(pieces) > 1 else pieces[0]
        if _get_output_config("transform", self)["dense"] != "default":
            return out.toarray()
        return out

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the rows that codes stand for, in the units of the input.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_active_atoms)
        """
        check_is_fitted(self)
        X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_min_features=0)
        n = self.components_.shape[0]
        if X.shape[1] != n:
            raise ValueError(
                f"Codes must have one column per active atom, {n}. Got {X.shape[1]} instead; "
                "pass what transform returned."
            )
        return self.scaling_.undo(np.asarray(X @ self.components_))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")  # a fit that failed has left n_features_in_ behind

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def _warn(self, svm: OneClassFit, n_active: int) -> None:
        """Say what is wrong with the last fit, if anything; called by `fit` itself."""
        name = type(self).__name__
        if n_active == 0:
            warnings.warn(
                f"{name} trimmed every atom: beta={self.beta} outweighs all rows of codes, and every score is 0. "
                "Lower beta.",
                AllAtomsTrimmedWarning,
                stacklevel=3 + DEPTH,
            )
        elif svm.degenerate or self.nu_ > self.nu:
            found = (
                "every score is 0"
                if svm.degenerate
                else f"the plane of nu={self.nu_:.3g} is used instead, its offset set so that at most a share "
                f"{self.nu} of the training rows lies outside"
            )
            warnings.warn(
                f"{name} found no margin at nu={self.nu}: the origin lies in the reduced hull of the codes and the "
                f"exact one-class SVM is w = 0; {found}. It happens when columns are centred around zero. Try a "
                "larger nu, another scaling (None keeps the columns' means), or data whose origin means something.",
                DegenerateMarginWarning,
                stacklevel=3 + DEPTH,
            )
        elif self.svm_solver == "exact" and svm.gap > GAP_TOL:
            warnings.warn(
                f"The one-class SVM ended with a duality gap of {svm.gap:.1e} instead of {GAP_TOL:.0e}. Look for "
                "rows or columns of extreme size, and bring them to the size of the others.",
                SolverWarning,
                stacklevel=3 + DEPTH,
            )


def _to_csr(codes: Codes, n: int) -> scipy.sparse.csr_array:
    kept = (codes.indices >= 0) & (codes.values != 0)
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    out = scipy.sparse.csr_array((codes.values[kept], codes.indices[kept], indptr), shape=(codes.indices.shape[0], n))
    out.sort_indices()
    return out
