"""Fitted estimators as trees: class by its registry name, parameters, fitted attributes; a Pipeline as its steps.

An estimator that is a parameter of another has no attributes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from oddatom._within import detector_within
from oddatom.decisions import check_threshold
from oddatom.estimators._validation import fitted_attributes
from oddatom.model_io.registry import MODELS, model_name
from oddatom.model_io.rules import Mismatch, demand, shown
from oddatom.model_io.schema import check_attributes
from oddatom.model_io.tree import Decoder, Encoder

OUTPUTS = ("default", "pandas", "polars")  # of scikit-learn's set_output


def encode_model(model: Any, encoder: Encoder, path: str) -> dict[str, Any]:
    """Return the tree of a fitted estimator, which is checked as it will be when it is loaded."""
    name = model_name(model)
    if name is None:
        inner = detector_within(model)
        raise Mismatch(
            path,
            f"is a {type(model).__name__}, and model files hold {', '.join(MODELS)} and Pipelines of them",
            f"Save the detector in it, model{inner}."
            if inner and not path
            else "Use pickle, and load what it writes only where you trust it.",
        )
    unfitted = _is_parameter(path)
    if not unfitted:
        check_is_fitted(model)
    inside = f"{path}." if path else ""
    parameters = {key: _stored(key, value) for key, value in model.get_params(deep=False).items()}
    tree: dict[str, Any] = {
        "class": name,
        "parameters": {key: encoder.encode(v, f"{inside}parameters.{key}") for key, v in parameters.items()},
    }
    _check_parameters(model, name, inside)
    if unfitted:
        return tree
    attributes = sorted(fitted_attributes(model).items())
    tree["attributes"] = {key: encoder.encode(value, f"{inside}{key}") for key, value in attributes}
    check_attributes(model, MODELS[name].schema(type(model)), inside)
    output = getattr(model, "_sklearn_output_config", {}).get("transform")
    return tree if output is None else {**tree, "output": output}


def decode_model(tree: Any, decoder: Decoder, path: str) -> Any:
    """Return the estimator of a tree: fitted, unless it is a parameter of another."""
    inside = f"{path}." if path else ""
    unfitted = _is_parameter(path)
    keys = {"class", "parameters"} if unfitted else {"class", "parameters", "attributes"}
    others = set() if unfitted else {"output"}
    demand(type(tree) is dict and keys <= set(tree) <= keys | others, path, "a class with its values", tree)
    name = tree["class"]
    if type(name) is not str or name not in MODELS:
        raise Mismatch(path, f"is of a class that this version does not know, {shown(name)}")
    Class = MODELS[name].get()
    parameters = _values(tree["parameters"], Class._get_param_names(), decoder, f"{inside}parameters.")  # type: ignore[attr-defined]
    model = Class(**parameters)
    _check_parameters(model, name, inside)
    if unfitted:
        return model
    attributes = _values(tree["attributes"], MODELS[name].schema(Class).attributes, decoder, inside)
    vars(model).update(attributes)
    if "output" in tree:
        demand(tree["output"] in OUTPUTS, f"{inside}output", f"one of {', '.join(OUTPUTS)}", tree["output"])
        model._sklearn_output_config = {"transform": tree["output"]}
    check_attributes(model, MODELS[name].schema(Class), inside)
    return model


def encode_top(model: Any, encoder: Encoder) -> dict[str, Any]:
    """Return the tree of a model to save: an estimator, or a Pipeline of estimators."""
    if type(model) is not Pipeline:
        tree = encode_model(model, encoder, "")
        _check_whole(model, "")
        return tree
    steps = []
    for name, step in model.steps:
        demand(_step_name(name), "steps", "named by text without '__' or '.'", name)
        steps.append([name, encode_model(step, encoder, name)])
    _check_steps(model.steps)
    return {"class": "Pipeline", "steps": steps, "verbose": bool(model.verbose)}


def decode_top(tree: Any, decoder: Decoder) -> Any:
    """Return the model of a file."""
    if type(tree) is not dict or tree.get("class") != "Pipeline":
        model = decoder.model(tree, "")
        _check_whole(model, "")
        return model
    demand(set(tree) == {"class", "steps", "verbose"}, "", "a Pipeline of steps", sorted(tree))
    demand(type(tree["steps"]) is list and 0 < len(tree["steps"]) <= 16, "steps", "a list of up to 16", tree["steps"])
    demand(type(tree["verbose"]) is bool, "verbose", "true or false", tree["verbose"])
    steps = []
    for pair in tree["steps"]:
        demand(type(pair) is list and len(pair) == 2 and _step_name(pair[0]), "steps", "names and estimators", pair)
        steps.append((pair[0], decoder.model(pair[1], pair[0])))
    demand(len(dict(steps)) == len(steps), "steps", "of names that differ", [name for name, _ in steps])
    _check_steps(steps)
    return Pipeline(steps, verbose=tree["verbose"])


def _stored(name: str, value: Any) -> Any:
    """A parameter as it is stored: no state of random numbers, first dictionaries as arrays, names as lists."""
    if name == "random_state" and not isinstance(value, int | np.integer):
        return None
    if name == "init" and value is not None and not isinstance(value, str):
        return np.array(value, dtype=np.float64)
    if name in ("columns", "ignore", "id", "by", "categorical_features") and not isinstance(
        value, str | int | list | tuple | None
    ):
        return list(value)  # an index of pandas, an array
    return value


def _values(trees: Any, known: Any, decoder: Decoder, path: str) -> dict[str, Any]:
    demand(type(trees) is dict, path, "values by name", trees)
    for name in trees:
        if name.startswith("__") or name not in known:
            raise Mismatch(f"{path}{name[:60]}", "is nothing that this version knows")
    return {name: decoder.decode(tree, f"{path}{name}") for name, tree in trees.items()}


def _is_parameter(path: str) -> bool:
    """Return whether an estimator at a path is a parameter: it is stored unfitted, as `fit` clones it."""
    return path.split(".")[-2:] == ["parameters", "detector"]


def _check_parameters(model: Any, name: str, path: str) -> None:
    """Check parameters by scikit-learn's constraints, and those that it leaves to us."""
    try:
        model._validate_params()
        if hasattr(model, "_thresholds"):
            check_threshold(name, model.threshold, model._thresholds, p_values=model._p_follows_score)
        if hasattr(model, "_check_trim"):
            model._check_trim()
    except (ValueError, TypeError) as error:
        reason = " ".join(str(error).split())[:300].rstrip(".")
        raise Mismatch(f"{path}parameters", f"are not valid: {reason}") from None


