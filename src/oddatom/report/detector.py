"""What a fitted detector says of itself: where it cuts, its parameters, how its fit converged."""

from __future__ import annotations

from typing import Any

import numpy as np

from oddatom.estimators import OddAtomDetector
from oddatom.report.records import Curve

OF_MEMBERS = (
    "A line for every member, and their median: what is left of the rows it keeps, mean square, before each of four "
    "steps of the centroids, then five of the atoms."
)
OF_SWEEPS = "The objective and its two parts, before the first sweep and after every one."
NO_CURVES = "The model does not say how its fit went."


def threshold_words(detector: Any) -> str:
    """Say in a sentence where a fitted detector cuts."""
    kind, level = detector.threshold_
    if kind == "share":
        return f"The cut flags {100 * level:.3g} % of rows like the training rows."
    if kind == "top":
        return f"The cut flags the oddest of the training rows, at most {int(level):,}."
    if kind == "p":
        return f"Flagged are rows with p-values of at most {level:.3g}."
    if kind == "fdr":
        return f"Flagged by p-values, such that {100 * level:.3g} % of the rows flagged, in expectation, are normal."
    if kind == "svm":
        return (
            f"The cut is the one-class SVM's offset: at most {100 * detector.nu:.3g} % of the training rows lie below."
        )
    if not isinstance(detector, OddAtomDetector):
        return "Flagged are rows that score lower than the tail of the training scores leads to expect."
    if not hasattr(detector, "n_anomalies_"):
        return "Flagged by the cut that was found when the model was fitted, by an earlier rule."
    count = detector.n_anomalies_
    found = f"in training {count.words()}" if count.estimate else "no training row is"
    return f"Flagged are rows that are odder than a table without anomalies would have; {found}."


def parameter_words(detector: Any) -> dict[str, str]:
    """Return the parameters of a detector as text: the same in every run, whatever they are."""
    return {name: _words(value) for name, value in detector.get_params().items()}


def _words(value: Any) -> str:
    if value is None or isinstance(value, str | int | float | tuple | list | dict):
        return repr(value)
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    return getattr(value, "__name__", type(value).__name__)


def fit_curves(detector: Any) -> tuple[tuple[Curve, ...], tuple[str, str], str]:
    """Return how the fit converged: a curve for every member, or for every part of the objective; axes; a sentence."""
    if isinstance(detector, OddAtomDetector):
        members = np.asarray(getattr(detector.ensemble_, "history", np.empty((0, 0))))
        curves = tuple(Curve(f"member {b + 1}", tuple(map(float, steps))) for b, steps in enumerate(members))
        note, axes = OF_MEMBERS, ("step", "mean square left")
    else:
        history = getattr(detector, "history_", {})
        parts = {"total": "total", "F": "F, dictionary", "G": "G, one-class SVM"}
        curves = tuple(Curve(words, tuple(map(float, history[key]))) for key, words in parts.items() if key in history)
        note, axes = OF_SWEEPS, ("sweep", "objective")
    return (curves, axes, note) if curves else ((), axes, NO_CURVES)
