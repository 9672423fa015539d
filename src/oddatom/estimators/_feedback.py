"""`feedback`: rows that a person has judged change the scores of rows like them, and leave the calibration rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from oddatom.decisions import CrossConformal, Threshold
from oddatom.ensemble.feedback import Feedback, change, fit_feedback, judged_normal, likeness
from oddatom.ensemble.model import Ensemble
from oddatom.estimators._validation import check_rows, old_model_on_error
from oddatom.exceptions import OddAtomError, OddAtomWarning, ParameterError
from oddatom.rows.draws import row_keys

WORDS = {"anomaly": -1.0, "normal": 1.0}
MOST_JUDGED = 500  # rows: each is compared with every row that is scored
NORMAL = 0.75  # quantile of the training scores: what a row that was called normal scores at least
FEWEST_KNOWN = 50  # calibration rows found among `rows`
KEY_SEED = 0


def keys_of(X: np.ndarray) -> np.ndarray:
    """Return a number for every row, by what it holds."""
    return row_keys(np.ascontiguousarray(X, np.float64), KEY_SEED).view(np.int64)


class FeedbackMixin:
    """`feedback` of a detector with an ensemble."""

    ensemble_: Ensemble
    scoring_: str
    train_scores_: np.ndarray
    conformal_: CrossConformal
    conformal_before_: CrossConformal
    threshold_: Threshold
    _apply_threshold: Callable[[Threshold], None]
    _score_again: Callable[[np.ndarray], None]

    def feedback(self, X: Any, labels: Any, *, rows: Any = None, keep: bool = True) -> Self:
        """Take rows that a person has judged. It is never needed; ten judged rows help.

        Rows like judged anomalies score lower from now on, rows like judged normal ones higher, and a row that was
        called normal itself is not flagged again. How far that goes depends on how well the judged rows foretell each
        other; see `oddatom.ensemble.feedback`. Nothing is learned anew. Judged anomalies leave the rows that p-values
        compare with. Saved models keep the judged rows; `fit` forgets them, `partial_fit` does not.

        Parameters
        ----------
        X : array-like of shape (n_judged, n_features)
            The judged rows, at most 500 with those before. A row that was judged before has its latest label.
        labels : array-like of shape (n_judged,)
            -1 for anomalies and 1 for normal rows, as `predict` has them, or the words "anomaly" and "normal".
        rows : array-like of shape (n_samples, n_features), optional
            The training rows, so that thresholds and p-values follow the changed scores. Without them rows near judged
            anomalies have p-values that are too low, rows near normal ones too high. After `partial_fit` the model has
            them.
        keep : bool, default=True
            Whether earlier judgements stay. With False and no rows all are forgotten.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        name = type(self).__name__
        if self.scoring_ == "margin":
            raise OddAtomError(
                "{owner}.feedback needs a score in units of deviations. Got scoring='margin' instead",
                parameter="scoring",
                value=self.scoring_,
                advice="fit with scoring='joined'.",
                owner=name,
            )
        with old_model_on_error(self):
            none = len(labels) == 0 if hasattr(labels, "__len__") else False
            training = getattr(getattr(self, "memory_", None), "rows", None) if rows is None else rows
            training = None if training is None else check_rows(self, training, reset=False)
            before = self.ensemble_.feedback if keep else None
            if none and before is None:
                self._forget(training)
            else:
                checked = before.rows[:0] if none and before is not None else check_rows(self, X, reset=False)
                self._judge(*_merged(name, before, checked, _check_labels(name, labels, len(checked))), training)
            self._apply_threshold(self.threshold_)
        return self

    def _forget(self, training: np.ndarray | None) -> None:
        """Forget all judged rows."""
        self.ensemble_ = self.ensemble_._replace(feedback=None)
        self.conformal_ = self.__dict__.pop("conformal_before_", self.conformal_)
        if training is not None:
            self._score_again(training)

    def _judge(self, rows: np.ndarray, labels: np.ndarray, training: np.ndarray | None) -> None:
        """Take judged rows in place of all before, and clean the calibration rows."""
        before = self.ensemble_.feedback
        least = float(np.quantile(self.train_scores_, NORMAL)) if before is None else before.normal_score
        plain = self.ensemble_._replace(feedback=None)
        judged = fit_feedback(rows, labels, plain, least)
        self.ensemble_ = plain._replace(feedback=judged)
        base = getattr(self, "conformal_before_", self.conformal_)
        if base.keys is None:
            problem = "This model was saved before held-out scores could be found again: p-values stay as they were."
            warnings.warn(problem, OddAtomWarning, stacklevel=4)
        else:
            self.conformal_before_ = base
            self.conformal_ = self._calibrated_again(base, judged, training)
        if training is not None:
            self._score_again(training)

    def _calibrated_again(self, base: CrossConformal, judged: Feedback, training: np.ndarray | None) -> CrossConformal:
        """Return the calibration without judged anomalies; scores are changed where training rows are known."""
        keys = keys_of(judged.rows[judged.labels < 0.0])
        added = np.full(keys.size, np.nan)
        only_known = False
        if training is not None:
            own = keys_of(training)
            known = np.isin(own, np.concatenate(base.keys or ()))
            only_known = bool(np.count_nonzero(known) >= min(FEWEST_KNOWN, base.n_samples))
            if not only_known:
                problem = "`rows` are not the rows that this model was fitted to: p-values do not follow the feedback."
                warnings.warn(problem, OddAtomWarning, stacklevel=5)
            else:
                k = likeness(training[known], judged, self.ensemble_)
                shift = np.where(judged_normal(k, judged), np.inf, change(k, judged))
                keys, added = np.concatenate([keys, own[known]]), np.concatenate([added, shift])
        keys, first = np.unique(keys, return_index=True)  # of a judged anomaly and its training row the first
        if not keys.size:
            return base
        found = base.replaced(keys, added[first], only_known=only_known)
        if not found.n_samples:
            raise OddAtomError(
                "{owner} has no row left to compare with: all are judged anomalies.",
                parameter="labels",
                advice="Leave some rows unjudged.",
                owner=type(self).__name__,
            )
        return found


