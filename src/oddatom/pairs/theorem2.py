"""Theorem 2: one synthesis atom d and its analysis atom p, by two exact half-steps.

    min_{‖d‖=1, p}  ½‖R − x dᵀ‖² + beta phi(‖x‖) + alpha ‖x‖₁ − eta·w_i lam·x,     x = Y p

on the rows of the atom. With x fixed the best d is Rᵀx, normalised. With d fixed the problem in p is convex:

    min_x  ½‖x − c‖² + alpha ‖x‖₁ + beta phi(‖x‖)   over x in the range of Y,     c = R d + eta·w_i lam.

The row penalty depends on ‖x‖ alone and ‖x‖₁ is positively homogeneous, so it can wait: solve without it, x̂, and then
give x̂ the norm prox(‖x̂‖) (Y.-L. Yu, "On decomposing the proximal map", 2013, Theorem 4). With U an orthonormal basis of
the range, x̂ = Uq is what `box_qp` solves,

    min_q  ½‖q − b‖² + alpha ‖Uq‖₁,   b = Uᵀc      (dual: −½‖b − alpha Uᵀτ₁‖², |τ₁| ≤ 1),

whose dual, together with τ₂ = x/‖x‖, is the saddle form of the theorem. Where the rows of Y have full rank the range is
everything and x̂ = soft(c, alpha).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack, qr

from oddatom.arrays.blas import DSYRK
from oddatom.atoms.theorem1 import solve_atom
from oddatom.pairs.box_qp import natural_residual, solve_complement, solve_rows
from oddatom.passes import PairPasses, ShardGroup, SweepPasses
from oddatom.penalties import Penalty

GAP_TOL = 1e-13  # duality gap of the ℓ1 problem over ‖b‖²
KKT_TOL = 1e-6  # its natural residual over ‖b‖
RANK_TOL = 1e-12  # pivots of YᵀY below this share of the largest count as zero
SMALL = 2048  # rows that are solved at once
GOOD_PIVOT = 1e-5  # where the last pivot is above this share of the first, U is orthonormal to about 1e-11
WIDE = 64  # columns of U from which the dimensions it leaves out are worth a basis
SAFE = 1e-140  # the square of a number between this and its inverse neither vanishes nor overflows
TURNS = 8  # of d and x, from x = 0
STARTS = 7  # rows of UᵀR that they start from besides Theorem 1's d
TRIED = 3  # of what came of them
SAME = 0.999  # the cosine of two atoms that count as one
GROWTH = 1e-2  # of x, for the sake of which turns go on
TINY = 1e-6  # a solution shorter than this share of ‖b‖ is zero, as far as GAP_TOL can tell


class Basis(NamedTuple):
    """U = Y_Ω T has orthonormal columns, T in the span of Y_Ω's rows: p = Tq is the shortest with Y_Ω p = Uq.

    Where the rows of Y_Ω are independent (`full`) every x is in its range: T is the pseudo-inverse, p = Tx.
    """

    T: np.ndarray
    full: bool


class Pair(NamedTuple):
    """One pair to be updated: its number, atom, weights of the SVM and of ‖x‖₁, the row penalty, its number of rows,
    the basis of its rows where that is known already (the rows never change), whether its codes are an update's, how a
    ball bends the target: c = R d + a (kappa − bend·x), and whether the boundary is fixed, not the multipliers.
    """

    i: int
    d: np.ndarray
    kappa: float
    alpha: float
    penalty: Penalty
    n_rows: int
    basis: Basis | None = None
    warm: bool = False
    bend: float = 0.0
    fixed: bool = False


class PairSolution(NamedTuple):
    """The new pair (p = 0: trimmed), how exact p is (natural residual relative to ‖b‖), and the basis of its rows."""

    d: np.ndarray
    p: np.ndarray
    residual: float
    basis: Basis | None
    retried: bool = False  # whether d is not the best atom for the old codes


def exact_pair(
    group: ShardGroup[PairPasses], pair: Pair, halfway: Callable[[np.ndarray], None] | None = None
) -> PairSolution:
    """Both half-steps; the shards then hold the pair, opened for its d, not yet committed.

    `halfway` is told of d before p is solved. Where nothing is left of the pair, the best one from x = 0 is tried
    before it is trimmed: d from the old codes is not the minimiser of both. With the boundary fixed `with_boundary`
    does that.
    """
    d = best_atom(group, pair.i, pair.d)
    solution = analysis_step(group, pair, pair.d, d, halfway)
    if solution.p.any() or pair.fixed:
        return solution
    now = pair.d if halfway is None else d  # the atom that the residual belongs to
    basis = solution.basis or pair.basis or make_basis(group, pair)[0]
    other = from_nothing(group, pair, now, basis)
    solution = other if other.p.any() else solution._replace(basis=basis)
    group.sum(PairPasses.pair_open, pair.i, now, solution.d, pair.kappa, pair.alpha)
    return solution


def from_nothing(group: ShardGroup[PairPasses], pair: Pair, now: np.ndarray, basis: Basis) -> PairSolution:
    """A good pair where the codes are zero; p = 0 where the penalty leaves nothing of those that were found.

    With M = UᵀR and b = M d + Uᵀa, a being the pull on the rows at x = 0, x̂ = Uq is that of `solve_l1`; the longer it
    is the lower is the objective. Without ‖x‖₁ q = b, and Theorem 1 has the best d. With it q and d = Mᵀq take turns,
    from several d, first with Uᵀ soft(U b, alpha) for q, which is no shorter than q.
    `now` is the atom that the residual belongs to.
    """
    if pair.fixed:
        group.sum(PairPasses.pair_open_at_zero, pair.i, now, now, pair.alpha)
    else:
        group.sum(PairPasses.pair_open, pair.i, now, now, pair.kappa, pair.alpha)
    ((b, _, _),) = group.sum(PairPasses.pair_basis, basis.T, pair.alpha)
    (M,) = group.sum(PairPasses.pair_cross, now)
    pull = b - M @ now if pair.kappa != 0.0 else np.zeros(b.size)  # Uᵀa, without rounding where it is 0
    d = solve_atom(M.T @ M, M.T @ pull, now).d
    b = M @ d + pull
    nothing = PairSolution(d, np.zeros(d.size), 0.0, basis)
    if pair.penalty.prox(_norm(b)) == 0.0:  # no x̂ is longer
        return nothing
    found, q = _from_target(group, pair, nothing, d, b, None)
    if found.p.any() or q is b:
        return found
    largest = np.argsort(-np.einsum("kf,kf->k", M, M), kind="stable")[:STARTS]
    atoms, guesses, lengths = _soft_turns(group, pair, np.concatenate([d[None], M[largest]]), M, pull)
    tried: list[np.ndarray] = []
    for k in np.argsort(-lengths, kind="stable")[:TRIED]:
        if pair.penalty.prox(float(lengths[k])) == 0.0:
            break
        if any(abs(float(atoms[k] @ other)) > SAME for other in tried):
            continue
        tried.append(atoms[k])
        new: np.ndarray | None = atoms[k]
        q, longest = guesses[k], 0.0
        for _ in range(TURNS):
            if new is None:
                break
            found, q = _from_target(group, pair, nothing, new, M @ new + pull, q)
            if found.p.any():
                return found
            if not _norm(q) > (1.0 + GROWTH) * longest:
                break
            longest, new = _norm(q), _unit(q @ M)
    return nothing


def _from_target(
    group: ShardGroup[PairPasses],
    pair: Pair,
    nothing: PairSolution,
    d: np.ndarray,
    b: np.ndarray,
    guess: np.ndarray | None,
) -> tuple[PairSolution, np.ndarray]:
    """The pair with the atom d and x̂ = Uq for the target b, and q; `nothing` where the penalty leaves nothing of it."""
    basis, residual = nothing.basis, 0.0
    assert basis is not None
    if pair.alpha * sqrt(pair.n_rows) <= 1e-16 * _norm(b):  # alpha ‖x‖₁ is rounding
        q = b
    else:
        if guess is None or basis.full:
            guess = group.sum(PairPasses.pair_soft, b[None], pair.alpha)[0][0]
        q = guess
        if not basis.full:
            q, residual = solve_l1(group, b, guess, pair.alpha, pair.n_rows)
    t = _norm(q)
    norm = pair.penalty.prox(t)
    if norm == 0.0 or t <= TINY * _norm(b):
        return nothing, q
    return PairSolution(d, basis.T @ (q * (norm / t)), residual, basis), q


def _soft_turns(
    group: ShardGroup[PairPasses], pair: Pair, D: np.ndarray, M: np.ndarray, pull: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Turns of q = Uᵀ soft(U (M d + pull), alpha) and d = Mᵀq for several d; of each the longest q and its d."""
    atoms, guesses, lengths = D, np.zeros((len(D), pull.size)), np.full(len(D), -1.0)
    for _ in range(TURNS):
        D = D / np.maximum(np.sqrt(np.einsum("kf,kf->k", D, D)), SAFE)[:, None]
        (Q,) = group.sum(PairPasses.pair_soft, D @ M.T + pull, pair.alpha)
        now = np.sqrt(np.einsum("kf,kf->k", Q, Q))
        longer, grows = now > lengths, bool((now > (1.0 + GROWTH) * lengths).any())
        atoms, guesses = np.where(longer[:, None], D, atoms), np.where(longer[:, None], Q, guesses)
        lengths = np.maximum(lengths, now)
        if not grows:
            break
        D = Q @ M
    return atoms, guesses, lengths


