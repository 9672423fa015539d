"""True positive and true negative rates where balanced accuracy is largest."""

from __future__ import annotations

import pandas as pd

from oddatom.paper.context import Context
from oddatom.paper.tables._maxima import PICKED
from oddatom.paper.tables._select import best, difference, number, pairs, select
from oddatom.paper.tables._table import Table

ORDER = 3


def build(runs: pd.DataFrame, context: Context) -> Table | None:
    """Return the rates of the runs that the table of the largest BA shows."""
    chosen, notes = select(runs, context, ["whole"], small=False)
    rows = []
    for data, method, group in pairs(chosen, context):
        here, exact = best(group, "published"), best(group, "converged")
        if here is None and exact is None:
            continue
        row = [data.name, method.label]
        for measure in ("tpr", "tnr"):
            paper = data.published.get(("tpr_tnr", method.name, measure))
            value = None if here is None else here[measure]
            row += [number(paper, 3), number(value, 3), difference(value, paper, 3)]
            row.append(number(None if exact is None else exact[measure], 3))
        rows.append(row)
    if not rows:
        return None
    of_one = ["paper", "as published", "difference", "converged"]
    columns = [f"{rate} {what}" for rate in ("TPR,", "TNR,") for what in of_one]
    title = "True positive and true negative rates, large sets"
    return Table("tpr_tnr", title, ["Data set", "Method", *columns], rows, [PICKED, *notes], n_heads=2)
