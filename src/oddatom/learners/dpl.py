"""DPL-OCSVM's inner routine (appendix; `methods/dpl.py` evaluates it): every pair by Theorem 2, w and lam fixed.

With coupling_form="hinge" the boundary is fixed instead, as in `learners/hinge.py`: Theorem 2 gives a direction, along
which the codes go as far as F and the hinge together fall.

    F = ½‖Y − X D‖² + beta Σ_i phi(‖x^i‖) + Σ_i alpha_i ‖x^i‖₁,   x^i = Y p_i on the rows that use atom i

Which rows use an atom is fixed by OMP; alpha_i = alpha ς_i/‖ς‖ with ς_i their number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from oddatom.learners.alternate import Learner, Model, check_overflow, fit_svm, lagrangian, majorant, row_weight
from oddatom.pairs.gradient import gradient_pair
from oddatom.pairs.theorem2 import Pair, PairSolution, exact_pair, least_squares_map, with_boundary
from oddatom.passes import MarginPasses, PairPasses, ShardGroup, SweepPasses

PAIR_SOLVERS: dict[str, Callable[..., PairSolution]] = {"exact": exact_pair, "gradient": gradient_pair}
CACHE = 2**25  # numbers: 256 MB
REPRESENTATIONS = ("analysis", "omp")


@dataclass(frozen=True)
class DPL(Learner[PairPasses]):
    """Dictionary pair learning: codes are linear in the rows."""

    alpha: float | None = None  # None: 1/√N
    pair_solver: str = "exact"
    representation: str = "analysis"

    def start(self, group: ShardGroup[PairPasses], D: np.ndarray) -> Model:
        """Code the rows with D by OMP, which fixes the support; P is the least-squares map from rows to these codes."""
        counts, _ = group.sum(SweepPasses.encode, D, self.s, self.coding)
        YY, XY = group.sum(PairPasses.start_moments)
        P = least_squares_map(YY, XY)
        group.map(PairPasses.start_pairs, P)
        group.map(SweepPasses.start_sweeps, D)
        active = counts > 0
        P[~active] = 0.0
        norms = np.sqrt(group.sum(SweepPasses.code_sums)[1])
        svm = fit_svm(group, active, self)
        weight = 1.0 / np.sqrt(group.sum(MarginPasses.svm_summary)[0]) if self.alpha is None else self.alpha
        alpha = weight * counts / max(float(np.linalg.norm(counts)), 1.0)
        return Model(D.copy(), active, counts, norms, svm, P=P, alpha=alpha, measures={"kkt": 0.0})

    @np.errstate(over="ignore", invalid="ignore")  # `check_overflow` refuses what comes of it
    def sweep(self, group: ShardGroup[PairPasses], model: Model) -> np.ndarray:
        """Update every active pair by Theorem 2; see `Learner.sweep`."""
        D, P, alpha = model.D, model.P, model.alpha
        weight, hinge = row_weight(group, self), self.coupling_form == "hinge"
        kappa, bend = weight * model.svm.w, weight * self.curvature
        measure = majorant if hinge else lagrangian
        halves = self.pair_solver == "exact" or not hinge  # gradient steps in d alone may raise the majorant
        if hinge:
            group.map(SweepPasses.hinge_start, model.svm.w, model.svm.rho, self.curvature, weight)
        solve = PAIR_SOLVERS[self.pair_solver]
        flips = np.ones(D.shape[0])
        room = CACHE - sum(basis.T.size for basis in model.bases.values())  # for bases to keep from sweep to sweep
        trace = [measure(group, model, self)] if self.track_atoms else []
        worst = 0.0
        for i in np.flatnonzero(model.active).tolist():
            old = [D[i]]  # the atom that the shards' residual belongs to
            before = P[i].copy()

            def halfway(d: np.ndarray, i: int = i, old: list[np.ndarray] = old) -> None:
                group.sum(PairPasses.pair_commit, old[0], d, P[i])
                old[0] = d
                trace.append(measure(group, model, self))

            weights = float(kappa[i]), float(alpha[i])
            known = model.bases.get(i), model.n_iter > 0
            pair = Pair(i, D[i], *weights, self.penalty, int(model.counts[i]), *known, bend, hinge)
            solution = solve(group, pair, halfway if self.track_atoms and halves else None)
            if hinge:
                solution = with_boundary(group, pair, before, solution, weight, old[0])
            d, P[i] = solution.d, solution.p
            (square,) = group.sum(PairPasses.pair_commit, old[0], d, P[i])
            check_overflow(square, self)
            model.norms[i] = np.sqrt(square)
            if P[i].any():
                flips[i] = -1.0 if float(D[i] @ d) < 0.0 else 1.0
                D[i] = d
                basis = solution.basis
                if basis is not None and i not in model.bases and basis.T.size <= room:
                    model.bases[i] = basis
                    room -= basis.T.size
            else:  # the row is trimmed for good; the atom stays as it was
                model.active[i] = False
                model.bases.pop(i, None)
            if self.track_atoms:
                trace.append(measure(group, model, self))
            worst = float(np.maximum(worst, solution.residual))  # no number stays no number
        model.measures["kkt"] = worst
        if self.track_atoms:
            model.history.lagrangian.append(np.array(trace))
        return flips

    def objective(self, group: ShardGroup[PairPasses], model: Model, norms: np.ndarray) -> float:
        """Return F = ½‖E‖² + beta Σ phi(‖x^i‖) + Σ alpha_i ‖x^i‖₁."""
        penalties = sum(self.penalty.value(float(t)) for t in norms)
        (absolute,) = group.sum(PairPasses.absolute_sums)
        return 0.5 * group.sum(SweepPasses.sq_error)[0] + penalties + float(model.alpha @ absolute)

    def encode_anew(self, group: ShardGroup[PairPasses], model: Model) -> None:
        """Make the codes P y of all rows, or code them by OMP, with the active atoms."""
        D, P = model.D[model.active], model.P[model.active]
        if self.representation == "analysis":
            group.map(PairPasses.analyse, P)
        else:
            group.map(SweepPasses.encode, D, min(self.s, D.shape[0]), self.coding)
            group.map(SweepPasses.svm_open, np.ones(D.shape[0], bool))