def analysis_step(
    group: ShardGroup[PairPasses],
    pair: Pair,
    old: np.ndarray,
    d: np.ndarray,
    halfway: Callable[[np.ndarray], None] | None = None,
) -> PairSolution:
    """The p half-step for the atom d, the residual being that of `old`."""
    bounds = group.sum(PairPasses.pair_open, pair.i, old, d, pair.kappa, pair.alpha, pair.bend)
    if halfway is not None:
        halfway(d)
    # ‖x̂‖ is the least ‖Uᵀ(c − alpha τ)‖, |τ| ≤ 1, and at most ‖c‖ and ‖soft(c, alpha)‖: τ = 0 and τ = clip(c/alpha).
    if pair.penalty.prox(sqrt(min(bounds))) == 0.0:
        return PairSolution(d, np.zeros(d.size), 0.0, None)
    q, residual, basis = best_analysis(group, pair)
    t = _norm(q)
    norm = pair.penalty.prox(t)
    p = basis.T @ (q * (norm / t)) if norm > 0.0 else np.zeros(d.size)
    return PairSolution(d, p, residual, basis)


STEPS = np.array([0.0, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1.0, 1.15])
LINE = 1.0 - STEPS, STEPS  # shares of the old codes and of the new
RAY = np.zeros(24), 2.0 ** -np.arange(24.0)  # from x = 0 as little as need be, for there the slope decides
BOTH = np.concatenate([LINE[0], RAY[0]]), np.concatenate([LINE[1], RAY[1]])
LEAST = 1e-13  # what is left to gain, in units of the value, is rounding


