"""The interior point for ½‖q − b‖² + ‖Uq‖₁: its gap measured anew, and the same minimiser as other solvers."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import lsq_linear

from oddatom.arrays.blas import DSYRK
from oddatom.pairs.box_qp import natural_residual, solve_box, solve_complement, solve_rows

KINDS = ["random", "orthonormal", "duplicates", "opposites", "zero_rows", "low_rank", "one_row", "one_column", "scaled"]
KINDS += ["zero_solution", "at_the_edge", "zero_b", "wide", "many_columns"]


def problem(kind, seed=0):
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    U, b = rng.standard_normal((50, 6)), 8.0 * rng.standard_normal(6)
    if kind == "orthonormal":
        U, b = np.linalg.qr(U)[0], 0.6 * b
    elif kind == "duplicates":
        U = U[rng.integers(0, 8, 50)]
    elif kind == "opposites":
        U = np.concatenate([U[:25], -U[:25]])
    elif kind == "zero_rows":
        U[::3] = 0.0
    elif kind == "low_rank":
        U = U[:, :2] @ rng.standard_normal((2, 6))
    elif kind == "one_row":
        U = U[:1]
    elif kind == "one_column":
        U, b = U[:, :1], b[:1]
    elif kind == "scaled":
        U *= 10.0 ** np.linspace(-4, 2, 50)[:, None]
    elif kind == "zero_solution":
        b = U.T @ rng.uniform(-0.9, 0.9, 50)
    elif kind == "at_the_edge":  # q = 0 is the solution, and only just
        b = U.T @ rng.choice([-1.0, 1.0], 50)
        b *= 50 / cp_support(U, b)
    elif kind == "zero_b":
        b = np.zeros(6)
    elif kind == "wide":
        U = U[:4]
    elif kind == "many_columns":  # as wide as the Gram by BLAS needs it
        U, b = rng.standard_normal((150, 60)), 8.0 * rng.standard_normal(60)
    return np.ascontiguousarray(U), b


def cp_support(U, b):
    """The factor by which b could grow with q = 0 still the solution, times 50: max t, tb = Uᵀτ, |τ| ≤ 1."""
    t, tau = cp.Variable(), cp.Variable(len(U))
    cp.Problem(cp.Maximize(t), [U.T @ tau == t * b, cp.abs(tau) <= 1]).solve(solver="CLARABEL")
    return 50 / float(t.value)


def solve(U, b, tol=None):
    return solve_box(DSYRK, U, b, 1e-13 * max(b @ b, 1e-300) if tol is None else tol)


def gap(U, b, q, tau):
    """Primal less dual value; τ must be feasible."""
    assert np.abs(tau).max() <= 1 + 1e-15
    primal = 0.5 * np.sum((q - b) ** 2) + np.abs(U @ q).sum()
    dual = 0.5 * b @ b - 0.5 * np.sum((b - U.T @ tau) ** 2)
    return primal - dual


@pytest.mark.parametrize("kind", KINDS)
def test_gap(kind):
    for seed in range(10):
        U, b = problem(kind, seed)
        U0, b0 = U.copy(), b.copy()
        q, tau, claimed, steps = solve(U, b)
        size = b @ b
        assert_allclose(U, U0, rtol=0, atol=0)
        assert_allclose(b, b0, rtol=0, atol=0)
        # The gap itself is a difference of numbers of this size.
        rounding = 1e-14 * (size + np.abs(U @ q).sum())
        assert -rounding <= gap(U, b, q, tau) <= 1e-13 * size + rounding, seed
        assert claimed <= 1e-13 * max(size, 1e-300)
        assert claimed == pytest.approx(gap(U, b, q, tau), abs=10 * rounding)
        assert steps <= (20 if kind == "at_the_edge" else 14)


@pytest.mark.parametrize("kind", KINDS)
def test_minimiser_is_the_one_of_other_solvers(kind):
    U, b = problem(kind, 1)
    q, _, _, _ = solve(U, b)
    size = max(np.linalg.norm(b), 1e-300)
    # The dual is a least-squares problem in a box.
    tau = lsq_linear(U.T, b, (-1.0, 1.0), method="bvls", tol=1e-15, max_iter=5000).x
    assert_allclose(q, b - U.T @ tau, atol=2e-6 * size)
    x = cp.Variable(b.size)
    cp.Problem(cp.Minimize(0.5 * cp.sum_squares(x - b) + cp.norm1(U @ x))).solve(solver="CLARABEL")
    assert_allclose(q, x.value, atol=1e-4 * size + 1e-6)


def test_signs_where_there_are_some():
    n_zero = 0
    for seed in range(10):
        U, b = problem("random", seed)
        q, tau, _, _ = solve(U, 5 * b, 1e-13)
        x = U @ q
        apart = np.abs(x) > 1e-6
        assert_allclose(tau[apart], np.sign(x[apart]), atol=1e-6)
        assert apart.any() or not q.round(6).any()
        n_zero += 0 < np.sum(~apart) <= 6
    assert n_zero > 3


def test_zero_solution_and_zero_b():
    for kind in ("zero_solution", "zero_b"):
        U, b = problem(kind)
        assert_allclose(solve(U, b)[0], 0, atol=1e-6 * np.linalg.norm(b) + 1e-12)


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_weight_against_target(size):
    """A tiny b is swallowed, a huge one barely moved: q = b − Uᵀ sign(Ub)."""
    U, b = problem("random")
    q, tau, _, _ = solve(U, size * b)
    if size < 1:
        assert_allclose(q, 0, atol=1e-6 * np.linalg.norm(size * b))
    else:
        assert_allclose(q, size * b - U.T @ np.sign(U @ b), rtol=1e-9)
        assert_allclose(tau, np.sign(U @ b), atol=1e-5)


def test_less_is_asked_less_is_done():
    U, b = problem("random")
    rough, fine = solve(U, b, 1.0), solve(U, b, 1e-12)
    assert rough[3] < fine[3]
    assert fine[2] <= 1e-12 < rough[2] <= 1.0
    assert gap(U, b, rough[0], rough[1]) == pytest.approx(rough[2], rel=1e-9)


# The rows that matter


def guesses(U, b, q):
    rng = np.random.default_rng(3)
    size = np.linalg.norm(b)
    yield from (q, b, np.zeros(b.size), -q, size * rng.standard_normal(b.size))
    yield q + 1e-3 * size * rng.standard_normal(b.size)


@pytest.mark.parametrize("kind", KINDS)
def test_any_first_guess_leads_to_the_minimiser(kind):
    for seed in range(3):
        U, b = problem(kind, seed)
        wanted, *_ = solve(U, b)
        size = b @ b
        for start in guesses(U, b, wanted):
            q, tau, claimed, residual, _ = solve_rows(DSYRK, U, b, start, 1e-13 * max(size, 1e-300))
            rounding = 1e-14 * (size + np.abs(U @ q).sum())
            assert -rounding <= gap(U, b, q, tau) <= 2e-13 * size + rounding, seed
            assert claimed == pytest.approx(gap(U, b, q, tau), abs=10 * rounding + 1e-300)
            assert_allclose(q, wanted, atol=2e-6 * np.sqrt(size) + 1e-150)
            x, apart = U @ q, b - U.T @ tau - q
            natural = x - np.sign(x + tau) * np.maximum(np.abs(x + tau) - 1, 0)
            assert residual == pytest.approx(np.sqrt(natural @ natural + apart @ apart), abs=1e-12 * np.sqrt(size))


def test_a_good_guess_saves_rows():
    rng = np.random.default_rng(0)
    U, b = np.linalg.qr(rng.standard_normal((2000, 6)))[0], 30 * rng.standard_normal(6)
    wanted, tau, _, _, cold = solve_rows(DSYRK, U, b, b, 1e-13 * (b @ b))
    q, _, _, _, warm = solve_rows(DSYRK, U, b, wanted, 1e-13 * (b @ b))
    assert warm <= cold < 2000
    assert 0 < np.sum(np.abs(tau) < 1 - 1e-6) <= 6
    assert_allclose(q, wanted, atol=1e-6 * np.linalg.norm(b))
    assert_allclose(wanted, solve(U, b)[0], atol=1e-6 * np.linalg.norm(b))


@pytest.mark.parametrize(("b", "tol"), [(np.nan, 1e-13), (np.inf, 1e-13), (1e200, np.inf), (1.0, np.nan)])
def test_numbers_that_overflow_end_the_search(b, tol):
    """Where there is no gap to go by, it returns all the same."""
    U, _ = problem("random")
    q, tau, *_ = solve_rows(DSYRK, U, np.full(6, b), np.zeros(6), tol)
    assert q.shape == (6,)
    assert tau.shape == (50,)


@pytest.mark.parametrize(("M", "n"), [(30, 29), (90, 70), (40, 10), (12, 1)])
@pytest.mark.parametrize("size", [0.3, 3.0, 300.0])
def test_the_dimensions_left_out_give_the_same(M, n, size):
    rng = np.random.default_rng([M, n])
    Q = np.linalg.qr(rng.standard_normal((M, M)))[0]
    U, V = np.ascontiguousarray(Q[:, :n]), np.ascontiguousarray(Q[:, n:])
    b = size * rng.standard_normal(n)
    x, tau, claimed, steps = solve_complement(DSYRK, V, U @ b, 1e-13 * b @ b)
    assert claimed <= 1e-13 * b @ b
    assert gap(U, b, U.T @ x, tau) <= 2e-13 * b @ b
    assert_allclose(V.T @ x, 0, atol=1e-13 * max(size, 1.0))
    assert_allclose(x, U @ solve(U, b)[0], atol=1e-6 * np.linalg.norm(b))
    assert steps < 25
    assert natural_residual(x, tau) <= (1e-6 * np.linalg.norm(b)) ** 2
    expected = x - np.sign(x + tau) * np.maximum(np.abs(x + tau) - 1, 0)
    assert_allclose(natural_residual(x, tau), expected @ expected, atol=1e-30)


def test_a_guess_only_is_not_improved():
    U, b = problem("random")
    q, tau, claimed, _, solved = solve_rows(DSYRK, U, b, -b, 1e-13 * b @ b, True)
    assert solved == 0
    assert_allclose(gap(U, b, q, tau), claimed, rtol=1e-9)
    assert claimed > 1e-3 * b @ b
