"""Balanced accuracy against beta, drawn by `figures/beta.py`: the learners of large sets, over dictionaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from oddatom.paper.base import DataSet, Method, Rows, Run, Task
from oddatom.paper.learners import FINE
from oddatom.paper.planning import Plan, judged, make_task, timed_fit

if TYPE_CHECKING:
    import pandas as pd

ORDER = 30
QUICK_BETAS = (0.01, 0.05, 0.1, 0.2, 0.35, 0.5)
MANY_ROWS = 10_000


def plan(plan: Plan, done: pd.DataFrame) -> list[Task]:
    """Return every beta and dictionary, of methods that have no setting but beta."""
    betas = QUICK_BETAS if plan.quick else FINE
    return [
        make_task("beta", view, data, method, {"beta": beta}, draw)
        for data, method in plan.learners()
        if set(method.grid(data, "full")[0]) == {"beta"}
        for view in plan.views_of(method, labelled=True)
        for beta in np.round(betas, 4).tolist()
        for draw in range(_draws(plan, data))
    ]


def _draws(plan: Plan, data: DataSet) -> int:
    """Return how many dictionaries: for "quick" four, or two of large sets."""
    return min(2 if data.n_rows > MANY_ROWS else 4, plan.dictionaries) if plan.quick else plan.dictionaries


def run(task: Task, data: DataSet, rows: Rows, method: Method, seed: int) -> Run:
    """Fit and judge all rows."""
    fitted, out = timed_fit(task, data, rows.X, method, seed)
    return judged(out, rows.y, fitted.train_labels, fitted.train_scores)
