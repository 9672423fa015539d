"""`feedback`: rows that a person has judged change the scores of rows like them, and leave the calibration rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from oddatom.decisions import CrossConformal, Threshold
from oddatom.ensemble.feedback import Feedback, change, fit_feedback, likeness
from oddatom.ensemble.model import Ensemble
from oddatom.estimators._validation import check_rows, old_model_on_error
from oddatom.exceptions import OddAtomError, ParameterError
from oddatom.rows.draws import row_keys

WORDS = {"anomaly": -1.0, "normal": 1.0}
MOST_JUDGED = 1000  # rows: each is compared with every row that is scored
KEY_SEED = 0


def keys_of(X: np.ndarray) -> np.ndarray:
    """Return a number for every row, by what it holds."""
    return row_keys(np.ascontiguousarray(X, np.float64), KEY_SEED).view(np.int64)


class FeedbackMixin:
    """`feedback` of a detector with an ensemble."""

    ensemble_: Ensemble
    scoring_: str
    conformal_: CrossConformal
    conformal_before_: CrossConformal
    threshold_: Threshold
    _apply_threshold: Callable[[Threshold], None]

    def feedback(self, X: Any, labels: Any, *, rows: Any = None, keep: bool = True) -> Self:
        """Take rows that a person has judged; no label is ever needed.

        Rows like judged anomalies score lower from now on, rows like judged normal ones higher, and a row that was
        called normal itself is not flagged again. How far that goes depends on how well the judged rows foretell each
        other; see `oddatom.ensemble.feedback`. Nothing is learned anew. Judged anomalies leave the rows that p-values
        compare with. Saved models keep the judged rows; `fit` forgets them, `partial_fit` does not.

        Parameters
        ----------
        X : array-like of shape (n_judged, n_features)
            The judged rows, at most 1,000 with those before. A row that was judged before has its latest label.
        labels : array-like of shape (n_judged,)
            -1 for anomalies and 1 for normal rows, as `predict` has them, or the words "anomaly" and "normal".
        rows : array-like of shape (n_samples, n_features), optional
            The training rows, so that p-values follow the changed scores. Without them rows near judged anomalies have
            p-values that are a little too low, rows near normal ones a little too high.
        keep : bool, default=True
            Whether earlier judgements stay.

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
            checked = check_rows(self, X, reset=False)
            found = _check_labels(name, labels, checked.shape[0])
            before = self.ensemble_.feedback if keep else None
            training = None if rows is None else check_rows(self, rows, reset=False)
            self._judge(*_merged(name, before, checked, found), training)
            self._apply_threshold(self.threshold_)
        return self

    def _judge(self, rows: np.ndarray, labels: np.ndarray, training: np.ndarray | None) -> None:
        """Take judged rows in place of all before, and clean the calibration rows."""
        plain = self.ensemble_._replace(feedback=None)
        base = getattr(self, "conformal_before_", self.conformal_)
        judged = fit_feedback(rows, labels, plain)
        self.ensemble_ = plain._replace(feedback=judged)
        if base.keys is None:  # a model that was saved before there were any
            return
        self.conformal_before_ = base
        self.conformal_ = self._calibrated_again(base, judged, training)

    def _calibrated_again(self, base: CrossConformal, judged: Feedback, training: np.ndarray | None) -> CrossConformal:
        """Return the calibration without judged anomalies; scores are changed where training rows are known."""
        keys = keys_of(judged.rows[judged.labels < 0.0])
        added = np.full(keys.size, np.nan)
        if training is not None:
            keys = np.concatenate([keys, keys_of(training)])
            added = np.concatenate([added, change(likeness(training, judged, self.ensemble_), judged)])
        keys, first = np.unique(keys, return_index=True)  # of a judged anomaly and its training row the first
        return base.replaced(keys, added[first]) if keys.size else base


def _check_labels(name: str, labels: Any, n: int) -> np.ndarray:
    """Return labels as −1 and 1, or say what they must be."""
    given = np.asarray(labels)
    values = np.array([_sign(one) for one in given.ravel().tolist()], np.float64)
    wrong = np.flatnonzero(np.isnan(values))
    if given.ndim != 1 or given.shape[0] != n or wrong.size:
        got = f"{given.ravel()[wrong[0]]!r}" if wrong.size else f"{given.shape[0] if given.ndim else 0} for {n} rows"
        raise ParameterError(
            f"{name}.feedback",
            "labels",
            f"must be -1 or 'anomaly', or 1 or 'normal', for every row of X. Got {got} instead.",
            value=labels,
            advice="Pass the judged rows alone, and a label for each.",
        )
    return values


def _sign(label: Any) -> float:
    """Return −1 for an anomaly, 1 for a normal row, and NaN for anything else."""
    if isinstance(label, str):
        return WORDS.get(label, np.nan)
    return (
        float(label) if isinstance(label, int | float) and not isinstance(label, bool) and label in (-1, 1) else np.nan
    )


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
