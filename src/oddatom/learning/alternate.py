"""Algorithm 1: alternate between a sweep over the atoms and the one-class SVM on the codes.

    min_D,X,w,rho  ½‖Y − X D‖² + beta Σ_i phi(‖x^i‖) + G(X, w, rho),   ‖d_i‖ = 1,   support of X fixed by OMP

The driver holds the dictionary, the plane and m×m moments; the rows stay in the shards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import sqrt
from time import perf_counter
from typing import Any

import numpy as np

from oddatom.history import History
from oddatom.learning.atoms import AtomSolution, power_atom, solve_atom, solve_atom_rows
from oddatom.learning.libsvm import fit_libsvm
from oddatom.learning.one_class import OneClassFit, fit_one_class, quantile_offset
from oddatom.learning.penalties import Penalty
from oddatom.shards.base import ShardGroup

AtomSolver = Callable[[np.ndarray, np.ndarray, np.ndarray], AtomSolution]

ATOM_SOLVERS: dict[str, AtomSolver] = {"exact": solve_atom, "power": power_atom}
# From this many features on, an atom with fewer than half as many rows is solved in the space of its rows.
WIDE = 64
SVM_SOLVERS: dict[str, Callable[..., OneClassFit]] = {"exact": fit_one_class, "libsvm": fit_libsvm}


@dataclass(frozen=True)
class Settings:
    """What Algorithm 1 needs to know besides the rows and the first dictionary."""

    s: int
    penalty: Penalty
    nu: float
    eta: float = 1.0
    max_iter: int = 6
    tol: float = 0.0
    atom_solver: str = "exact"
    svm_solver: str = "exact"
    track_atoms: bool = False


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


class Observer:
    """Told of every outer iteration; ends the fit by returning True from `end`."""

    def begin(self, k: int) -> None:
        """Iteration k (from 1) is about to start."""

    def end(self, k: int, model: Model) -> bool:
        """Iteration k is over."""
        return False


def learn(group: ShardGroup[Any], D: np.ndarray, settings: Settings, observer: Observer | None = None) -> Model:
    """Run Algorithm 1 from the dictionary D; the shards keep codes and multipliers as the last sweep left them."""
    observer = observer or Observer()
    started = perf_counter()
    counts, _ = group.map_reduce("encode", D, settings.s)
    group.map("start_sweeps", D)
    active = counts > 0
    norms = np.sqrt(group.map_reduce("code_sums")[1])
    model = Model(D.copy(), active, counts, norms, fit_svm(group, active, settings))
    _record(group, model, settings, started)
    for k in range(1, settings.max_iter + 1):
        observer.begin(k)
        started = perf_counter()
        flips = sweep(group, model, settings)
        model.svm = fit_svm(group, model.active, settings, w0=model.svm.w * flips)
        model.n_iter = k
        _record(group, model, settings, started)
        stop = observer.end(k, model)
        total = model.history["total"]
        if stop or (settings.tol > 0 and abs(total[-2] - total[-1]) <= settings.tol * max(abs(total[-2]), 1e-300)):
            break
    return model


def sweep(group: ShardGroup[Any], model: Model, settings: Settings) -> np.ndarray:
    """Algorithm 2: update every active atom and its row of codes with w and lam fixed (Theorem 1).

    Returns −1 for atoms that turned round and +1 for the others: the sign their part of the next plane will have.
    """
    D, w = model.D, model.svm.w
    kappa = settings.eta / (settings.nu * group.map_reduce("svm_summary")[0]) * w
    exact, m = settings.atom_solver == "exact", D.shape[1]
    by_rows = exact & (m >= WIDE) & (2 * model.counts < m)
    order = np.flatnonzero(model.active)
    trace = [lagrangian(group, model, settings)] if settings.track_atoms else []
    flips = np.ones(D.shape[0])
    moments = None
    for position, i in enumerate(order):
        if by_rows[i]:
            solution, cc = _solve_by_rows(group, int(i), D[i], float(kappa[i]))
        else:
            A, g, cc = group.map_reduce("moments", i, D[i], kappa[i]) if moments is None else moments
            solution = ATOM_SOLVERS[settings.atom_solver](A, g, D[i])
        t = sqrt(max(solution.gain + cc, 0.0))  # ‖R d + c‖
        norm = model.norms[i] = settings.penalty.prox(t)
        if norm > 0.0:
            done = (i, D[i].copy(), solution.d, norm / t, kappa[i])
            flips[i] = -1.0 if float(D[i] @ solution.d) < 0.0 else 1.0
            D[i] = solution.d
        else:  # the row is trimmed for good; the atom stays as it was
            done = (i, D[i], D[i], 0.0, kappa[i])
            model.active[i] = False
        ahead = order[position + 1] if position + 1 < order.size else None
        if settings.track_atoms or ahead is None or by_rows[ahead]:
            group.map("commit", *done)
            moments = None
            if settings.track_atoms:
                trace.append(lagrangian(group, model, settings))
        else:
            moments = group.map_reduce("commit_and_moments", done, (ahead, D[ahead], kappa[ahead]))
    if settings.track_atoms:
        model.history.lagrangian.append(np.array(trace))
    return flips


def _solve_by_rows(group: ShardGroup[Any], i: int, d: np.ndarray, kappa: float) -> tuple[AtomSolution, float]:
    """Theorem 1 in the space of the atom's rows, where they are far fewer than the features; and ‖c‖²."""
    pieces = group.map("rows", i, d, kappa)
    R, c = np.concatenate([R for R, _ in pieces]), np.concatenate([c for _, c in pieces])
    return solve_atom_rows(R, c, d), float(c @ c)


