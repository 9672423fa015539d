"""DL-OCSVM's inner routine (Algorithm 2; `methods/dl.py` evaluates it): every atom by Theorem 1, w and lam fixed.

F = ½‖Y − X D‖² + beta Σ_i phi(‖x^i‖),   ‖d_i‖ = 1,   support of X fixed by OMP
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from oddatom.atoms.theorem1 import power_atom, solve_atom, solve_atom_rows
from oddatom.learners.alternate import Learner, Model, check_overflow, fit_svm, lagrangian
from oddatom.learners.hinge import AtomSolver, hinge_sweep, target_rows
from oddatom.passes import MarginPasses, ShardGroup, SweepPasses

ATOM_SOLVERS: dict[str, AtomSolver] = {"exact": solve_atom, "power": power_atom}
# From this many features on, an atom with fewer than half as many rows is solved in the space of its rows.
WIDE = 64
VERY_WIDE = 400  # and from here on one with fewer rows than features


@dataclass(frozen=True)
class DL(Learner[SweepPasses]):
    """Dictionary learning with sparse codes."""

    atom_solver: str = "exact"

    def start(self, group: ShardGroup[SweepPasses], D: np.ndarray) -> Model:
        """Code the rows with D by OMP, which fixes the support."""
        counts, _ = group.sum(SweepPasses.encode, D, self.s, self.coding)
        group.map(SweepPasses.start_sweeps, D)
        active = counts > 0
        norms = np.sqrt(group.sum(SweepPasses.code_sums)[1])
        return Model(D.copy(), active, counts, norms, fit_svm(group, active, self))

    def sweep(self, group: ShardGroup[SweepPasses], model: Model) -> np.ndarray:
        """Update every active atom by Theorem 1; see `Learner.sweep`."""
        if self.coupling_form == "hinge":
            return hinge_sweep(group, model, self, self.by_rows(model), ATOM_SOLVERS[self.atom_solver])
        D, w = model.D, model.svm.w
        kappa = self.eta / (self.nu * group.sum(MarginPasses.svm_summary)[0]) * w
        by_rows = self.by_rows(model)
        order = np.flatnonzero(model.active).tolist()
        trace = [lagrangian(group, model, self)] if self.track_atoms else []
        flips = np.ones(D.shape[0])
        moments = None
        for position, i in enumerate(order):
            if by_rows[i]:
                R, c = target_rows(group, i, D[i], float(kappa[i]))
                cc = float(c @ c)
                check_overflow(cc, self)
                solution = solve_atom_rows(R, c, D[i])
            else:
                A, g, cc = group.sum(SweepPasses.moments, i, D[i], kappa[i]) if moments is None else moments
                check_overflow(cc, self)
                solution = ATOM_SOLVERS[self.atom_solver](A, g, D[i])
            t = sqrt(max(solution.gain + cc, 0.0))  # ‖R d + c‖
            norm = model.norms[i] = self.penalty.prox(t)
            if norm > 0.0:
                done = (i, D[i].copy(), solution.d, norm / t, kappa[i])
                flips[i] = -1.0 if float(D[i] @ solution.d) < 0.0 else 1.0
                D[i] = solution.d
            else:  # the row is trimmed for good; the atom stays as it was
                done = (i, D[i], D[i], 0.0, kappa[i])
                model.active[i] = False
            ahead = order[position + 1] if position + 1 < len(order) else None
            if self.track_atoms or ahead is None or by_rows[ahead]:
                group.map(SweepPasses.commit, *done)
                moments = None
                if self.track_atoms:
                    trace.append(lagrangian(group, model, self))
            else:
                moments = group.sum(SweepPasses.commit_and_moments, done, (ahead, D[ahead], kappa[ahead]))
        if self.track_atoms:
            model.history.lagrangian.append(np.array(trace))
        return flips

    def by_rows(self, model: Model) -> np.ndarray:
        """Whether Theorem 1 is solved in the space of an atom's rows, by atom."""
        exact, m = self.atom_solver == "exact", model.D.shape[1]
        return exact & (m >= WIDE) & (model.counts < (m if m >= VERY_WIDE else m / 2))

    def objective(self, group: ShardGroup[SweepPasses], model: Model, norms: np.ndarray) -> float:
        """Return F = ½‖E‖² + beta Σ phi(‖x^i‖)."""
        return 0.5 * group.sum(SweepPasses.sq_error)[0] + sum(self.penalty.value(float(t)) for t in norms)

    def encode_anew(self, group: ShardGroup[SweepPasses], model: Model) -> None:
        """Code the rows by OMP with the active atoms."""
        D = model.D[model.active]
        group.map(SweepPasses.encode, D, min(self.s, D.shape[0]), self.coding)
        group.map(SweepPasses.svm_open, np.ones(D.shape[0], bool))
