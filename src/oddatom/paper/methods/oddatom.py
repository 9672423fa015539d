"""OddAtomDetector: no settings, no labels; in the third view alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oddatom import OddAtomDetector
from oddatom.paper.base import DataSet, Effort, Method, Setting, View


class FittedOddAtom:
    """The detector after its fit."""

    def __init__(self, detector: OddAtomDetector, X: np.ndarray) -> None:
        self.detector = detector
        self.train_scores = self.scores(X)
        self.train_labels = self.labels(X)
        self.extra: dict[str, Any] = {}

    def labels(self, X: np.ndarray) -> np.ndarray:
        """Return the labels of new rows."""
        return np.asarray(self.detector.predict(X) == -1)

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return the scores of new rows."""
        return np.asarray(-self.detector.score_samples(X))


class OddAtom(Method):
    """The detector that needs no tuning."""

    label = "OddAtomDetector"
    order = 90
    views = ("unlabelled",)

    def grid(self, data: DataSet, effort: Effort) -> Sequence[Setting]:
        """Return nothing: there is nothing to choose."""
        return []

    def fixed(self, data: DataSet) -> Setting:
        """Return its defaults."""
        return {}

    def fit(self, X: np.ndarray, data: DataSet, setting: Setting, draw: int, view: View, nu: float) -> FittedOddAtom:
        """Fit to rows."""
        return FittedOddAtom(OddAtomDetector(random_state=draw, **setting).fit(X), X)


METHOD = OddAtom()
