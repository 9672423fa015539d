"""What the fitted attributes of OddAtomDetector must look like: its kernel trusts every size and every place."""

from __future__ import annotations

from typing import Any

import numpy as np

from oddatom.ensemble.feedback import Feedback
from oddatom.ensemble.histogram import Histogram
from oddatom.ensemble.joining import Calibration
from oddatom.ensemble.levels import Levels
from oddatom.ensemble.model import SCORES, Ensemble
from oddatom.ensemble.naive_bayes import NEVER, Context
from oddatom.ensemble.packed import Packed
from oddatom.ensemble.parts import BUILT_IN, PARTS
from oddatom.ensemble.row_parts import split_names
from oddatom.ensemble.tails import Tails
from oddatom.estimators._feedback import MOST_JUDGED
from oddatom.model_io.decision_rules import AUTO, CONFORMAL, DECISION, check_decision
from oddatom.model_io.memory_rules import MEMORY
from oddatom.model_io.rules import Rule, Sizes, demand, each, integer, number, numbers, optional, record, text
from oddatom.model_io.schema import FEATURES, Schema
from oddatom.scaling.asinh import AsinhScaling

_REACH = 1e3  # of a scaled row: asinh of the largest makes 87


def _free(value: Any, path: str, sizes: Sizes) -> None:
    """Told by `check_decision`."""


_SCALING = record(
    lambda: AsinhScaling,
    {
        "unit": numbers("features", above=0.0),
        "center": numbers("features"),
        "spread": numbers("features", above=0.0, finite=False),
    },
)
_TAILS = record(
    lambda: Tails,
    {
        "knots": numbers("features", "knots"),
        "cost": numbers("features", "knots"),
        "center": numbers("features", "scales"),
        "edge": numbers("features", "sides", "scales", above=0.0, finite=False),
        "next_edge": numbers("features", "sides", "scales", above=0.0, finite=False),
        "reach": numbers("features", "sides", "scales", least=0.0),
        "edge_cost": numbers("features", "sides", least=0.0),
        "root": numbers("features", above=0.0),
        "root_below": optional(numbers("features", above=0.0)),
        "missing": optional(numbers("features", least=0.0, most=1e3)),
    },
)
_CONTEXT = record(
    lambda: Context,
    {
        "targets": each(integer(), tuple),
        "predictors": each(each(integer(), tuple), tuple),
        "edges": numbers("features", "edges", finite=False),
        "n_levels": each(integer(least=1), tuple),
        "share": numbers("targets", "levels", least=NEVER, most=0.0),
        "held_out_share": numbers("targets", "levels", least=NEVER, most=0.0),
        "ratio": numbers("targets", "predictors", "places", "levels", least=-100.0, most=100.0),
        "held_out": numbers("targets", "predictors", "places", "levels", least=-100.0, most=100.0),
    },
)
_LEVELS = record(
    lambda: Levels,
    {
        "categorical": numbers("features", dtype=np.bool_),
        "columns": each(integer(), tuple),
        "categories": each(integer(), tuple),
        "center": numbers("shifted"),
        "shifts": numbers("shifted", "shifts", nan=True),
    },
)
_HISTOGRAM = record(
    lambda: Histogram,
    {
        "low": numbers("features"),
        "high": numbers("features"),
        "steps": numbers("features", least=0.0),
        "cost": numbers("features", "bins"),
        "held_out": numbers("features", "bins"),
        "tails": optional(_TAILS),
        "context": optional(_CONTEXT),
    },
)
_PACKED = record(
    lambda: Packed,
    {
        "centroids": numbers("members", "centroids", "features", least=-_REACH, most=_REACH),
        "half_norms": numbers("members", "centroids", least=0.0, finite=False),
        "atoms": numbers("members", "atoms", "features", least=-2.0, most=2.0),
        "cost": numbers("members", "atoms"),
        "gain_precision": numbers("members", "atoms", least=0.0),
        "precision": numbers("members", least=0.0),
        "feature_precision": numbers("members", "features", least=0.0),
        "directions": numbers("members", "directions", "features", least=-2.0, most=2.0),
        "direction_gain": numbers("members", "directions"),
        "rest_precision": numbers("members", least=0.0),
        "group_terms": optional(numbers("members", "centroids", "features", least=-1e100, most=1e100)),
    },
)
_CALIBRATION = record(
    lambda: Calibration,
    {
        "lift": numbers("calibrated", above=0.0),
        "center": numbers("calibrated"),
        "spread": numbers("calibrated", above=0.0),
        "fill": optional(numbers("calibrated", least=0.0)),
    },
)
_FEEDBACK = record(
    lambda: Feedback,
    {
        "rows": numbers("judged", "features", nan=True),
        "labels": numbers("judged", least=-1.0, most=1.0),
        "strength": number(least=0.0, most=1e3),
        "width": number(above=0.0),
        "usual": numbers(2),
        "normal_score": number(),
    },
)
_ENSEMBLE: dict[str, Rule] = {
    "scaling": _SCALING,
    "histogram": _HISTOGRAM,
    "packed": _PACKED,
    "n_trims": integer(least=1),
    "calibration": _CALIBRATION,
    "names": each(text(PARTS), tuple),
    "weights": numbers("parts", least=0.0),
    "plane": numbers("joined"),
    "rho": number(),
    "history": numbers("members", "*", nan=True),
    "levels": optional(_LEVELS),
    "feedback": optional(_FEEDBACK),
}


