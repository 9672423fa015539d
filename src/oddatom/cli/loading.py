"""Load what the command line saved: a pipeline of encoder and detector."""

from __future__ import annotations

import argparse
from typing import Any

from sklearn.pipeline import Pipeline

from oddatom import load
from oddatom.exceptions import ModelFileError

_USE_ANOTHER = "Use a model that `oddatom fit` wrote, or load this one in Python."


def load_pipeline(options: argparse.Namespace) -> Any:
    """Return the pipeline in the model file, on as many threads as the options say and with their threshold."""
    pipeline = load(options.model)
    if not isinstance(pipeline, Pipeline) or list(pipeline.named_steps) != ["table", "detector"]:
        raise ModelFileError(
            f"{options.model} holds {type(pipeline).__name__}, which takes numbers, not tables.", advice=_USE_ANOTHER
        )
    detector = pipeline["detector"]
    if not hasattr(detector, "threshold_"):
        raise ModelFileError(
            f"{options.model} holds {type(detector).__name__}, which the command line does not know.",
            advice=_USE_ANOTHER,
        )
    detector.n_jobs = getattr(options, "threads", None)
    if getattr(options, "threshold", None) is not None:
        detector.set_threshold(options.threshold)
    return pipeline
