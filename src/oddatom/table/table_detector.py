"""The detector that takes tables as they are: a `TableEncoder` and a detector in one estimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from oddatom._documented import DocumentedMixin
from oddatom.arrays.arrow import pa
from oddatom.ensemble.shares import share_out
from oddatom.estimators import OddAtomDetector
from oddatom.estimators._saving import SaveMixin
from oddatom.estimators._validation import check_parameters, old_model_on_error
from oddatom.exceptions import OddAtomError
from oddatom.explanations import Explanation, as_frame_like, sum_by_name
from oddatom.table.decision import ColumnDecision
from oddatom.table.encoder import TableEncoder
from oddatom.table.placed_rows import OF_ENCODER, PlacedRowsMixin, Prepared
from oddatom.table.row_context import (
    Placed,
    has_stretches,
    rows_to_explain,
)


def _detector_has(method: str) -> Callable[[Any], bool]:
    """Return a check for `available_if`: whether the detector has a method."""

    def check(self: TableDetector) -> bool:
        unfitted = OddAtomDetector if self.detector is None else self.detector
        return hasattr(getattr(self, "detector_", unfitted), method)

    return check


class TableDetector(DocumentedMixin, PlacedRowsMixin, SaveMixin, OutlierMixin, BaseEstimator):
    """Anomaly detection in tables as they are: numbers, text, dates, booleans, ids, missing values.

    A `TableEncoder` turns the table into numbers, and a detector scores them. `OddAtomDetector` gets categories as
    codes and missing values as they are; other detectors get finite numbers. `fit` learns both from the same rows.
    Methods that the detector does not have, such as `p_values` of an `IsolationForest`, are absent here too.

    Parameters
    ----------
    detector : estimator, default=None
        Any scikit-learn outlier detector; `fit` fits a clone of it. None means `OddAtomDetector()`.
    columns : sequence of str or int, default=None
        Use these columns alone. None means every column that is no id.
    ignore : sequence of str or int, default=()
        Columns not to use.
    id : str, int or sequence of them, default=None
        Columns that name the rows: not used.
    max_levels : int, default=20
        Most values of a text column that are told apart; with more, each value becomes its share of the training rows.
    dates : {"number", "drop"}, default="number"
        What to do with dates.
    missing : {"seen", "always"}, default="seen"
        Where to mark missing values, for detectors other than `OddAtomDetector`: in columns that had some at training,
        or in every column. For `OddAtomDetector` "seen" marks none. See `TableEncoder` for the parameters above.
    time : str or int, default=None
        The column that says when a row was: dates, epochs or a counter. Every number is then also compared with the
        rows before it: by its change, its distance from their median in units of their spread and, where training
        covers three days or weeks, its distance from what is usual at that hour and weekday. A row is odd by itself, or
        because many of the rows before it are. See "Rows in time" below.
    by : str, int or sequence of them, default=None
        Columns that name the group of a row, such as a machine: numbers are then compared within their group. Groups
        that training did not have are compared with all rows. With `time`, every group is a series of its own.
    window : int, default=None
        Rows before a row that it is compared with, with `time`. None takes a minute, an hour, a day, a month or a year
        of rows where that makes 24 to 96 of them, and otherwise 48; at most a tenth of the rows.
    random_state : int, RandomState instance or None, default=None
        Replaces the `random_state` of the detector, where it has one. None keeps it.

    Attributes
    ----------
    encoder_ : TableEncoder
        Fitted; `encoder_.describe()` says what is done with every column.
    detector_ : estimator
        Fitted to the encoded rows, `encoder_.transform(X)`; with a `context_` to features that are made of these.
    columns_ : list of ColumnDecision
        What was decided about every column of the training table.
    reference_ : list of ColumnReference
        What is kept of every encoded column. `score_samples`, `decision_function`, `predict` and `p_values` compare 100
        rows or more with it, and warn (`DriftWarning`) where a column has moved.
    context_ : RowContext or None
        How rows are placed in their groups and times; None where there is nothing to place.
    followed_ : Followed
        With `time`: the last rows of training and of what was scored since.
    threshold_ : Threshold
        The threshold in force, where the detector has one.
    n_anomalies_ : AnomalyCount
        How many training rows are odder than chance explains, where the detector says so.
    offset_ : float
        `decision_function = score_samples - offset_`, where the detector has it.
    n_features_in_, feature_names_in_ : as in scikit-learn
        Of the table, not of the encoded rows.

    Notes
    -----
    Rows in time. A table is put in order before its rows are scored, and its scores come back in the order of the
    table. A row is compared with rows of earlier times alone, so a stream may be scored as it comes, row by row or in
    batches of any size, and gets the same scores to the last bit: the model keeps the last rows that it scored. Rows
    that are scored again get the scores that they had, as long as the model has the rows before them: it keeps about
    the last thousand. Nothing before a step that is longer than a window counts. `fit` forgets what was scored; copies
    of the model (pickle, `save`) keep it.

    Examples
    --------
    >>> import pandas as pd
    >>> from oddatom import TableDetector
    >>> table = pd.DataFrame({"size": [1.0, 1.2, 0.9, None] * 25, "colour": ["red", "blue", "red", "red"] * 25})
    >>> table.loc[7, "colour"] = "pink"
    >>> model = TableDetector(random_state=0).fit(table)
    >>> int(model.score_samples(table).argmin())
    7
    >>> model.explain(table).contributions.loc[7].idxmin()
    'colour'
    """

    _parameter_constraints: ClassVar[dict] = {
        "detector": [HasMethods(["fit"]), None],
        **{name: TableEncoder._parameter_constraints[name] for name in OF_ENCODER},
        "time": [str, Integral, None],
        "by": [str, Integral, "array-like", None],
        "window": [Interval(Integral, 2, None, closed="left"), None],
        "random_state": ["random_state"],
    }
    _advice: ClassVar[dict[str, str]] = {
        "detector": "Pass a detector, such as OddAtomDetector(); None means that one.",
        **TableEncoder._advice,
        "time": "One name.",
        "by": "One name or a list of them.",
        "window": "A number of rows; 24 is a usual length.",
    }

    def __init__(
        self,
        detector: Any = None,
        *,
        columns: Sequence[str | int] | None = None,
        ignore: Sequence[str | int] = (),
        id: str | int | Sequence[str | int] | None = None,
        max_levels: int = 20,
        dates: str = "number",
        missing: str = "seen",
        time: str | int | None = None,
        by: str | int | Sequence[str | int] | None = None,
        window: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.detector = detector
        self.columns = columns
        self.ignore = ignore
        self.id = id
        self.max_levels = max_levels
        self.dates = dates
        self.missing = missing
        self.time = time
        self.by = by
        self.window = window
        self.random_state = random_state

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the detector as `detector__nu`.

        Parameters
        ----------
        **params
            Where `detector` is None, a parameter of the detector makes it an `OddAtomDetector()` with that parameter.

        Returns
        -------
        self
        """
        nested = any(name.startswith("detector__") for name in params)
        if nested and params.get("detector", self.detector) is None:
            params = {**params, "detector": OddAtomDetector()}
        super().set_params(**params)
        return self

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Self:
        """Learn from an unlabelled table.

        Parameters
        ----------
        X : pyarrow.Table or RecordBatch, pandas or polars frame, or array-like of shape (n_samples, n_features)
        y : ignored
            It is passed on to the detector.
        **fit_params
            Passed on to the detector's `fit`: `sample_weight`, for instance.

        Returns
        -------
        self
        """
        check_parameters(self, self._advice)
        with old_model_on_error(self):
            self._learn(self._prepare(X), y, **fit_params)
        return self

    @available_if(_detector_has("fit_predict"))
    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Learn from an unlabelled table and return the labels of its rows: -1 for anomalies, +1 for the rest.

        Parameters
        ----------
        X : as in `fit`
        y : ignored
        **fit_params
            Passed on to the detector's `fit_predict`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_parameters(self, self._advice)
        with old_model_on_error(self):
            prepared = self._prepare(X)
            if prepared.placed.ordered is None or not has_stretches(prepared.detector):
                labels = prepared.detector.fit_predict(prepared.placed.features, y, **fit_params)
                self._take(prepared)
                return labels
            own = self._learn(prepared, y, **fit_params)
            return self._labels(self._in_order(prepared.placed, own))

    @available_if(_detector_has("partial_fit"))
    def partial_fit(self, X: Any, y: Any = None, **fit_params: Any) -> Self:
        """Learn from a further batch of rows.

        The first batch of an unfitted model decides what is done with every column; later batches are encoded in the
        same way. So it should hold the usual values: a column that is empty in it is never used. Parameters that are
        changed between batches count from the next `fit` on.

        Parameters
        ----------
        X : as in `fit`
        y : ignored
        **fit_params
            Passed on to the detector's `partial_fit`: `decay` of `OddAtomDetector`, for instance.

        Returns
        -------
        self
        """
        check_parameters(self, self._advice)
        if self.time is not None or self._in_time:
            raise OddAtomError(
                "{owner} with a time column learns from all rows at once.",
                parameter="time",
                value=self.time,
                advice="Fit again, with the new rows.",
                owner=type(self).__name__,
            )
        with old_model_on_error(self):
            if hasattr(self, "detector_"):
                prepared = Prepared(self.encoder_, self.detector_, self.context_, self._place(X))
            else:
                prepared = self._prepare(X)
            prepared.detector.partial_fit(prepared.placed.features, y, **fit_params)
            memory = getattr(prepared.detector, "memory_", None)
            self._take(prepared, None if memory is None else memory.rows)
        return self

    @available_if(_detector_has("score_samples"))
    def score_samples(self, X: Any) -> np.ndarray:
        """Return the score of each row: the higher, the more normal.

        Parameters
        ----------
        X : pyarrow.Table or RecordBatch, pandas or polars frame, or array-like of shape (n_samples, n_features)
            Columns may come in another order, and others beside them.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        placed, scored = self._score(X)
        return self.detector_.score_samples(placed.features) if scored is None else scored.scores

    @available_if(_detector_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Return `score_samples(X) - offset_`: negative for anomalies.

        Parameters
        ----------
        X : as in `score_samples`
        """
        placed, scored = self._score(X)
        if scored is None:
            return self.detector_.decision_function(placed.features)
        return scored.scores - self.detector_.offset_

    @available_if(_detector_has("predict"))
    def predict(self, X: Any) -> np.ndarray:
        """Return -1 for anomalies and +1 for the rest.

        Parameters
        ----------
        X : as in `score_samples`
        """
        placed, scored = self._score(X)
        return self.detector_.predict(placed.features) if scored is None else self._labels(scored)

    @available_if(_detector_has("p_values"))
    def p_values(self, X: Any) -> np.ndarray:
        """Return the p-value of each row: how often a row like the training rows is as odd.

        Parameters
        ----------
        X : as in `score_samples`

        Returns
        -------
        p : ndarray of shape (n_samples,)
        """
        placed, scored = self._score(X)
        if scored is None:
            return self.detector_.p_values(placed.features)
        return self.detector_.conformal_.p_values(scored.scores)

    @available_if(_detector_has("score_parts"))
    def score_parts(self, X: Any) -> dict[str, np.ndarray]:
        """Return every score of each row, by name; with `time` of each row by itself.

        Parameters
        ----------
        X : as in `score_samples`

        Returns
        -------
        parts : dict of ndarray of shape (n_samples,)
            Those of the detector.
        """
        return self.detector_.score_parts(self._place(X).features)

    @available_if(_detector_has("explain"))
    def explain(self, X: Any) -> Explanation:
        """Return what each column of the table adds to a row's score: the lower, the more it makes the row odd.

        What a column adds is the sum over the numbers that it was encoded as. With `time` the change of a number
        ("flow: jump"), its distance from its level ("flow: far from its level") and from what is usual at the hour
        ("flow: unusual for the hour") have columns of their own, and a row that is odd because of the rows before it
        is explained by the oddest of them.

        Parameters
        ----------
        X : as in `score_samples`

        Returns
        -------
        explanation : Explanation
            `contributions`, of shape (n_samples, n_used_columns): a column for every column of the training table that
            is used, in its order, and with `time` those above; rows sum to `score_samples(X)` up to rounding. None of
            kernels, which do not split over columns. `by_atom` is the detector's. Frames of X's library with names
            where X is a frame or a pyarrow table, otherwise arrays.
        """
        placed, scored = self._score(X, warn=False)
        rows = rows_to_explain(self.context_, placed, scored, slice(None))
        if scored is not None:
            contributions, by_atom = share_out(scored.scores, self.detector_._feature_shares(rows)), None
        else:
            contributions, by_atom = self.detector_.explain(rows)
        if contributions is not None:
            names, contributions = sum_by_name(contributions, self._sources)
            contributions = _like_table(contributions, X, names)
        if by_atom is not None:
            by_atom = _like_table(by_atom, X, self.detector_.get_feature_names_out())
        return Explanation(contributions, by_atom)

    @available_if(_detector_has("feedback"))
    def feedback(self, X: Any, labels: Any, *, rows: Any = None, keep: bool = True) -> Self:
        """Take rows that a person has judged: rows like them score accordingly from now on.

        Parameters
        ----------
        X : as in `score_samples`
            The judged rows.
        labels : array-like of shape (n_judged,)
            -1 or "anomaly", 1 or "normal".
        rows : as X, optional
            The training table, so that p-values follow the changed scores.
        keep : bool, default=True
            Whether earlier judgements stay.

        Returns
        -------
        self
        """
        self._check_feedback()
        training = None if rows is None else self._place(rows).features
        self.detector_.feedback(self._place(X).features, labels, rows=training, keep=keep)
        return self

    @available_if(_detector_has("set_threshold"))
    def set_threshold(self, threshold: Any) -> Self:
        """Change where a fitted model cuts, without a refit.

        Parameters
        ----------
        threshold : as the detector's parameter of that name

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.detector_.set_threshold(threshold)
        return self

    @property
    def columns_(self) -> list[ColumnDecision]:
        """What was decided about every column of the training table."""
        return self.encoder_.columns_

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the training table."""
        return self.encoder_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns of the training table, where it had names."""
        return self.encoder_.feature_names_in_

    @property
    def offset_(self) -> float:
        """The score that `decision_function` is 0 at."""
        return self.detector_.offset_

    @property
    def n_anomalies_(self) -> Any:
        """How many training rows are odder than chance explains, where the detector says so."""
        return self.detector_.n_anomalies_

    @property
    def threshold_(self) -> Any:
        """The threshold in force."""
        return self.detector_.threshold_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "detector_")


def make_detector(detector: Any = None, **encoder_parameters: Any) -> TableDetector:
    """Return `TableDetector(detector, **encoder_parameters)`: a detector that takes tables as they are.

    Parameters
    ----------
    detector : estimator, default=None
        Any scikit-learn outlier detector. None means `OddAtomDetector()`.
    **encoder_parameters
        Other parameters of `TableDetector`: columns, ignore, id, max_levels, dates, missing, time, by, window,
        random_state.

    Returns
    -------
    model : TableDetector

    Examples
    --------
    >>> from oddatom import make_detector
    >>> make_detector(max_levels=5)
    TableDetector(max_levels=5)
    """
    return TableDetector(detector, **encoder_parameters)


def join_fitted(encoder: TableEncoder, detector: Any, numbers: np.ndarray | None = None) -> TableDetector:
    """Return the model of a fitted encoder and a detector that was fitted to its output.

    Parameters
    ----------
    encoder : TableEncoder
    detector : estimator
    numbers : (n_samples, n_features), optional
        The encoded training rows, which new ones are compared with.
    """
    model = TableDetector(clone(detector), **{name: getattr(encoder, name) for name in OF_ENCODER})
    model.encoder_, model.detector_, model.context_ = encoder, detector, None
    if numbers is not None:
        model._take(Prepared(encoder, detector, None, Placed(numbers, numbers)))
    return model


def _like_table(values: np.ndarray, X: Any, names: Sequence[str]) -> Any:
    """Return an array as a pyarrow table or a frame of X's library where X is one."""
    if isinstance(X, pa.Table | pa.RecordBatch):
        return pa.table([np.ascontiguousarray(column) for column in values.T], names=list(names))
    return as_frame_like(values, X, names)
