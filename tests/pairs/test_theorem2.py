"""Theorem 2, half-step by half-step: against a convex solver, its own optimality conditions, and its saddle form."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from oddatom.arrays.blas import DSYRK
from oddatom.pairs import theorem2 as pairs
from oddatom.pairs.box_qp import solve_box
from oddatom.pairs.gradient import STEPS, gradient_pair
from oddatom.pairs.theorem2 import KKT_TOL, Pair, analysis_step, best_atom, exact_pair
from oddatom.passes.group import ShardGroup
from oddatom.penalties import L21, make_penalty
from oddatom.rows.array.pair_shard import PairShard
from reference import analysis_value, best_analysis, range_basis, soft

KAPPA = 0.7
M = 6
EPSILON = 1.0
# alpha and beta; the entries of c are of size one
WEIGHTS = [(0.0, 0.0), (0.0, 0.8), (0.2, 0.0), (0.2, 0.8), (0.5, 0.3), (0.7, 0.0), (50.0, 0.0), (0.1, 50.0)]


def rows(kind, rng):
    """Rows of Y that an atom may meet, and worse."""
    Y = rng.standard_normal((40, M))
    if kind == "square":
        return Y[:M]
    if kind == "wide":
        return Y[:4]
    if kind == "one_row":
        return Y[:1]
    if kind == "one_column":
        return Y[:, :1]
    if kind == "duplicated_rows":
        return Y[rng.integers(0, 10, 40)]
    if kind == "duplicated_rows_wide":
        return Y[[0, 1, 2, 0, 0]]
    if kind == "opposite_rows_wide":
        return np.array([[1.0], [-1.0], [2.0]]) * Y[0]
    if kind == "duplicated_columns":
        return Y[:, [0, 1, 2, 0, 1, 0]]
    if kind == "zero_columns":
        return Y * [1, 0, 1, 1, 0, 0]
    if kind == "zero_rows":
        return Y * (rng.random((40, 1)) < 0.6)
    if kind == "zero_rows_wide":
        return Y[:5] * [[1], [0], [1], [1], [0]]
    if kind == "low_rank":
        return Y[:, :2] @ rng.standard_normal((2, M))
    if kind == "low_rank_wide":
        return Y[:5, :2] @ rng.standard_normal((2, M))
    if kind == "scaled_columns":
        return Y * 10.0 ** np.linspace(-2.5, 2.5, M)
    if kind == "lost_columns":  # 10⁻⁸ to 1 of the largest; what is below 10⁻⁶ counts as zero
        return Y * 10.0 ** np.linspace(-4, 4, M)
    if kind == "scaled_rows":
        return Y * 10.0 ** np.linspace(-4, 4, 40)[:, None]
    if kind == "nearly_low_rank":
        return Y[:, :2] @ rng.standard_normal((2, M)) + 1e-4 * Y
    if kind == "nearly_low_rank_wide":
        return Y[:5, :2] @ rng.standard_normal((2, M)) + 1e-4 * Y[:5]
    if kind == "zero":
        return 0.0 * Y
    if kind == "zero_wide":
        return 0.0 * Y[:3]
    assert kind == "tall"
    return Y


KINDS = [
    "tall",
    "square",
    "wide",
    "one_row",
    "one_column",
    "duplicated_rows",
    "duplicated_rows_wide",
    "opposite_rows_wide",
    "duplicated_columns",
    "zero_columns",
    "zero_rows",
    "zero_rows_wide",
    "low_rank",
    "low_rank_wide",
    "scaled_columns",
    "lost_columns",
    "scaled_rows",
    "nearly_low_rank",
    "nearly_low_rank_wide",
    "zero",
    "zero_wide",
]
VALUE_TOL = dict.fromkeys(KINDS, 1e-11) | {"lost_columns": 1e-7}  # over ‖c‖²
INDEPENDENT_COLUMNS = ("tall", "square", "one_column", "duplicated_rows", "scaled_rows", "scaled_columns")
DEFICIENT = [kind for kind in KINDS if kind not in INDEPENDENT_COLUMNS]


def unit(v):
    return v / np.linalg.norm(v)


class Problem:
    """One pair: its rows of Y, residual R without it, old codes and atom, and multipliers a of the SVM."""

    def __init__(self, Y, rng):
        N, m = Y.shape
        self.Y, self.N = Y, N
        self.R, self.x = rng.standard_normal((N, m)), rng.standard_normal(N)
        self.d, self.a = unit(rng.standard_normal(m)), rng.uniform(0, 1, N)

    def group(self, sizes=()):
        """The pair as the only one of shards that hold nothing else; every row uses it."""
        shards = []
        for part in np.split(np.arange(self.N), np.cumsum(np.array(sizes, int))):
            shard = PairShard(np.tile(self.d, (part.size, 1)))  # such rows are all coded with d
            shard.encode(self.d[None], 1)
            shard.Y = np.ascontiguousarray(self.Y[part])
            shard.E = self.R[part] - np.outer(self.x[part], self.d)
            shard.values[:, 0], shard.multipliers[:] = self.x[part], self.a[part]
            shards.append(shard)
        return ShardGroup(shards)

    def pair(self, alpha, penalty):
        return Pair(0, self.d, KAPPA, alpha, penalty, self.N)

    def solve(self, alpha, penalty):
        """Take both half-steps exactly; return the solution, x = Y p, the target c at the new atom, and the shards."""
        group, pair = self.group(), self.pair(alpha, penalty)
        solution = analysis_step(group, pair, pair.d, best_atom(group, pair.i, pair.d))
        return solution, self.Y @ solution.p, self.R @ solution.d + KAPPA * self.a, group


def make(kind, seed=0):
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    return Problem(rows(kind, rng), rng)


def multipliers(group):
    return np.concatenate([shard._pair_tau for shard in group.shards])


def signs(group, Y, c, alpha, x):
    """τ₁ of a solution: the shards' own, or what the closed forms leave to be filled in."""
    U = range_basis(Y)
    if alpha == 0.0:
        return np.zeros(c.size)
    simple = np.clip(c / alpha, -1, 1)
    if U.shape[1] == c.size:  # every x is in the range
        return simple
    if x.any():
        return multipliers(group)
    tried = [np.zeros(c.size), simple]  # x = 0 may be seen without solving
    if hasattr(group.shards[0], "_pair_tau"):
        tried.append(np.clip(np.nan_to_num(multipliers(group)), -1, 1))
    return min(tried, key=lambda tau: np.linalg.norm(U.T @ (c - alpha * tau)))


