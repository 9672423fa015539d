"""The passes of a pair shard against plain NumPy, and the same rows in one shard or in many, on one thread or two."""

from dataclasses import replace
from itertools import pairwise

import numba
import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

from oddatom.arrays import threads as _threads
from oddatom.arrays.threads import Plan, split, threads
from oddatom.coding import analysis
from oddatom.coding.analysis import analysis_codes
from oddatom.learners.alternate import fit_last_svm, learn
from oddatom.learners.dpl import DPL, PAIR_SOLVERS, REPRESENTATIONS
from oddatom.passes import ShardGroup, SweepPasses
from oddatom.penalties import L20, L21
from oddatom.rows.array import pair_shard as module
from oddatom.rows.array.pair_shard import PairShard
from reference import atom_rows, omp, pair_target, soft


def unit_rows(rng, n, m):
    D = rng.standard_normal((n, m))
    return D / np.linalg.norm(D, axis=1, keepdims=True)


def columns(shard, n):
    """Codes as a dense N×n array, NaN where the support that OMP chose has no entry."""
    X = np.full((shard.Y.shape[0], n), np.nan)
    for j, slots in enumerate(shard.indices):
        for k, i in enumerate(slots):
            if i >= 0:
                X[j, i] = shard.values[j, k]
    return X


# The passes


@pytest.fixture(params=[(1, False), (2, True), (7, False), (64, True)], ids=["1", "2 par", "7", "64 par"])
def chunks(request, monkeypatch):
    """Every pass in this many chunks, in a parallel region or not."""
    k, parallel = request.param

    def plan(n_rows, ns_per_row, rows_per_chunk=1):
        return Plan(k, parallel, n_rows * ns_per_row)

    monkeypatch.setattr(module, "split", plan)
    monkeypatch.setattr(analysis, "split", plan)
    with threads(2):
        yield k


@pytest.fixture(params=[(60, 5, 8, 3), (900, 50, 6, 3)], ids=["small", "wide"])
def state(request):
    """A shard whose residual is no longer what OMP left: codes, atoms and multipliers are random."""
    N, m, n, s = request.param
    rng = np.random.default_rng(N)
    D = unit_rows(rng, n, m)
    Y = rng.standard_normal((N, m))
    Y[3] = 0.0  # a row without codes
    shard = PairShard(Y)
    shard.encode(D, s)
    shard.values *= rng.uniform(0.5, 1.5, shard.values.shape)
    shard.start_sweeps(D)
    shard.multipliers[:] = rng.uniform(0, 1, N) * (rng.random(N) < 0.7)
    return shard, D, columns(shard, n), rng


def opened(state, i=2, kappa=0.4, alpha=0.5):
    """Take up atom i; return the shard, U and c as they should be, the codes of its rows, T of U = Y_Ω T, and d."""
    shard, D, X, rng = state
    new = unit_rows(rng, 1, D.shape[1])[0]
    used = ~np.isnan(X[:, i])
    c = pair_target(shard.E, X[:, i], D[i], new, kappa * shard.multipliers)
    shard.pair_open(i, D[i], new, kappa, alpha)
    T = rng.standard_normal((D.shape[1], 4))
    return shard, shard.Y[used] @ T, c, X[used, i], T


def test_direction(chunks, state):
    shard, D, X, _ = state
    for i in range(len(D)):
        R, _ = atom_rows(shard.E, X[:, i], D[i], 0 * shard.multipliers)
        assert_allclose(shard.direction(i, D[i])[0], R.T @ X[~np.isnan(X[:, i]), i], atol=1e-11)


def test_open(chunks, state):
    shard, D, X, rng = state
    E = shard.E.copy()
    for i, kappa in ((0, 0.4), (5, 0.0), (2, -2.0)):
        new = unit_rows(rng, 1, D.shape[1])[0]
        used = ~np.isnan(X[:, i])
        c = pair_target(E, X[:, i], D[i], new, kappa * shard.multipliers)
        sums = shard.pair_open(i, D[i], new, kappa, 0.5)
        rows, got = shard.pair_rows()
        assert_allclose(got, c, atol=1e-12)
        assert_array_equal(rows, shard.Y[used])
        assert_allclose(sums, (c @ c, np.sum(soft(c, 0.5) ** 2)), rtol=1e-12)
        assert_allclose(shard.pair_gram()[0], shard.Y[used].T @ shard.Y[used], atol=1e-11)
        assert_array_equal(columns(shard, len(D)), X)  # nothing else has changed
        assert_array_equal(shard.E, E)


