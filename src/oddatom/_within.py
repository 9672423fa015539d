"""Where a fitted detector is in what others wrap around one."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

# Of PyOD adapters and TableDetector, of searches, of FrozenEstimator.
ATTRIBUTES = ("detector_", "best_estimator_", "estimator_", "estimator")


def detector_within(model: Any) -> str:
    """Return the attribute that holds a fitted detector of ours or a Pipeline, as ".detector_"; "" where none does.

    Parameters
    ----------
    model : estimator
    """
    for name in ATTRIBUTES:
        inner = getattr(model, name, None)
        ours = isinstance(inner, Pipeline) or type(inner).__module__.split(".")[0] == "oddatom"
        if ours and hasattr(inner, "n_features_in_"):
            return f".{name}"
    return ""