# The p half-step


@pytest.mark.parametrize("kind", KINDS)
def test_analysis_atom_is_the_one_of_a_convex_solver(kind):
    problem = make(kind)
    for alpha, beta in WEIGHTS:
        solution, x, c, _ = problem.solve(alpha, L21(beta))
        wanted = best_analysis(problem.Y, c, alpha, beta)
        size = np.linalg.norm(c)
        value, best = (analysis_value(z, c, alpha, "l21", beta) for z in (x, wanted))
        assert value <= best + VALUE_TOL[kind] * size**2, (alpha, beta)
        assert_allclose(x, wanted, atol=1e-6 * size, err_msg=f"{alpha} {beta}")
        assert solution.residual <= KKT_TOL
        assert solution.p.any() == bool(np.linalg.norm(wanted) > 1e-6 * size)


@pytest.mark.parametrize("kind", KINDS)
def test_optimality_conditions_and_saddle_form(kind):
    """At the solution −½‖H(c − ατ₁ − βτ₂)‖², which no feasible τ makes larger than the primal value, attains it."""
    n_zero = n_kept = 0
    for seed in range(6):
        problem = make(kind, seed)
        rng = np.random.default_rng(seed)
        U = range_basis(problem.Y)
        for alpha, beta in WEIGHTS:
            solution, x, c, group = problem.solve(alpha, L21(beta))
            tau = signs(group, problem.Y, c, alpha, x)
            size = max(np.linalg.norm(U.T @ c), 1e-300)
            t = np.linalg.norm(x)
            assert np.abs(tau).max() <= 1 + 1e-12
            rest = U @ (U.T @ (c - alpha * tau))
            if solution.p.any():
                n_kept += 1
                before = x * (1 + beta / t)  # as long as it is without the row penalty
                apart = rest - before
                natural = before - soft(before + alpha * tau, alpha)
                assert np.sqrt(apart @ apart + natural @ natural) <= KKT_TOL * size, (seed, alpha, beta)
                tau2 = x / t
            else:
                n_zero += 1
                assert np.linalg.norm(rest) <= beta + KKT_TOL * size
                tau2 = rest / beta if beta > 0 else 0 * rest
            primal = 0.5 * t**2 - x @ c + beta * t + alpha * np.abs(x).sum()

            def dual(tau1, tau2, U=U, c=c, alpha=alpha, beta=beta):
                v = U.T @ (c - alpha * tau1 - beta * tau2)
                return -0.5 * v @ v

            assert abs(primal - dual(tau, tau2)) <= VALUE_TOL[kind] * size**2, (seed, alpha, beta)
            for _ in range(5):
                other = np.clip(tau + rng.choice([0.01, 0.3, 2.0]) * rng.standard_normal(problem.N), -1, 1)
                other2 = tau2 + rng.choice([0.01, 0.3]) * rng.standard_normal(problem.N)
                other2 = other2 / max(1.0, np.linalg.norm(other2))
                assert dual(other, other2) <= primal + VALUE_TOL[kind] * size**2
    assert n_zero > 0
    assert n_kept > 0 or kind.startswith("zero")


