"""The data sets, and those that could not be had."""

from __future__ import annotations

import pandas as pd

from oddatom.paper.base import DataSet
from oddatom.paper.context import Context
from oddatom.paper.tables._table import NONE, Table

ORDER = 1
_SYMBOLS = {"beta": "β", "gamma": "γ"}


def build(runs: pd.DataFrame, context: Context) -> Table | None:
    """Return what the files have beside what the paper says of them. It needs no runs."""
    if not context.datasets and not context.missing:
        return None
    rows = []
    for data in context.datasets:
        sizes = (("features", data.n_features), ("samples", data.n_rows), ("outliers", data.n_outliers))
        row = [data.name]
        for measure, here in sizes:
            paper = data.published.get(("datasets", "", measure))
            row += [f"{here}", NONE if paper is None else f"{paper:g}"]
        share = f"{100 * data.n_outliers / data.n_rows:.2f} %"
        rows.append([*row, share, f"{data.sparsity}", f"{data.nu:g}", _settings(data, context)])
    columns = ["Data set", "Features", "Paper", "Samples", "Paper", "Outliers", "Paper", "Share", "Sparsity", "ν"]
    missing = [f"{name} could not be had and is in no table: {reason}" for name, reason in context.missing.items()]
    return Table(
        "datasets",
        "Data sets",
        [*columns, "Best settings in the paper"],
        rows,
        [*missing, "Sizes are of the files; “Paper” is what the paper's table says of them."],
        align="l" + "r" * 9 + "l",
    )


def _settings(data: DataSet, context: Context) -> str:
    """Return such as "DL: β 0.5; DPL: β 0.02, γ 0.07"."""
    parts = []
    for method, setting in data.settings.items():
        values = ", ".join(f"{_SYMBOLS.get(name, name)} {value:g}" for name, value in setting.items())
        parts.append(f"{context.label(method)}: {values}")
    return "; ".join(parts)