def with_boundary(
    group: ShardGroup[PairPasses], pair: Pair, old: np.ndarray, solution: PairSolution, weight: float, now: np.ndarray
) -> PairSolution:
    """The pair after a step with the boundary fixed; `weight` is that of a row outside it.

    p goes along the line from the old one to the solution's. Where d is the best atom for the old codes, a step of 0 is
    no worse than before; where it is not, the ray from 0, the pair as it is and x = 0 are tried as well: the objective
    never rises. Where x = 0 is the best of these, the ray to the best pair from there is tried before the pair is
    trimmed: where that does not fall, no pair does.
    `now` is the atom that the residual belongs to, and the shards hold the pair, opened for the solution's d.
    """
    d, nothing = solution.d, np.zeros_like(old)
    p, value = _along(group, pair, old, solution.p, weight, BOTH if solution.retried else LINE)
    if solution.retried:
        group.sum(PairPasses.pair_open, pair.i, now, now, pair.kappa, pair.alpha, pair.bend)
        other, least = _along(group, pair, old, nothing, weight, LINE)
        if least < value:
            d, p, value = now, other, least
    if p.any():
        return solution._replace(d=d, p=p)
    basis = solution.basis or pair.basis or make_basis(group, pair)[0]
    start = from_nothing(group, pair, now, basis)
    if start.p.any():
        group.sum(PairPasses.pair_open, pair.i, now, start.d, pair.kappa, pair.alpha, pair.bend)
        other, least = _along(group, pair, old, start.p, weight, RAY)
        if least < value - LEAST * abs(value):
            return start._replace(p=other)
    return solution._replace(d=d, p=p)