def test_basis(chunks, state):
    shard, U, c, x, T = opened(state)
    (sums,) = shard.pair_basis(T, 0.5)
    assert_allclose(shard._pair_U, U, atol=1e-12)
    assert_allclose(sums, [c @ U, soft(c, 0.5) @ U, x @ U], atol=1e-10)
    assert_allclose(shard.pair_basis_gram()[0], U.T @ U, rtol=1e-12)


def test_soft_targets(chunks, state):
    shard, U, _, _, T = opened(state)
    shard.pair_basis(T, 0.5)
    B = np.random.default_rng(7).standard_normal((3, 4))
    assert_allclose(shard.pair_soft(B, 0.5)[0], soft(B @ U.T, 0.5) @ U, atol=1e-10)


@pytest.mark.parametrize("curvature", [0.0, 1.0])
def test_fixed_boundary(chunks, state, curvature):
    """The target at x = 0, and the sums of the objective at shares of the old codes and of new ones."""
    shard, D, X, rng = state
    w, rho, weight = rng.standard_normal(len(D)), 0.3, 0.4
    shard.hinge_start(w, rho, curvature, weight)
    plain = np.nan_to_num(X)
    outside = rho - plain @ w + 0.5 * curvature * (plain**2).sum(axis=1)
    for i in (0, 2):
        used, new = ~np.isnan(X[:, i]), unit_rows(rng, 1, D.shape[1])[0]
        x = X[used, i]
        q = outside[used] + w[i] * x - 0.5 * curvature * x**2
        R = shard.E[used] + np.outer(x, D[i])
        c = R @ new + weight * w[i] * (q > 0)
        sums = shard.pair_open_at_zero(i, D[i], new, 0.5)
        rows, got = shard.pair_rows()
        assert_allclose(got, c, atol=1e-12)
        assert_array_equal(rows, shard.Y[used])
        assert_allclose(sums, (c @ c, np.sum(soft(c, 0.5) ** 2)), rtol=1e-12)
        shard.pair_open(i, D[i], new, weight * w[i], 0.5, weight * curvature)
        p, rest, step = rng.standard_normal(D.shape[1]), np.array([1.0, 0.0, 0.3]), np.array([0.0, 0.5, 0.9])
        y, r = rows @ p, R @ new
        products, absolute, hinge = shard.pair_line(p, weight * w[i], weight * curvature, rest, step)
        assert_allclose(products, [x @ x, x @ y, y @ y, x @ r, y @ r], atol=1e-10)
        for k in range(3):
            t = rest[k] * x + step[k] * y
            assert absolute[k] == pytest.approx(np.abs(t).sum())
            assert hinge[k] == pytest.approx(np.maximum(q - w[i] * t + 0.5 * curvature * t**2, 0).sum())


def test_band_and_measure(chunks, state):
    shard, U, _, _, T = opened(state)
    rng = np.random.default_rng(5)
    shard.pair_basis(T, 0.5)
    q = rng.standard_normal(4)
    x = U @ q
    smallest = np.sort(np.abs(x))
    assert_allclose(np.sort(shard.pair_nearest(q, 5)), smallest[:5], atol=1e-12)
    assert shard.pair_nearest(q, 10**6).size == x.size
    threshold = 0.5 * (smallest[4] + smallest[5])
    near = np.abs(x) <= threshold
    band, fixed = shard.pair_band(threshold)
    assert_allclose(band, U[near], atol=1e-12)
    assert_allclose(fixed, np.sign(x[~near]) @ U[~near], atol=1e-11)
    values = rng.uniform(-1, 1, 5)
    shard.pair_set_band(values)
    tau = np.sign(x)
    tau[near] = values
    assert_allclose(shard._pair_tau, tau)

    for alpha in (0.3, 2.0):
        z = rng.standard_normal(4)
        y = U @ z
        total, slack, natural = shard.pair_measure(z, alpha)
        assert_allclose(total, tau @ U, atol=1e-11)
        assert_allclose(slack, np.sum(np.abs(y) - tau * y), rtol=1e-11)
        assert_allclose(natural, np.sum((y - soft(y + alpha * tau, alpha)) ** 2), rtol=1e-11)
    assert_allclose(shard.pair_all(), U, atol=1e-12)
    shard.pair_set_all(tau[::-1])
    assert_allclose(shard._pair_tau, tau[::-1])


