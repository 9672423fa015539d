"""What the order of the same rows does, for `tables/order.py` and `figures/order.py`: as filed, shuffled, sorted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from oddatom.paper.base import DataSet, Method, Rows, Run, Task
from oddatom.paper.learners import MANY_ROWS
from oddatom.paper.planning import Plan, best_setting, judged, make_task, seed_of, timed_fit

if TYPE_CHECKING:
    import pandas as pd

ORDER = 60
ORDERS = ("as filed", "shuffled", "outliers first")
MOST_ROWS = 10_000
SHUFFLES = 10_000  # no dictionary has so high a number


def plan(plan: Plan, done: pd.DataFrame) -> list[Task]:
    """Return every order, at the paper's best settings, on sets that do not take long."""
    return [
        make_task("order", view, data, method, best_setting(method, data), draw, order)
        for data, method in plan.learners()
        if data.n_rows <= (MANY_ROWS if plan.quick and data.small else MOST_ROWS)
        and method.grid(data, "full")
        and "gamma" not in method.grid(data, "full")[0]
        for view in plan.views_of(method, labelled=True)
        for order in ORDERS
        for draw in range(min(5 if plan.quick else 20, plan.dictionaries))
    ]


def run(task: Task, data: DataSet, rows: Rows, method: Method, seed: int) -> Run:
    """Fit and judge all rows in another order."""
    order = np.arange(rows.y.size)
    if task.part == "shuffled":
        order = np.random.RandomState(seed_of(seed, SHUFFLES + task.draw)).permutation(order)
    elif task.part == "outliers first":
        order = np.argsort(~rows.y, kind="stable")
    X, y = rows.X[order], rows.y[order]
    fitted, out = timed_fit(task, data, X, method, seed)
    return judged(out, y, fitted.train_labels, fitted.train_scores)
