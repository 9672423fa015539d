"""The last experiment, tabled by `tables/kfold.py`: settings picked by five folds, judged on the last fifth.

As published ("own"): the four fifths are scaled once, their folds as they are, and the last fifth by itself, in methods
whose `parts_apart` says so. Beside that, new rows are always scaled as the rows that were fitted ("train").
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import KFold, train_test_split

from oddatom.paper.base import DataSet, Method, Rows, Run, Task
from oddatom.paper.planning import Plan, judged, make_task, timed_fit

if TYPE_CHECKING:
    import pandas as pd

ORDER = 10
FOLDS = 5
SPLIT_SEEDS = {"frobenius": 37, "standard": 33}
QUICK_DICTIONARIES = 3
MANY_ROWS = 10_000  # where one setting does for "quick"
WAYS = (("published", "own"), ("published", "train"), ("converged", "train"))


def plan(plan: Plan, done: pd.DataFrame) -> list[Task]:
    """Return the settings to choose from; once they are all done, the one that is best by its folds."""
    tasks: list[Task] = []
    found = {row[:7]: row[7] for row in _rows(done)}
    for data, method in plan.pairs():
        if ("kfold", method.name, "ba") not in data.published:
            continue
        for view, scaling in WAYS:
            same = (view, scaling) == ("published", "train") and not method.parts_apart  # as in "own"
            if same or view not in plan.views_of(method):
                continue
            draws = method.draws(min(QUICK_DICTIONARIES, plan.dictionaries) if plan.quick else plan.dictionaries, view)
            grid = method.grid(data, plan.effort)
            if plan.quick:  # spread over the grid
                places = [0.5] if method.slow or data.n_rows > MANY_ROWS else [0.0, 0.5, 1.0]
                grid = [grid[k] for k in sorted({round(place * (len(grid) - 1)) for place in places})]
            tried = [
                make_task("kfold", view, data, method, setting, draw, f"{scaling}:cv")
                for setting in grid
                for draw in range(draws)
            ]
            tasks += tried
            values = np.array([found.get(task.place, np.nan) for task in tried], dtype=float)
            if all(task.place in found for task in tried) and not np.isnan(values).all():
                tasks.append(replace(tried[int(np.nanargmax(values))], part=f"{scaling}:test"))
    return tasks


def run(task: Task, data: DataSet, rows: Rows, method: Method, seed: int) -> Run:
    """Average over the folds, or judge the test rows."""
    scaling, _, stage = task.part.partition(":")
    kept, test = train_test_split(np.arange(rows.y.size), test_size=0.2, random_state=SPLIT_SEEDS[method.scaling])
    folds = [(kept[a], kept[b]) for a, b in KFold(FOLDS).split(kept)] if stage == "cv" else [(kept, test)]
    runs = [_one(task, data, rows, method, seed, a, b, scaling) for a, b in folds]
    means = {name: _mean([getattr(run, name) for run in runs]) for name in ("ba", "tpr", "tnr", "train_s")}
    return replace(runs[0], **means)  # type: ignore[arg-type]


def _one(
    task: Task, data: DataSet, rows: Rows, method: Method, seed: int, a: np.ndarray, b: np.ndarray, scaling: str
) -> Run:
    apart = scaling == "own" and method.parts_apart
    folds = len(a) + len(b) < len(rows.y)
    once = {}
    if apart and folds and method.scaling == "frobenius":
        once = {"norm": float(np.linalg.norm(rows.X[np.union1d(a, b)]))}
    fitted, out = timed_fit(task, data, rows.X[a], method, seed, **once)
    X = _like(rows.X[b], rows.X[a], method.scaling) if apart and not folds else rows.X[b]
    return judged(out, rows.y[b], fitted.labels(X))


def _like(X: np.ndarray, train: np.ndarray, scaling: str) -> np.ndarray:
    """Return rows that, scaled as the training rows are, come out as if they had been scaled by themselves."""
    if scaling == "frobenius":
        return X * (np.linalg.norm(train) / np.linalg.norm(X))
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0) * train.std(axis=0) + train.mean(axis=0)


def _rows(done: pd.DataFrame) -> list[tuple[Any, ...]]:
    names = ["experiment", "view", "dataset", "method", "setting", "draw", "part", "ba"]
    return list(done.loc[done["experiment"] == "kfold", names].itertuples(index=False, name=None))


def _mean(values: list[float]) -> float:
    """Return the mean over the folds that have both classes."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else np.nan