def test_gradient_passes(chunks, state):
    shard, U, _, x, T = opened(state)
    d = state[1][2]
    rng = np.random.default_rng(6)
    used = ~np.isnan(state[2][:, 2])
    shard.pair_basis(T, 0.5)
    R = shard.E[used] + np.outer(x, d)
    assert_allclose(shard.pair_cross(d)[0], U.T @ R, atol=1e-10)
    assert_array_equal(shard.pair_ascend(np.ones(4), 0.0)[0], np.zeros(4))
    tau = np.zeros(used.sum())
    for step in (0.05, 0.3, -1.0):
        v = rng.standard_normal(4)
        tau = np.clip(tau + step * (U @ v), -1, 1)
        assert_allclose(shard.pair_ascend(v, step)[0], tau @ U, atol=1e-10)
        assert_allclose(shard._pair_tau, tau, atol=1e-12)
    assert 0 < np.sum(np.abs(tau) == 1) < tau.size
    assert not shard.pair_ascend(v, 0.0)[0].any()


def test_commit(chunks, state):
    shard, D, X, rng = state
    for i, p in ((2, D[0]), (4, rng.standard_normal(D.shape[1])), (4, D[1]), (4, 0 * D[1])):
        new = unit_rows(rng, 1, D.shape[1])[0]
        used = ~np.isnan(X[:, i])
        shard.pair_open(i, D[i], new, 0.3, 0.1)
        (square,) = shard.pair_commit(D[i], new, p)
        D[i], X[used, i] = new, shard.Y[used] @ p
        assert_allclose(square, np.sum(X[used, i] ** 2), rtol=1e-12)
        assert_allclose(columns(shard, len(D)), X, atol=1e-12)
        assert_allclose(shard.E, shard.Y - np.nan_to_num(X) @ D, atol=1e-11)
    assert shard.codes()[:, [4]].nnz == 0


def test_start_and_sums(chunks, state):
    shard, D, X, rng = state
    X = np.nan_to_num(X)
    YY, XY = shard.start_moments()
    assert_allclose(YY, shard.Y.T @ shard.Y, atol=1e-10)
    assert_allclose(XY, X.T @ shard.Y, atol=1e-10)
    assert_allclose(shard.absolute_sums()[0], np.abs(X).sum(axis=0), rtol=1e-12)
    P = rng.standard_normal(D.shape)
    assert_allclose(shard.analysis_squares(P)[0], np.sum((shard.Y @ P.T) ** 2, axis=0), rtol=1e-11)
    assert_allclose(analysis_codes(shard.Y, P), shard.Y @ P.T, atol=1e-11)
    shard.start_pairs(P)
    indices, _ = omp(shard.Y, D, 3)
    used = np.zeros(X.shape, bool)
    for j, chosen in enumerate(indices):
        used[j, chosen[chosen >= 0]] = True
    assert_allclose(shard.codes().toarray(), np.where(used, shard.Y @ P.T, 0), atol=1e-11)
    shard.analyse(P)
    assert_allclose(shard.svm_all_rows().toarray(), shard.Y @ P.T, atol=1e-11)


def test_a_row_is_coded_alike_in_every_batch():
    rng = np.random.default_rng(0)
    Y, P = rng.standard_normal((5000, 33)), rng.standard_normal((21, 33))
    with threads(2):
        whole = analysis_codes(Y, P)
        for lo, hi in pairwise([0, 1, 7, 4000, 5000]):
            assert_array_equal(analysis_codes(Y[lo:hi], P), whole[lo:hi])
    assert_array_equal(analysis_codes(Y, P), whole)


# One shard or many


ONE_TWO_SEVEN = {
    "two": [700],
    "seven": [1, 2, 500, 30, 700, 3],
    "empty_first": [0, 900],
    "empty_middle": [900, 0],
    "empty_last": [900, 2000],
}


def pieces_of(X, name):
    if name == "empty_last":
        return [X[:900], X[900:], X[:0]]
    ends = [0, *np.cumsum(ONE_TWO_SEVEN[name]), len(X)]
    return [X[lo:hi] for lo, hi in pairwise(ends)]


def rows(N=2000, m=7, n=12):
    rng = np.random.default_rng(6)
    Y = np.abs(rng.standard_normal((N, 4))) @ np.abs(unit_rows(rng, 4, m)) + 0.05 * rng.standard_normal((N, m))
    return Y / np.linalg.norm(Y), unit_rows(rng, n, m)


def fit(pieces, D, options):
    """The model, multipliers, codes, and the last SVM for either representation."""
    group = ShardGroup([PairShard(np.ascontiguousarray(piece)) for piece in pieces])
    model = learn(group, D, options)
    a = np.concatenate([shard.multipliers for shard in group.shards])
    codes = scipy.sparse.vstack(group.map(SweepPasses.codes)).toarray()
    last = [fit_last_svm(group, model, replace(options, representation=name)) for name in REPRESENTATIONS]
    return model, a, codes, last


