"""The detector that takes tables as they are: a `TableEncoder` and a detector in one estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from oddatom._documented import DocumentedMixin
from oddatom.arrays.arrow import pa
from oddatom.estimators import OddAtomDetector
from oddatom.estimators._saving import SaveMixin
from oddatom.estimators._validation import check_parameters, old_model_on_error
from oddatom.exceptions import DriftWarning
from oddatom.explanations import Explanation, as_frame_like
from oddatom.table.decision import ColumnDecision
from oddatom.table.drift import ColumnReference, drift_words, find_drift, take_references
from oddatom.table.encoder import TableEncoder

_OF_ENCODER = ("columns", "ignore", "id", "max_levels", "dates", "missing")


def _detector_has(method: str) -> Callable[[Any], bool]:
    """Return a check for `available_if`: whether the detector has a method."""

    def check(self: TableDetector) -> bool:
        unfitted = OddAtomDetector if self.detector is None else self.detector
        return hasattr(getattr(self, "detector_", unfitted), method)

    return check


class TableDetector(DocumentedMixin, SaveMixin, OutlierMixin, BaseEstimator):
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
    random_state : int, RandomState instance or None, default=None
        Replaces the `random_state` of the detector, where it has one. None keeps it.

    Attributes
    ----------
    encoder_ : TableEncoder
        Fitted; `encoder_.describe()` says what is done with every column.
    detector_ : estimator
        Fitted to the encoded rows, `encoder_.transform(X)`.
    columns_ : list of ColumnDecision
        What was decided about every column of the training table.
    reference_ : list of ColumnReference
        What is kept of every encoded column. `score_samples`, `decision_function`, `predict` and `p_values` compare 100
        rows or more with it, and warn (`DriftWarning`) where a column has moved.
    threshold_ : Threshold
        The threshold in force, where the detector has one.
    n_anomalies_ : AnomalyCount
        How many training rows are odder than chance explains, where the detector says so.
    offset_ : float
        `decision_function = score_samples - offset_`, where the detector has it.
    n_features_in_, feature_names_in_ : as in scikit-learn
        Of the table, not of the encoded rows.

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

    encoder_: TableEncoder
    detector_: Any
    reference_: list[ColumnReference]

    _parameter_constraints: ClassVar[dict] = {
        "detector": [HasMethods(["fit"]), None],
        **{name: TableEncoder._parameter_constraints[name] for name in _OF_ENCODER},
        "random_state": ["random_state"],
    }
    _advice: ClassVar[dict[str, str]] = {
        "detector": "Pass a detector, such as OddAtomDetector(); None means that one.",
        **TableEncoder._advice,
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
        random_state: Any = None,
    ) -> None:
        self.detector = detector
        self.columns = columns
        self.ignore = ignore
        self.id = id
        self.max_levels = max_levels
        self.dates = dates
        self.missing = missing
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
            encoder, detector, numbers = self._fit_encoder(X)
            detector.fit(numbers, y, **fit_params)
            self._take(encoder, detector, numbers)
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
            encoder, detector, numbers = self._fit_encoder(X)
            labels = detector.fit_predict(numbers, y, **fit_params)
            self._take(encoder, detector, numbers)
        return labels

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
        with old_model_on_error(self):
            if hasattr(self, "detector_"):
                encoder, detector, numbers = self.encoder_, self.detector_, self._encode(X)
            else:
                encoder, detector, numbers = self._fit_encoder(X)
            detector.partial_fit(numbers, y, **fit_params)
            memory = getattr(detector, "memory_", None)
            self._take(encoder, detector, numbers if memory is None else memory.rows)
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
        numbers = self._encode(X)
        self._warn_of_drift(numbers)
        return self.detector_.score_samples(numbers)

    @available_if(_detector_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Return `score_samples(X) - offset_`: negative for anomalies.

        Parameters
        ----------
        X : as in `score_samples`
        """
        numbers = self._encode(X)
        self._warn_of_drift(numbers)
        return self.detector_.decision_function(numbers)

    @available_if(_detector_has("predict"))
    def predict(self, X: Any) -> np.ndarray:
        """Return -1 for anomalies and +1 for the rest.

        Parameters
        ----------
        X : as in `score_samples`
        """
        numbers = self._encode(X)
        self._warn_of_drift(numbers)
        return self.detector_.predict(numbers)

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
        numbers = self._encode(X)
        self._warn_of_drift(numbers)
        return self.detector_.p_values(numbers)

    @available_if(_detector_has("score_parts"))
    def score_parts(self, X: Any) -> dict[str, np.ndarray]:
        """Return every score of each row, by name.

        Parameters
        ----------
        X : as in `score_samples`

        Returns
        -------
        parts : dict of ndarray of shape (n_samples,)
            Those of the detector.
        """
        numbers = self._encode(X)
        return self.detector_.score_parts(numbers)

    @available_if(_detector_has("explain"))
    def explain(self, X: Any) -> Explanation:
        """Return what each column of the table adds to a row's score: the lower, the more it makes the row odd.

        What a column adds is the sum over the numbers that it was encoded as.

        Parameters
        ----------
        X : as in `score_samples`

        Returns
        -------
        explanation : Explanation
            `contributions`, of shape (n_samples, n_used_columns): a column for every column of the training table that
            is used, in its order; rows sum to `score_samples(X)` up to rounding. None of kernels, which do not split
            over columns. `by_atom` is the detector's. Frames of X's library with names where X is a frame or a pyarrow
            table, otherwise arrays.
        """
        numbers = self._encode(X)
        found = self.detector_.explain(numbers)
        contributions, by_atom = found.contributions, found.by_atom
        if contributions is not None:
            used = [decision for decision in self.columns_ if decision.used]
            starts = np.cumsum([0, *(len(decision.outputs) for decision in used[:-1])])
            sums = np.add.reduceat(contributions, starts, axis=1)
            contributions = _like_table(sums, X, [decision.name for decision in used])
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
        training = None if rows is None else self._encode(rows)
        self.detector_.feedback(self._encode(X), labels, rows=training, keep=keep)
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

    def _new_detector(self) -> Any:
        """Return the unfitted detector, with this model's random state."""
        detector = OddAtomDetector() if self.detector is None else clone(self.detector)
        if self.random_state is not None:
            names = [name for name in detector.get_params() if name.split("__")[-1] == "random_state"]
            detector.set_params(**dict.fromkeys(names, self.random_state))
        return detector

    def _fit_encoder(self, X: Any) -> tuple[TableEncoder, Any, np.ndarray]:
        """Return a fitted encoder, a detector to fit and the encoded table; for public methods alone, for warnings."""
        encoder = TableEncoder(**{name: getattr(self, name) for name in _OF_ENCODER})
        owner, detector = type(self).__name__, self._new_detector()
        learn_columns(encoder, detector, lambda: encoder._learn(X, owner, 6))
        return encoder, detector, encoder._encode(X, owner, 4)

    def _take(self, encoder: TableEncoder, detector: Any, numbers: np.ndarray) -> None:
        """Take a fitted encoder and detector, and keep what new rows are compared with."""
        codes = [column.action == "code" for column in encoder.columns_ for _ in column.outputs]
        self.encoder_, self.detector_, self.reference_ = encoder, detector, take_references(numbers, codes)

    def _warn_of_drift(self, numbers: np.ndarray, stacklevel: int = 3) -> bool:
        """Warn where columns of encoded rows have moved since training; return whether any has."""
        found = find_drift(numbers, getattr(self, "reference_", None) or ())
        if found:
            warnings.warn(drift_words(found, self.columns_), DriftWarning, stacklevel=stacklevel)
        return bool(found)

    def _encode(self, X: Any) -> np.ndarray:
        """Return the encoded table; called by public methods alone, for warnings."""
        check_is_fitted(self)
        return self.encoder_._encode(X, type(self).__name__, 4)


