"""Plan, run what is not yet done, write it down: in parallel, and again after being killed."""

from __future__ import annotations

import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from joblib import Parallel, cpu_count, delayed

from oddatom.arrays.threads import threads
from oddatom.paper import methods
from oddatom.paper.base import DataSet, Rows, Run, Task
from oddatom.paper.experiments import EXPERIMENTS
from oddatom.paper.fetch import rows
from oddatom.paper.journal import Journal
from oddatom.paper.planning import Plan

UNKNOWN = 1e-6  # seconds per row and feature of a kind of task that none has been run of yet


def run_all(
    plan: Plan,
    journal: Journal,
    experiments: list[str],
    folder: str | None,
    seed: int,
    jobs: int | None,
    tell: Callable[[int, int, float], None],
) -> None:
    """Run every task of the experiments that the journal does not have.

    Parameters
    ----------
    plan : Plan
    journal : Journal
    experiments : list of str
    folder : str or None
        Of the data sets.
    seed : int
    jobs : int or None
        Processes. None means one for each core.
    tell : function of (tasks done, tasks in all, seconds left)
    """
    n_jobs = jobs or cpu_count()
    clock = Clock(plan, n_jobs)
    clock.learn(journal)
    while True:
        tasks = _planned(plan, journal, experiments)
        places = journal.done() | clock.failed
        left = [task for task in tasks if task.place not in places]
        if not left:
            return
        left.sort(key=clock.expected, reverse=True)  # the longest first: no core waits for it at the end
        clock.start(left, len(tasks))
        known = {data.name: data for data in plan.datasets}
        for run in _each([(task, known[task.dataset]) for task in left], folder, seed, n_jobs):
            progress = clock.after(run)
            journal.add(run)
            tell(*progress)


class Clock:
    """How long is left: by the mean of the runs of the same kind, scaled by size where there are none yet."""

    def __init__(self, plan: Plan, n_jobs: int) -> None:
        self._size = {data.name: data.n_rows * data.n_features for data in plan.datasets}
        self._n_jobs = n_jobs
        self._taken: dict[tuple[str, ...], tuple[int, float]] = defaultdict(lambda: (0, 0.0))
        self._left: Counter[tuple[str, ...]] = Counter()
        self._total = 0
        self.failed: set[tuple[Any, ...]] = set()

    def learn(self, journal: Journal) -> None:
        """Go by the runs that are there already, too."""
        for record in journal.runs.values():
            if not record["error"]:
                kind = record["experiment"], record["view"], record["dataset"], record["method"]
                self._add(kind, record.get("seconds", 0.0))

    def expected(self, task: Task) -> float:
        """Return the seconds that a task is likely to take."""
        return self._mean(_kind(task))

    def start(self, left: list[Task], total: int) -> None:
        """Begin to count."""
        self._left = Counter(_kind(task) for task in left)
        self._total = total

    def after(self, run: Run) -> tuple[int, int, float]:
        """Return how many tasks are done, of how many, and the seconds left."""
        self._left[_kind(run.task)] -= 1
        self._add(_kind(run.task), run.seconds)
        if run.error:
            self.failed.add(run.task.place)
        seconds = sum(n * self._mean(kind) for kind, n in self._left.items()) / self._n_jobs
        return self._total - self._left.total(), self._total, seconds

    def _add(self, kind: tuple[str, ...], seconds: float) -> None:
        n, total = self._taken[kind]
        self._taken[kind] = n + 1, total + seconds

    def _mean(self, kind: tuple[str, ...]) -> float:
        n, total = self._taken[kind]
        return total / n if n else UNKNOWN * self._size[kind[2]]


def _kind(task: Task) -> tuple[str, ...]:
    return task.experiment, task.view, task.dataset, task.method


def _planned(plan: Plan, journal: Journal, experiments: list[str]) -> list[Task]:
    done = journal.frame()
    tasks = [task for name in experiments for task in EXPERIMENTS[name].plan(plan, done)]
    return list({task.place: task for task in tasks}.values())


def _each(tasks: list[tuple[Task, DataSet]], folder: str | None, seed: int, n_jobs: int) -> Iterator[Run]:
    if n_jobs == 1 or len(tasks) == 1:
        yield from (run_task(task, data, folder, seed) for task, data in tasks)
        return
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch=2 * n_jobs)
    yield from parallel(delayed(run_task)(task, data, folder, seed) for task, data in tasks)


def run_task(task: Task, data: DataSet, folder: str | None, seed: int) -> Run:
    """Run one task; what goes wrong is part of the run."""
    method = methods.find(task.method)
    started = time.perf_counter()
    try:
        with threads(1):  # sums on two threads round otherwise, and early-stopped solvers make another answer of that
            run: Run = EXPERIMENTS[task.experiment].run(task, data, _rows(data, folder), method, seed)
    except Exception as error:  # one failed fit of thousands is a finding, not the end
        place = traceback.extract_tb(error.__traceback__)[-1]
        said = " ".join(str(error).split())[:300]
        run = Run(task, error=f"{type(error).__name__}: {said} ({Path(place.filename).name}:{place.lineno})")
    run.seconds = time.perf_counter() - started
    return run


@lru_cache(maxsize=4)
def _rows(data: DataSet, folder: str | None) -> Rows:
    return rows(data, folder)
