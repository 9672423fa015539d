"""Balanced accuracy over beta and gamma, drawn by `figures/beta_gamma.py`: DPL-OCSVM on lympho."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oddatom.paper.base import DataSet, Method, Rows, Run, Task
from oddatom.paper.experiments.beta import run as run_beta
from oddatom.paper.learners import COARSE
from oddatom.paper.planning import Plan, make_task

if TYPE_CHECKING:
    import pandas as pd

ORDER = 40
METHOD, DATASET = "dpl", "lympho"  # the paper's figure is of these
QUICK, QUICK_DICTIONARIES = COARSE[::2], 5


def plan(plan: Plan, done: pd.DataFrame) -> list[Task]:
    """Return every beta, gamma and dictionary."""
    values, n_draws = (QUICK, QUICK_DICTIONARIES) if plan.quick else (COARSE, 20)
    return [
        make_task("beta_gamma", view, data, method, {"beta": beta, "gamma": gamma}, draw)
        for data in plan.datasets
        for method in plan.methods
        if (data.name, method.name) == (DATASET, METHOD)
        for view in plan.views_of(method, labelled=True)
        for beta in values
        for gamma in values
        for draw in range(min(n_draws, plan.dictionaries))
    ]


def run(task: Task, data: DataSet, rows: Rows, method: Method, seed: int) -> Run:
    """Fit and judge all rows."""
    return run_beta(task, data, rows, method, seed)