def assert_same(one, two, scale):
    assert_allclose(two, one, rtol=0, atol=1e-8 * scale)


@pytest.mark.parametrize(
    ("penalty", "pair_solver", "max_iter"),
    [(L21(0.05), "exact", 3), (L20(0.002), "exact", 3), (L21(0.05), "gradient", 1)],
    ids=["l21", "l20", "gradient"],
)
@pytest.mark.parametrize("name", ONE_TWO_SEVEN)
def test_learning_does_not_see_the_shards(name, penalty, pair_solver, max_iter):
    Y, D = rows()
    options = {"s": 3, "nu": 0.3, "alpha": 0.01, "max_iter": max_iter}
    options = DPL(penalty=penalty, eta=50.0, pair_solver=pair_solver, **options)
    (one, a, X, last), (two, a2, X2, last2) = (fit(p, D, options) for p in ([Y], pieces_of(Y, name)))
    assert 0 < one.active.sum() < len(D)  # some pairs are trimmed
    assert not one.svm.degenerate
    assert_array_equal(two.active, one.active)
    assert_same(one.D, two.D, 1.0)
    assert_same(one.P, two.P, np.abs(one.P).max())
    assert_same(one.svm.w, two.svm.w, np.linalg.norm(one.svm.w))
    assert_same(one.svm.rho, two.svm.rho, abs(one.svm.rho))
    assert_same(a, a2, 1.0)
    assert_same(X, X2, np.abs(X).max())
    for (svm, nu), (svm2, nu2) in zip(last, last2, strict=True):
        assert nu == nu2
        assert_same(svm.w, svm2.w, np.linalg.norm(svm.w))
        assert_same(svm.rho, svm2.rho, abs(svm.rho))
    assert np.abs(last[0][0].w - last[1][0].w).max() > 1e-6 * np.abs(last[0][0].w).max()  # they are two
    for key in ("F", "G", "total"):
        assert_allclose(two.history[key], one.history[key], rtol=1e-8)


@pytest.mark.parametrize("pair_solver", PAIR_SOLVERS)
def test_few_rows_to_an_atom_in_several_shards(pair_solver):
    """Wide data: atoms with fewer rows than features, spread over shards that may have none of them."""
    rng = np.random.default_rng(1)
    Y = np.abs(rng.standard_normal((40, 30)))
    Y, D = Y / np.linalg.norm(Y), unit_rows(rng, 12, 30)
    options = DPL(s=2, penalty=L21(0.01), nu=0.3, alpha=0.005, eta=10.0, max_iter=2, pair_solver=pair_solver)
    (one, _, X, _), (two, _, X2, _) = (fit(p, D, options) for p in ([Y], [Y[:3], Y[3:3], Y[3:10], Y[10:]]))
    assert one.active.any()
    assert_same(one.D, two.D, 1.0)
    assert_same(one.P, two.P, np.abs(one.P).max())
    assert_same(X, X2, np.abs(X).max())


# One thread or two


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one core")
@pytest.mark.parametrize(("pair_solver", "N", "max_iter"), [("exact", 20_000, 2), ("gradient", 12_000, 1)])
def test_threads_do_not_change_a_bit(pair_solver, N, max_iter, monkeypatch):
    Y, D = rows(N, 9, 5)
    options = {"s": 2, "nu": 0.3, "alpha": 0.005, "max_iter": max_iter}
    options = DPL(penalty=L21(0.02), eta=50.0, pair_solver=pair_solver, **options)
    monkeypatch.setattr(_threads, "_notice", lambda *args: None)  # stay parallel, however busy the cores
    _threads._here.serial_until = 0
    parallel = []

    def noted(*args, **kwargs):
        plan = split(*args, **kwargs)
        parallel.append(plan.parallel)
        return plan

    monkeypatch.setattr(module, "split", noted)
    found = []
    for n_jobs in (1, 2):
        parallel.clear()
        with threads(n_jobs):
            found.append(fit([Y], D, options))
        assert any(parallel) == (n_jobs == 2)
    (one, a, X, last), (two, a2, X2, last2) = found
    assert one.active.any()
    for got, wanted in ((two.D, one.D), (two.P, one.P), (two.svm.w, one.svm.w), (a2, a), (X2, X)):
        assert_array_equal(got, wanted)
    for (svm, _), (svm2, _) in zip(last, last2, strict=True):
        assert_array_equal(svm2.w, svm.w)
        assert svm2.rho == svm.rho
