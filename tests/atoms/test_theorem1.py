"""Theorem 1 against the paper's convex bi-dual, a slow reference, and numpy's eigenvalues."""

from functools import cache

import cvxpy as cp
import numpy as np
import pytest

from oddatom.atoms import theorem1 as atoms
from oddatom.atoms.theorem1 import power_atom, solve_atom, solve_atom_rows
from reference import best_atom

SEEDS = range(3)
SIZES = (1, 2, 3, 5, 8, 12)


def unit(v):
    return v / np.linalg.norm(v)


def rotation(rng, m):
    return np.linalg.qr(rng.standard_normal((m, m)))[0]


def problem(kind, m, rng):
    """Return R, c and d0 with samples as rows; the kinds are what an atom update may meet, and worse."""
    V = rotation(rng, m)
    lam = np.sort(rng.uniform(0.1, 1.0, m))[::-1]
    q = rng.standard_normal(m)
    d0 = unit(rng.standard_normal(m))
    N = m + 4
    if kind == "ill":
        lam = 10.0 ** -np.linspace(0, 12, m)
        q *= np.sqrt(lam)  # a larger c would cancel in Rᵀc
    elif kind == "close":
        lam = 1.0 - 1e-7 * np.arange(m)
        q *= 1e-5
    elif kind in ("tiny_g", "wrong_sign"):
        q *= 1e-5
    elif kind == "vanishing_g":
        q *= 1e-200
    elif kind in ("zero_g", "orthogonal_start"):
        q *= 0.0
    elif kind == "large_g":
        q *= 1e3
    elif kind == "hard":
        q *= 0.02 * np.append(0.0, np.ones(m - 1))
    elif kind == "nearly_hard":
        q *= 0.02 * np.append(1e-9, np.ones(m - 1))
    elif kind == "repeated":
        lam[: (m + 1) // 2] = lam[0]
        q *= 1e-3
    elif kind == "repeated_zero_g":
        lam[: (m + 1) // 2] = lam[0]
        q *= 0.0
    elif kind == "repeated_hard":
        lam[: (m + 1) // 2] = lam[0]
        q *= 0.02 * (np.arange(m) >= (m + 1) // 2)
    elif kind == "few_rows":
        N = max(1, m // 2)
    elif kind == "one_row":
        N = 1
    elif kind == "rank_one":
        lam[1:] = 0.0
    if kind == "wrong_sign":
        d0 = -np.sign(q[0]) * V[:, 0]
    elif kind == "orthogonal_start":
        d0 = V[:, -1].copy()
    if m > N:
        R, c = rng.standard_normal((N, m)), 0.1 * rng.standard_normal(N)
        if kind == "few_rows" and N > 1:
            R[-1] = R[0]
        return R, c, d0
    U = np.linalg.qr(rng.standard_normal((N, m)))[0]
    sigma = np.sqrt(lam)
    R = U * sigma @ V.T
    c = U @ np.divide(q, sigma, where=sigma > 0, out=np.zeros(m))
    return R, c, d0


KINDS = [
    "plain",
    "ill",
    "close",
    "tiny_g",
    "wrong_sign",
    "vanishing_g",
    "zero_g",
    "orthogonal_start",
    "large_g",
    "hard",
    "nearly_hard",
    "repeated",
    "repeated_zero_g",
    "repeated_hard",
    "few_rows",
    "one_row",
    "rank_one",
]


def cases():
    for kind in KINDS:
        for m in SIZES:
            for seed in SEEDS:
                yield kind, m, *problem(kind, m, np.random.default_rng([seed, m, KINDS.index(kind)]))


def gain(A, g, d):
    return d @ A @ d + 2 * (g @ d)


def check(solution, A, g, d0):
    """Conditions of Theorem 1, from nothing but A, g and the answer."""
    d, mu = solution.d, solution.mu
    lam_max = np.linalg.eigvalsh(A)[-1]
    size = max(lam_max, np.linalg.norm(g))
    assert np.linalg.norm(d) == pytest.approx(1.0, abs=1e-13)
    assert solution.certified
    assert mu >= lam_max - 1e-12 * size
    assert np.linalg.norm(mu * d - A @ d - g) <= 1e-10 * size
    assert solution.residual <= 1e-10
    assert solution.gain == pytest.approx(gain(A, g, d), abs=1e-13 * size)
    assert solution.gain >= gain(A, g, d0) - 1e-14 * size
    assert g @ d >= -1e-14 * np.abs(g).max()


@cache
def bidual(m):
    y = cp.Variable(m, nonneg=True)
    sigma2, q = cp.Parameter(m, nonneg=True), cp.Parameter(m, nonneg=True)
    objective = -0.5 * (sigma2 @ y) - q @ cp.sqrt(y)
    return cp.Problem(cp.Minimize(objective), [cp.sum(y) == 1]), y, sigma2, q


def solve_bidual(R, c):
    """Return the atom of equation (convex_bidual) the gain it proves, and the size of the problem."""
    A, g = R.T @ R, R.T @ c
    lam, V = np.linalg.eigh(A)
    size = max(lam[-1], np.linalg.norm(g))
    program, y, sigma2, q = bidual(g.size)
    coordinates = V.T @ (g / size)
    sigma2.value, q.value = np.maximum(lam / size, 0.0), np.abs(coordinates)
    program.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    sign = np.where(coordinates < 0, -1.0, 1.0)
    d = unit(V @ (sign * np.sqrt(np.maximum(y.value, 0.0))))
    return d, -2.0 * program.value * size, size


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # CLARABEL, 1e-10 asked of it
@pytest.mark.parametrize("m", SIZES)
def test_solves_the_convex_bidual(m):
    for kind, size_m, R, c, d0 in cases():
        if size_m != m:
            continue
        A, g = R.T @ R, R.T @ c
        d_dual, best, size = solve_bidual(R, c)
        for solution in (solve_atom(A, g, d0), solve_atom_rows(R, c, d0)):
            assert solution.gain >= gain(A, g, d_dual) - 1e-13 * size, kind
            assert solution.gain == pytest.approx(best, abs=1e-7 * size), kind


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e8, 1e-90, 1e90])
@pytest.mark.parametrize("kind", KINDS)
def test_meets_the_conditions_at_every_scale(kind, scale):
    for name, _, R, c, d0 in cases():
        if name != kind:
            continue
        A, g = R.T @ R, R.T @ c
        _, best = best_atom(A, g)
        solution = solve_atom(scale * A, scale * g, d0)
        check(solution._replace(gain=solution.gain / scale, mu=solution.mu / scale), A, g, d0)
        size = max(np.trace(A), np.linalg.norm(g))
        assert solution.gain / scale == pytest.approx(best, abs=1e-13 * size)
        rows = solve_atom_rows(scale * R, scale * c, d0)
        check(rows._replace(gain=rows.gain / scale**2, mu=rows.mu / scale**2), A, g, d0)
        assert rows.gain / scale**2 == pytest.approx(solution.gain / scale, abs=1e-13 * size)


@pytest.mark.parametrize("ratio", [1.0, 1e-2, 1e-5, 1e-10, 1e-16, 1e-100, 1e-300])
def test_finds_the_atom_of_the_reference_however_small_g(ratio):
    rng = np.random.default_rng(0)
    for m in (2, 5, 12):
        V = rotation(rng, m)
        lam = np.append(1.0, rng.uniform(0.0, 0.8, m - 1))
        A = V * lam @ V.T
        A = (A + A.T) / 2
        for sign in (-1.0, 1.0):
            g = ratio * V @ rng.uniform(0.3, 1.0, m)
            expected, _ = best_atom(A, g)
            solution = solve_atom(A, g, sign * V[:, 0])
            check(solution, A, g, sign * V[:, 0])
            np.testing.assert_allclose(solution.d, expected, atol=1e-9)


@pytest.mark.parametrize("q1", [1e-3, 1e-6, 1e-9, 1e-12, -1e-3, -1e-6, -1e-9, -1e-12])
def test_picks_the_right_side_when_g_is_nearly_orthogonal(q1):
    # Both sides have gᵀd > 0 here: only the certificate tells them apart.
    A = np.diag([1.0, 0.5, 0.3])
    g = np.array([q1, 0.2, -0.1])
    for side in (-1.0, 1.0):
        d0 = unit(np.array([side, 0.3, -0.1]))
        solution = solve_atom(A, g, d0)
        check(solution, A, g, d0)
        assert np.sign(solution.d[0]) == np.sign(q1)
        np.testing.assert_allclose(solution.d, best_atom(A, g)[0], atol=1e-8)


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("m", [2, 3, 7])
def test_hard_case_stays_on_the_side_of_the_start(m, side):
    A = np.diag(np.linspace(1.0, 0.2, m))
    g = np.zeros(m)
    g[-1] = 0.1
    d0 = unit(side * np.eye(m)[0] + 0.2 * np.ones(m) / m)
    for solution in (
        solve_atom(A, g, d0),
        solve_atom_rows(np.sqrt(A), g / np.sqrt(A[-1, -1]), d0),
        atoms._exact(A, g, d0, 0),
    ):
        check(solution, A, g, d0)
        assert solution.d[0] == pytest.approx(side * np.sqrt(1 - (0.1 / 0.8) ** 2), abs=1e-10)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_zero_g_keeps_the_sign(sign):
    rng = np.random.default_rng(1)
    R = rng.standard_normal((9, 4)) * [3.0, 1.0, 1.0, 1.0]
    A = R.T @ R
    d0 = sign * np.linalg.eigh(A + 0.1 * np.diag([0, 1, 2, 3]))[1][:, -1]
    for solution in (solve_atom(A, np.zeros(4), d0), solve_atom_rows(R, np.zeros(9), d0)):
        check(solution, A, np.zeros(4), d0)
        assert solution.d @ d0 > 0.5


def test_nothing_to_fit_keeps_the_atom():
    d0 = unit(np.array([1.0, -2.0, 0.5]))
    for solution in (
        solve_atom(np.zeros((3, 3)), np.zeros(3), d0),
        solve_atom_rows(np.zeros((2, 3)), np.ones(2), d0),
        power_atom(np.zeros((3, 3)), np.zeros(3), d0),
    ):
        np.testing.assert_array_equal(solution.d, d0)
        assert solution.gain == 0.0
        assert solution.residual == 0.0
    g = np.array([0.0, 3.0, -4.0])
    np.testing.assert_allclose(solve_atom(np.zeros((3, 3)), g, d0).d, g / 5, atol=1e-15)


def test_a_start_of_zeros_is_accepted():
    A = np.diag([2.0, 1.0])
    for g in (np.zeros(2), np.array([-1e-5, 0.0])):
        check(solve_atom(A, g, np.zeros(2)), A, g, np.array([0.0, 1.0]))


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_extreme_scales_are_rescaled(scale):
    R, c, d0 = problem("tiny_g", 5, np.random.default_rng(3))
    A, g = R.T @ R, R.T @ c
    solution = solve_atom(scale * A, scale * g, d0)
    check(solution._replace(gain=solution.gain / scale, mu=solution.mu / scale), A, g, d0)
    np.testing.assert_allclose(solution.d, solve_atom(A, g, d0).d, atol=1e-9)
    np.testing.assert_allclose(solve_atom_rows(scale * R, scale * c, d0).d, solution.d, atol=1e-9)


@pytest.mark.parametrize("ratio", [0.3, 0.7, 0.9, 0.99, 0.9999, 0.9999999])
@pytest.mark.parametrize(("m", "N"), [(60, 90), (60, 25)])
def test_larger_problems_with_every_gap(m, N, ratio):
    for seed in range(4):
        rng = np.random.default_rng([seed, m, N])
        k = min(m, N)
        lam = np.append(1.0, ratio * 0.95 ** np.arange(k - 1))
        R = np.linalg.qr(rng.standard_normal((N, k)))[0] * np.sqrt(lam) @ rotation(rng, m)[:, :k].T
        c = 10.0 ** -rng.integers(1, 9) * rng.standard_normal(N)
        d0 = unit(rng.standard_normal(m))
        A, g = R.T @ R, R.T @ c
        solution, rows = solve_atom(A, g, d0), solve_atom_rows(R, c, d0)
        check(solution, A, g, d0)
        check(rows, A, g, d0)
        assert rows.gain == pytest.approx(solution.gain, rel=1e-13)
        if ratio < 0.999:
            np.testing.assert_allclose(rows.d, solution.d, atol=1e-7)


@pytest.mark.parametrize(("ratio", "most_steps"), [(0.3, 20), (0.7, 40), (0.99, 40)])
def test_the_ascent_settles_everyday_problems_without_the_fallback(ratio, most_steps):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        V = rotation(rng, 40)
        lam = np.concatenate([[1.0, ratio], ratio * rng.uniform(0, 0.3, 38)])
        U = np.linalg.qr(rng.standard_normal((60, 40)))[0]
        R, c = U * np.sqrt(lam) @ V.T, 1e-5 * rng.standard_normal(60)
        d0 = unit(rng.choice([-1, 1]) * V[:, 0] + 0.03 * rng.standard_normal(40))
        *_, certified, n_steps = atoms.climb(R.T @ R, R.T @ c, d0)
        assert certified
        assert n_steps <= most_steps
        *_, certified, n_steps = atoms.climb_rows(R, c, d0)
        if ratio < 0.9:  # in few dimensions a basis is cheaper than Newton
            assert certified
            assert n_steps <= most_steps


@pytest.mark.parametrize("kind", KINDS)
def test_the_fallback_alone_is_exact(kind):
    for name, _, R, c, d0 in cases():
        if name == kind:
            A, g = R.T @ R, R.T @ c
            check(atoms._exact(A, g, d0, 0), A, g, d0)


@pytest.mark.parametrize("kind", KINDS)
def test_power_method_ascends_and_is_honest(kind):
    for name, _, R, c, d0 in cases():
        if name != kind:
            continue
        A, g = R.T @ R, R.T @ c
        lam_max, size = np.linalg.eigvalsh(A)[-1], max(np.trace(A), np.linalg.norm(g))
        last = gain(A, g, d0)
        for n_steps in (0, 1, 2, 5, 20, 80):
            solution = power_atom(A, g, d0, n_steps)
            residual = np.linalg.norm(solution.mu * solution.d - A @ solution.d - g)
            assert solution.gain >= last - 1e-14 * size
            assert solution.gain == pytest.approx(gain(A, g, solution.d), abs=1e-13 * size)
            assert solution.residual * np.linalg.norm(A @ solution.d + g) == pytest.approx(residual, abs=1e-13 * size)
            assert solution.n_steps <= n_steps
            assert not solution.certified or solution.mu >= lam_max - 1e-12 * size
            last = solution.gain


def test_power_method_agrees_where_the_gap_is_large():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        V = rotation(rng, 8)
        A = V * np.append(1.0, rng.uniform(0, 0.3, 7)) @ V.T
        g = 1e-5 * V @ rng.uniform(0.1, 1.0, 8)
        d0 = unit(V[:, 0] + 0.2 * rng.standard_normal(8))
        power = power_atom(A, g, d0)
        assert power.certified
        assert power.residual < 1e-12
        np.testing.assert_allclose(power.d, solve_atom(A, g, d0).d, atol=1e-10)


def test_power_method_admits_that_it_stalled():
    solution = power_atom(np.diag([1.0, 0.5]), np.zeros(2), np.array([0.0, 1.0]))
    assert solution.residual == 0.0
    assert not solution.certified