@pytest.mark.parametrize("kind", DEFICIENT)
def test_analysis_atom_is_the_shortest(kind):
    for seed in range(3):
        problem = make(kind, seed)
        for alpha, beta in WEIGHTS[:4]:
            solution, x, _, _ = problem.solve(alpha, L21(beta))
            shortest = np.linalg.pinv(problem.Y, rcond=1e-6) @ x
            tol = 1e-5 if kind == "lost_columns" else 1e-7
            assert_allclose(solution.p, shortest, rtol=0, atol=tol * np.linalg.norm(shortest))


@pytest.mark.parametrize("kind", ["square", "wide", "one_row"])
def test_closed_form_where_the_rows_are_independent(kind):
    problem = make(kind)
    solution, x, c, _ = problem.solve(0.3, L21(0.4))
    shrunk = soft(c, 0.3)
    assert_allclose(x, shrunk * max(1 - 0.4 / np.linalg.norm(shrunk), 0), atol=1e-11)
    solution, x, c, _ = problem.solve(0.0, L21(0.0))
    assert_allclose(x, c, atol=1e-11)
    assert solution.residual <= 1e-11


def test_closed_form_where_nothing_is_penalised():
    problem = make("tall")
    solution, _, c, _ = problem.solve(0.0, L21(0.0))
    assert_allclose(solution.p, np.linalg.lstsq(problem.Y, c, rcond=None)[0], atol=1e-12)


@pytest.mark.parametrize("exponent", [1, 2, 3, 4, 4.5])
@pytest.mark.parametrize("N", [4, 8])
def test_nearly_dependent_rows(N, exponent):
    """Fewer rows than columns, all but in a plane: x is soft(c, alpha) still."""
    rng = np.random.default_rng([N, int(10 * exponent)])
    Y = rng.standard_normal((N, 2)) @ rng.standard_normal((2, 10)) + 10.0**-exponent * rng.standard_normal((N, 10))
    problem = Problem(Y, rng)
    solution, x, c, _ = problem.solve(0.3, L21(0.0))
    error = np.linalg.norm(x - soft(c, 0.3)) / np.linalg.norm(c)
    assert error <= 1e-6
    assert solution.residual <= KKT_TOL


