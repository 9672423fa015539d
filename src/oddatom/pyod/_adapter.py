"""PyOD's contract on top of a detector: signature, help, fit and scores, the same for all of them."""

from __future__ import annotations

import re
from inspect import Parameter, Signature, cleandoc, getdoc, signature
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from oddatom.estimators._validation import old_model_on_error
from oddatom.exceptions import ParameterError

try:
    from pyod.models.base import BaseDetector  # type: ignore[import-untyped]
except ImportError as error:
    raise ImportError(f"oddatom.pyod needs PyOD ({error}). Install it: pip install 'oddatom[pyod]'.") from error

# Parameters of the detectors that PyOD answers with `contamination` and `predict_confidence`.
LEFT_OUT = {
    "threshold": "PyOD cuts by 'contamination', a share or a thresholder",
    "n_folds": "PyOD has predict_confidence; for p-values use the detector of oddatom itself",
}

_CONTAMINATION = """\
contamination : float or thresholder, default=0.1
    Share of the training rows that are anomalies, in (0, 0.5]: `threshold_` flags that many of them. Or an object
    that finds the cut itself, such as those of `pyod.models.thresholds`."""

_ATTRIBUTES = """\
Attributes
----------
detector_ : {name}
    The fitted detector of oddatom, with what PyOD has no name for: `explain`, `score_parts`, `save`.
decision_scores_ : ndarray of shape (n_samples,)
    Scores of the training rows in their order, what `decision_function` gives for them: the higher, the odder.
threshold_ : float
    Rows with a higher score are labelled 1.
labels_ : ndarray of shape (n_samples,)
    Labels of the training rows: 1 for anomalies, 0 for the others.
n_features_in_, feature_names_in_ : as in scikit-learn"""


class _Scored(NamedTuple):
    """Rows whose scores are known, in place of rows: PyOD asks for their number and their scores alone."""

    scores: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        """How many there are."""
        return self.scores.shape


class Adapter(BaseDetector):
    """PyOD's contract on top of a detector, `_detector`, whose parameters and defaults are the adapter's too."""

    _detector: ClassVar[Any]
    _defaults: ClassVar[dict[str, Any]]

    detector_: Any
    decision_scores_: np.ndarray
    threshold_: float
    labels_: np.ndarray

    def __init_subclass__(cls, **options: Any) -> None:
        """Give a class with a detector of its own the signature and the help that belong to it."""
        super().__init_subclass__(**options)
        if "_detector" not in vars(cls):
            return
        own = [p for name, p in signature(cls._detector).parameters.items() if name not in LEFT_OUT]
        cls._defaults = {p.name: p.default for p in own}
        cls.__init__.__signature__ = Signature(  # type: ignore[attr-defined]
            [
                Parameter("self", Parameter.POSITIONAL_OR_KEYWORD),
                Parameter("contamination", Parameter.POSITIONAL_OR_KEYWORD, default=0.1, annotation="Any"),
                *(p.replace(kind=Parameter.KEYWORD_ONLY) for p in own),
            ],
            return_annotation="None",
        )
        cls.__doc__ = _help(cls.__doc__, cls._detector)

    def __init__(self, contamination: Any, **parameters: Any) -> None:
        super().__init__(contamination=_as_float(contamination))
        for name in parameters:
            if name not in self._defaults:
                advice = LEFT_OUT.get(name, f"it has {', '.join(['contamination', *self._defaults])}")
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}: {advice}.")
        for name, default in self._defaults.items():
            setattr(self, name, parameters.get(name, default))

    @property
    def contamination(self) -> Any:
        """Share of anomalies, or a thresholder."""
        return vars(self)["contamination"]

    @contamination.setter
    def contamination(self, given: Any) -> None:
        self.__dict__["contamination"] = _as_float(given)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from unlabelled rows, score them and find the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        self._check_contamination()
        with old_model_on_error(self):
            self.detector_ = self._unfitted().fit(X)
            self.decision_scores_ = self.decision_function(X)
            self._set_n_classes(None)
            self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each row: the higher, the more abnormal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Minus `score_samples` of `detector_`.
        """
        if isinstance(X, _Scored):
            return X.scores
        check_is_fitted(self, "detector_")
        return -np.asarray(self.detector_.score_samples(X))

    def predict_proba(self, X: Any, method: str = "linear", return_confidence: bool = False) -> Any:
        """Return PyOD's probabilities that rows are normal, and that they are anomalies.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        method : {"linear", "unify"}, default="linear"
        return_confidence : bool, default=False
            Whether to return `predict_confidence`, too.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
        confidence : ndarray of shape (n_samples,)
            With `return_confidence`.
        """
        return super().predict_proba(_Scored(self.decision_function(X)), method, return_confidence)

    @property
    def n_features_in_(self) -> int:
        """Columns of the training rows."""
        return self.detector_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Their names, where they had any."""
        return self.detector_.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._unfitted()).input_tags
        return tags

    def _unfitted(self) -> Any:
        return self._detector(threshold="svm", **{name: vars(self)[name] for name in self._defaults})

    def _check_contamination(self) -> None:
        """The constructor's check once more: `set_params` has none."""
        given = self.contamination
        if isinstance(given, float | int):
            valid = 0.0 < given <= 0.5
        else:
            valid = hasattr(given, "fit") and hasattr(given, "predict")
        if not valid:
            raise ParameterError(
                type(self).__name__,
                "contamination",
                f"must be a float in the range (0.0, 0.5] or a thresholder with fit and predict. Got {given!r} instead",
                value=given,
                advice="0.1 is PyOD's default.",
            )


def _as_float(given: Any) -> Any:
    """Return NumPy's floats as Python's, which PyOD asks for; anything else as it is."""
    return given.item() if isinstance(given, np.floating) and not isinstance(given, float) else given


def _help(summary: str | None, detector: Any) -> str | None:
    """Return a docstring with the detector's own words on the parameters that are left."""
    if summary is None:  # python -OO
        return None
    name, text = detector.__name__, getdoc(detector) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)\n\n", text, re.DOTALL | re.MULTILINE)
    entries = re.split(r"\n(?=\S)", section[1]) if section else []
    kept = [entry for entry in entries if entry.split(" :")[0] not in LEFT_OUT]
    parameters = "\n".join(["Parameters\n----------", _CONTAMINATION, *kept])
    return "\n\n".join([cleandoc(summary), parameters, _ATTRIBUTES.format(name=name)]) + "\n"