def _finish(model: Any, path: str, sizes: Sizes) -> None:
    ensemble, where = model.ensemble_, f"{path}ensemble_"
    for name in ("members", "centroids", "atoms"):
        demand(sizes[name] > 0, where, f"of one of {name} at least", 0)
    _check_histogram(ensemble.histogram, f"{where}.histogram", sizes)
    packed = ensemble.packed
    halves = 0.5 * np.einsum("bkf,bkf->bk", packed.centroids, packed.centroids)
    real = np.isfinite(packed.half_norms)
    fits = np.allclose(packed.half_norms[real], halves[real], rtol=1e-9, atol=1e-12)
    demand(fits, f"{where}.packed.half_norms", "half the squared norms of the centroids", packed.half_norms)
    for name, array in packed._asdict().items():
        demand(array is None or array.flags.c_contiguous, f"{where}.packed.{name}", "stored row by row", array)
    names, M = ensemble.names, sizes["members"]
    if "cell" in names:
        _check_tails(ensemble.histogram.tails, f"{where}.histogram.tails", sizes)
    _check_context(ensemble.histogram.context, f"{where}.histogram.context", sizes)
    _check_levels(ensemble.levels, f"{where}.levels", sizes)
    _check_feedback(ensemble.feedback, f"{where}.feedback", sizes)
    groups = packed.group_terms is not None or "group" not in names
    demand(groups, f"{where}.packed.group_terms", "there, because the part 'group' is", None)
    members, of_rows = split_names(names)
    built_in = [name for name in names if name in BUILT_IN]
    ordered = [*members, *of_rows] == list(names) and built_in == list(BUILT_IN) and len(set(names)) == len(names)
    ordered = ordered and members.index("group") == 4 if "group" in members else ordered
    demand(ordered, f"{where}.names", "the built-in parts, then others, those of members first", names)
    demand(sizes["parts"] == len(names), f"{where}.weights", f"of {len(names)} parts", sizes["parts"])
    joined = sum(PARTS[name].joined for name in names)
    demand(sizes["joined"] == joined, f"{where}.plane", f"of the {joined} joined parts", sizes["joined"])
    n = len(members) * M + len(of_rows)
    demand(sizes["calibrated"] == n, f"{where}.calibration", f"of {n} parts", sizes["calibrated"])
    demand(M % ensemble.n_trims == 0, f"{where}.n_trims", f"a divisor of the {M} members", ensemble.n_trims)
    total = float(ensemble.weights.sum())
    demand(abs(total - 1.0) < 1e-6, f"{where}.weights", "weights that sum to 1", total)
    groups = M // ensemble.n_trims
    for name in ("conformal_", "conformal_before_"):
        folds = len(getattr(model, name, model.conformal_).held_out)
        demand(folds == groups, f"{path}{name}", f"of {groups} folds, one for each group of members", folds)
    check_decision(model, path, sizes)


def _check_histogram(histogram: Any, path: str, sizes: Sizes) -> None:
    """A value within low and high must fall into one of the bins: its number is (u − low)·steps, cut to an integer."""
    bins = sizes["bins"] - 2  # and one at either end
    demand(bins >= 1, f"{path}.cost", "of three bins at least", sizes["bins"])
    with np.errstate(over="ignore"):
        spans = histogram.high - histogram.low
    demand((np.isfinite(spans) & (spans >= 0.0)).all(), f"{path}.high", "at least low, and not infinitely more", spans)
    with np.errstate(over="ignore", invalid="ignore"):
        counts = spans * histogram.steps
    demand((counts <= bins + 1).all(), f"{path}.steps", f"such that {bins} bins span the range", histogram.steps)


