"""What one gets without labels: fixed settings, the mean over draws."""

from __future__ import annotations

import pandas as pd

from oddatom.paper.context import Context
from oddatom.paper.tables._select import number, pairs, select
from oddatom.paper.tables._table import NONE, Table

ORDER = 7


def build(runs: pd.DataFrame, context: Context) -> Table | None:
    """Return mean ± sd over draws of AUROC, AP and BA, for every data set and method."""
    chosen, notes = select(runs, context, ["whole"], views=["unlabelled"])
    rows = []
    for data, method, group in pairs(chosen, context):
        values = [_mean_sd(group[measure].dropna()) for measure in ("auroc", "ap", "ba")]
        rows.append([data.name, method.label, f"{group['draw'].nunique()}", *values])
    if not rows:
        return None
    columns = ["Data set", "Method", "Draws", "AUROC", "AP", "BA"]
    about = "Settings that no label has touched, by the same rule for every data set; no ± where there is one draw."
    title = "Without labels: mean ± standard deviation over draws"
    return Table("unlabelled", title, columns, rows, [about, *notes], n_heads=2)


def _mean_sd(values: pd.Series) -> str:
    if values.empty:
        return NONE
    return number(values.mean(), 3) + (f" ± {values.std(ddof=1):.3f}" if len(values) > 1 else "")