def _along(
    group: ShardGroup[PairPasses],
    pair: Pair,
    old: np.ndarray,
    new: np.ndarray,
    weight: float,
    shares: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, float]:
    """The best p of these shares of `old` and `new`, and its value."""
    rest, step = shares
    products, absolute, hinge = group.sum(PairPasses.pair_line, new, pair.kappa, pair.bend, rest, step)
    xx, xy, yy, xr, yr = products
    square = np.maximum(rest**2 * xx + 2.0 * rest * step * xy + step**2 * yy, 0.0)
    penalties = [pair.penalty.value(sqrt(t)) for t in square]
    values = 0.5 * square - rest * xr - step * yr + penalties + pair.alpha * absolute + weight * hinge
    best = int(np.argmin(values))
    return rest[best] * old + step[best] * new, float(values[best])


def best_atom(group: ShardGroup[PairPasses], i: int, d: np.ndarray) -> np.ndarray:
    """The d half-step: Rᵀx normalised, or the old atom where that is zero."""
    (u,) = group.sum(SweepPasses.direction, i, d)
    new = _unit(u)
    return d.copy() if new is None else new


def _unit(u: np.ndarray) -> np.ndarray | None:
    """u/‖u‖; None where u is zero."""
    with np.errstate(over="ignore"):
        size = _norm(u)
    if not SAFE < size < 1.0 / SAFE:  # squares vanish or overflow
        top = float(np.abs(u).max())
        if top == 0.0:
            return None
        u = u / top
        size = _norm(u)
    return u / size


def best_analysis(group: ShardGroup[PairPasses], pair: Pair) -> tuple[np.ndarray, float, Basis]:
    """The p half-step less the row penalty, for the pair the shards hold: q with x̂ = Uq (full: q = x̂), its residual.

    Where the penalty will take it to zero, q = 0 may be returned at once.
    """
    basis, targets = pair.basis, None
    if basis is None:
        basis, targets = make_basis(group, pair)
    if basis.full:
        c = np.concatenate([c for _, c in group.map(PairPasses.pair_rows)])
        return np.sign(c) * np.maximum(np.abs(c) - pair.alpha, 0.0), 0.0, basis
    if targets is None:
        (targets,) = group.sum(PairPasses.pair_basis, basis.T, pair.alpha)
    b, soft, old = targets
    norm = _norm(b)
    if pair.penalty.prox(min(norm, _norm(soft))) == 0.0:  # as above, closer
        return np.zeros(b.size), 0.0, basis
    if pair.alpha * sqrt(pair.n_rows) <= 1e-16 * norm:  # alpha ‖x‖₁ is rounding
        return b, 0.0, basis
    q, residual = solve_l1(group, b, old if pair.warm else soft, pair.alpha, pair.n_rows)
    return q if _norm(q) > TINY * norm else np.zeros(b.size), residual, basis


def make_basis(group: ShardGroup[PairPasses], pair: Pair, full: bool = True) -> tuple[Basis, np.ndarray | None]:
    """A basis of the range of the pair's rows Y_Ω, and what `pair_basis` gives with it.

    Of few rows, from a factor of YYᵀ, which with `full` also shows whether they are independent; else from one of YᵀY.
    """
    m = pair.d.size
    if pair.n_rows <= m:
        Y = np.concatenate([Y for Y, _ in group.map(PairPasses.pair_rows)])
        _, order, rank = _pivoted_cholesky(Y @ Y.T)
        if rank == pair.n_rows:
            Q, R = np.linalg.qr(Y.T)
            T = np.ascontiguousarray(np.linalg.solve(R, Q.T).T)
            if full:
                return Basis(T, True), None
        else:
            Q, _ = np.linalg.qr(Y[order[:rank]].T)  # spans the rows
            _, R = np.linalg.qr(Y @ Q)
            T = np.ascontiguousarray(np.linalg.solve(R.T, Q.T).T)
        (targets,) = group.sum(PairPasses.pair_basis, T, pair.alpha)
        return Basis(T, False), targets
    (G,) = group.sum(PairPasses.pair_gram)
    L, order, rank = _pivoted_cholesky(G)
    T = np.zeros((m, rank))
    if rank == m:
        T[order] = np.tril(lapack.dtrtri(L, lower=1)[0]).T
    else:
        W = np.zeros((m, rank))  # YᵀY = WWᵀ
        W[order] = L[:, :rank]
        T[:] = np.linalg.solve(W.T @ W, W.T).T
    (targets,) = group.sum(PairPasses.pair_basis, T, pair.alpha)
    if rank > 0 and L[rank - 1, rank - 1] ** 2 < GOOD_PIVOT * L[0, 0] ** 2:  # rounding has bent U: straighten it
        (UU,) = group.sum(PairPasses.pair_basis_gram)
        T = np.ascontiguousarray(np.linalg.solve(np.linalg.cholesky(UU), T.T).T)
        (targets,) = group.sum(PairPasses.pair_basis, T, pair.alpha)
    return Basis(T, False), targets