def _check_whole(model: Any, path: str) -> None:
    """A model by itself has what the models of folds do without; the parts of a TableDetector fit each other."""
    schema = MODELS[type(model).__name__].schema(type(model))
    for name in sorted(schema.together):
        demand(hasattr(model, name), f"{path}{name}", "there", None)
    if type(model).__name__ == "TableDetector":
        from oddatom.model_io.context_rules import check_together

        check_together(model, path)
        context = getattr(model, "context_", None)
        views = 0 if context is None else context.context.n_views
        _check_steps([("encoder_", model.encoder_), ("detector_", model.detector_)], path, views)


def _step_name(name: Any) -> bool:
    return type(name) is str and bool(name) and "__" not in name and "." not in name


def _check_steps(steps: list[Any], path: str = "", views: int = 0) -> None:
    """Check that every step can do its part, and takes the columns of the one before it and `views` more."""
    for k, (name, step) in enumerate(steps):
        last = k == len(steps) - 1
        able = hasattr(step, "score_samples" if last else "transform")
        demand(able, f"{path}{name}", "able to do its part", type(step))
        _check_whole(step, f"{path}{name}.")
        if not last:
            n, wanted = len(step.get_feature_names_out()) + views, steps[k + 1][1].n_features_in_
            demand(n == wanted, f"{path}{name}", f"followed by a step that takes its {n} columns", wanted)