@pytest.mark.parametrize("exponent", [3, 4, 5, 5.5])
@pytest.mark.parametrize("N", [8, 60])
def test_ill_conditioned_rows(N, exponent):
    """The basis stays orthonormal, and p reaches the x that was found, however nearly the columns depend."""
    rng = np.random.default_rng([N, int(10 * exponent)])
    Y = rng.standard_normal((N, 3)) @ rng.standard_normal((3, M)) + 10.0**-exponent * rng.standard_normal((N, M))
    problem = Problem(Y, rng)
    for alpha in (0.0, 0.1):
        _, x, c, group = problem.solve(alpha, L21(0.0))
        U = group.shards[0]._pair_U
        assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-9)
        assert_allclose(U @ (U.T @ Y), Y, atol=2e-6 * np.abs(Y).max())
        tau = multipliers(group) if alpha > 0 else 0 * c
        assert_allclose(x, U @ (U.T @ (c - alpha * tau)), atol=1e-7 * np.linalg.norm(c))


# Row penalties


@pytest.mark.parametrize("kind", ["tall", "wide", "low_rank"])
def test_row_penalty_waits_for_the_rest(kind):
    """Yu (2013), by the convex solver alone: the penalty β‖x‖ shortens the solution without it."""
    problem = make(kind)
    c = problem.R @ problem.d
    for alpha in (0.0, 0.1, 0.2):
        alone = best_analysis(problem.Y, c, alpha, 0.0)
        t = np.linalg.norm(alone)
        for beta in (0.2 * t, 0.9 * t, 1.1 * t):
            joint = best_analysis(problem.Y, c, alpha, beta)
            assert_allclose(joint, alone * max(1 - beta / t, 0), atol=1e-6 * t)


@pytest.mark.parametrize("kind", ["tall", "wide", "low_rank", "duplicated_columns"])
def test_every_penalty_beats_a_search_over_the_norm(kind):
    """φ never falls, so the least value is that of V(z) + βφ(z), V(z) the best with ‖x‖ ≤ z: convex for every z."""
    problem, alpha = make(kind, 2), 0.05
    _, x, c, _ = problem.solve(alpha, L21(0.0))
    t = np.linalg.norm(x)
    radii = t * np.linspace(0, 1.05, 22)
    inner = [analysis_value(best_analysis(problem.Y, c, alpha, 0.0, z), c, alpha) for z in radii]
    lengths = set()
    for name in ("l21", "l20", "l2eps"):
        for share in (0.0, 0.05, 0.2, 0.4, 0.7, 0.95, 1.2):
            for epsilon in (0.3 * t, 0.8 * t):
                beta = share * t if name != "l20" else share * t**2
                _, x, c, _ = problem.solve(alpha, make_penalty(name, beta, epsilon))
                value = analysis_value(x, c, alpha, name, beta, epsilon)
                searched = [
                    v + reference.row_penalty(name, z, beta, epsilon) for v, z in zip(inner, radii, strict=True)
                ]
                assert value <= min(searched) + 1e-9 * t**2, (name, beta, epsilon)
                assert value >= min(searched) - 0.01 * t**2, (name, beta, epsilon)  # the grid's own error
                z = np.linalg.norm(x)
                lengths.add((name, "zero" if z == 0 else "whole" if z > t * (1 - 1e-9) else "between"))
    assert len(lengths) == 8  # ℓ2,0 alone has nothing between


def test_zero_penalties_keep_every_row():
    problem = make("tall")
    for name in ("l21", "l20", "l2eps"):
        _, x, c, _ = problem.solve(0.0, make_penalty(name, 0.0, EPSILON))
        U = range_basis(problem.Y)
        assert_allclose(x, U @ (U.T @ c), atol=1e-12)


def test_trimmed_exactly_from_the_length_on():
    problem = make("tall")
    _, x, _, _ = problem.solve(0.2, L21(0.0))
    t = np.linalg.norm(x)
    assert not problem.solve(0.2, L21(t * (1 + 1e-6)))[0].p.any()
    assert problem.solve(0.2, L21(t * (1 - 1e-6)))[0].p.any()


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scale_is_no_matter(scale):
    problem = make("tall")
    solution = problem.solve(0.3, L21(0.5))[0]
    for part in ("R", "x", "a", "Y"):
        setattr(problem, part, scale * getattr(problem, part))
    scaled = problem.solve(0.3 * scale, L21(0.5 * scale))[0]
    assert solution.p.any()
    assert_allclose(scaled.d, solution.d, atol=1e-12)
    assert_allclose(scaled.p, solution.p, atol=1e-6 * np.abs(solution.p).max())


