"""What is kept of groups and times: the attributes `context_` and `followed_` of TableDetector."""

from __future__ import annotations

from typing import Any

import numpy as np

from oddatom.context.following import Followed
from oddatom.context.groups import GroupLevels
from oddatom.context.ordered import LastRows
from oddatom.context.row_features import ContextRules, TimeRules
from oddatom.context.usual_hours import UsualHours
from oddatom.model_io.rules import (
    Rule,
    Sizes,
    any_text,
    demand,
    each,
    integer,
    number,
    numbers,
    optional,
    places,
    record,
    text,
    truth,
)
from oddatom.table.roles import KINDS, TimeColumn
from oddatom.table.row_context import RowContext


def _hours(value: Any, path: str, sizes: Sizes) -> None:
    rules: dict[str, Rule] = {
        "hours": truth,
        "weekdays": truth,
        "places": places("clocked", below="numbers", rising=True),
        "centers": numbers("bins", "clocked"),
        "scales": numbers("bins", "clocked", above=0.0),
    }
    record(lambda: UsualHours, rules)(value, path, sizes)
    wanted = (24 if value.hours else 1) * (7 if value.weekdays else 1)
    demand(wanted > 1 and wanted == value.centers.shape[0], f"{path}.centers", f"of {wanted} bins", value.centers)


def _levels(value: Any, path: str, sizes: Sizes) -> None:
    rules: dict[str, Rule] = {
        "keys": each(any_text),
        "centers": numbers("groups and all", "numbers"),
        "scales": numbers("groups and all", "numbers", above=0.0),
    }
    record(lambda: GroupLevels, rules)(value, path, sizes)
    wanted = len(value.keys) + 1
    demand(value.centers.shape[0] == wanted, f"{path}.centers", f"of {wanted} rows", value.centers)
    demand(len(set(value.keys)) == len(value.keys), f"{path}.keys", "all different", value.keys)


_TIME_COLUMN: dict[str, Rule] = {
    "name": any_text,
    "kind": text(KINDS),
    "style": any_text,
    "unit": number(least=0.0),
}


def _zero_or_nan(value: Any, path: str, sizes: Sizes) -> None:
    demand(type(value) is float and (value == 0.0 or np.isnan(value)), path, "0.0 or NaN", value)


_TIME: dict[str, Rule] = {
    "window": integer(least=2),
    "step": number(above=0.0),
    "dates": truth,
    "spreads": numbers("numbers", above=0.0),
    "hours": optional(_hours),
    "blank": _zero_or_nan,
}
_CONTEXT: dict[str, Rule] = {
    "numbers": numbers("numbers", dtype=np.int64, least=0),
    "limits": numbers(4, "numbers", nan=True),
    "groups": optional(_levels),
    "time": optional(record(lambda: TimeRules, _TIME)),
    "fills": numbers("numbers", nan=True),
}
_ROW_CONTEXT: dict[str, Rule] = {
    "time": optional(record(lambda: TimeColumn, _TIME_COLUMN)),
    "by": each(any_text),
    "context": record(lambda: ContextRules, _CONTEXT),
}


def row_context(value: Any, path: str, sizes: Sizes) -> None:
    """Check how rows are placed."""
    if value is None:
        return
    from oddatom.table.dates import CLOCK, DATE_FORMATS
    from oddatom.table.words import NUMBER_FORMATS

    record(lambda: RowContext, _ROW_CONTEXT)(value, path, sizes)
    both = (value.time is None) == (value.context.time is None) and bool(value.by) == (value.context.groups is not None)
    demand(both, path, "of a time and groups with what is known of them", value.by)
    if value.time is not None:
        styles = {"date": DATE_FORMATS, "time of day": (CLOCK,)}.get(value.time.kind, NUMBER_FORMATS)
        text(tuple(styles))(value.time.style, f"{path}.time.style", sizes)


def _last_rows(value: Any, path: str, sizes: Sizes) -> None:
    rules: dict[str, Rule] = {
        "series": numbers("rows", dtype=np.int64, least=0, rising=True),
        "times": numbers("rows"),
        "encoded": numbers("rows", "encoded", nan=True),
        "keys": numbers("rows", dtype=np.int64),
        "scores": numbers("rows", finite=False),
    }
    record(lambda: LastRows, rules)(value, path, {})


def followed(value: Any, path: str, sizes: Sizes) -> None:
    """Check the last rows."""
    rules: dict[str, Rule] = {
        "trained": _last_rows,
        "last": _last_rows,
        "earlier": _last_rows,
        "new_series": each(any_text),
    }
    record(lambda: Followed, rules)(value, path, {})


def check_together(model: Any, path: str) -> None:
    """Check that context, last rows, encoder and detector fit each other."""
    context, last = getattr(model, "context_", None), getattr(model, "followed_", None)
    n = len(model.encoder_.get_feature_names_out())
    timed = context is not None and context.time is not None
    demand((last is not None) == timed, f"{path}followed_", "there with a time column alone", last)
    if context is None:
        return
    rules = context.context
    inside = rules.numbers.size == 0 or int(rules.numbers.max()) < n
    once = np.unique(rules.numbers).size == rules.numbers.size
    demand(inside and once, f"{path}context_.context.numbers", f"different places below {n}", rules.numbers)
    names = {column.name for column in model.encoder_.columns_}
    demand(set(context.roles) <= names, f"{path}context_", "of columns of the table", context.roles)
    if last is None:
        return
    n_series = max(0 if rules.groups is None else len(rules.groups.keys) + len(last.new_series), 1)
    for name in ("trained", "last", "earlier"):
        kept: LastRows = getattr(last, name)
        where = f"{path}followed_.{name}"
        demand(kept.encoded.shape[1] == n, f"{where}.encoded", f"of {n} columns", kept.encoded)
        known = kept.series.size == 0 or int(kept.series.max()) < n_series
        demand(known, f"{where}.series", f"below {n_series}", kept.series)
