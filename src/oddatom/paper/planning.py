"""What an experiment is planned from, and what experiments share."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from oddatom.paper.base import VIEWS, DataSet, Effort, Fitted, Method, Run, Setting, Task, View, setting_text

GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class Plan:
    """What was asked for.

    Attributes
    ----------
    datasets, methods : sequences
    effort : {"quick", "full"}
    dictionaries : int
        First dictionaries to try in the experiment on whole sets.
    views : tuple of View
    thin : int
        Of the grids of the experiment on whole sets one setting in so many is run, and the paper's best.
    near : int or None
        Of the same grids only settings so many points away from the paper's best, at most, in what the paper names.
    """

    datasets: Sequence[DataSet]
    methods: Sequence[Method]
    effort: Effort
    dictionaries: int = 20
    views: tuple[View, ...] = VIEWS
    thin: int = 1
    near: int | None = None

    @property
    def quick(self) -> bool:
        """Whether the effort is the small one."""
        return self.effort == "quick"

    def settings(self, method: Method, data: DataSet) -> list[Setting]:
        """Return the settings that labels choose from in the experiment on whole sets."""
        grid = list(method.grid(data, self.effort))
        best = [s for s in method.grid(data, "quick") if s in grid]
        if self.near is not None:
            for name, value in method.best(data).items():
                points = sorted({s[name] for s in grid})
                grid = [s for s in grid if abs(points.index(s[name]) - points.index(value)) <= self.near]
        # Multiples of the golden ratio are spread evenly in every stretch of the grid, whatever its sides are.
        return [s for k, s in enumerate(grid) if k * GOLDEN % 1.0 < 1.0 / self.thin or s in best]

    def views_of(self, method: Method, labelled: bool = False) -> list[View]:
        """Return the views of a method that were asked for; of those in which labels pick, if `labelled`."""
        return [view for view in method.views if view in self.views and not (labelled and view == "unlabelled")]

    def pairs(self) -> list[tuple[DataSet, Method]]:
        """Return every method with the sets that it takes."""
        return [(data, method) for data in self.datasets for method in self.methods if method.takes(data)]

    def learners(self, variants: bool = False) -> list[tuple[DataSet, Method]]:
        """Return the pairs of methods that start from a dictionary and have a converged view, variants if wanted."""
        return [
            (data, method)
            for data, method in self.pairs()
            if method.dictionaries and "converged" in method.views and (variants or not method.of)
        ]


def best_setting(method: Method, data: DataSet) -> Setting:
    """Return the paper's best setting; of what the paper does not name, the middle of the quick grid."""
    grid = method.grid(data, "quick")
    return grid[len(grid) // 2]


def make_task(
    experiment: str, view: View, data: DataSet, method: Method, setting: Setting, draw: int = 0, part: str = ""
) -> Task:
    """Return a task from the things themselves."""
    return Task(experiment, view, data.name, method.name, setting_text(setting), draw, part)


def seed_of(seed: int, draw: int) -> int:
    """Return the seed of a draw."""
    return int(np.random.SeedSequence([seed, draw]).generate_state(1)[0])


def timed_fit(
    task: Task, data: DataSet, X: np.ndarray, method: Method, seed: int, nu: float | None = None, **more: Any
) -> tuple[Fitted, Run]:
    """Fit to rows as a task says; return the fit and a run that holds how long it took.

    Parameters
    ----------
    task, data, X, method, seed
    nu : float, optional
        The paper's for the data set if left out.
    **more : settings that are not the task's
    """
    started = time.perf_counter()
    setting = task.options | more
    fitted = method.fit(X, data, setting, seed_of(seed, task.draw), task.view, data.nu if nu is None else nu)
    return fitted, Run(task, train_s=time.perf_counter() - started, extra=dict(fitted.extra))


def judged(run: Run, y: np.ndarray, labels: np.ndarray, scores: np.ndarray | None = None) -> Run:
    """Fill in the measures of labels and scores; those that one class alone does not have stay NaN."""
    measures: dict[str, Any] = {}
    if y.any() and not y.all():
        tpr, tnr = float(labels[y].mean()), float(1.0 - labels[~y].mean())
        measures = {"tpr": tpr, "tnr": tnr, "ba": (tpr + tnr) / 2}
        if scores is not None and np.isfinite(scores).all():
            measures |= {"auroc": float(roc_auc_score(y, scores)), "ap": float(average_precision_score(y, scores))}
    return replace(run, **measures)