def fit_svm(
    group: ShardGroup[Any], active: np.ndarray, settings: Settings, w0: np.ndarray | None = None
) -> OneClassFit:
    """Solve the one-class SVM on the active atoms' codes; w comes back over all atoms."""
    group.map("svm_open", active)
    start = None if w0 is None else w0[active]
    fit = SVM_SOLVERS[settings.svm_solver](group, int(active.sum()), settings.nu, w0=start)
    w = np.zeros(active.size)
    w[active] = fit.w
    return fit._replace(w=w)


def fit_last_svm(
    group: ShardGroup[Any], D: np.ndarray, settings: Settings, w0: np.ndarray | None = None
) -> tuple[OneClassFit, float]:
    """Code the rows anew with the atoms D, as new rows will be, and fit the SVM on those codes.

    Where there is no margin at nu, the plane of the next larger nu that has one is taken (in steps of 1.5: the larger
    nu, the smaller the reduced hull), with the offset at the nu-quantile of its margins. Returns the fit and its nu.
    """
    n = D.shape[0]
    group.map("encode", D, min(settings.s, n))
    nu, active = settings.nu, np.ones(n, bool)
    svm = fit_svm(group, active, settings, w0)
    while svm.degenerate and nu < 1.0:
        nu = min(1.0, 1.5 * nu)
        svm = fit_svm(group, active, replace(settings, nu=nu))
    if nu > settings.nu and not svm.degenerate:
        svm = svm._replace(rho=quantile_offset(group, svm.w, settings.nu))
    return svm, nu


def lagrangian(group: ShardGroup[Any], model: Model, settings: Settings) -> float:
    """F + eta·(½‖w‖² − Σ_j lam_j w·x_j): what a sweep lowers, w and lam fixed (rho and xi cancel)."""
    weighted, squares = group.map_reduce("code_sums")
    w, C = model.svm.w, settings.nu * group.map_reduce("svm_summary")[0]
    F = _dictionary_objective(group, np.sqrt(squares), settings)
    return F + settings.eta * (0.5 * float(w @ w) - float(w @ weighted) / C)


def _dictionary_objective(group: ShardGroup[Any], norms: np.ndarray, settings: Settings) -> float:
    """F = ½‖E‖² + beta Σ phi(‖x^i‖)."""
    return 0.5 * group.map_reduce("sq_error")[0] + sum(settings.penalty.value(float(t)) for t in norms)


def _record(group: ShardGroup[Any], model: Model, settings: Settings, started: float) -> None:
    F = _dictionary_objective(group, model.norms, settings)
    model.history.record(
        F=F,
        G=model.svm.objective,
        total=F + model.svm.objective,
        n_active=int(model.active.sum()),
        gap=model.svm.gap,
        seconds=perf_counter() - started,
    )
