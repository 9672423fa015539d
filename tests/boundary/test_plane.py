"""The exact one-class SVM against cvxpy, libsvm and LIBLINEAR, and against its own duality gap."""

from itertools import pairwise

import cvxpy as cp
import numba
import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from liblinear.liblinearutil import train
from sklearn.svm import OneClassSVM

from oddatom.arrays.block import Block
from oddatom.arrays.threads import threads
from oddatom.boundary import newton as smooth_newton_module
from oddatom.boundary import plane as one_class
from oddatom.boundary.libsvm import fit_libsvm
from oddatom.boundary.newton import smooth_newton
from oddatom.boundary.plane import GAP_TOL, SMALL, fit_one_class, quantile_offset
from oddatom.passes import MarginPasses, ShardGroup
from oddatom.passes.protocol import DISTANCE, MARGIN
from oddatom.rows.array import OneClassShard
from reference import one_class_objective, smoothed_one_class


def block(X):
    if scipy.sparse.issparse(X):
        return Block.csr(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data, X.shape[1])
    return Block.dense(np.ascontiguousarray(X))


def shards_of(X, cuts=()):
    ends = [0, *cuts, X.shape[0]]
    return ShardGroup([OneClassShard(block(X[lo:hi])) for lo, hi in pairwise(ends)])


def solve(X, nu, cuts=(), solver=fit_one_class, **options):
    """Return the fit and the multipliers lam."""
    group = shards_of(X, cuts)
    fit = solver(group, X.shape[1], nu, **options)
    a = np.concatenate([shard.multipliers for shard in group.shards])
    return fit, a / (nu * X.shape[0])


def sparse_codes(N, rng, mean=0.5):
    """Codes such as OMP's: 4 of 20 columns, in no order within a row."""
    columns = np.argsort(rng.random((N, 20)), axis=1)[:, :4]
    data = rng.normal(mean, 1.0, (N, 4))
    return scipy.sparse.csr_array((data.ravel(), columns.ravel(), np.arange(0, 4 * N + 1, 4)), shape=(N, 20))