def _check_tails(tails: Any, path: str, sizes: Sizes) -> None:
    """Knots must rise, and pairs be pairs: the kernel looks for a value between the knots."""
    demand(tails is not None, path, "there, because the part 'cell' is", tails)
    pairs = sizes["sides"] == sizes["scales"] == 2 and sizes["knots"] >= 2
    demand(pairs, path, "of two sides, two scales and two knots at least", (sizes["sides"], sizes["scales"]))
    demand((np.diff(tails.knots, axis=1) >= 0.0).all(), f"{path}.knots", "in rising order", tails.knots)
    for name, array in tails._asdict().items():
        demand(array is None or array.flags.c_contiguous, f"{path}.{name}", "stored row by row", array)


def _check_context(context: Any, path: str, sizes: Sizes) -> None:
    """Columns must be there, edges rise, and tables have a place for every bin: the kernel looks all of them up."""
    if context is None:
        return
    m, n = sizes["features"], sizes["targets"]
    demand(n >= 1, path, "of one target at least", n)
    for name in ("targets", "predictors", "n_levels"):
        demand(len(getattr(context, name)) == n, f"{path}.{name}", f"of {n} targets", len(getattr(context, name)))
    columns = [*context.targets, *(g for some in context.predictors for g in some)]
    demand(all(g < m for g in columns), f"{path}.predictors", f"below features = {m} in every entry", columns)
    most = sizes["predictors"]
    demand(all(len(some) <= most for some in context.predictors), f"{path}.predictors", f"{most} at most each", most)
    fits = all(level <= min(sizes["levels"], sizes["edges"] + 1) for level in context.n_levels)
    demand(fits, f"{path}.n_levels", "at most the levels of the tables", context.n_levels)
    demand(sizes["places"] == sizes["edges"] + 2, f"{path}.ratio", "of two bins more than edges", sizes["places"])
    with np.errstate(invalid="ignore"):
        rising = (context.edges[:, 1:] >= context.edges[:, :-1]).all()
    demand(rising, f"{path}.edges", "in rising order", context.edges)
    for name in ("edges", "share", "held_out_share", "ratio", "held_out"):
        array = getattr(context, name)
        demand(array.flags.c_contiguous, f"{path}.{name}", "stored row by row", array)


def _check_levels(levels: Any, path: str, sizes: Sizes) -> None:
    """Shifted columns and their categories must be there, one of each."""
    if levels is None:
        return
    m, n = sizes["features"], sizes["shifted"]
    for name in ("columns", "categories"):
        found = getattr(levels, name)
        fits = len(found) == n and all(g < m for g in found)
        demand(fits, f"{path}.{name}", f"{n} columns below features = {m}", found)
    demand(sizes["shifts"] >= 1, f"{path}.shifts", "of one level at least", sizes["shifts"])
    demand(not np.isinf(levels.shifts).any(), f"{path}.shifts", "free of infinity", levels.shifts)


def _check_feedback(feedback: Any, path: str, sizes: Sizes) -> None:
    """Judged rows must be such as can be scored, and their labels -1 or 1."""
    if feedback is None:
        return
    demand(1 <= sizes["judged"] <= MOST_JUDGED, f"{path}.rows", f"from 1 to {MOST_JUDGED} rows", sizes["judged"])
    demand(not np.isinf(feedback.rows).any(), f"{path}.rows", "free of infinity", feedback.rows)
    demand((np.abs(feedback.labels) == 1.0).all(), f"{path}.labels", "-1 or 1 in every entry", feedback.labels)
    demand(feedback.usual[1] > 0.0, f"{path}.usual", "above 0 in its second entry", feedback.usual)


_SCHEMA = Schema(
    {
        **FEATURES,
        "ensemble_": record(lambda: Ensemble, _ENSEMBLE),
        "conformal_": CONFORMAL,
        "conformal_before_": CONFORMAL,
        "auto_": AUTO,
        "scoring_": text(SCORES),
        **DECISION,
        "threshold_": _free,
        "memory_": MEMORY,
    },
    optional=frozenset({"feature_names_in_", "memory_", "conformal_before_", "auto_"}),
    finish=_finish,
)


def ensemble_schema(Class: type) -> Schema:
    """Return the schema of OddAtomDetector."""
    return _SCHEMA
