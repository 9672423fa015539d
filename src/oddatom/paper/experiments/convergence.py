"""How a fit converges, drawn by `figures/convergence.py`: F + G by inner step; L, F, G by outer iteration."""

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


def plan(plan: Plan, done: pd.DataFrame) -> list[Task]:
    """Return one dictionary on the paper's set, or on the first one where that is not to be had."""
    pairs = [pair for pair in plan.learners() if set(pair[1].grid(pair[0], "full")[0]) == {"beta"}]
    pairs = [pair for pair in pairs if pair[0].name == DATASET] or pairs[:1]
    return [
        make_task("convergence", view, data, method, best_setting(method, data))
        for data, method in pairs
        for view in plan.views_of(method, labelled=True)
    ]


def run(task: Task, data: DataSet, rows: Rows, method: Method, seed: int) -> Run:
    """Fit with one to six outer iterations from the same dictionary: each continues the one before it."""
    ba = []
    for k in range(1, ITERATIONS + 1):
        setting = task.options | {"max_iter": k} | ({"track": True} if k == ITERATIONS else {})
        fitted, out = timed_fit(replace(task, setting=setting_text(setting)), data, rows.X, method, seed)
        out = judged(out, rows.y, fitted.train_labels, fitted.train_scores)
        ba.append(out.ba)
    history = fitted.history()  # type: ignore[attr-defined]
    return replace(out, task=task, extra={**history, "ba": ba})