def _check_labels(name: str, labels: Any, n: int) -> np.ndarray:
    """Return labels as −1 and 1, or say what they must be."""
    given = labels.tolist() if hasattr(labels, "tolist") else list(labels) if hasattr(labels, "__iter__") else [labels]
    signs = [_sign(one) for one in given]
    wrong = [one for one, sign in zip(given, signs, strict=True) if np.isnan(sign)]
    if wrong or len(signs) != n:
        got = repr(wrong[0]) if wrong else f"{len(signs)} for {n} rows"
        raise ParameterError(
            f"{name}.feedback",
            "labels",
            f"must be -1 or 'anomaly', or 1 or 'normal', for every row of X. Got {got} instead.",
            value=labels,
            advice="Pass the judged rows alone, and a label for each.",
        )
    return np.array(signs, np.float64)


def _sign(label: Any) -> float:
    """Return −1 for an anomaly, 1 for a normal row, and NaN for anything else."""
    if isinstance(label, str):
        return WORDS.get(label, np.nan)
    whole = isinstance(label, int | float | np.integer | np.floating) and not isinstance(label, bool)
    return float(label) if whole and label in (-1, 1) else np.nan


def _merged(name: str, before: Feedback | None, X: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all judged rows with their latest labels, one of each."""
    rows = X if before is None else np.concatenate([before.rows, X])
    labels = labels if before is None else np.concatenate([before.labels, labels])
    _, last = np.unique(keys_of(rows)[::-1], return_index=True)
    places = np.sort(rows.shape[0] - 1 - last)
    if places.size > MOST_JUDGED:
        raise ParameterError(
            f"{name}.feedback",
            "X",
            f"must hold at most {MOST_JUDGED:,} judged rows, with those before. Got {places.size:,} instead.",
            value=X.shape,
            advice="With so many labels a classifier does better.",
        )
    return np.ascontiguousarray(rows[places]), labels[places]
