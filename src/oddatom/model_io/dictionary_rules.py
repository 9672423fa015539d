"""What the fitted attributes of the dictionary detectors must look like: their kernels trust every size."""

from __future__ import annotations

from typing import Any

import numpy as np

from oddatom.coding.histograms import BINS, CodeHistograms
from oddatom.estimators import DPLOCSVM
from oddatom.estimators._kernel import KernelDetector
from oddatom.history import CODE_NORM, COLUMNS, ROUND_COLUMNS, History
from oddatom.kernels.coordinates import KernelMap
from oddatom.kernels.formulas import KERNELS
from oddatom.kernels.functions import Kernel
from oddatom.model_io.decision_rules import CONFORMAL, DECISION, check_decision
from oddatom.model_io.memory_rules import MEMORY
from oddatom.model_io.rules import (
    Rule,
    Sizes,
    csr,
    demand,
    each,
    integer,
    number,
    numbers,
    optional,
    places,
    record,
    text,
)
from oddatom.model_io.schema import FEATURES, Schema
from oddatom.scaling.linear import Scaling
from oddatom.scores import OF_BOUNDARY, SCORES, CodeStatistics

# Those with an entry for every training row, which the models of folds do without.
BY_ROW = frozenset({"train_codes_", "train_decision_", "train_scores_", "dual_coef_"})


def _free(value: Any, path: str, sizes: Sizes) -> None:
    """Told by `_finish`."""


def _history(value: Any, path: str, sizes: Sizes) -> None:
    demand(type(value) is History, path, "a History", value)
    known = set(COLUMNS) <= set(value) <= {*COLUMNS, *ROUND_COLUMNS, CODE_NORM, "kkt"}
    demand(known, path, f"of columns {', '.join(COLUMNS)}", list(value))
    for name, column in value.items():
        numbers("iterations", nan=True)(column, f"{path}.{name}", sizes)
    each(numbers("*", nan=True))(value.lagrangian, f"{path}.lagrangian", sizes)


_SCALING = record(
    lambda: Scaling,
    {
        "center": optional(numbers("features")),
        "spread": optional(numbers("features", above=0.0)),
        "scale": number(above=0.0),
    },
)
_HISTOGRAMS = record(
    lambda: CodeHistograms,
    {
        "center": numbers("active"),
        "spread": numbers("active", above=0.0),
        "absent": numbers("active"),
        "present": numbers("active", BINS),
    },
)
_STATISTICS = record(
    lambda: CodeStatistics,
    {
        "usage": numbers("active", above=0.0, most=np.nextafter(1.0, 0.0)),
        "variance": numbers("active", above=0.0),
        "noise": number(above=0.0),
        "histograms": optional(_HISTOGRAMS),
    },
)
_KERNEL = record(
    lambda: Kernel,
    {
        "function": text(KERNELS),
        "gamma": number(above=0.0),
        "degree": number(least=0.0),
        "coef0": number(),
    },
)
_KERNEL_MAP = record(
    lambda: KernelMap,
    {
        "kernel": optional(_KERNEL),
        "n_samples": integer(least=1, name="rows"),
        "indices": places("landmarks", below="rows"),
        "landmarks": numbers("*", "*"),
        "T": numbers("landmarks", "coordinates"),
        "negative": number(least=0.0),
    },
)


def _kept_rows(value: Any, path: str, sizes: Sizes) -> None:
    """Which rows took part in the fit: as many as attributes by row have entries."""
    numbers("*", dtype=np.bool_)(value, path, sizes)
    rows = sizes.get("rows", int(value.sum()))
    demand(int(value.sum()) == rows, path, f"true for the {rows} rows of the fit", int(value.sum()))
    sizes["all_rows"] = value.size


def _scoring(value: Any, path: str, sizes: Sizes) -> None:
    """One of SCORES, or the ball's own."""
    if value != "distance":
        text(SCORES)(value, path, sizes)


def _fold_rows(value: Any, path: str, sizes: Sizes) -> None:
    """Rows of a fold, of all that were passed."""
    below = "all_rows" if "all_rows" in sizes else "rows"
    places("*", below=below, rising=True)(value, path, sizes)


