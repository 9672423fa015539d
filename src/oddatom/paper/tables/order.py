"""Table of `experiments/order.py`: what the order of the rows does to the same rows."""

from __future__ import annotations

import pandas as pd

from oddatom.paper.context import Context
from oddatom.paper.tables._select import n_draws, number, pairs, select
from oddatom.paper.tables._table import Table

ORDER = 10


def build(runs: pd.DataFrame, context: Context) -> Table | None:
    """Return the mean AUROC over dictionaries for every order, a line for each view."""
    chosen, notes = select(runs, context, ["order"])
    orders = list(dict.fromkeys(chosen["part"]))
    rows = [
        [data.name, method.label, str(view), n_draws(same)]
        + [number(same.loc[same["part"] == order, "auroc"].mean(), 3) for order in orders]
        for data, method, group in pairs(chosen, context)
        for view, same in group.groupby("view")
    ]
    if not rows:
        return None
    columns = ["Data set", "Method", "View", "Draws", *(f"AUROC, {order}" for order in orders)]
    title = "The order of the rows: mean AUROC over dictionaries"
    return Table("order", title, columns, rows, notes, align="lll" + "r" * (1 + len(orders)), n_heads=3)
