"""What a model file may hold, by fixed names. A name from a file is looked up here, and never imported or called.

An entry has a function without arguments that returns the class. Adding a class is one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from oddatom.coding.histograms import CodeHistograms
from oddatom.context.following import Followed
from oddatom.context.groups import GroupLevels
from oddatom.context.ordered import LastRows
from oddatom.context.row_features import ContextRules, TimeRules
from oddatom.context.usual_hours import UsualHours
from oddatom.decisions import AnomalyCount, AutoDecision, CrossConformal, Threshold
from oddatom.ensemble.feedback import Feedback
from oddatom.ensemble.histogram import Histogram
from oddatom.ensemble.joining import Calibration
from oddatom.ensemble.levels import Levels
from oddatom.ensemble.model import Ensemble
from oddatom.ensemble.naive_bayes import Context
from oddatom.ensemble.packed import Packed
from oddatom.ensemble.tails import Tails
from oddatom.estimators import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM, SVDD, LinearOneClassSVM, OddAtomDetector
from oddatom.history import History
from oddatom.kernels.coordinates import KernelMap
from oddatom.kernels.functions import Kernel
from oddatom.model_io.dictionary_rules import dictionary_schema
from oddatom.model_io.ensemble_rules import ensemble_schema
from oddatom.model_io.one_class_rules import ball_schema, one_class_schema
from oddatom.model_io.rules import Mismatch, demand, each, numbers
from oddatom.model_io.schema import Schema
from oddatom.model_io.table_rules import table_detector_schema, table_schema
from oddatom.rows.remembered import Memory
from oddatom.scaling.asinh import AsinhScaling
from oddatom.scaling.linear import Scaling
from oddatom.scores import CodeStatistics
from oddatom.table.decision import ColumnDecision
from oddatom.table.drift import ColumnReference


class Model(NamedTuple):
    """An estimator: its class, and a function of the class that returns what its fitted attributes must look like."""

    get: Callable[[], type]
    schema: Callable[[type], Schema]


class Record(NamedTuple):
    """A small class: how it is taken apart into fields, and made again from all of them but those with a default."""

    get: Callable[[], type]
    fields: Callable[[], tuple[str, ...]]
    take: Callable[[Any], dict[str, Any]]
    make: Callable[[dict[str, Any], str], Any]
    defaults: Callable[[], Collection[str]] = tuple  # older files do without these fields


def lazy(module: str, name: str) -> Callable[[], type]:
    """Return a function that imports one of our classes when it is needed: one that needs an optional package."""
    return lambda: getattr(import_module(module), name)


def known(cls: type) -> Callable[[], type]:
    """Return a function that returns the class."""
    return lambda: cls


def named_tuple(get: Callable[[], type]) -> Record:
    """Return the entry of a NamedTuple."""

    def fields() -> tuple[str, ...]:
        return get()._fields  # type: ignore[attr-defined]

    def defaults() -> Collection[str]:
        return get()._field_defaults  # type: ignore[attr-defined]

    return Record(get, fields, lambda value: value._asdict(), lambda found, path: get()(**found), defaults)


def _make_conformal(found: dict[str, Any], path: str) -> Any:
    each(numbers("*", finite=False), tuple)(found["held_out"], f"{path}.held_out", {})
    keys = found.get("keys")
    if keys is not None:
        each(numbers("*", dtype=np.int64), tuple)(keys, f"{path}.keys", {})
        sizes = [scores.size for scores in found["held_out"]]
        demand([one.size for one in keys] == sizes, f"{path}.keys", "as many as held-out scores, fold by fold", keys)
    return CrossConformal(found["held_out"], keys)


def _make_history(found: dict[str, Any], path: str) -> Any:
    if type(found["columns"]) is not dict or type(found["lagrangian"]) is not list:
        raise Mismatch(path, "must have columns and a list of values")
    history = History()
    history.clear()
    history.update(found["columns"])
    history.lagrangian = found["lagrangian"]
    return history


MODELS: dict[str, Model] = {
    "DLOCSVM": Model(known(DLOCSVM), dictionary_schema),
    "DPLOCSVM": Model(known(DPLOCSVM), dictionary_schema),
    "KDLOCSVM": Model(known(KDLOCSVM), dictionary_schema),
    "KDPLOCSVM": Model(known(KDPLOCSVM), dictionary_schema),
    "LinearOneClassSVM": Model(known(LinearOneClassSVM), one_class_schema),
    "OddAtomDetector": Model(known(OddAtomDetector), ensemble_schema),
    "SVDD": Model(known(SVDD), ball_schema),
    "TableDetector": Model(lazy("oddatom.table", "TableDetector"), table_detector_schema),
    "TableEncoder": Model(lazy("oddatom.table", "TableEncoder"), table_schema),
}

_NAMED_TUPLES = (
    AnomalyCount, AsinhScaling, AutoDecision, Calibration, CodeHistograms, CodeStatistics, Context, Ensemble, Feedback,
    Histogram, Kernel, KernelMap, Levels, Memory, Packed, Scaling, Tails, Threshold,
)  # fmt: skip
_OF_CONTEXT = (ContextRules, Followed, GroupLevels, LastRows, TimeRules, UsualHours)
_OF_TABLES = {"RowContext": "row_context", "TimeColumn": "roles"}  # these need pyarrow
RECORDS: dict[str, Record] = {
    **{cls.__name__: named_tuple(known(cls)) for cls in _NAMED_TUPLES},
    **{cls.__name__: named_tuple(known(cls)) for cls in _OF_CONTEXT},
    **{name: named_tuple(lazy(f"oddatom.table.{module}", name)) for name, module in _OF_TABLES.items()},
    "ColumnDecision": named_tuple(known(ColumnDecision)),
    "ColumnReference": named_tuple(known(ColumnReference)),
    "CrossConformal": Record(
        known(CrossConformal),
        lambda: ("held_out", "keys"),
        lambda value: {"held_out": value.held_out, "keys": value.keys},
        _make_conformal,
        lambda: ("keys",),
    ),
    "History": Record(
        known(History),
        lambda: ("columns", "lagrangian"),
        lambda value: {"columns": dict(value), "lagrangian": value.lagrangian},
        _make_history,
    ),
}


def model_name(value: Any) -> str | None:
    """Return the name of a value's own class among the models."""
    return _name(value, MODELS)


def record_name(value: Any) -> str | None:
    """Return the name of a value's own class among the small classes."""
    return _name(value, RECORDS)


def _name(value: Any, entries: dict[str, Any]) -> str | None:
    name = type(value).__name__
    return name if name in entries and entries[name].get() is type(value) else None