def learn_columns(encoder: TableEncoder, detector: Any, learn: Callable[[], Any]) -> None:
    """Let an encoder learn; an `OddAtomDetector` gets text as codes, and is told so, where there are numbers beside it.

    Parameters
    ----------
    encoder : TableEncoder
    detector : estimator
    learn : function
        Fits the encoder.
    """
    if not isinstance(detector, OddAtomDetector):
        learn()
        return
    encoder.set_params(categories="codes")
    learn()
    used = [column for column in encoder.columns_ if column.used]
    if any(column.kind in ("number", "date") or column.action == "frequency" for column in used):
        actions = [column.action for column in used for _ in column.outputs]
        detector.set_params(categorical_features=[i for i, action in enumerate(actions) if action == "code"])
    else:
        encoder.set_params(categories="one-hot")
        detector.set_params(categorical_features=None)
        learn()


def make_detector(detector: Any = None, **encoder_parameters: Any) -> TableDetector:
    """Return `TableDetector(detector, **encoder_parameters)`: a detector that takes tables as they are.

    Parameters
    ----------
    detector : estimator, default=None
        Any scikit-learn outlier detector. None means `OddAtomDetector()`.
    **encoder_parameters
        Other parameters of `TableDetector`: columns, ignore, id, max_levels, dates, missing, random_state.

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
    model = TableDetector(clone(detector), **{name: getattr(encoder, name) for name in _OF_ENCODER})
    model.encoder_, model.detector_ = encoder, detector
    if numbers is not None:
        model._take(encoder, detector, numbers)
    return model


def _like_table(values: np.ndarray, X: Any, names: Sequence[str]) -> Any:
    """Return an array as a pyarrow table or a frame of X's library where X is one."""
    if isinstance(X, pa.Table | pa.RecordBatch):
        return pa.table([np.ascontiguousarray(column) for column in values.T], names=list(names))
    return as_frame_like(values, X, names)
