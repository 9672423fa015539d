"""The detectors of the ranking benchmark, each at the defaults of its library.

A detector is one entry of DETECTORS. `scores(model, X, Z)` fits on X and scores X (Z is None) or the new rows Z,
higher = more anomalous. Libraries are imported when a detector is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

OURS = "OddAtomDetector"


@dataclass(frozen=True)
class Sklearn:
    """A detector with scikit-learn's `score_samples`, higher = more normal."""

    name: str
    home: str
    # Takes a random_state. Where this is False, scores of the same rows are the same for every seed.
    stochastic: bool = True
    # Gets the columns as they are; all others get them standardised.
    raw: bool = False
    class_name: str = ""
    # Options other than the library's defaults, each with its reason.
    options: tuple[tuple[str, Any], ...] = ()

    def make(self, seed: int) -> Any:
        """A new detector at its defaults, but for `options`."""
        kind = getattr(import_module(self.home), self.class_name or self.name)
        options = dict(self.options)
        return kind(random_state=seed, **options) if self.stochastic else kind(**options)

    def scores(self, model: Any, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        """Scores of X, or of Z, by the model fitted on X."""
        return -model.fit(X).score_samples(X if Z is None else Z)


@dataclass(frozen=True)
class Pyod(Sklearn):
    """A detector of PyOD, which keeps the scores of the rows it was fitted on."""

    def scores(self, model: Any, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        """Scores of X, or of Z, by the model fitted on X."""
        model.fit(X)
        return model.decision_scores_ if Z is None else model.decision_function(Z)


DETECTORS = (
    Sklearn(OURS, "oddatom", raw=True),
    Sklearn("IsolationForest", "sklearn.ensemble"),
    Pyod("k-NN", "pyod.models.knn", stochastic=False, class_name="KNN"),
    Pyod("LOF", "pyod.models.lof", stochastic=False),
    Pyod("OCSVM", "pyod.models.ocsvm", stochastic=False),
    # The default solver returns variances of exactly 0 for dependent columns, by which PyOD then divides.
    Pyod("PCA", "pyod.models.pca", options=(("svd_solver", "full"),)),
    Pyod("ECOD", "pyod.models.ecod", stochastic=False),
    Pyod("COPOD", "pyod.models.copod", stochastic=False),
    Pyod("HBOS", "pyod.models.hbos", stochastic=False),
    Pyod("CBLOF", "pyod.models.cblof"),
    Pyod("MCD", "pyod.models.mcd"),
    Pyod("INNE", "pyod.models.inne"),
    Pyod("GMM", "pyod.models.gmm"),
)
NAMES = tuple(d.name for d in DETECTORS)


def choose(only: list[str], skip: list[str]) -> list[Sklearn]:
    """Detectors by name."""
    chosen = [d for d in DETECTORS if (not only or d.name in only) and d.name not in skip]
    try:
        for detector in chosen:
            detector.make(0)
    except ModuleNotFoundError as error:
        raise SystemExit(
            f"{error}. The peers need the bench extra: pip install -e '.[bench]', or make untuned."
        ) from None
    return chosen