def rows(kind, N, seed=0, n=6):
    """Rows of one kind; every kind but the centred ones has a margin at nu = 0.5."""
    rng = np.random.default_rng(seed)
    X = rng.normal(1.0, 1.0, (N, n))
    if kind == "student":
        X = np.abs(rng.standard_t(2.0, (N, n))) + 0.1
    elif kind == "wide_norms":
        X = rng.normal(1.0, 0.5, (N, n)) * 10.0 ** rng.uniform(-1.5, 1.5, (N, 1))
    elif kind == "duplicates":
        X = X[rng.integers(min(7, N), size=N)]
    elif kind == "equal":
        X = np.tile(X[0], (N, 1))
    elif kind == "centred":
        X = X - X.mean(axis=0)
    elif kind == "some_zero_rows":
        X[rng.choice(N, N // 3, replace=False)] = 0.0
    elif kind == "zero_columns":
        X[:, [0, 3, 5]] = 0.0
    elif kind == "one_column":
        X = rng.exponential(1.0, (N, 1))
    elif kind == "one_column_both_signs":
        X = X[:, :1].copy()
    elif kind == "codes":
        X = sparse_codes(N, rng)
    elif kind == "positive_codes":
        X = abs(sparse_codes(N, rng))
    elif kind == "integers":
        X = rng.integers(0, 3, (N, n)).astype(float)
    else:
        assert kind == "well"
    return X


KINDS = (
    "well", "student", "wide_norms", "duplicates", "equal", "centred", "some_zero_rows", "zero_columns", "one_column",
    "one_column_both_signs", "codes", "positive_codes", "integers",
)  # fmt: skip


def dense(X):
    return X.toarray() if scipy.sparse.issparse(X) else X


def mean_square(X):
    """Mean squared row norm: its root is the unit in which gaps are stated."""
    return max(np.mean(np.sum(dense(X) ** 2, axis=1)), 1e-300)


def assert_optimal(X, nu, fit, lam):
    """lam is feasible, w is its plane, and the duality gap, worked out here, is at most 1e-8 and as reported."""
    X, unit2 = dense(X), mean_square(X)
    C = nu * len(X)
    assert lam.shape == (len(X),)
    assert lam.min() >= 0.0
    assert lam.max() <= (1.0 + 1e-14) / C
    assert abs(lam.sum() - 1.0) <= 1e-13 * np.sqrt(len(X))
    w = lam @ X
    primal = one_class_objective(X, fit.w, fit.rho, nu)
    gap = (primal + 0.5 * w @ w) / unit2
    rounding = 1e-12 + 1e-15 / nu  # N rows on the margin to rounding weigh 1/(nu N) each
    assert -rounding <= gap <= 1e-8
    assert abs(gap - fit.gap) <= rounding
    assert abs(primal - fit.objective) <= rounding * unit2
    if fit.degenerate:
        assert not fit.w.any()
        assert fit.rho == 0.0
        assert 0.5 * w @ w <= 1e-8 * unit2
    else:
        np.testing.assert_allclose(fit.w, w, rtol=0, atol=1e-12 * np.sqrt(unit2))
        assert primal < 0.0  # below the value of w = 0: there is a margin
    e = (X @ fit.w - fit.rho) / unit2
    assert abs(fit.residual - np.max(np.abs(C * lam - np.clip(C * lam - e, 0.0, 1.0)))) <= 1e-9


@pytest.mark.parametrize("N", [40, SMALL, SMALL + 1, 4000])
@pytest.mark.parametrize("kind", KINDS)
def test_gap_on_every_kind_of_rows(kind, N):
    X = rows(kind, N)
    for nu in (1e-5, 0.02, 0.3, 0.7, 1.0 - 1e-9, 1.0):  # 1e-5: nu N < 1, no multiplier meets its bound
        assert_optimal(X, nu, *solve(X, nu))


@pytest.mark.parametrize(("N", "n"), [(1, 3), (2, 1), (5, 40), (100, 300)])
def test_few_rows(N, n):
    X = np.random.default_rng(N).normal(0.5, 1.0, (N, n))
    for nu in (1e-5, 0.3, 1.0):
        assert_optimal(X, nu, *solve(X, nu))


@pytest.mark.parametrize("N", [200, 3000])
def test_origin_inside_the_reduced_hull_is_degenerate(N):
    X = rows("centred", N)
    for nu in (1e-3, 0.3):
        fit, lam = solve(X, nu)
        assert fit.degenerate
        assert_optimal(X, nu, fit, lam)
    fit, lam = solve(X + 3.0, 0.3)
    assert not fit.degenerate
    assert fit.rho > 0.0


@pytest.mark.parametrize("N", [60, 3000])
def test_zero_rows_carry_the_weight_from_nu_N_on(N):
    X = rows("some_zero_rows", N)
    share = np.mean(~X.any(axis=1))
    for nu, degenerate in ((share / 2, True), (share, True), (share + 0.2, False)):
        fit, lam = solve(X, nu)
        assert fit.degenerate == degenerate
        assert_optimal(X, nu, fit, lam)
        if degenerate:
            assert not lam[X.any(axis=1)].any()


def test_nothing_but_zeros():
    fit, lam = solve(np.zeros((10, 3)), 0.4)
    assert fit.degenerate
    np.testing.assert_allclose(lam, 0.1)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("kind", ["well", "duplicates", "codes", "wide_norms", "one_column"])
def test_against_cvxpy(kind, form):
    X = form(dense(rows(kind, 60, seed=3)))
    nu = 0.37
    fit, _ = solve(X, nu)
    X, unit2 = dense(X), mean_square(X)
    w, rho = cp.Variable(X.shape[1]), cp.Variable()
    objective = 0.5 * cp.sum_squares(w) - rho + cp.sum(cp.pos(rho - X @ w)) / (nu * len(X))
    cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    ours = one_class_objective(X, fit.w, fit.rho, nu)
    theirs = one_class_objective(X, w.value, rho.value, nu)
    assert ours <= theirs + 1e-9 * unit2
    assert ours >= theirs - 1e-5 * unit2  # theirs is a minimum too: the formulation is the same
    np.testing.assert_allclose(fit.w, w.value, atol=1e-3 * np.sqrt(unit2))


CONVERGING = ["well", "student", "duplicates", "equal", "some_zero_rows", "zero_columns", "positive_codes", "integers"]


@pytest.mark.parametrize("nu", [0.37, 0.62])
@pytest.mark.parametrize("kind", CONVERGING)
def test_against_scikit_learn(kind, nu):
    X = dense(rows(kind, 203, seed=1))  # nu N is no integer: rho is unique
    fit, _ = solve(X, nu)
    model = OneClassSVM(kernel="linear", nu=nu, tol=1e-10).fit(X)
    w, rho = model.coef_[0] / (nu * len(X)), model.offset_[0] / (nu * len(X))
    unit2 = mean_square(X)
    assert one_class_objective(X, fit.w, fit.rho, nu) <= one_class_objective(X, w, rho, nu) + 1e-9 * unit2
    np.testing.assert_allclose(fit.w, w, atol=1e-5 * np.sqrt(unit2))
    np.testing.assert_allclose(fit.rho, rho, atol=1e-5 * unit2)


@pytest.mark.parametrize("nu", [0.37, 0.62])
@pytest.mark.parametrize("kind", CONVERGING)
def test_against_liblinear(kind, nu):
    # -s 21 minimises ½‖Σ a x‖² over 0 ≤ a ≤ 1, Σ a = nu N, without a bias column: w and rho are nu N times ours.
    X = dense(rows(kind, 203, seed=2))
    fit, _ = solve(X, nu)
    model = train(np.ones(len(X)), scipy.sparse.csr_matrix(X), f"-s 21 -n {nu} -e 1e-9 -B -1 -q")
    w = np.array([model.get_decfun_coef(i + 1) for i in range(X.shape[1])]) / (nu * len(X))
    rho = model.get_decfun_rho() / (nu * len(X))
    unit2 = mean_square(X)
    assert one_class_objective(X, fit.w, fit.rho, nu) <= one_class_objective(X, w, rho, nu) + 1e-9 * unit2
    np.testing.assert_allclose(fit.w, w, atol=1e-5 * np.sqrt(unit2))
    np.testing.assert_allclose(fit.rho, rho, atol=1e-5 * unit2)


@pytest.mark.parametrize("N", [SMALL - 300, 2500, 6000])
@pytest.mark.parametrize("kind", ["well", "student", "wide_norms", "duplicates", "codes", "positive_codes"])
def test_order_of_rows_does_not_matter(kind, N):
    X, nu = rows(kind, N), 0.3
    rng = np.random.default_rng(5)
    fit, lam = solve(X, nu)
    for _ in range(3):
        order = rng.permutation(N)
        other, other_lam = solve(X[order], nu)
        assert other.degenerate == fit.degenerate
        np.testing.assert_allclose(other.w, fit.w, rtol=0, atol=1e-7 * np.linalg.norm(fit.w))
        assert abs(other.rho - fit.rho) <= 1e-7 * abs(fit.rho)
        np.testing.assert_allclose(other_lam, lam[order], rtol=0, atol=1e-3 / (nu * N))


@pytest.mark.parametrize("N", [300, 4000])
@pytest.mark.parametrize("kind", ["well", "wide_norms", "codes"])
def test_scale_of_rows_scales_the_solution(kind, N):
    X, nu = rows(kind, N), 0.4
    fit, lam = solve(X, nu)
    for factor in (1e-6, 1e6):
        other, other_lam = solve(X * factor, nu)
        np.testing.assert_allclose(other.w, fit.w * factor, rtol=0, atol=1e-9 * np.linalg.norm(fit.w) * factor)
        assert abs(other.rho / factor**2 - fit.rho) <= 1e-9 * fit.rho
        assert abs(other.objective / factor**2 - fit.objective) <= 1e-9 * abs(fit.objective)
        np.testing.assert_allclose(other_lam, lam, rtol=0, atol=1e-7 / (nu * N))
        assert other.tolerance == pytest.approx(fit.tolerance * factor**2)


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one core")
@pytest.mark.parametrize("kind", ["well", "codes"])
def test_number_of_threads_does_not_matter(kind):
    X = rows(kind, 60_000 if kind == "codes" else 42_000)
    with threads(1):
        one, one_lam = solve(X, 0.2)
    with threads(2):
        two, two_lam = solve(X, 0.2)
    np.testing.assert_array_equal(one.w, two.w)
    np.testing.assert_array_equal(one_lam, two_lam)
    assert one._replace(w=None) == two._replace(w=None)


@pytest.mark.parametrize("kind", ["well", "codes"])
def test_memory_is_not_read_before_it_is_written(kind, monkeypatch):
    X = rows(kind, 4000)
    fit, lam = solve(X, 0.3)

    def poisoned(shape, dtype=float, true_empty=np.empty):
        out = true_empty(shape, dtype)
        out[...] = np.nan if out.dtype.kind == "f" else -1
        return out

    monkeypatch.setattr(np, "empty", poisoned)
    other, other_lam = solve(X, 0.3)
    monkeypatch.undo()
    np.testing.assert_array_equal(other.w, fit.w)
    np.testing.assert_array_equal(other_lam, lam)
    assert other._replace(w=None) == fit._replace(w=None)


@pytest.mark.parametrize("kind", ["well", "wide_norms", "positive_codes"])
def test_start_does_not_matter(kind):
    X, nu = rows(kind, 4000), 0.3
    fit, _ = solve(X, nu)
    rng = np.random.default_rng(0)
    for w0 in (fit.w, -fit.w, rng.standard_normal(fit.w.size), 0.0 * fit.w):
        other, lam = solve(X, nu, w0=w0)
        assert_optimal(X, nu, other, lam)
        np.testing.assert_allclose(other.w, fit.w, rtol=0, atol=1e-3 * np.linalg.norm(fit.w))
    assert solve(X, nu, w0=fit.w)[0].n_steps < fit.n_steps  # and the solution is a good one


@pytest.mark.parametrize("n_bad", [1, 2, 100])
@pytest.mark.parametrize("kind", ["well", "wide_norms", "codes", "duplicates"])
def test_bad_smoothed_plane_costs_rounds_not_exactness(kind, n_bad, monkeypatch):
    X, nu = rows(kind, 5000), 0.4
    sizes, calls = [], []
    true_newton, true_interior = one_class.smooth_newton, one_class.interior_point

    def newton(group, w, *args):
        calls.append(1)
        if len(calls) > n_bad:
            return true_newton(group, w, *args)
        group.map(MarginPasses.svm_margins, -w)
        return -w, 0

    def interior(block, *args, **options):
        sizes.append(block.n_rows)
        return true_interior(block, *args, **options)

    monkeypatch.setattr(one_class, "smooth_newton", newton)
    monkeypatch.setattr(one_class, "interior_point", interior)
    fit, lam = solve(X, nu)
    assert_optimal(X, nu, fit, lam)
    assert len(sizes) >= 2
    assert sizes[-1] >= sizes[0]
    if n_bad == 100:
        assert sizes[-1] == 5000  # in the end on all of them


def test_rows_of_a_large_problem_are_few(monkeypatch):
    sizes = []
    true_interior = one_class.interior_point

    def interior(block, *args, **options):
        sizes.append(block.n_rows)
        return true_interior(block, *args, **options)

    monkeypatch.setattr(one_class, "interior_point", interior)
    solve(rows("well", SMALL), 0.3)
    assert sizes == [SMALL]
    for N in (SMALL + 1, 6000):
        sizes.clear()
        solve(rows("well", N), 0.3)
        assert len(sizes) == 1
        assert sizes[0] < 0.6 * N


def numbers(kind, rng):
    N = 20_000
    if kind == "normal":
        return rng.standard_normal(N)
    if kind == "ties":
        return rng.choice([-2.5, -1.0, 0.0, 0.5, 3.0], N)
    if kind == "equal":
        return np.full(N, -0.1)
    if kind == "close":  # the same leading bits: the last histograms decide
        return 1.0 + 2.0**-52 * rng.integers(0, 4, N)
    if kind == "signed_zeros":
        return rng.choice([-1.0, -0.0, 0.0, 1e-308], N)
    return rng.standard_normal(N) * 10.0 ** rng.uniform(-300, 300, N)


@pytest.mark.parametrize("cuts", [(), (7000, 7001, 15_000), (0, 10_000)])
@pytest.mark.parametrize("which", [MARGIN, DISTANCE])
@pytest.mark.parametrize("kind", ["normal", "ties", "equal", "close", "signed_zeros", "magnitudes"])
def test_kth_number_is_exact(kind, which, cuts):
    rng = np.random.default_rng(8)
    values = numbers(kind, rng)
    group = shards_of(np.ones((values.size, 1)), cuts)
    for shard, piece in zip(group.shards, np.split(values, cuts), strict=True):
        (shard._f if which == MARGIN else shard._dist)[:] = piece
        (shard._dist if which == MARGIN else shard._f)[:] = np.nan
    ordered = np.sort(values)
    for rank in (0, 1, 4095, 4096, 9_999, 10_000, 19_998, 19_999, *rng.integers(values.size, size=5)):
        assert one_class._kth(group, which, int(rank)) == ordered[rank]


@pytest.mark.parametrize("nu", [1e-4, 0.1, 0.25, 0.999, 1.0])
def test_quantile_offset_leaves_at_most_nu_below(nu):
    X = rows("integers", 2000)
    w = np.arange(6.0)
    f = X @ w
    offset = quantile_offset(shards_of(X, (300,)), w, nu)
    assert np.sum(f < offset) < nu * f.size  # and one row more would be too many
    assert np.sum(f <= offset) >= nu * f.size
    assert offset in f


@pytest.mark.parametrize("kind", ["well", "student", "wide_norms", "codes"])
def test_smooth_newton_minimises_the_smoothed_objective(kind):
    X, C = rows(kind, 3000), 0.3 * 3000
    group = shards_of(X, (1000,))
    X = dense(X)
    scale = np.sqrt(mean_square(X))
    Z = X / scale
    group.map(MarginPasses.svm_scale, scale)
    start = Z.mean(axis=0)
    group.map(MarginPasses.svm_margins, start)
    rho = np.quantile(Z @ start, 0.3)
    eps = 0.05 * np.std(Z @ start)
    w, taken = smooth_newton(group, start, rho, C, [10 * eps, 3 * eps, eps])
    assert taken > 0
    margins = np.concatenate([shard.margins for shard in group.shards])
    np.testing.assert_allclose(margins, Z @ w, atol=1e-12)  # moved along with the plane

    def best_rho(w):
        f = Z @ w
        return scipy.optimize.brentq(
            lambda r: smoothed_one_class(Z, w, r, C, eps)[1][-1], f.min() - eps, f.max() + eps, xtol=1e-15
        )

    value, grad = smoothed_one_class(Z, w, best_rho(w), C, eps)
    value_at_start, grad_at_start = smoothed_one_class(Z, start, best_rho(start), C, eps)
    best = scipy.optimize.minimize(
        lambda v: smoothed_one_class(Z, v[:-1], v[-1], C, eps), np.append(w, best_rho(w)), jac=True, method="BFGS"
    ).fun
    assert value <= best + 2e-3 * 0.5 * w @ w  # Newton stops at a slope of 1e-3 ½‖w‖²
    assert value - best <= 0.02 * (value_at_start - best)
    assert grad @ grad <= 0.02 * (grad_at_start @ grad_at_start)


@pytest.mark.parametrize("max_steps", [1, 2, 12])
def test_smooth_newton_knows_the_value_it_has_to_lower(max_steps, monkeypatch):
    X, C = rows("wide_norms", 2000), 0.3 * 2000
    X /= np.sqrt(mean_square(X))
    group = shards_of(X)
    start = X.mean(axis=0)
    group.map(MarginPasses.svm_margins, start)
    eps = 0.1 * np.std(X @ start)
    true_search = smooth_newton_module._line_search

    def line_search(group, w, rho, d, C, eps, value, slope):
        assert value == pytest.approx(smoothed_one_class(X, w, rho, C, eps)[0], rel=1e-9)
        step, after = true_search(group, w, rho, d, C, eps, value, slope)
        assert after <= value
        assert after == pytest.approx(smoothed_one_class(X, w + step * d[:-1], rho + step * d[-1], C, eps)[0], rel=1e-9)
        return step, after

    monkeypatch.setattr(smooth_newton_module, "MAX_STEPS", max_steps)
    monkeypatch.setattr(smooth_newton_module, "_line_search", line_search)
    w, taken = smooth_newton(group, start, np.quantile(X @ start, 0.3), C, [30 * eps, 10 * eps, 3 * eps, eps])
    assert taken >= 3
    np.testing.assert_allclose(group.shards[0].margins, X @ w, atol=1e-12)  # the last step too


def codes_as_published(N):
    """Positive codes of Frobenius norm one, too small for libsvm's absolute tolerance."""
    X = rows("positive_codes", N, seed=4)
    return X / np.linalg.norm(X.data)


@pytest.mark.parametrize("cuts", [(), (10, 400)])
@pytest.mark.parametrize(("X", "nu"), [(codes_as_published(900), 0.1), (rows("well", 300), 0.4)])
def test_libsvm_is_scikit_learns(X, nu, cuts):
    fit, lam = solve(X, nu, cuts if X.shape[0] > 400 else (), solver=fit_libsvm)
    X = dense(X)
    C, unit2 = nu * len(X), mean_square(X)
    model = OneClassSVM(kernel="linear", nu=nu, max_iter=5000)
    model.fit(X)
    np.testing.assert_allclose(fit.w, model.coef_[0] / C, rtol=1e-12)
    np.testing.assert_allclose(fit.rho, model.offset_[0] / C, rtol=1e-12)
    expected = np.zeros(len(X))
    expected[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(lam, expected / C, rtol=1e-12)
    primal = one_class_objective(X, fit.w, fit.rho, nu)
    w = lam @ X
    assert abs(fit.gap - (primal + 0.5 * w @ w) / unit2) <= 1e-12
    assert fit.objective == pytest.approx(primal, rel=1e-9)
    assert fit.n_steps == np.sum(model.n_iter_)


def test_libsvm_stops_early_and_says_so():
    fit, _ = solve(codes_as_published(900), 0.1, solver=fit_libsvm)
    assert fit.gap > 1e-4
    exact, _ = solve(codes_as_published(900), 0.1)
    assert exact.gap <= 1e-8


def test_libsvm_on_zero_rows():
    fit, lam = solve(np.zeros((8, 3)), 0.5, solver=fit_libsvm)
    assert fit.degenerate
    assert not fit.w.any()
    np.testing.assert_allclose(lam, 1 / 8)


def test_a_small_margin_under_heavy_tails_is_still_a_margin():
    # Rows in a clear cone with norms over six decades: in unit-RMS units ½‖w‖² is below the gap's tolerance.
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 1.0, size=(400, 3)) * 10.0 ** rng.uniform(0, 6, size=(400, 1))
    shard = OneClassShard(Block.dense(X))
    fit = fit_one_class(ShardGroup([shard]), 3, 0.1)
    assert 0.5 * float(fit.w @ fit.w) / fit.scale**2 < GAP_TOL
    assert not fit.degenerate
    assert one_class_objective(X, fit.w, fit.rho, 0.1) < 0
