"""The `threshold` of a detector: what it may be, the offset it stands for, and labels by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from oddatom.decisions.auto import auto_offset
from oddatom.decisions.fdr import benjamini_hochberg
from oddatom.decisions.share import share_offset, top_offset
from oddatom.exceptions import OddAtomError, ParameterError

LARGEST = float(np.finfo(np.float64).max)

FDR = 0.1  # the level of threshold="fdr"

NAMES = ("svm", "auto")

# Thresholds with a level, and the largest one.
LEVELS = {"share": 0.5, "top": float(2**53), "p": 1.0, "fdr": 1.0}


class Threshold(NamedTuple):
    """A threshold that has been checked: "share", "top", "p" and "fdr" have a level, the others are names."""

    kind: str
    level: float = 0.0


def check_threshold(name: str, threshold: Any, names: Sequence[str] = NAMES, *, p_values: bool = True) -> Threshold:
    """Return what a `threshold` parameter means, or say what it must be.

    Parameters
    ----------
    name : str
        The detector's, for the message.
    threshold : object
        One of `names`, a share in (0, 0.5] or as text ("2%"), "top=50", "p=0.01", "fdr=0.1" ("fdr" for short), or one
        of these three as a tuple, such as ("fdr", 0.1).
    names : sequence of str
        Thresholds by name that the detector has.
    p_values : bool
        Whether its p-values follow its scores, so that "p=0.01" is a cut of the scores.
    """
    found = parse_threshold(threshold, names)
    if found is not None and (found.kind != "p" or p_values):
        return found
    quoted = ", ".join(repr(one) for one in names)
    words = ("'2%'", "'top=50'", *(("'p=0.01'",) if p_values else ()), "'fdr=0.1'")
    raise ParameterError(
        name,
        "threshold",
        f"must be {quoted}, a float in the range (0.0, 0.5], or a rule such as {', '.join(words)}. Got {threshold!r} "
        "instead.",
        value=threshold,
        advice="A float is the share of rows to flag, the level of fdr that of false alarms among the rows flagged.",
    )


def parse_threshold(threshold: Any, names: Sequence[str] = NAMES) -> Threshold | None:
    """Return what a threshold means, None where it means nothing."""
    if isinstance(threshold, str):
        if threshold in names:
            return Threshold(threshold)
        if threshold == "fdr":
            return Threshold("fdr", FDR)
        kind, equals, level = threshold.replace(" ", "").partition("=")
        if not equals and kind.endswith("%"):
            return _with_level("share", kind.removesuffix("%"), 100.0)
        return _with_level(kind, level) if kind in LEVELS and kind != "share" else None
    if isinstance(threshold, Real):
        return _with_level("share", threshold)
    if isinstance(threshold, tuple | list) and len(threshold) == 2:
        kind, level = threshold
        plain = isinstance(kind, str) and kind in LEVELS and kind != "share" and isinstance(level, Real)
        return _with_level(kind, level) if plain else None
    return None


def _with_level(kind: str, level: Any, unit: float = 1.0) -> Threshold | None:
    """Return a threshold whose level, a number or its text in parts of a unit, is in its range."""
    try:
        number = float(level) / unit
    except (ValueError, OverflowError):
        return None
    fits = not isinstance(level, bool) and number > 0.0 and number <= LEVELS[kind]
    if kind == "top":
        fits = fits and number == int(number)
    elif kind != "share":
        fits = fits and number < 1.0
    return Threshold(kind, number) if fits else None


def flag(
    scores: Any, offset: float, threshold: Threshold | None = None, p_values: np.ndarray | None = None
) -> np.ndarray:
    """Return which rows are anomalies: those that score below the offset, or those that p-values report.

    Parameters
    ----------
    scores : (n,)
        Higher = more normal; not looked at where `threshold` is "fdr". Of a Dask collection the answer is lazy.
    offset : float
        A row that scores just this is normal.
    threshold : Threshold, optional
        With "fdr" Benjamini and Hochberg's procedure chooses among the rows, at its level.
    p_values : (n,), optional
        For "fdr".
    """
    if threshold is not None and threshold.kind == "fdr":
        if p_values is None:
            problem = "Rows are flagged by p-values where the threshold is 'fdr'."
            raise OddAtomError(problem, parameter="p_values", advice="Pass them.")
        return benjamini_hochberg(p_values, threshold.level)
    return scores < offset


class ThresholdMixin:
    """`decision_function`, `predict` and `set_threshold` of a detector.

    The detector has a parameter `threshold`, `score_samples` and, for "fdr", `p_values`. Its `fit` calls
    `_check_threshold` before any work, sets `train_scores_` (sorted) and what `_svm_offset` needs, and then calls
    `_apply_threshold`, which sets `threshold_` and `offset_`.
    """

    threshold: Any
    threshold_: Threshold
    offset_: float
    train_scores_: np.ndarray
    score_samples: Callable[[Any], np.ndarray]
    p_values: Callable[[Any], np.ndarray]

    _thresholds: ClassVar[tuple[str, ...]] = NAMES  # by name
    _p_follows_score: ClassVar[bool] = False  # whether a lower score never has a higher p-value

    def _auto_offset(self) -> float:
        """Return the offset of threshold="auto"."""
        return auto_offset(self.train_scores_)

    def _share_offset(self, share: float) -> float:
        """Return the offset that flags a share of rows like the training rows."""
        return share_offset(self.train_scores_, share)

    def _svm_offset(self) -> float:
        """Return the offset of threshold="svm"; a detector without that name in `_thresholds` needs none."""
        raise NotImplementedError

    def _p_offset(self, level: float) -> float:
        """Return the offset below which p-values are at most a level, where they follow the score."""
        raise NotImplementedError

    def _to_calibrate(self, fitted: bool) -> dict[str, Any]:
        """Return parameters to fit with for p-values; none where it has them: as fitted, or when it is fit."""
        return {}

    def _check_threshold(self, threshold: Any, *, fitted: bool) -> Threshold:
        """Check a threshold, and that there are p-values where it needs them."""
        name = type(self).__name__
        checked = check_threshold(name, threshold, self._thresholds, p_values=self._p_follows_score)
        options = self._to_calibrate(fitted) if checked.kind == "fdr" else {}
        if options:
            problem = f"must not be 'fdr' without p-values. Got {threshold!r} instead"
            advice = f"fit with {', '.join(f'{{{option}}}' for option in options)}."
            raise ParameterError(name, "threshold", problem, value=threshold, advice=advice, options=options)
        return checked

    def _offset(self, threshold: Threshold) -> float:
        """Return the offset that a threshold stands for on the training rows."""
        if threshold.kind == "svm":
            return self._svm_offset()
        if threshold.kind == "share":
            return self._share_offset(threshold.level)
        if threshold.kind == "top":
            return top_offset(self.train_scores_, int(threshold.level))
        if threshold.kind == "p":
            return self._p_offset(threshold.level)
        if threshold.kind == "fdr":
            # The training rows' own p-values are 1/N, 2/N, …, of which the procedure reports none at any level below 1.
            return float(np.nextafter(self.train_scores_[0], -np.inf))
        return self._auto_offset()

    def _apply_threshold(self, threshold: Threshold) -> None:
        self.offset_, self.threshold_ = self._offset(threshold), threshold

    def set_threshold(self, threshold: Any) -> Self:
        """Change where a fitted model cuts; nothing is learned anew.

        Parameters
        ----------
        threshold : as the parameter of that name, which stays as it is: `threshold_` is the one in force

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self._apply_threshold(self._check_threshold(threshold, fitted=True))
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return `score_samples(X) - offset_`: negative for anomalies."""
        with np.errstate(over="ignore"):
            decision = self.score_samples(X) - self.offset_
        return np.clip(decision, -LARGEST, LARGEST) if isinstance(decision, np.ndarray) else decision

    def predict(self, X: Any) -> np.ndarray:
        """Return +1 for inliers (rows on the margin included) and −1 for anomalies.

        With threshold=("fdr", q) Benjamini and Hochberg's procedure chooses the anomalies among the rows passed: then,
        and only then, a label depends on the other rows.
        """
        check_is_fitted(self)
        fdr = self.threshold_.kind == "fdr"
        scores, p_values = (None, self.p_values(X)) if fdr else (self.score_samples(X), None)
        return 1 - 2 * flag(scores, self.offset_, self.threshold_, p_values)
