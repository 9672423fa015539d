"""p-values of a detector: models fitted without each fold of the rows, and the held-out scores they give."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from oddatom.decisions import CrossConformal, fold_rows
from oddatom.estimators._validation import check_rows
from oddatom.exceptions import OddAtomError, ParameterError
from oddatom.rows import Source
from oddatom.rows.array import ArraySource

# Fitted attributes with an entry for every training row, which scoring does not need.
_FOLDS = {"n_folds": 5}  # what is proposed for p-values
_BY_ROW = ("train_codes_", "train_decision_", "train_scores_", "dual_coef_", "dictionary_coefficients_")


class CalibratedMixin:
    """`p_values` of a detector with a parameter `n_folds`, the number of folds."""

    n_folds: int | None
    random_state: Any
    get_params: Callable[..., dict[str, Any]]
    _fit_rows: Callable[..., Any]
    conformal_: CrossConformal | None
    fold_models_: list[Any] | None
    fold_rows_: list[np.ndarray] | None

    def p_values(self, X: Any) -> np.ndarray:
        """Return the cross-conformal p-value of each row: how often a row like the training rows is as odd.

        p(x) = (1 + Σ_k #{i in fold k: s_i ≤ s_k(x)}) / (N + 1), where model k is fitted without fold k, s_i is the
        score of row i under the model that has not seen it, and s_k(x) that of x under model k. The least is 1/(N + 1).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_training_rows) where precomputed

        Returns
        -------
        p : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if self.conformal_ is None or self.fold_models_ is None or self.fold_rows_ is None:
            raise ParameterError(
                type(self).__name__,
                "n_folds",
                "must be a number of folds for p-values. Got None instead",
                advice="fit with {n_folds}.",
                options=_FOLDS,
            )
        X = check_rows(self, X, reset=False)
        folds = zip(self.fold_models_, self.fold_rows_, strict=True)
        scores = [model.score_samples(self._fold_view(X, rows)) for model, rows in folds]
        return self.conformal_.p_values(np.stack(scores, axis=1))

    def _to_calibrate(self, fitted: bool) -> dict[str, Any]:
        calibrated = self.conformal_ is not None if fitted else self.n_folds is not None
        return {} if calibrated else _FOLDS

    def _check_folds(self, n_rows: int) -> None:
        """Refuse folds that leave nothing to hold out, or fewer than two rows to fit."""
        if self.n_folds is None:
            return
        largest = -(-n_rows // self.n_folds)
        if self.n_folds > n_rows or n_rows - largest < 2:
            raise ParameterError(
                type(self).__name__,
                "n_folds",
                "must leave every fold a row and every fold's model two. Got "
                f"{self.n_folds} with {n_rows} rows instead",
                value=self.n_folds,
                advice="pass more rows, or None.",
            )

    def _calibrate(self, source: Source) -> None:
        """Fit a model without each fold and score the fold with it; the parameters and their random state stay."""
        self.conformal_ = self.fold_models_ = self.fold_rows_ = None
        if self.n_folds is None:
            return
        assert isinstance(source, ArraySource)  # others are refused where they are opened
        X = source.X
        rng = check_random_state(copy.deepcopy(self.random_state))
        folds = fold_rows(X.shape[0], int(self.n_folds), rng)
        models, held_out = [], []
        for rows in folds:
            kept, parameters = self._without(X, rows)
            model = self._fold_model(kept, {**parameters, "random_state": rng.randint(2**31 - 1)})
            held_out.append(model.score_samples(self._fold_view(X[rows], rows)))
            models.append(model)
        self.fold_models_, self.fold_rows_, self.conformal_ = models, folds, CrossConformal(held_out)

    def _fold_model(self, X: np.ndarray, parameters: dict[str, Any]) -> Any:
        """Fit a detector of the same settings; what there is to warn of has been said of the fit on all rows."""
        own = {"n_folds": None, "threshold": "svm", "verbose": 0}
        model = type(self)(**{**self.get_params(deep=False), **own, **parameters})
        try:
            fold = ArraySource(check_rows(model, X, reset=True))
            model._fit_rows(fold, (fold.X, None))
        except ValueError as error:
            name = type(self).__name__
            raise OddAtomError(
                f"{{owner}} cannot be fitted without one of {self.n_folds} folds. {error}",
                parameter="n_folds",
                value=self.n_folds,
                advice="Or lower {n_folds}, or pass None.",
                options={"n_folds": None},
                owner=name,
            ) from None
        model._calibrate(fold)
        for name in _BY_ROW:
            vars(model).pop(name, None)
        return model

    def _without(self, X: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """Return the training rows but `rows`, and parameters that must be others for them."""
        return np.delete(X, rows, axis=0), self._without_parameters(rows)

    def _without_parameters(self, rows: np.ndarray) -> dict[str, Any]:
        """Return parameters that must be others where these training rows are left out."""
        return {}

    def _fold_view(self, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return new rows as the model without `rows` takes them."""
        return X
