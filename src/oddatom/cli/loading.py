"""Load what the command line saved: a `TableDetector`, in older files a Pipeline of encoder and detector."""

from __future__ import annotations

import argparse
from typing import Any

from sklearn.pipeline import Pipeline

from oddatom import load
from oddatom.exceptions import ModelFileError
from oddatom.table.table_detector import TableDetector, join_fitted

_USE_ANOTHER = "Use a model that `oddatom fit` wrote, or load this one in Python."


def load_model(options: argparse.Namespace) -> TableDetector:
    """Return the model in the file, on as many threads as the options say and with their threshold."""
    model: Any = load(options.model)
    if isinstance(model, Pipeline) and list(model.named_steps) == ["table", "detector"]:
        model = join_fitted(model["table"], model["detector"])
    if not isinstance(model, TableDetector):
        raise ModelFileError(
            f"{options.model} holds {type(model).__name__}, which takes numbers, not tables.", advice=_USE_ANOTHER
        )
    detector = model.detector_
    if not hasattr(detector, "threshold_"):
        raise ModelFileError(
            f"{options.model} holds {type(detector).__name__}, which the command line does not know.",
            advice=_USE_ANOTHER,
        )
    detector.n_jobs = getattr(options, "threads", None)
    if getattr(options, "threshold", None) is not None:
        detector.set_threshold(options.threshold)
    return model
