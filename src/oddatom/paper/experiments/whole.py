"""The first experiment: all rows are fitted and judged. Tables of balanced accuracy, TPR and TNR, times."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from oddatom.paper.base import SEEDS, DataSet, Method, Rows, Run, Task, View
from oddatom.paper.learners import MANY_ROWS
from oddatom.paper.planning import Plan, judged, make_task, timed_fit

if TYPE_CHECKING:
    import pandas as pd

ORDER = 0
QUICK_DICTIONARIES = 10  # of kernel methods without labels, where a fit takes its time


def plan(plan: Plan, done: pd.DataFrame) -> list[Task]:
    """Return every view, setting and draw."""
    tasks = []
    for data, method in plan.pairs():
        for view in plan.views_of(method):
            settings = [method.fixed(data)] if view == "unlabelled" else plan.settings(method, data)
            settings = sorted(settings, key=lambda setting: [setting.get(name, 0.0) for name in method.shared])
            draws = method.draws(min(_most(plan, data, method, view), plan.dictionaries), view)
            tasks += [make_task("whole", view, data, method, s, draw) for s in settings for draw in range(draws)]
    return tasks


def _most(plan: Plan, data: DataSet, method: Method, view: View) -> int:
    """Return how many dictionaries there may be: without labels, where means are shown, fewer do for "quick"."""
    if not plan.quick or view != "unlabelled":
        return plan.dictionaries
    if method.of:
        return SEEDS
    return QUICK_DICTIONARIES if data.small and data.n_rows > MANY_ROWS else plan.dictionaries


def run(task: Task, data: DataSet, rows: Rows, method: Method, seed: int) -> Run:
    """Fit and judge all rows; the first draw is timed on them as new rows, too."""
    fitted, out = timed_fit(task, data, rows.X, method, seed)
    if task.draw == 0 and method.testable:
        started = time.perf_counter()
        fitted.labels(rows.X)
        out.test_s = time.perf_counter() - started
    return judged(out, rows.y, fitted.train_labels, fitted.train_scores)
