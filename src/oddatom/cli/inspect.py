"""`oddatom inspect`: what a model file holds."""

from __future__ import annotations

import argparse
from typing import Any

from sklearn.pipeline import Pipeline

from oddatom import load
from oddatom.cli.console import Console, printable
from oddatom.cli.listing import show_json


def run(options: argparse.Namespace, console: Console) -> bool:
    """Return False: inspecting finds nothing."""
    facts = {name: _facts(part) for name, part in _parts(load(options.model)).items()}
    if options.json:
        show_json(console, {"file": options.model, **facts})
        return False
    for name, found in facts.items():
        console.show(console.style(f"{name}: {found['class']}", "bold"))
        for key, value in found.items():
            if key == "columns":
                for line in value:
                    console.show(f"  {printable(line, 160)}")
            elif key == "parameters":
                console.show("  parameters: " + printable(", ".join(f"{k}={v!r}" for k, v in value.items())))
            elif key != "class":
                console.show(f"  {key}: {printable(value)}")
    return False


def _parts(model: Any) -> dict[str, Any]:
    if hasattr(model, "encoder_"):  # a TableDetector, which needs pyarrow
        context = getattr(model, "context_", None)
        placing = {} if context is None or not context.roles else {"rows": model}
        return {"table": model.encoder_, **placing, "detector": model.detector_}
    return dict(model.named_steps) if isinstance(model, Pipeline) else {"detector": model}


def _facts(step: Any) -> dict[str, Any]:
    if hasattr(step, "encoder_"):
        return _placing(step)
    facts: dict[str, Any] = {"class": type(step).__name__, "parameters": _plain(step.get_params())}
    if hasattr(step, "describe"):
        return {**facts, "columns": step.describe()}
    facts["features"] = int(step.n_features_in_)
    for name in ("offset_", "scoring_", "threshold_"):
        if hasattr(step, name):
            value = getattr(step, name)
            facts[name.rstrip("_")] = _plain(value._asdict() if hasattr(value, "_asdict") else value)
    if hasattr(step, "weights_"):
        facts["weights"] = {name: round(weight, 4) for name, weight in step.weights_.items()}
    if hasattr(step, "n_anomalies_"):
        facts["odder than chance"] = step.n_anomalies_._asdict()
    judged = getattr(getattr(step, "ensemble_", None), "feedback", None)
    if judged is not None:
        n = int((judged.labels < 0.0).sum())
        facts["judged"] = {"anomaly": n, "normal": judged.labels.size - n, "strength": round(judged.strength, 3)}
    if getattr(step, "memory_", None) is not None:
        facts["rows kept"] = len(step.memory_.rows)
    if getattr(step, "train_scores_", None) is not None:
        facts["training rows"] = int(step.train_scores_.size)
    return facts


def _placing(model: Any) -> dict[str, Any]:
    """Return how a TableDetector places rows, and how many it keeps."""
    facts: dict[str, Any] = {"class": type(model).__name__, "columns": model.context_.lines()}
    if model._in_time:
        facts["rows kept"] = int(model.followed_.last.times.size)
    return facts


def _plain(value: Any) -> Any:
    """Return what JSON can say, anything else in words."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)
