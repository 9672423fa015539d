"""What the fitted attributes of TableEncoder and TableDetector must look like. pyarrow is imported only here."""

from __future__ import annotations

import math
from typing import Any

from sklearn.base import BaseEstimator

from oddatom.model_io.rules import Rule, Sizes, demand, each, integer, number, numbers, record, text
from oddatom.model_io.schema import FEATURES, Schema
from oddatom.table.decision import LEFT_OUT, ColumnDecision
from oddatom.table.drift import ColumnReference


def _any_text(value: Any, path: str, sizes: Sizes) -> None:
    demand(type(value) is str, path, "text", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        demand(False, path, "text that can be written as UTF-8", value)


def _truth(value: Any, path: str, sizes: Sizes) -> None:
    demand(type(value) is bool, path, "true or false", value)


def _fill(value: Any, path: str, sizes: Sizes) -> None:
    if not (type(value) is float and math.isnan(value)):
        number()(value, path, sizes)


def table_schema(Class: type) -> Schema:
    """Return the schema of TableEncoder."""
    from oddatom.table.dates import DATE_FORMATS
    from oddatom.table.words import NUMBER_FORMATS

    styles = {"number": tuple(NUMBER_FORMATS), "date": tuple(DATE_FORMATS)}
    rules: dict[str, Rule] = {
        "name": _any_text,
        "kind": text(("number", "boolean", "date", "text", "empty", "other", "id", "ignored")),
        "action": text(("number", "one-hot", "code", "frequency", LEFT_OUT)),
        "reason": _any_text,
        "outputs": each(_any_text),
        "n_missing": integer(),
        "indicator": _truth,
        "fill": _fill,
        "center": number(),
        "style": _any_text,
        "levels": each(_any_text),
        "shares": each(number(least=0.0, most=1.0)),
    }

    def finish(model: Any, path: str, sizes: Sizes) -> None:
        columns, n = model.columns_, sizes["features"]
        demand(len(columns) == n, f"{path}columns_", f"a decision for each of {n} columns", len(columns))
        demand(any(column.used for column in columns), f"{path}columns_", "of one column to use at least", n)
        for k, column in enumerate(columns):
            where = f"{path}columns_.{k}"
            if column.kind in styles and column.used:
                text(styles[column.kind])(column.style, f"{where}.style", sizes)
            wanted = _n_outputs(column)
            demand(len(column.outputs) == wanted, f"{where}.outputs", f"{wanted} names", column.outputs)
            even = column.action != "frequency" or len(column.shares) == len(column.levels)
            demand(even, f"{where}.shares", "as many as levels", len(column.shares))

    return Schema({**FEATURES, "columns_": each(record(lambda: ColumnDecision, rules))}, finish=finish)


def table_detector_schema(Class: type) -> Schema:
    """Return the schema of TableDetector. Whether its parts fit each other is checked where a model is whole."""
    from oddatom.table.encoder import TableEncoder

    def encoder(value: Any, path: str, sizes: Sizes) -> None:
        demand(type(value) is TableEncoder, path, "a TableEncoder", value)

    def detector(value: Any, path: str, sizes: Sizes) -> None:
        demand(isinstance(value, BaseEstimator), path, "a detector", value)

    rules: dict[str, Rule] = {
        "points": numbers("*", rising=True),
        "shares": numbers("*", least=0.0, most=1.0),
        "missing": number(least=0.0, most=1.0),
        "n_rows": integer(least=1),
    }

    def references(value: Any, path: str, sizes: Sizes) -> None:
        each(record(lambda: ColumnReference, rules))(value, path, {})

    def finish(model: Any, path: str, sizes: Sizes) -> None:
        n = sum(len(column.outputs) for column in model.encoder_.columns_)
        kept = getattr(model, "reference_", None)
        demand(kept is None or len(kept) == n, f"{path}reference_", f"of {n} encoded columns", kept and len(kept))

    attributes = {"encoder_": encoder, "detector_": detector, "reference_": references}
    return Schema(attributes, optional=frozenset({"reference_"}), finish=finish)


def _n_outputs(column: Any) -> int:
    """How many numbers a column becomes; −1, which nothing is, where its kind and its action do not go together."""
    if not column.used:
        return 0
    single = column.action == ("frequency" if column.kind == "text" else "number")
    if single and column.kind in ("number", "boolean", "date", "text"):
        return 1 + column.indicator
    if (column.kind, column.action, column.indicator) == ("text", "code", False):
        return 1
    return len(column.levels) + 1 + column.indicator if (column.kind, column.action) == ("text", "one-hot") else -1
