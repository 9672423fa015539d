"""Progress of a fit: scikit-learn's callbacks where it has them (1.9 and newer), and lines through `logging`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from oddatom.learners.alternate import Model, Observer

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    DEPTH = 1  # frames that with_callbacks puts between a method and its caller
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Callable) -> Callable:
        """Return the method as it is."""
        return method

    DEPTH = 0


logger = logging.getLogger("oddatom")

__all__ = ["DEPTH", "CallbackSupportMixin", "FitProgress", "with_callbacks"]


class FitProgress:
    """One fit: a root task, a task per start, a task per outer iteration."""

    def __init__(self, estimator: Any, X: Any, y: Any, n_init: int, max_iter: int) -> None:
        self.estimator, self.n_init, self.max_iter = estimator, n_init, max_iter
        self.data = {"X": X, "y": y}
        self.root: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self.root = estimator._init_callback_context(max_subtasks=n_init)
            self.root.call_on_fit_task_begin(estimator=estimator, **self.data)

    @contextmanager
    def logging(self) -> Iterator[None]:
        """With `verbose`, show the lines on stderr unless the program has set logging up; undone afterwards."""
        handler = logging.StreamHandler() if self.estimator.verbose and not logger.hasHandlers() else None
        quiet = self.estimator.verbose and logger.level == logging.NOTSET
        if handler is not None:
            logger.addHandler(handler)
        if quiet:
            logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            if handler is not None:
                logger.removeHandler(handler)
            if quiet:
                logger.setLevel(logging.NOTSET)

    def start(self, number: int, attributes: Callable[[Model], dict[str, Any]]) -> StartProgress:
        """Begin start `number` (from 0); `attributes` makes a model into fitted attributes, when a callback asks."""
        return StartProgress(self, number, attributes)

    def finish(self) -> None:
        """The fit is over."""
        if self.root is not None:
            self.root.call_on_fit_task_end(estimator=self.estimator, **self.data, reconstruction_attributes={})


class StartProgress(Observer):
    """Observer of one run of Algorithm 1."""

    def __init__(self, fit: FitProgress, number: int, attributes: Callable[[Model], dict[str, Any]]) -> None:
        self.fit, self.number, self.attributes = fit, number, attributes
        self.task: Any = None
        self.iteration: Any = None
        if fit.root is not None:
            self.task = fit.root.subcontext(task_name=f"start {number + 1}", max_subtasks=fit.max_iter)
            self.task.call_on_fit_task_begin(estimator=fit.estimator, **fit.data)

    def begin(self, k: int) -> None:
        """Open the task of iteration k."""
        if self.task is not None:
            self.iteration = self.task.subcontext(task_name=f"iteration {k}")
            self.iteration.call_on_fit_task_begin(estimator=self.fit.estimator, **self.fit.data)

    def end(self, k: int, model: Model) -> bool:
        """Log a line, close the task of iteration k, and pass on a callback's wish to stop."""
        if self.fit.estimator.verbose:
            h = model.history
            start = f"start {self.number + 1}/{self.fit.n_init}, " if self.fit.n_init > 1 else ""
            logger.info(
                "%s: %siteration %d/%d: objective %.6g, %d of %d atoms, SVM gap %.1e, %.3f s",
                type(self.fit.estimator).__name__, start, k, self.fit.max_iter,
                h["total"][-1], h["n_active"][-1], model.active.size, h["gap"][-1], h["seconds"][-1],
            )  # fmt: skip
        if self.iteration is None:
            return False
        return bool(
            self.iteration.call_on_fit_task_end(
                estimator=self.fit.estimator,
                **self.fit.data,
                reconstruction_attributes=lambda: self.attributes(model),
            )
        )

    def close(self) -> None:
        """The start is over."""
        if self.task is not None:
            self.task.call_on_fit_task_end(
                estimator=self.fit.estimator, **self.fit.data, reconstruction_attributes=None
            )
