"""Algorithm 1: alternate between a sweep over the atoms and the one-class SVM on the codes.

    min  F(Y, D, X) + eta G(X, w, rho)

F is the learner's objective, G the one-class SVM's. Which learner it is (`dl.DL`, `dpl.DPL`) says what a sweep does.
The driver holds dictionaries, the plane and small matrices; the rows stay in the shards.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Generic, Protocol, TypeVar, cast

import numpy as np

from oddatom.boundary.libsvm import fit_libsvm
from oddatom.boundary.plane import OneClassFit, fit_one_class, is_flat, quantile_offset
from oddatom.boundary.weighted import fit_weighted, weighted_quantile_offset
from oddatom.exceptions import OddAtomError, WorkerLostError
from oddatom.history import History
from oddatom.passes import MarginPasses, PlanePasses, ShardGroup, SweepPasses, WeightedPasses
from oddatom.passes.meter import Meter
from oddatom.penalties import Penalty

S = TypeVar("S", bound=SweepPasses)


class SVMSolver(Protocol):
    """Solves the one-class SVM on the n columns that the shards have been handed."""

    def __call__(
        self, group: ShardGroup[PlanePasses], n: int, nu: float, *, w0: np.ndarray | None = None, curvature: float = 0.0
    ) -> OneClassFit:
        """Return the boundary; the shards keep the multipliers."""


SVM_SOLVERS: dict[str, SVMSolver] = {"exact": fit_one_class, "libsvm": fit_libsvm}


@dataclass
class Model:
    """Dictionary, atoms in use, and the SVM on their codes (w over all atoms, zero where inactive)."""

    D: np.ndarray
    active: np.ndarray
    counts: np.ndarray  # rows that use each atom
    norms: np.ndarray  # ‖x^i‖
    svm: OneClassFit
    n_iter: int = 0
    history: History = field(default_factory=History)
    P: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))  # analysis dictionary, of pair learners
    alpha: np.ndarray = field(default_factory=lambda: np.empty(0))  # weights of ‖x^i‖₁, of pair learners
    bases: dict[int, Any] = field(default_factory=dict)  # of the atoms' rows, which never change; of pair learners
    measures: dict[str, float] = field(default_factory=dict)  # what else the history records of a sweep

    def copy(self) -> Model:
        """Return a copy that later sweeps leave as it is."""
        twin = replace(self, history=self.history.copy(), bases=dict(self.bases), measures=dict(self.measures))
        for name in ("D", "active", "counts", "norms", "P", "alpha"):
            setattr(twin, name, getattr(self, name).copy())
        return twin


@dataclass(frozen=True)
class Learner(ABC, Generic[S]):
    """What Algorithm 1 needs to know besides the rows and the first dictionary, and the learner's own steps."""

    s: int
    penalty: Penalty
    nu: float
    eta: float = 1.0
    max_iter: int = 6
    tol: float = 0.0
    svm_solver: str = "exact"
    track_atoms: bool = False
    weighted: bool = False  # whether the rows have weights, which the exact SVM alone takes
    coding: str = "omp"  # which of oddatom.coding.CODINGS makes the sparse codes
    coupling_form: str = "multipliers"  # what a sweep holds fixed: the SVM's multipliers, or its boundary ("hinge")
    curvature: float = 0.0  # of the boundary: 0 a plane, 1 a ball

    @abstractmethod
    def start(self, group: ShardGroup[S], D: np.ndarray) -> Model:
        """Give the shards their first codes, made with D, and return the model they belong to."""

    @abstractmethod
    def sweep(self, group: ShardGroup[S], model: Model) -> np.ndarray:
        """Update every active atom and its row of codes, with w and lam, or the boundary, fixed.

        Returns −1 for atoms that turned round and +1 for the others: the sign their part of the next plane will have.
        """

    @abstractmethod
    def objective(self, group: ShardGroup[S], model: Model, norms: np.ndarray) -> float:
        """Return F for codes whose rows have these norms."""

    @abstractmethod
    def encode_anew(self, group: ShardGroup[S], model: Model) -> None:
        """Hand the SVM the rows coded with the active atoms, as new rows will be."""


class Observer:
    """Told of every outer iteration; ends the fit by returning True from `end`."""

    def begin(self, k: int) -> None:
        """Iteration k (from 1) is about to start."""

    def end(self, k: int, model: Model) -> bool:
        """Iteration k is over."""
        return False


def learn(group: ShardGroup[S], D: np.ndarray, learner: Learner[S], observer: Observer | None = None) -> Model:
    """Run Algorithm 1 from the dictionary D; the shards keep codes and multipliers as the last sweep left them.

    A `WorkerLostError` carries the model as of the last whole iteration.
    """
    observer = observer or Observer()
    whole: Model | None = None
    try:
        started, before = perf_counter(), group.meter.copy()
        model = learner.start(group, D)
        _record(group, model, learner, started, before)
        for k in range(1, learner.max_iter + 1):
            if group.can_lose:
                whole = model.copy()
            observer.begin(k)
            started, before = perf_counter(), group.meter.copy()
            flips = learner.sweep(group, model)
            model.svm = fit_svm(group, model.active, learner, w0=model.svm.w * flips)
            model.n_iter = k
            _record(group, model, learner, started, before)
            stop = observer.end(k, model)
            total = model.history["total"]
            if stop or (learner.tol > 0 and abs(total[-2] - total[-1]) <= learner.tol * max(abs(total[-2]), 1e-300)):
                break
    except WorkerLostError as error:
        error.model = whole
        raise
    return model


