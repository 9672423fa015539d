"""What the fitted attributes of TableEncoder and TableDetector must look like. pyarrow is imported only here."""

from __future__ import annotations

import math
from typing import Any

from sklearn.base import BaseEstimator

from oddatom.model_io.rules import Rule, Sizes, any_text, demand, each, integer, number, numbers, record, text, truth
from oddatom.model_io.schema import FEATURES, Schema
from oddatom.table.decision import CODED, CYCLES, DATE_FEATURES, LEFT_OUT, RARE_WEEKDAY, ColumnDecision
from oddatom.table.drift import ColumnReference

KINDS = ("number", "boolean", "date", "time of day", "text", "empty", "other", "id", "ignored", "time", "group")


def _fill(value: Any, path: str, sizes: Sizes) -> None:
    if not (type(value) is float and math.isnan(value)):
        number()(value, path, sizes)


def table_schema(Class: type) -> Schema:
    """Return the schema of TableEncoder."""
    from oddatom.table.dates import CLOCK, DATE_FORMATS
    from oddatom.table.words import NUMBER_FORMATS

    styles = {"number": tuple(NUMBER_FORMATS), "date": tuple(DATE_FORMATS), "time of day": (CLOCK,)}
    rules: dict[str, Rule] = {
        "name": any_text,
        "kind": text(KINDS),
        "action": text(("number", "one-hot", "code", "frequency", LEFT_OUT)),
        "reason": any_text,
        "outputs": each(any_text),
        "n_missing": integer(),
        "indicator": truth,
        "fill": _fill,
        "center": number(),
        "style": any_text,
        "levels": each(any_text),
        "shares": each(number(least=0.0, most=1.0)),
        "date_features": each(text(DATE_FEATURES)),
        "rare_weekdays": each(integer()),
    }

    def finish(model: Any, path: str, sizes: Sizes) -> None:
        columns, n = model.columns_, sizes["features"]
        demand(len(columns) == n, f"{path}columns_", f"a decision for each of {n} columns", len(columns))
        demand(any(column.used for column in columns), f"{path}columns_", "of one column to use at least", n)
        for k, column in enumerate(columns):
            where = f"{path}columns_.{k}"
            if column.kind in styles and column.used:
                text(styles[column.kind])(column.style, f"{where}.style", sizes)
            demand(_fits(column), f"{where}.date_features", f"those of a {column.kind}", column.date_features)
            wanted = _n_outputs(column)
            demand(len(column.outputs) == wanted, f"{where}.outputs", f"{wanted} names", column.outputs)
            even = column.action != "frequency" or len(column.shares) == len(column.levels)
            demand(even, f"{where}.shares", "as many as levels", len(column.shares))
            rare, some = column.rare_weekdays, RARE_WEEKDAY in column.date_features
            days = rare == sorted(set(rare) & set(range(7))) and bool(rare) == some
            demand(days, f"{where}.rare_weekdays", "weekdays from 0 to 6 in order, where there are any", rare)

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

    from oddatom.model_io.context_rules import followed, row_context

    attributes = {
        "encoder_": encoder,
        "detector_": detector,
        "reference_": references,
        "context_": row_context,
        "followed_": followed,
    }
    return Schema(attributes, optional=frozenset({"reference_", "context_", "followed_"}), finish=finish)


def _fits(column: Any) -> bool:
    """Whether the features go with the kind of a column: each comes once, in their order, and in one form."""
    found = column.date_features
    if column.kind == "time of day" and column.used:
        return found == ["time cycle"]
    if column.kind != "date" or not column.used:
        return not found
    once = found == [feature for feature in DATE_FEATURES if feature in found]
    return once and not any(feature in found and f"{feature} cycle" in found for feature in CODED)


def _n_outputs(column: Any) -> int:
    """How many numbers a column becomes; −1, which nothing is, where its kind and its action do not go together."""
    if not column.used:
        return 0
    single = column.action == ("frequency" if column.kind == "text" else "number")
    if single and column.kind in ("number", "boolean", "date", "time of day", "text"):
        n_features = sum(2 if feature in CYCLES else 1 for feature in column.date_features)
        return (column.kind != "time of day") + n_features + column.indicator
    if (column.kind, column.action, column.indicator) == ("text", "code", False):
        return 1
    return len(column.levels) + 1 + column.indicator if (column.kind, column.action) == ("text", "one-hot") else -1
