"""What share of the rows the learners flag at the paper's settings, beside nu, and how often there is no margin."""

from __future__ import annotations

import pandas as pd

from oddatom.paper.context import Context
from oddatom.paper.tables._select import at_setting, number, pairs, select
from oddatom.paper.tables._table import Table

ORDER = 9
_VIEWS = {"published": "as published", "converged": "converged"}


def build(runs: pd.DataFrame, context: Context) -> Table | None:
    """Return means over dictionaries at the paper's settings, a line for each view."""
    chosen, notes = select(runs, context, ["whole"])
    rows = []
    for data, method, group in pairs(chosen, context):
        if not method.best(data):
            continue
        held = at_setting(group, method.best(data)).dropna(subset=["ba"])
        outliers = data.n_outliers / data.n_rows
        for view, said in _VIEWS.items():
            here = held[held["view"] == view]
            if here.empty:
                continue
            flagged = outliers * here["tpr"] + (1.0 - outliers) * (1.0 - here["tnr"])
            none = float((here["auroc"] == 0.5).mean())  # all rows score alike
            figures = [number(value, 3) for value in (data.nu, flagged.mean(), none, here["ba"].mean())]
            rows.append([data.name, method.label, said, f"{len(here)}", *figures, number(here["ba"].max(), 3)])
    if not rows:
        return None
    columns = ["Data set", "Method", "View", "Runs", "ν", "Flagged", "No margin", "BA, mean", "BA, largest"]
    about = "“Flagged”: the mean share of rows outside, at most ν with a converged SVM. “No margin”: all score alike."
    title = "Rows flagged at the paper's settings"
    return Table("flagged", title, columns, rows, [about, *notes], align="lll" + "r" * 6, n_heads=3)
