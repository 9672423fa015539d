"""What one gets without labels: fixed settings, the mean over draws."""

from __future__ import annotations

import pandas as pd

from oddatom.paper.base import Method
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
    notes = [about, *_about_variants([method for _, method, _ in pairs(chosen, context)]), *notes]
    title = "Without labels: mean ± standard deviation over draws"
    return Table("unlabelled", title, columns, rows, notes, n_heads=2)


def _about_variants(methods: list[Method]) -> list[str]:
    forms = list(dict.fromkeys(f"“{method.form}”" for method in methods if method.of))
    if not forms:
        return []
    return [
        f"{', '.join(forms)}: the paper's settings, but for what the name says; without it: the detector's defaults."
    ]


def _mean_sd(values: pd.Series) -> str:
    if values.empty:
        return NONE
    return number(values.mean(), 3) + (f" ± {values.std(ddof=1):.3f}" if len(values) > 1 else "")
