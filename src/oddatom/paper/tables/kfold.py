"""Table of `experiments/kfold.py`: balanced accuracy on rows not fitted, settings picked by cross-validation."""

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
        picking = chosen[(chosen["dataset"] == data.name) & (chosen["method"] == method.name)]
        here = {key: _picked(part, picking, *key) for key, part in group.groupby(["part", "view"])}
        own = here.get(("own:test", "published"))
        rows.append(
            [
                *(data.name, method.label, number(paper), number(own), difference(own, paper)),
                number(here.get(("train:test", "published"), None if method.parts_apart else own)),
                number(here.get(("train:test", "converged"))),
            ]
        )
    if not rows:
        return None
    columns = ["Data set", "Method", "Paper", "As published", "Difference"]
    columns += ["Training part's scale, as published", "Training part's scale, converged"]
    n_picking = int(chosen["part"].isin(["own:cv", "train:cv"]).sum())
    shown = {row[1] for row in rows}
    apart = [method.label for method in context.methods if method.parts_apart and method.label in shown]
    about = (
        f"As published, {' and '.join(apart) or 'no method'} scale the training and the test part each by itself, the "
        "others both as the training part; in the last two columns all do."
    )
    notes = [about, f"{n_picking} settings and dictionaries were tried, over all sets, methods and columns.", *notes]
    if context.effort == "quick":
        notes.append("Quick: a few settings of each grid; DL-OCSVM at the paper's β, which labels of all rows picked.")
    return Table("kfold", "Balanced accuracy of the test part, K-fold", columns, rows, notes, n_heads=2)


def _picked(tests: pd.DataFrame, runs: pd.DataFrame, part: str, view: str) -> float:
    """Return the BA of the test run whose setting and draw the folds pick; earlier picks, from fewer runs, are left."""
    folds = runs[(runs["part"] == part.replace(":test", ":cv")) & (runs["view"] == view)]
    score = {(row.setting, row.draw): row.ba for row in folds.itertuples()}
    ranked = sorted(tests.itertuples(), key=lambda row: score.get((row.setting, row.draw), -1.0))
    return float(ranked[-1].ba)
