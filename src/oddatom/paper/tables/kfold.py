"""Balanced accuracy on rows that were not fitted, the settings picked by cross-validation."""

from __future__ import annotations

import pandas as pd

from oddatom.paper.context import Context
from oddatom.paper.tables._select import difference, number, pairs, select
from oddatom.paper.tables._table import Table

ORDER = 6


def build(runs: pd.DataFrame, context: Context) -> Table | None:
    """Return the BA of the test part: scaled by each part's own norm as published, and by the training part's."""
    chosen, notes = select(runs, context, ["kfold"])
    tests = chosen[chosen["part"].isin(["own:test", "train:test"])]
    rows = []
    for data, method, group in pairs(tests, context):
        paper = data.published.get(("kfold", method.name, "ba"))
        here = {key: part["ba"].mean() for key, part in group.groupby(["part", "view"])}
        own = here.get(("own:test", "published"))
        rows.append(
            [
                *(data.name, method.label, number(paper), number(own), difference(own, paper)),
                number(here.get(("own:test", "converged"))),
                number(here.get(("train:test", "published"))),
                number(here.get(("train:test", "converged"))),
            ]
        )
    if not rows:
        return None
    columns = ["Data set", "Method", "Paper", "As published", "Difference", "Converged"]
    columns += ["Training part's scale, as published", "Training part's scale, converged"]
    n_picking = int(chosen["part"].isin(["own:cv", "train:cv"]).sum())
    about = "As published, the training and the test part are each divided by their own norm; in the last two columns "
    notes = [f"{about}both are divided by the training part's.", f"{n_picking} runs picked the settings.", *notes]
    return Table("kfold", "Balanced accuracy of the test part, K-fold", columns, rows, notes, n_heads=2)
