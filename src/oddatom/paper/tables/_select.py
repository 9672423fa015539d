"""Which runs a table is of, and what is read off them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from oddatom.paper.base import DataSet, Method
from oddatom.paper.context import Context
from oddatom.paper.tables._table import NONE

DRAWS = 20  # the paper's number of dictionaries
ALL_ROWS = ("whole", "beta", "beta_gamma")  # experiments that fit and judge every row, in the file's order


class Selection(NamedTuple):
    """Runs without those that failed, and a note of those."""

    runs: pd.DataFrame
    notes: list[str]


def select(
    runs: pd.DataFrame,
    context: Context,
    experiments: Sequence[str],
    *,
    views: Sequence[str] = ("published", "converged"),
    small: bool | None = None,
) -> Selection:
    """Return the runs of experiments and views that are of the sets and methods in use.

    Parameters
    ----------
    small : bool or None
        Small sets, large ones, or both.
    """
    names = [data.name for data in context.datasets if small is None or data.small == small]
    methods = [method.name for method in context.methods]
    chosen = runs[
        runs["experiment"].isin(list(experiments))
        & runs["view"].isin(list(views))
        & runs["dataset"].isin(names)
        & runs["method"].isin(methods)
    ]
    errors = chosen["error"].fillna("").astype(str)
    failed = errors[errors != ""]
    notes = []
    if len(failed):
        one = "1 run failed and is" if len(failed) == 1 else f"{len(failed)} runs failed and are"
        notes.append(f"{one} left out. The first: {failed.iloc[0]}")
    return Selection(chosen[errors == ""], notes)


def pairs(runs: pd.DataFrame, context: Context) -> Iterator[tuple[DataSet, Method, pd.DataFrame]]:
    """Return each data set and method that have runs, with them, in the paper's order."""
    groups = dict(iter(runs.groupby(["dataset", "method"], sort=False)))
    for data in context.datasets:
        for method in context.methods:
            if (data.name, method.name) in groups:
                yield data, method, groups[data.name, method.name]


def first_draws(runs: pd.DataFrame, number: int = DRAWS) -> pd.DataFrame:
    """Return the runs of the `number` lowest draws."""
    return runs[runs["draw"].isin(sorted(runs["draw"].unique())[:number])]


def n_draws(runs: pd.DataFrame) -> str:
    """Return how many draws a figure is of: "20", or "5 to 20" where settings or parts differ."""
    counts = runs.groupby(["dataset", "method", "view", "setting", "part"])["draw"].nunique()
    least, most = int(counts.min()), int(counts.max())
    return f"{most}" if least == most else f"{least} to {most}"


def best(runs: pd.DataFrame, view: str) -> Mapping[str, Any] | None:
    """Return the run of a view that has the largest BA over settings and the paper's number of draws: picked by labels.

    Of equal ones it is the first by setting and draw.
    """
    held = first_draws(runs[(runs["view"] == view) & np.isfinite(runs["ba"])])
    if held.empty:
        return None
    row: Mapping[str, Any] = held.sort_values(["ba", "setting", "draw"], ascending=[False, True, True]).iloc[0]
    return row


def at_setting(runs: pd.DataFrame, setting: Mapping[str, float]) -> pd.DataFrame:
    """Return the runs whose setting has these values, whatever else it has."""
    fits = {text: _has(json.loads(text), setting) for text in runs["setting"].unique()}
    return runs[runs["setting"].map(fits).astype(bool)]


def _has(whole: Mapping[str, Any], setting: Mapping[str, float]) -> bool:
    return all(name in whole and math.isclose(whole[name], value, rel_tol=1e-9) for name, value in setting.items())


def number(value: float | None, digits: int = 4) -> str:
    """Return a figure as tables show it."""
    return NONE if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def difference(here: float | None, paper: float | None, digits: int = 4) -> str:
    """Return how much more the figure here is than the paper's."""
    if here is None or paper is None or not math.isfinite(here - paper):
        return NONE
    return f"{here - paper:+.{digits}f}".replace("-", "−")
