"""Seconds to fit and to judge, at the best setting."""

from __future__ import annotations

import pandas as pd

from oddatom.paper.context import Context
from oddatom.paper.tables._select import best, difference, first_draws, number, pairs, select
from oddatom.paper.tables._table import Table

ORDER = 4
_PAPER_MACHINE = "an AMD Ryzen Threadripper PRO 3955WX"


def build(runs: pd.DataFrame, context: Context) -> Table | None:
    """Return the median seconds over the draws of the best setting, beside the paper's."""
    chosen, notes = select(runs, context, ["whole"], small=False)
    rows = []
    for data, method, group in pairs(chosen, context):
        row = [data.name, method.label]
        medians = {view: _medians(group, view) for view in ("published", "converged")}
        if not any(medians.values()):
            continue
        for measure in ("train_s", "test_s"):
            paper = data.published.get(("times", method.name, measure))
            here = medians["published"].get(measure)
            row += [number(paper, 2), number(here, 2), difference(here, paper, 2)]
            row.append(number(medians["converged"].get(measure), 2))
        rows.append(row)
    if not rows:
        return None
    of_one = ["paper", "as published", "difference", "converged"]
    columns = [f"{part} {what}" for part in ("Train,", "Test,") for what in of_one]
    where = f"Here: {context.machine}. The paper: {_PAPER_MACHINE}. The "
    where += "difference is between machines and programs, too: DL- and DPL-OCSVM are compiled here."
    about = "At the setting with the largest BA; training: medians over the draws, testing: the first draw. Several "
    about += "runs shared the machine."
    title = "Seconds to train and to test, large sets"
    return Table("times", title, ["Data set", "Method", *columns], rows, [where, about, *notes], n_heads=2)


def _medians(runs: pd.DataFrame, view: str) -> dict[str, float]:
    top = best(runs, view)
    if top is None:
        return {}
    same = first_draws(runs[(runs["view"] == view) & (runs["setting"] == top["setting"])])
    return {measure: float(same[measure].median()) for measure in ("train_s", "test_s")}
