"""The detectors as PyOD has them: `contamination` cuts, scores are higher for anomalies, labels are 0 and 1.

`OddAtom`, `DLOCSVM`, `DPLOCSVM`, `KDLOCSVM` and `KDPLOCSVM` are subclasses of PyOD's `BaseDetector`. Each takes the
parameters of the detector of oddatom that it fits, by name, but for `threshold` and `n_folds`: PyOD has its own
answers to these. Needs PyOD (the extra `pyod`).

>>> from pyod.utils.data import generate_data
>>> from oddatom.pyod import OddAtom
>>> X, X_new, y, y_new = generate_data(n_train=200, n_test=100, contamination=0.1, random_state=0)
>>> detector = OddAtom(contamination=0.1, random_state=0).fit(X)
>>> int(detector.labels_.sum())
20
>>> probabilities = detector.predict_proba(X_new)    # columns: normal, anomaly
>>> shares = detector.detector_.explain(X_new).contributions  # what oddatom adds: the fitted detector
"""

from __future__ import annotations

from typing import Any, Unpack

from oddatom import estimators
from oddatom.pyod._adapter import Adapter
from oddatom.pyod._parameters import KernelPairs, KernelSparse, Pairs, Sparse, Untuned

__all__ = ["DLOCSVM", "DPLOCSVM", "KDLOCSVM", "KDPLOCSVM", "OddAtom"]


class OddAtom(Adapter):
    """`oddatom.OddAtomDetector` for PyOD: a trimmed ensemble of dictionaries, without labels and without tuning."""

    _detector = estimators.OddAtomDetector

    def __init__(self, contamination: Any = 0.1, **parameters: Unpack[Untuned]) -> None:
        super().__init__(contamination, **parameters)


class DLOCSVM(Adapter):
    """`oddatom.DLOCSVM` for PyOD: sparse codes whose dictionary and one-class SVM are learned together."""

    _detector = estimators.DLOCSVM

    def __init__(self, contamination: Any = 0.1, **parameters: Unpack[Sparse]) -> None:
        super().__init__(contamination, **parameters)


class DPLOCSVM(Adapter):
    """`oddatom.DPLOCSVM` for PyOD: linear codes whose pair of dictionaries and one-class SVM are learned together."""

    _detector = estimators.DPLOCSVM

    def __init__(self, contamination: Any = 0.1, **parameters: Unpack[Pairs]) -> None:
        super().__init__(contamination, **parameters)


class KDLOCSVM(Adapter):
    """`oddatom.KDLOCSVM` for PyOD: `DLOCSVM` in the feature space of a kernel."""

    _detector = estimators.KDLOCSVM

    def __init__(self, contamination: Any = 0.1, **parameters: Unpack[KernelSparse]) -> None:
        super().__init__(contamination, **parameters)


class KDPLOCSVM(Adapter):
    """`oddatom.KDPLOCSVM` for PyOD: `DPLOCSVM` in the feature space of a kernel."""

    _detector = estimators.KDPLOCSVM

    def __init__(self, contamination: Any = 0.1, **parameters: Unpack[KernelPairs]) -> None:
        super().__init__(contamination, **parameters)
