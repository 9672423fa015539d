"""What the files of the paper's four learners and their variants share: grids, ways to fit, what is read off a fit."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any, ClassVar

import numpy as np

from oddatom.boundary.plane import at_origin
from oddatom.exceptions import OddAtomWarning
from oddatom.paper.base import DataSet, Effort, Method, Setting, View
from oddatom.paper.program import SWEEPS, Alternation

FINE = tuple(np.round(np.linspace(0.01, 0.5, 50), 4).tolist())
COARSE = tuple(np.round(np.linspace(0.05, 0.5, 10), 4).tolist())
KERNEL_WIDTHS = (
    *(1 / 16654, 1 / 8126, 1 / 4096, 1 / 2048, 1 / 1024, 1 / 256, 1 / 128, 1 / 64, 1 / 32, 1 / 12, 1 / 8, 1 / 4),
    *(1 / 2, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0),
)
QUICK_WIDTHS = (1 / 12, 8.0, 32.0)
MANY_ROWS = 1000  # where a fit takes its time, the last does for "quick"


class FittedLearner:
    """A learner of this package after its fit.

    In the first experiment rows are judged by the SVM of the last sweep, on the codes as that sweep left them; new rows
    each by itself.
    """

    def __init__(self, detector: Any) -> None:
        self.detector = detector
        decision = detector.train_decision_
        curvature = float(detector.boundary_ == "ball")
        scale = float(np.sqrt((detector.train_codes_.data**2).sum() / decision.size))
        svm = at_origin(0, curvature)._replace(w=detector.train_coef_, scale=scale)
        self.train_labels = decision < -(1.0 + curvature) * svm.tolerance  # rows this near are on the boundary
        self.train_scores = -decision
        exact = bool(detector.history_["gap"][-1] <= 1e-8)  # the gap itself is rounding, and differs by process
        self.extra = {"n_active": int(detector.active_atoms_.sum()), "exact": exact}

    def labels(self, X: np.ndarray) -> np.ndarray:
        """Return the labels of new rows."""
        with quiet():
            return np.asarray(self.detector.predict(X) == -1)

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return the scores of new rows."""
        with quiet():
            return np.asarray(-self.detector.score_samples(X))

    def history(self) -> dict[str, Any]:
        """Return F, G and F + eta G by sweep, and what a sweep lowers after every atom, where it was tracked.

        That is the Lagrangian, or with the boundary fixed a bound on F + eta G. "start" is F + eta G before any sweep.
        """
        history = self.detector.history_
        curves = {name: [float(value) for value in history[name][1:]] for name in ("F", "G", "total")}
        start = {"start": float(history["total"][0])}
        sweeps = [sweep[1:].tolist() for sweep in history.lagrangian]
        ends = np.cumsum([len(sweep) for sweep in sweeps]).tolist()
        return {**curves, **start, "inner": [value for sweep in sweeps for value in sweep], "sweep_ends": ends}


class FittedProgram:
    """A learner of the published program after its fit; new rows are judged together, by its batch algorithm."""

    def __init__(self, fitted: Alternation) -> None:
        self.fitted = fitted
        self.train_scores = -fitted.decision
        self.train_labels = self.train_scores >= 0.0  # libsvm's own rule
        self.extra = {"n_active": fitted.n_active}

    def labels(self, X: np.ndarray) -> np.ndarray:
        """Return the labels of new rows."""
        return self.scores(X) >= 0.0

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return the scores of new rows."""
        return -self.fitted.decide(X)

    def history(self) -> dict[str, list[float]]:
        """Return F, G and their sum by sweep, and their sum after every atom, where it was tracked."""
        n, n_inner = self.fitted.n_atoms, len(self.fitted.history["inner"])
        return {**self.fitted.history, "sweep_ends": list(range(n, n_inner + 1, n))}


class Learner(Method):
    """One of the paper's four, or a variant of one.

    In the view "published" it takes the published program's steps, in "converged" exact solvers; both have the paper's
    settings. In "unlabelled" it is the detector as it comes, a variant the detector with the paper's settings.
    """

    views: ClassVar[tuple[View, ...]] = ("published", "converged", "unlabelled")
    form = "multipliers"
    dictionaries = True
    scaling = "frobenius"
    parts_apart = True
    detector: ClassVar[Any]
    changed: ClassVar[Mapping[str, Any]] = {}  # of a variant: where its settings are not the paper's
    program: ClassVar[type[Alternation] | None] = None  # what the published program does
    early: ClassVar[Mapping[str, Any]] = {}  # where there is none: solvers of the detector that stop early
    grids: ClassVar[Mapping[str, Sequence[float]]]  # the paper's, by name of the setting
    quick: ClassVar[Mapping[str, Sequence[float]]] = {}  # where the paper does not say which was best
    names: ClassVar[Mapping[str, str]] = {}  # of settings that the detector calls otherwise
    small: ClassVar[bool] = False

    def takes(self, data: DataSet) -> bool:
        """Whether the paper, or this evaluation, gives it this data set."""
        return data.small == self.small

    def grid(self, data: DataSet, effort: Effort) -> Sequence[Setting]:
        """Return the paper's grid; or its best values, and a few of those that it does not name."""
        quick = {name: values[-1:] if data.n_rows > MANY_ROWS else values for name, values in self.quick.items()}
        best = {name: (value,) for name, value in self.best(data).items()}
        grids = {**self.grids, **quick, **best} if effort == "quick" else {**self.grids, **_with(self.grids, best)}
        return [dict(zip(grids, values, strict=True)) for values in product(*grids.values())]

    def fixed(self, data: DataSet) -> Setting:
        """Return what the detector is made with anyway: its defaults, of a variant the paper's settings."""
        return {}

    def fit(
        self, X: np.ndarray, data: DataSet, setting: Setting, draw: int, view: View, nu: float
    ) -> FittedLearner | FittedProgram:
        """Fit to rows. Settings may also say `max_iter` and `track`, for curves."""
        options = dict(setting)
        watched = bool(options.pop("track", False))
        if view == "published" and self.program is not None:
            sweeps = options.pop("max_iter", SWEEPS)
            norm = options.pop("norm", None)
            program = self.program(data.sparsity, nu, seed=draw, sweeps=sweeps, norm=norm, **options)
            return FittedProgram(program.fit(X, watched))
        named = {self.names.get(name, name): value for name, value in options.items()}
        named["verbose"] = 2 if watched else 0
        if view != "unlabelled":
            named |= {"n_nonzero": data.sparsity, "nu": nu, **(self.early if view == "published" else {})}
        make = self.detector if view == "unlabelled" and not self.of else self.detector.paper
        with quiet():
            fitted = FittedLearner(make(random_state=draw, **named, **self.changed).fit(X))
        if view == "unlabelled":  # as a user has them, not as the last sweep left them
            fitted.train_scores, fitted.train_labels = fitted.scores(X), fitted.labels(X)
        return fitted


@contextmanager
def quiet() -> Iterator[None]:
    """Hold back this package's warnings and lines: an SVM without margin is a finding, and seen in the figures."""
    logger = logging.getLogger("oddatom")
    disabled, logger.disabled = logger.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OddAtomWarning)
            yield
    finally:
        logger.disabled = disabled


def _with(grids: Mapping[str, Sequence[float]], best: Mapping[str, tuple[float, ...]]) -> dict[str, Sequence[float]]:
    """Return the grids with the paper's best value in each, which is not always a point of it."""
    return {name: sorted({*values, *best.get(name, ())}) for name, values in grids.items()}
