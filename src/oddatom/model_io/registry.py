"""What a model file may hold, by fixed names. A name from a file is looked up here, and never imported or called.

An entry has a function without arguments that returns the class. Adding a class is one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any, NamedTuple

from oddatom.model_io.dictionary_rules import dictionary_schema
from oddatom.model_io.ensemble_rules import ensemble_schema
from oddatom.model_io.one_class_rules import one_class_schema
from oddatom.model_io.rules import Mismatch
from oddatom.model_io.schema import Schema
from oddatom.model_io.table_rules import table_schema


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
    """Return a function that imports one of our classes when it is needed."""
    return lambda: getattr(import_module(module), name)


def named_tuple(module: str, name: str) -> Record:
    """Return the entry of a NamedTuple."""
    get = lazy(module, name)

    def fields() -> tuple[str, ...]:
        return get()._fields  # type: ignore[attr-defined]

    def defaults() -> Collection[str]:
        return get()._field_defaults  # type: ignore[attr-defined]

    return Record(get, fields, lambda value: value._asdict(), lambda found, path: get()(**found), defaults)


def _make_conformal(found: dict[str, Any], path: str) -> Any:
    from oddatom.decisions import CrossConformal
    from oddatom.model_io.rules import each, numbers

    each(numbers("*", finite=False), tuple)(found["held_out"], f"{path}.held_out", {})
    return CrossConformal(found["held_out"])


def _make_history(found: dict[str, Any], path: str) -> Any:
    from oddatom.history import History

    if type(found["columns"]) is not dict or type(found["lagrangian"]) is not list:
        raise Mismatch(path, "must have columns and a list of values")
    history = History()
    history.clear()
    history.update(found["columns"])
    history.lagrangian = found["lagrangian"]
    return history


MODELS: dict[str, Model] = {
    "DLOCSVM": Model(lazy("oddatom.estimators", "DLOCSVM"), dictionary_schema),
    "DPLOCSVM": Model(lazy("oddatom.estimators", "DPLOCSVM"), dictionary_schema),
    "KDLOCSVM": Model(lazy("oddatom.estimators", "KDLOCSVM"), dictionary_schema),
    "KDPLOCSVM": Model(lazy("oddatom.estimators", "KDPLOCSVM"), dictionary_schema),
    "LinearOneClassSVM": Model(lazy("oddatom.estimators", "LinearOneClassSVM"), one_class_schema),
    "OddAtomDetector": Model(lazy("oddatom.estimators", "OddAtomDetector"), ensemble_schema),
    "TableEncoder": Model(lazy("oddatom.table", "TableEncoder"), table_schema),
}

RECORDS: dict[str, Record] = {
    "AsinhScaling": named_tuple("oddatom.scaling.asinh", "AsinhScaling"),
    "Calibration": named_tuple("oddatom.ensemble.joining", "Calibration"),
    "CodeStatistics": named_tuple("oddatom.scores", "CodeStatistics"),
    "ColumnDecision": named_tuple("oddatom.table.decision", "ColumnDecision"),
    "CrossConformal": Record(
        lazy("oddatom.decisions", "CrossConformal"),
        lambda: ("held_out",),
        lambda value: {"held_out": value.held_out},
        _make_conformal,
    ),
    "Ensemble": named_tuple("oddatom.ensemble.model", "Ensemble"),
    "Histogram": named_tuple("oddatom.ensemble.histogram", "Histogram"),
    "History": Record(
        lazy("oddatom.history", "History"),
        lambda: ("columns", "lagrangian"),
        lambda value: {"columns": dict(value), "lagrangian": value.lagrangian},
        _make_history,
    ),
    "Kernel": named_tuple("oddatom.kernels.functions", "Kernel"),
    "KernelMap": named_tuple("oddatom.kernels.coordinates", "KernelMap"),
    "Memory": named_tuple("oddatom.estimators._partial", "Memory"),
    "Packed": named_tuple("oddatom.ensemble.packed", "Packed"),
    "Scaling": named_tuple("oddatom.scaling.linear", "Scaling"),
    "Threshold": named_tuple("oddatom.decisions", "Threshold"),
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