# Many rows


def many(N=5000, m=8, seed=0):
    rng = np.random.default_rng(seed)
    return Problem(rng.standard_normal((N, m)) * rng.uniform(0.2, 2.0, m), rng)


@pytest.mark.parametrize("alpha", [1e-3, 0.02, 0.05, 0.2])
@pytest.mark.parametrize("repeats", [1, 5])
def test_rows_near_zero_are_enough(alpha, repeats):
    """More rows than are solved at once; the solution is the one of all rows at once."""
    problem = many()
    problem.R += 5 * problem.Y @ np.outer(unit(np.ones(8)), problem.d)
    if repeats > 1:  # equal rows are zero together
        problem.Y = np.repeat(problem.Y[::repeats], repeats, axis=0)
    solution, x, c, group = problem.solve(alpha, L21(0.1))
    U = range_basis(problem.Y)
    b = U.T @ c
    q, tau, *_ = solve_box(DSYRK, U, b / alpha, 1e-13 * (b @ b) / alpha**2)
    whole = alpha * U @ q
    size = np.linalg.norm(whole)
    whole *= 1 - 0.1 / size
    assert size > 0.1
    assert_allclose(x, whole, atol=1e-6 * size)
    assert_allclose(analysis_value(x, c, alpha, "l21", 0.1), analysis_value(whole, c, alpha, "l21", 0.1), rtol=1e-12)
    tau = multipliers(group)
    before = x * (1 + 0.1 / np.linalg.norm(x))
    assert np.abs(tau).max() <= 1 + 1e-12
    assert np.linalg.norm(before - U @ (U.T @ (c - alpha * tau))) <= KKT_TOL * size
    assert np.linalg.norm(before - soft(before + alpha * tau, alpha)) <= KKT_TOL * size
    assert solution.residual <= KKT_TOL


@pytest.mark.parametrize("N", [300, 5000])
def test_a_bad_first_guess_is_no_matter(N, monkeypatch):
    """Wrong signs of the first guess are found out by the gap over all rows."""
    problem = many(N, seed=1)
    wanted = problem.solve(0.05, L21(0.0))[1]
    solve_l1 = pairs.solve_l1
    rng = np.random.default_rng(0)
    guesses = {"random": rng.standard_normal(8), "zero": np.zeros(8), "huge": 1e3 * rng.standard_normal(8)}
    for guess in guesses.values():
        monkeypatch.setattr(pairs, "solve_l1", lambda group, b, _, *rest, q=guess: solve_l1(group, b, q, *rest))
        solution, x, _, _ = problem.solve(0.05, L21(0.0))
        assert solution.residual <= KKT_TOL
        assert_allclose(x, wanted, atol=1e-6 * np.linalg.norm(wanted))


@pytest.mark.parametrize("alpha", [0.3, 0.4])
@pytest.mark.parametrize("n_rows", [7, 8])
def test_few_dimensions_left_out(n_rows, alpha, monkeypatch):
    """Where the rows span all but one or two dimensions, the problem is solved in terms of those."""
    rng = np.random.default_rng(n_rows)
    problem = Problem(rng.standard_normal((n_rows, M)), rng)
    _, wanted, _, _ = problem.solve(alpha, L21(0.0))
    called = []
    complement = pairs.solve_complement
    monkeypatch.setattr(pairs, "solve_complement", lambda *args: called.append(1) or complement(*args))
    monkeypatch.setattr(pairs, "WIDE", 1)
    solution, x, c, group = problem.solve(alpha, L21(0.0))
    assert called  # the guess alone was not enough
    assert solution.residual <= KKT_TOL
    assert_allclose(x, wanted, atol=1e-6 * np.linalg.norm(c))
    U, tau = range_basis(problem.Y), multipliers(group)
    assert_allclose(U.T @ (x + alpha * tau - c), 0, atol=1e-6 * np.linalg.norm(c))
    monkeypatch.setattr(pairs, "solve_complement", lambda _, V, c, tol: (0 * c, 0 * c, np.inf, 100))
    assert_allclose(problem.solve(alpha, L21(0.0))[1], wanted, atol=1e-6 * np.linalg.norm(c))  # all rows instead


