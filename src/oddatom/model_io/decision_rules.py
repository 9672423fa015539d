"""What scores, thresholds and p-values of a fitted detector must look like."""

from __future__ import annotations

from typing import Any

import numpy as np

from oddatom.decisions import AnomalyCount, AutoDecision, CrossConformal, Threshold
from oddatom.decisions.threshold import LEVELS
from oddatom.model_io.rules import Rule, Sizes, demand, each, integer, number, numbers, optional, record

CONFORMAL = record(
    lambda: CrossConformal,
    {
        "held_out": each(numbers("*", finite=False), tuple),
        "keys": optional(each(numbers("*", dtype=np.int64), tuple)),
    },
)
_COUNT = record(lambda: AnomalyCount, {name: integer() for name in AnomalyCount._fields})
AUTO = record(lambda: AutoDecision, {"offset": number(finite=False), "n_anomalies": _COUNT})

# Scores, and offsets with them, may be infinite where a square overflowed.
DECISION: dict[str, Rule] = {
    "train_scores_": numbers("scores", finite=False, rising=True),
    "svm_offset_": number(finite=False),
    "offset_": number(finite=False),
}


def check_decision(model: Any, path: str, sizes: Sizes) -> None:
    """Check the threshold in force, and that there are training scores to find another in."""
    demand("scores" not in sizes or sizes["scores"] > 0, f"{path}train_scores_", "of one row at least", 0)
    value = model.threshold_
    demand(type(value) is Threshold, f"{path}threshold_", "a Threshold", value)
    number()(value.level, f"{path}threshold_.level", sizes)
    allowed = {
        "share": 0.0 < value.level <= LEVELS["share"],
        "top": 0.0 < value.level <= LEVELS["top"],
        "p": 0.0 < value.level < 1.0 and model._p_follows_score,
        "fdr": 0.0 < value.level < 1.0 and model.conformal_ is not None,
    }
    allowed.update(dict.fromkeys(model._thresholds, True))
    known = type(value.kind) is str and allowed.get(value.kind, False)
    demand(known, f"{path}threshold_", "a threshold that the model has, with a level in its range", tuple(value))
