"""The rows of the two tables of the largest BA."""

from __future__ import annotations

import pandas as pd

from oddatom.paper.context import Context
from oddatom.paper.tables._select import DRAWS, best, difference, first_draws, number, pairs, select
from oddatom.paper.tables._table import Table

PICKED = (
    f"Labels pick the best: the maximum of balanced accuracy over the settings run and the first {DRAWS} draws, as the "
    "paper reports it. Not what one gets without labels."
)


def maxima(runs: pd.DataFrame, context: Context, name: str, title: str, *, small: bool) -> Table | None:
    """Return a line for every data set and method: the paper's figure, the one here, and the one of exact solvers."""
    chosen, notes = select(runs, context, ["whole"], small=small)
    rows = []
    for data, method, group in pairs(chosen, context):
        paper = data.published.get((name, method.name, "ba"))
        here, exact = best(group, "published"), best(group, "converged")
        if here is None and exact is None:
            continue
        same = group[(group["view"] == "published") & (group["setting"] == ("" if here is None else here["setting"]))]
        ba = None if here is None else here["ba"]
        rows.append(
            [
                *(data.name, method.label, number(paper), number(ba), difference(ba, paper)),
                number(first_draws(same)["ba"].mean() if len(same) else None),
                number(None if exact is None else exact["ba"]),
            ]
        )
    if not rows:
        return None
    columns = ["Data set", "Method", "Paper", "As published", "Difference", "Mean of its draws", "Converged"]
    mean = "“Mean of its draws”: over the draws of the setting that has the maximum as published."
    return Table(name, title, columns, rows, [PICKED, mean, *notes], n_heads=2)
