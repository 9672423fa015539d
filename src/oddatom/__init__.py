"""Unsupervised anomaly detection with sparse dictionaries fused with a one-class SVM."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public names and where they live. They are imported when first used: scikit-learn alone takes about a second.
_HOMES = {
    "DLOCSVM": "oddatom.estimators",
    "DPLOCSVM": "oddatom.estimators",
    "KDLOCSVM": "oddatom.estimators",
    "KDPLOCSVM": "oddatom.estimators",
    "LinearOneClassSVM": "oddatom.estimators",
    "OddAtomDetector": "oddatom.estimators",
    "SVDD": "oddatom.estimators",
    "AllAtomsTrimmedWarning": "oddatom.exceptions",
    "DegenerateMarginWarning": "oddatom.exceptions",
    "DeviceWarning": "oddatom.exceptions",
    "DriftWarning": "oddatom.exceptions",
    "IndefiniteKernelWarning": "oddatom.exceptions",
    "ModelFileError": "oddatom.exceptions",
    "OddAtomError": "oddatom.exceptions",
    "OddAtomWarning": "oddatom.exceptions",
    "ParameterError": "oddatom.exceptions",
    "RankingWarning": "oddatom.exceptions",
    "SolverWarning": "oddatom.exceptions",
    "UnboundedObjectiveWarning": "oddatom.exceptions",
    "TableError": "oddatom.exceptions",
    "TableWarning": "oddatom.exceptions",
    "WorkerLostError": "oddatom.exceptions",
    "Explanation": "oddatom.explanations",
    "load": "oddatom.model_io",
    "save": "oddatom.model_io",
    "TableDetector": "oddatom.table",
    "make_detector": "oddatom.table",
}

if TYPE_CHECKING:
    from oddatom.estimators import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM, SVDD, LinearOneClassSVM, OddAtomDetector
    from oddatom.exceptions import (
        AllAtomsTrimmedWarning,
        DegenerateMarginWarning,
        DeviceWarning,
        DriftWarning,
        IndefiniteKernelWarning,
        ModelFileError,
        OddAtomError,
        OddAtomWarning,
        ParameterError,
        RankingWarning,
        SolverWarning,
        TableError,
        TableWarning,
        UnboundedObjectiveWarning,
        WorkerLostError,
    )
    from oddatom.explanations import Explanation
    from oddatom.model_io import load, save
    from oddatom.table import TableDetector, make_detector

__all__ = [
    "DLOCSVM",
    "DPLOCSVM",
    "KDLOCSVM",
    "KDPLOCSVM",
    "SVDD",
    "AllAtomsTrimmedWarning",
    "DegenerateMarginWarning",
    "DeviceWarning",
    "DriftWarning",
    "Explanation",
    "IndefiniteKernelWarning",
    "LinearOneClassSVM",
    "ModelFileError",
    "OddAtomDetector",
    "OddAtomError",
    "OddAtomWarning",
    "ParameterError",
    "RankingWarning",
    "SolverWarning",
    "TableDetector",
    "TableError",
    "TableWarning",
    "UnboundedObjectiveWarning",
    "WorkerLostError",
    "__version__",
    "load",
    "make_detector",
    "save",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'oddatom' has no attribute {name!r}; it has {', '.join(sorted(_HOMES))}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