def fit_svm(
    group: ShardGroup[SweepPasses], active: np.ndarray, learner: Learner[S], w0: np.ndarray | None = None
) -> OneClassFit:
    """Solve the one-class SVM on the active atoms' codes; w comes back over all atoms."""
    group.map(SweepPasses.svm_open, active)
    fit = _solve_svm(group, int(active.sum()), learner, None if w0 is None else w0[active])
    w = np.zeros(active.size)
    w[active] = fit.w
    return fit._replace(w=w)


def fit_last_svm(group: ShardGroup[S], model: Model, learner: Learner[S]) -> tuple[OneClassFit, float]:
    """Code the rows anew with the active atoms, as new rows will be, and fit the SVM on those codes.

    Where there is no margin at nu, the plane of the next larger nu that has one is taken (in steps of 1.5: the larger
    nu, the smaller the reduced hull), with the offset at the nu-quantile of its margins. Returns the fit, with w over
    the active atoms, and its nu.
    """
    try:
        learner.encode_anew(group, model)
        nu, n = learner.nu, int(model.active.sum())
        svm = _solve_svm(group, n, learner, model.svm.w[model.active])
        while svm.degenerate and nu < 1.0 and learner.curvature == 0.0:
            nu = min(1.0, 1.5 * nu)
            svm = _solve_svm(group, n, replace(learner, nu=nu))
        if nu > learner.nu and not svm.degenerate:
            if learner.weighted:
                rho = weighted_quantile_offset(cast(ShardGroup[WeightedPasses], group), svm.w, learner.nu)
            else:
                rho = quantile_offset(group, svm.w, learner.nu)
            svm = svm._replace(rho=rho)
        return svm._replace(flat=is_flat(group, svm)), nu
    except WorkerLostError as error:
        error.model = model
        raise


def lagrangian(group: ShardGroup[S], model: Model, learner: Learner[S]) -> float:
    """F + eta·(½‖w‖² − Σ_j lam_j w·x_j): what a sweep lowers, w and lam fixed (rho and xi cancel)."""
    weighted, squares = group.sum(SweepPasses.code_sums)
    w, C = model.svm.w, learner.nu * group.sum(MarginPasses.svm_summary)[0]
    F = learner.objective(group, model, np.sqrt(squares))
    return F + learner.eta * (0.5 * float(w @ w) - float(w @ weighted) / C)


def majorant(group: ShardGroup[S], model: Model, learner: Learner[S]) -> float:
    """F + eta G with the boundary fixed: no less than F + eta G, and equal where the boundary is that of the codes."""
    svm, N = model.svm, group.sum(MarginPasses.svm_summary)[0]
    norms = np.sqrt(group.sum(SweepPasses.code_sums)[1])
    hinge = group.sum(SweepPasses.hinge_total)[0] / (learner.nu * N)
    G = (1.0 + learner.curvature) * (0.5 * float(svm.w @ svm.w) - svm.rho + hinge)
    return learner.objective(group, model, norms) + learner.eta * G


def row_weight(group: ShardGroup[S], learner: Learner[S]) -> float:
    """The weight of a row outside the boundary in eta G: eta/(nu N), of a ball twice that."""
    return (1.0 + learner.curvature) * learner.eta / (learner.nu * float(group.sum(MarginPasses.svm_summary)[0]))


def check_overflow(square: float, learner: Learner[S]) -> None:
    """Refuse to go on with codes, or weights of them, whose square has overflowed."""
    if not np.isfinite(square):
        raise OddAtomError(
            f"The codes overflowed in the update of an atom: the SVM's weight eta = {learner.eta:g} is too large.",
            parameter="coupling",
            value=learner.eta,
            advice="Lower the 'coupling' parameter; ('eta', 1) is the paper's.",
        )


def _solve_svm(
    group: ShardGroup[SweepPasses], n: int, learner: Learner[S], w0: np.ndarray | None = None
) -> OneClassFit:
    if learner.weighted:
        weighted = cast(ShardGroup[WeightedPasses], group)
        return fit_weighted(weighted, n, learner.nu, w0=w0, curvature=learner.curvature)
    return SVM_SOLVERS[learner.svm_solver](group, n, learner.nu, w0=w0, curvature=learner.curvature)


def _record(group: ShardGroup[S], model: Model, learner: Learner[S], started: float, before: Meter) -> None:
    F = learner.objective(group, model, model.norms)
    model.history.record(
        F=F,
        G=model.svm.objective,
        total=F + learner.eta * model.svm.objective,
        n_active=int(model.active.sum()),
        gap=model.svm.gap,
        code_norm=float(np.linalg.norm(model.norms[model.active])),
        seconds=perf_counter() - started,
        **group.meter.since(before),
        **model.measures,
    )