def _schema(*, pair: bool, kernel: bool) -> Schema:
    columns = "coordinates" if kernel else "features"
    rules: dict[str, Rule] = dict(FEATURES)
    if kernel:
        rules |= {
            "kernel_map_": _KERNEL_MAP,
            "landmark_indices_": places("landmarks", below="rows"),
            "kernel_coding_": text(("correlation", "gram")),
            "gamma_": optional(number(above=0.0)),
            "dictionary_coefficients_": optional(numbers("rows", "atoms")),  # None of many rows, as others by row
        }
    rules |= {
        "scaling_": _SCALING,
        "scale_": number(above=0.0),
        "dictionary_": numbers("atoms", columns),
        "active_atoms_": numbers("atoms", dtype=np.bool_),
        "components_": numbers("active", columns),
        "coef_": numbers("active"),
        "boundary_": text(tuple(OF_BOUNDARY)),
        "code_statistics_": _STATISTICS,
        "n_nonzero_": integer(least=1, most="atoms"),
    }
    if pair:
        rules |= {
            "analysis_dictionary_": numbers("atoms", columns),
            "analysis_components_": numbers("active", columns),
            "representation_": text(("analysis", "omp")),
            "alpha_": number(least=0.0),
        }
    rules |= {
        "nu_": number(above=0.0, most=1.0),
        "gap_": number(),
        "n_iter_": integer(),
        "history_": _history,
        "dual_coef_": optional(numbers("rows")),
        "kept_rows_": _kept_rows,
        "train_codes_": optional(csr("rows", "atoms")),
        "train_coef_": numbers("atoms"),
        "train_offset_": number(),
        "train_decision_": optional(numbers("rows")),
        "scoring_": _scoring,
        **DECISION,
        "threshold_": _free,
        "conformal_": optional(CONFORMAL),
        "fold_models_": _free,
        "fold_rows_": optional(each(_fold_rows)),
    }
    optional_ = {"feature_names_in_", "boundary_", "kept_rows_"}
    if not pair and not kernel:
        rules["memory_"] = MEMORY
        optional_.add("memory_")
    by_row = BY_ROW | {"dictionary_coefficients_"} if kernel else BY_ROW
    return Schema(rules, optional=frozenset(optional_), together=by_row, finish=_finish)


def dictionary_schema(Class: type) -> Schema:
    """Return the schema of one of the four dictionary detectors."""
    return _SCHEMAS[issubclass(Class, DPLOCSVM), issubclass(Class, KernelDetector)]


def _finish(model: Any, path: str, sizes: Sizes) -> None:
    active = int(model.active_atoms_.sum())
    demand(active == sizes["active"], f"{path}active_atoms_", f"true for the {sizes['active']} components", active)
    scaling = model.scaling_
    both = (scaling.center is None) == (scaling.spread is None)
    demand(both, f"{path}scaling_", "of both a center and a spread, or neither", tuple(map(type, scaling)))
    if hasattr(model, "kernel_map_"):
        _check_kernel_map(model, path, sizes)
    other = {"plane": "distance", "ball": "margin"}[model.boundary_]
    demand(model.scoring_ != other, f"{path}scoring_", f"a score that goes with a {model.boundary_}", model.scoring_)
    histograms = model.code_statistics_.histograms
    there = histograms is not None or model.scoring_ != "loda"
    demand(there, f"{path}code_statistics_.histograms", "there for the score loda", histograms)
    _check_folds(model, path)
    check_decision(model, path, sizes)


def _check_kernel_map(model: Any, path: str, sizes: Sizes) -> None:
    kernel_map, where = model.kernel_map_, f"{path}kernel_map_"
    demand(kernel_map.T.size > 0, f"{where}.T", "of one landmark and one coordinate at least", kernel_map.T)
    precomputed = kernel_map.kernel is None
    shape = (0, 0) if precomputed else (sizes["landmarks"], sizes["features"])
    demand(kernel_map.landmarks.shape == shape, f"{where}.landmarks", f"of shape {shape}", kernel_map.landmarks)
    named = (model.kernel == "precomputed") == precomputed
    demand(named, f"{where}.kernel", "None where, and only where, the parameter kernel is 'precomputed'", model.kernel)
    if precomputed:
        rows, m = sizes["rows"], sizes["features"]
        demand(rows == m, f"{where}.n_samples", f"the number of columns of a precomputed kernel, {m}", rows)
    same = np.array_equal(kernel_map.indices, model.landmark_indices_)
    demand(same, f"{path}landmark_indices_", "those of kernel_map_", model.landmark_indices_)


def _check_folds(model: Any, path: str) -> None:
    """Each fold has rows of its own, a model without them, and as many held-out scores."""
    models, rows, conformal = model.fold_models_, model.fold_rows_, model.conformal_
    if models is None and rows is None and conformal is None:
        return
    where = f"{path}fold_models_"
    demand(type(models) is list and type(rows) is list and conformal is not None, where, "there with its rows", models)
    held_out = [scores.size for scores in conformal.held_out]
    demand([part.size for part in rows] == held_out, f"{path}fold_rows_", f"of the sizes {held_out}", rows)
    demand(len(models) == len(rows) > 0, where, f"a model for each of {len(rows)} folds", len(models))
    for k, (fold, part) in enumerate(zip(models, rows, strict=True)):
        lone = type(fold) is type(model) and fold.fold_models_ is None and not hasattr(fold, "train_scores_")
        demand(lone, f"{where}.{k}", f"a {type(model).__name__} without folds and training rows", type(fold))
        precomputed = getattr(model, "kernel", None) == "precomputed"
        m = model.n_features_in_ - part.size if precomputed else model.n_features_in_
        demand(fold.n_features_in_ == m, f"{where}.{k}.n_features_in_", f"{m}", fold.n_features_in_)
        alike = fold.scoring_ == model.scoring_ and getattr(fold, "kernel", None) == getattr(model, "kernel", None)
        demand(alike, f"{where}.{k}", "a model of the same score and kernel", fold.scoring_)


_SCHEMAS = {(pair, kernel): _schema(pair=pair, kernel=kernel) for pair in (False, True) for kernel in (False, True)}