def least_squares_map(YY: np.ndarray, XY: np.ndarray) -> np.ndarray:
    """P with the least ‖X − Y Pᵀ‖, the shortest where there are several, from YᵀY and XᵀY."""
    L, order, rank = _pivoted_cholesky(YY)
    if rank == YY.shape[0]:
        P = np.empty_like(XY)
        P[:, order] = lapack.dpotrs(L, XY[:, order].T, lower=1)[0].T
        return P
    return XY @ np.linalg.pinv(YY, rcond=RANK_TOL, hermitian=True)


def _pivoted_cholesky(G: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """L, order and rank with G[order][:, order] = LLᵀ; pivots below RANK_TOL of the largest count as zero."""
    L, pivots, rank, _ = lapack.dpstrf(G, tol=RANK_TOL * float(np.diag(G).max()), lower=1)
    return np.tril(L), pivots - 1, int(rank) if G.any() else 0


def solve_l1(
    group: ShardGroup[PairPasses], b: np.ndarray, start: np.ndarray, alpha: float, n_rows: int
) -> tuple[np.ndarray, float]:
    """Minimise ½‖q − b‖² + alpha ‖Uq‖₁ from a first guess; return q and its natural residual, relative to ‖b‖.

    Up to SMALL rows are solved at once. Of more, those with x = Uq nearest zero at the guess are, the others' signs
    fixed; the duality gap over all rows decides whether that was enough, and if not more rows are taken, in the end
    all. The shards keep τ.
    """
    norm = _norm(b)
    goal = GAP_TOL * norm**2
    q, size = start, SMALL // 2
    while size <= n_rows // 2:
        nearest = np.concatenate(group.map(PairPasses.pair_nearest, q, size))
        pieces, sums = zip(*group.map(PairPasses.pair_band, np.partition(nearest, size - 1)[size - 1]), strict=True)
        U, fixed = np.concatenate(pieces), np.sum(sums, axis=0)
        q, tau, _, _, _ = solve_rows(DSYRK, U, b / alpha - fixed, q / alpha, goal / alpha**2)
        q = alpha * q
        group.scatter(PairPasses.pair_set_band, _cut(tau, pieces))
        total, slack, natural = group.sum(PairPasses.pair_measure, q, alpha)
        apart = b - alpha * total - q
        miss = float(apart @ apart)
        if 0.5 * miss + alpha * slack <= 4.0 * goal:
            return q, sqrt(natural + miss) / norm
        size *= 3
    everything = group.map(PairPasses.pair_all)
    U = everything[0] if len(everything) == 1 else np.concatenate(everything)
    q, tau, residual = _solve_all(U, b / alpha, q / alpha, goal / alpha**2)
    group.scatter(PairPasses.pair_set_all, _cut(tau, everything))
    return alpha * q, alpha * residual / norm


def _solve_all(U: np.ndarray, b: np.ndarray, start: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray, float]:
    """q, τ and natural residual on rows held here; where U leaves few dimensions out, in terms of those."""
    n_rows, rank = U.shape
    few = rank >= WIDE and 0 < n_rows - rank < rank // 2
    q, tau, gap, residual, _ = solve_rows(DSYRK, U, b, start, tol, few)
    if few and not gap <= 2.0 * tol:
        V = np.ascontiguousarray(qr(U, check_finite=False)[0][:, rank:])
        x, tau, gap, _ = solve_complement(DSYRK, V, U @ b, tol)
        if not gap <= 2.0 * tol:
            q, tau, _, residual, _ = solve_rows(DSYRK, U, b, start, tol)
        else:
            q = U.T @ x
            apart = b - U.T @ tau - q
            residual = sqrt(natural_residual(U @ q, tau) + float(apart @ apart))
    return q, tau, residual


def _cut(values: np.ndarray, pieces: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Cut an array over the rows of all pieces into one array per piece."""
    return [values] if len(pieces) == 1 else np.split(values, np.cumsum([len(piece) for piece in pieces])[:-1])


def _norm(v: np.ndarray) -> float:
    return sqrt(float(v @ v))
