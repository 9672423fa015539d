"""A sweep over the atoms with the boundary fixed: F + eta G never rises, see Proposition 1 in `docs/mathematics.md`.

With (w, rho) fixed, eta G is at most kappa Σ_j (rho − f_j)₊ and constants, and equal to it where (w, rho) is the SVM of
the codes. The sweep lowers that bound atom by atom, and the next SVM can only lower it further.

    min_d,x  ½‖R − x dᵀ‖² + φ(‖x‖) + kappa Σ_j (q_j − w_i x_j + h/2 x_j²)₊

`boundary/hinge_codes.py` has the best x for an atom d. Of d, Theorem 1's with the SVM's multipliers is tried first;
where it is no better than what there is, Rᵀx/‖Rᵀx‖, which is never worse; and before an atom is trimmed, the one that
Theorem 1 gives at x = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isinf, sqrt
from typing import NamedTuple

import numpy as np

from oddatom.atoms.theorem1 import AtomSolution, solve_atom, solve_atom_rows
from oddatom.learners.alternate import Learner, Model, check_overflow, majorant, row_weight
from oddatom.passes import ShardGroup, SweepPasses
from oddatom.penalties import Penalty

AtomSolver = Callable[[np.ndarray, np.ndarray, np.ndarray], AtomSolution]

TOL = 1e-10  # of p
MAX_STEPS = 60


class Attempt(NamedTuple):
    """The best codes for an atom d: their p and norm, and the objective; that of the old atom, and of x = 0."""

    d: np.ndarray
    p: float
    norm: float
    value: float
    old: float
    zero: float


def hinge_sweep(
    group: ShardGroup[SweepPasses],
    model: Model,
    learner: Learner[SweepPasses],
    by_rows: np.ndarray,
    solver: AtomSolver,
) -> np.ndarray:
    """Update every active atom, the boundary fixed; see `Learner.sweep`."""
    D, svm = model.D, model.svm
    weight = row_weight(group, learner)
    group.map(SweepPasses.hinge_start, svm.w, svm.rho, learner.curvature, weight)
    pull, bend = weight * svm.w, weight * learner.curvature
    order = np.flatnonzero(model.active).tolist()
    trace = [majorant(group, model, learner)] if learner.track_atoms else []
    flips = np.ones(D.shape[0])
    moments = None
    for position, i in enumerate(order):
        if by_rows[i]:
            R, c = target_rows(group, i, D[i], float(pull[i]), bend)
            cc = float(c @ c)
            check_overflow(cc, learner)
            solution = solve_atom_rows(R, c, D[i])
        else:
            A, g, cc = group.sum(SweepPasses.moments, i, D[i], pull[i], bend) if moments is None else moments
            check_overflow(cc, learner)
            solution = solver(A, g, D[i])
        guess = sqrt(max(solution.gain + cc, 0.0))
        found = _best(group, i, D[i], solution.d, guess, learner.penalty, weight)
        done = None
        if found is not None:
            model.norms[i] = found.norm
            done = (i, D[i].copy(), found.d, found.p)
            if isinf(found.p):  # the row is trimmed for good; the atom stays as it was
                model.active[i] = False
            else:
                flips[i] = -1.0 if float(D[i] @ found.d) < 0.0 else 1.0
                D[i] = found.d
        ahead = order[position + 1] if position + 1 < len(order) else None
        moments = None
        if done is not None:
            if learner.track_atoms or ahead is None or by_rows[ahead]:
                group.map(SweepPasses.hinge_commit, *done)
            else:
                following = (ahead, D[ahead], float(pull[ahead]), bend)
                moments = group.sum(SweepPasses.hinge_commit_and_moments, done, following)
        if learner.track_atoms:
            trace.append(majorant(group, model, learner))
    if learner.track_atoms:
        model.history.lagrangian.append(np.array(trace))
    return flips


def target_rows(
    group: ShardGroup[SweepPasses], i: int, d: np.ndarray, kappa: float, bend: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """R and c of an atom with far fewer rows than features, where Theorem 1 is solved in the space of the rows."""
    pieces = group.map(SweepPasses.rows, i, d, kappa, bend)
    return np.concatenate([R for R, _ in pieces]), np.concatenate([c for _, c in pieces])


def _best(
    group: ShardGroup[SweepPasses],
    i: int,
    old: np.ndarray,
    new: np.ndarray,
    guess: float,
    penalty: Penalty,
    weight: float,
) -> Attempt | None:
    """Return an atom and codes that are no worse than what there is, the shards ready to commit them; None keeps it."""
    found = _attempt(group, i, old, new, guess, penalty, weight)
    if found.value > min(found.old, found.zero):
        (u,) = group.sum(SweepPasses.direction, i, old)
        norm = float(np.linalg.norm(u))
        if norm > 0.0:
            found = _attempt(group, i, old, u / norm, sqrt(norm), penalty, weight)
    if found.zero <= min(found.value, found.old):
        A, g, cc = group.sum(SweepPasses.hinge_zero_moments, i, old)
        solution = solve_atom(A, g, old)
        t = sqrt(max(solution.gain + cc, 0.0))
        if penalty.prox(t) > 0.0:
            other = _attempt(group, i, old, solution.d, t, penalty, weight)
            if other.value < other.zero:
                return other
        return found._replace(p=inf, norm=0.0, value=found.zero)
    return found if found.value <= found.old else None


def _attempt(
    group: ShardGroup[SweepPasses],
    i: int,
    old: np.ndarray,
    new: np.ndarray,
    guess: float,
    penalty: Penalty,
    weight: float,
) -> Attempt:
    """Find the p of the best codes for the atom `new`, from the one of codes without coupling of the norm `guess`.

    With s = p‖x(p)‖ it is a root of p = s/prox(s). s rises with p and the right side falls, so the root lies between p
    and the right side, and a bracket closes around it: by secants, and by halves where those leave it or are slow.
    """
    p = _ratio(penalty, guess)
    if isinf(p):  # perhaps with another p there are codes
        p = 1.0
    sums = group.sum(SweepPasses.hinge_try, i, old, new, p)
    xx, xr, hinge, old_xx, old_xr, old_hinge, zero_hinge, most = sums
    before, zero = 0.5 * old_xx - old_xr + penalty.value(sqrt(old_xx)) + weight * old_hinge, weight * zero_hinge
    if penalty.prox(sqrt(most)) == 0.0:  # s goes up to this, and the penalty leaves nothing of it
        return Attempt(new, inf, 0.0, zero, before, zero)
    least, best_p, best_norm = inf, inf, 0.0
    low, high = 0.0, inf
    before_p, before_apart = inf, inf
    for step in range(MAX_STEPS):
        norm = sqrt(xx)
        value = 0.5 * xx - xr + penalty.value(norm) + weight * hinge
        if value < least:
            least, best_p, best_norm = value, p, norm
        target = _ratio(penalty, p * norm)
        if target >= p:
            low = max(low, p)
        if target <= p:
            high = min(high, p)
        apart = p - target
        following = 2.0 * p if isinf(target) and isinf(high) else target
        if not isinf(apart) and not isinf(before_apart) and apart != before_apart and step % 4:
            following = p - apart * (p - before_p) / (apart - before_apart)
        if abs(apart) <= TOL * p or high - low <= TOL * p or p > 1e15:
            break
        before_p, before_apart = p, apart
        if not low < following < high:
            following = target if low < target < high else 0.5 * (low + high)
        p = following
        xx, xr, hinge = group.sum(SweepPasses.hinge_values, i, p)
    return Attempt(new, best_p, best_norm, least, before, zero)


def _ratio(penalty: Penalty, s: float) -> float:
    """p of codes of the norm prox(s): s/prox(s), inf where the penalty leaves nothing."""
    norm = penalty.prox(s)
    return s / norm if norm > 0.0 else inf