def test_known_basis_and_old_codes_change_nothing():
    for kind in ("tall", "wide", "low_rank"):
        problem = make(kind)
        for alpha, beta in WEIGHTS[:5]:
            first = exact_pair(problem.group(), problem.pair(alpha, L21(beta)))
            for warm in (False, True):
                pair = problem.pair(alpha, L21(beta))._replace(basis=first.basis, warm=warm)
                again = exact_pair(problem.group(), pair)
                assert_allclose(again.p, first.p, atol=1e-6 * np.abs(first.p).max())


@pytest.mark.parametrize("kind", ["tall", "wide", "low_rank", "zero_rows"])
def test_rows_in_several_shards(kind):
    problem = make(kind)
    for alpha, beta in WEIGHTS[:5]:
        one = exact_pair(problem.group(), problem.pair(alpha, L21(beta)))
        for sizes in ((2,), (0, 1, 0, 2)):
            other = exact_pair(problem.group(sizes), problem.pair(alpha, L21(beta)))
            assert_allclose(other.d, one.d, atol=1e-12)
            assert_allclose(other.p, one.p, atol=1e-8 * max(np.abs(one.p).max(), 1e-300))


# The d half-step


@pytest.mark.parametrize("kind", ["tall", "wide", "one_row"])
def test_synthesis_atom_is_the_best(kind):
    rng = np.random.default_rng(0)
    for seed in range(5):
        problem = make(kind, seed)
        d = exact_pair(problem.group(), problem.pair(0.1, L21(0.1))).d

        def cost(d, problem=problem):
            return np.sum((problem.R - np.outer(problem.x, d)) ** 2)

        assert_allclose(np.linalg.norm(d), 1, rtol=1e-14)
        best = cost(d)
        others = [unit(d + size * rng.standard_normal(d.size)) for size in (1e-3, 0.1, 10.0) for _ in range(40)]
        assert all(cost(other) >= best - 1e-12 * best for other in [*others, problem.d, -d])
        assert min(cost(other) for other in others) < best + 1e-3 * np.sum(problem.R**2)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("scale", [1e-120, 1e-90, 1e90])
def test_synthesis_atom_at_extreme_scales(scale):
    problem = make("tall")
    wanted = unit(problem.R.T @ problem.x)
    problem.R, problem.x = problem.R * scale, problem.x * scale
    assert_allclose(exact_pair(problem.group(), problem.pair(0.0, L21(0.0))).d, wanted, atol=1e-10)


def test_nothing_to_fit_keeps_the_atom():
    problem = make("tall")
    problem.x[:] = 0.0
    assert_array_equal(exact_pair(problem.group(), problem.pair(0.1, L21(0.1))).d, problem.d)


@pytest.mark.parametrize("solver", [exact_pair, gradient_pair])
def test_tells_of_the_atom_before_the_analysis_atom(solver):
    problem = make("tall")
    group, told = problem.group(), []
    solution = solver(group, problem.pair(0.2, L21(0.3)), told.append)
    assert len(told) == 1
    assert_array_equal(told[0], solution.d)
    assert_array_equal(group.shards[0].values[:, 0], problem.x)  # the codes are not its business
    quiet = solver(problem.group(), problem.pair(0.2, L21(0.3)))
    assert_array_equal(quiet.p, solution.p)


# The paper's gradient steps


