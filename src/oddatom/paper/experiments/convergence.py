"""How fits converge: the objective by inner step and by outer iteration, for `figures/convergence.py`; and on every set
F + eta G by outer iteration, for `tables/coupling.py` and `figures/coupling.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oddatom.paper.base import DataSet, Method, Rows, Run, Task, setting_text
from oddatom.paper.planning import Plan, best_setting, judged, make_task, timed_fit

if TYPE_CHECKING:
    import pandas as pd

ORDER = 20
DATASET = "shuttle"  # the paper's figure is of this
ITERATIONS = 6
SWEEPS = "sweeps"  # the part of runs that are not drawn step by step
QUICK_DICTIONARIES = 3


def plan(plan: Plan, done: pd.DataFrame) -> list[Task]:
    """Return one dictionary on the paper's set, or on the first one where that is not to be had; then every set."""
    pairs = plan.learners(variants=True)
    simple = [pair for pair in pairs if set(pair[1].grid(pair[0], "full")[0]) == {"beta"}]
    shown = DATASET if any(data.name == DATASET for data, _ in simple) else simple[0][0].name if simple else ""
    tasks = [
        make_task("convergence", view, data, method, best_setting(method, data))
        for data, method in simple
        if data.name == shown
        for view in plan.views_of(method, labelled=True)
    ]
    drawn = {(task.dataset, task.method, task.view, task.draw) for task in tasks}
    draws = min(QUICK_DICTIONARIES, plan.dictionaries) if plan.quick else plan.dictionaries
    return tasks + [
        make_task("convergence", view, data, method, best_setting(method, data), draw, SWEEPS)
        for data, method in pairs
        for view in plan.views_of(method, labelled=True)
        for draw in range(draws)
        if view == "converged" and (data.name, method.name, view, draw) not in drawn
    ]


def run(task: Task, data: DataSet, rows: Rows, method: Method, seed: int) -> Run:
    """Fit with one to six outer iterations from the same dictionary: each continues the one before it.

    Where nothing is drawn step by step one fit does.
    """
    ba = []
    stepwise = task.part != SWEEPS
    for k in range(1 if stepwise else ITERATIONS, ITERATIONS + 1):
        setting = task.options | {"max_iter": k} | ({"track": True} if stepwise and k == ITERATIONS else {})
        fitted, out = timed_fit(replace(task, setting=setting_text(setting)), data, rows.X, method, seed)
        out = judged(out, rows.y, fitted.train_labels, fitted.train_scores)
        ba.append(out.ba)
    history = fitted.history()  # type: ignore[attr-defined]
    return replace(out, task=task, extra={**history, "ba": ba})
