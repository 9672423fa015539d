"""Unsupervised anomaly detection with sparse dictionaries fused with a one-class SVM."""

from importlib.metadata import version

from oddatom.detectors import DLOCSVM, LinearOneClassSVM
from oddatom.exceptions import (
    AllAtomsTrimmedWarning,
    DegenerateMarginWarning,
    OddAtomWarning,
    SolverWarning,
)

__version__ = version("oddatom")

__all__ = [
    "DLOCSVM",
    "AllAtomsTrimmedWarning",
    "DegenerateMarginWarning",
    "LinearOneClassSVM",
    "OddAtomWarning",
    "SolverWarning",
    "__version__",
]
