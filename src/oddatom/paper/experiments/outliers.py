"""Balanced accuracy against the share of outliers kept beside all normal rows, drawn by `figures/outliers.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from oddatom.paper.base import DataSet, Method, Rows, Run, Task
from oddatom.paper.planning import Plan, best_setting, judged, make_task, seed_of, timed_fit

if TYPE_CHECKING:
    import pandas as pd

ORDER = 50
CHOICES = 20_000  # no dictionary has so high a number


def plan(plan: Plan, done: pd.DataFrame) -> list[Task]:
    """Return every share, at the paper's best settings."""
    shares = ("0.25", "0.5", "0.75", "1.0") if plan.quick else tuple(f"{k / 10}" for k in range(1, 11))
    return [
        make_task("outliers", view, data, method, best_setting(method, data), draw, share)
        for data, method in plan.learners()
        if method.name in data.settings
        for view in plan.views_of(method, labelled=True)
        for share in shares
        for draw in range(min(2 if plan.quick else 20, plan.dictionaries))
        if not plan.quick or set(method.grid(data, "full")[0]) == {"beta"}
    ]


def run(task: Task, data: DataSet, rows: Rows, method: Method, seed: int) -> Run:
    """Fit and judge the normal rows and a random share of the outliers, in the order of the file."""
    outliers = np.flatnonzero(rows.y)
    rng = np.random.RandomState(seed_of(seed, CHOICES + task.draw))
    kept = rng.permutation(outliers)[: max(1, round(float(task.part) * outliers.size))]
    use = np.union1d(np.flatnonzero(~rows.y), kept)
    part = Rows(rows.X[use], rows.y[use])
    fitted, out = timed_fit(task, data, part.X, method, seed, nu=float(part.y.mean()))
    return judged(out, part.y, fitted.train_labels, fitted.train_scores)