@pytest.mark.parametrize("kind", ["tall", "wide", "square", "low_rank", "duplicated_rows", "zero_rows", "one_row"])
@pytest.mark.parametrize("steps", [1, 7, 200])
def test_gradient_steps_are_those_on_the_saddle_form(kind, steps):
    problem = make(kind)
    for alpha, beta in ((0.2, 0.8), (0.3, 0.0), (0.0, 0.8), (0.1, 50.0)):
        group = problem.group()
        solution = gradient_pair(group, problem.pair(alpha, L21(beta)), steps=steps)
        d, tau1, tau2, x = reference.gradient_pair(
            problem.Y, problem.R, KAPPA * problem.a, problem.d, alpha, beta, steps
        )
        assert_allclose(solution.d, d, atol=1e-9)
        assert_allclose(multipliers(group), tau1, atol=1e-8)
        assert_allclose(problem.Y @ solution.p, x, atol=1e-8)
        assert_allclose(solution.p, np.linalg.pinv(problem.Y, rcond=1e-6) @ x, atol=1e-8)
        wanted = 0.0
        if x.any():  # how far τ₁ and τ₂ are from those of x
            apart = beta * (tau2 - x / np.linalg.norm(x))
            natural = x - soft(x + alpha * tau1, alpha)
            b = range_basis(problem.Y).T @ (problem.R @ d + KAPPA * problem.a)
            wanted = np.sqrt(apart @ apart + natural @ natural) / np.linalg.norm(b)
        assert solution.residual == pytest.approx(wanted, rel=1e-6, abs=1e-7)


def test_two_hundred_steps_as_published():
    assert STEPS == 200
    assert inspect.signature(gradient_pair).parameters["steps"].default == 200
    problem = make("tall")
    default, wanted, fewer = (
        gradient_pair(problem.group(), problem.pair(0.2, L21(0.8)), **steps)
        for steps in ({}, {"steps": 200}, {"steps": 199})
    )
    assert_array_equal(default.p, wanted.p)
    assert np.abs(default.p - fewer.p).max() > 0


@pytest.mark.parametrize("kind", ["tall", "low_rank", "wide"])
@pytest.mark.parametrize(("alpha", "beta"), [(0.2, 0.8), (0.3, 0.0), (0.0, 0.8)])
def test_many_gradient_steps_approach_the_best_analysis_atom(kind, alpha, beta):
    problem = make(kind, 3)
    errors = []
    for steps in (30, 6000):
        solution = gradient_pair(problem.group(), problem.pair(alpha, L21(beta)), steps=steps)
        c = problem.R @ solution.d + KAPPA * problem.a
        wanted = best_analysis(problem.Y, c, alpha, beta)
        errors.append(np.linalg.norm(problem.Y @ solution.p - wanted) / np.linalg.norm(c))
    assert errors[1] <= 1e-3
    assert errors[1] <= 0.5 * errors[0] or errors[0] < 1e-9


def test_gradient_trims_exactly_where_its_multipliers_prove_it():
    seen = set()
    for kind in ("tall", "wide", "low_rank"):
        for seed in range(4):
            problem = make(kind, seed)
            U = range_basis(problem.Y)
            for alpha in (0.0, 0.2, 0.6):
                for beta in (0.0, 1.0, 3.0, 8.0):
                    group = problem.group()
                    solution = gradient_pair(group, problem.pair(alpha, L21(beta)), steps=50)
                    c = problem.R @ solution.d + KAPPA * problem.a
                    length = np.linalg.norm(U.T @ (c - alpha * multipliers(group)))
                    assert solution.p.any() == (length > beta), (kind, alpha, beta)
                    seen.add(bool(solution.p.any()))
                    if length <= beta:
                        assert np.linalg.norm(best_analysis(problem.Y, c, alpha, beta)) <= 1e-6
    assert seen == {False, True}


@pytest.mark.filterwarnings("error")
def test_gradient_at_extreme_weights():
    problem = make("tall")
    for alpha, beta in ((1e300, 0.1), (0.1, 1e300), (1e200, 1e200)):
        assert not gradient_pair(problem.group(), problem.pair(alpha, L21(beta))).p.any()
    free = gradient_pair(problem.group(), problem.pair(0.0, L21(0.0)))
    for alpha, beta in ((1e-300, 0.0), (0.0, 1e-300), (1e-200, 1e-180)):
        assert_allclose(gradient_pair(problem.group(), problem.pair(alpha, L21(beta))).p, free.p, rtol=1e-12)
