"""DPL-OCSVM against a slow transcription; what every half-step lowers; what the codes and residuals stay equal to."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from oddatom.learners import dpl
from oddatom.learners.alternate import Observer, fit_last_svm, learn
from oddatom.learners.dpl import DPL
from oddatom.pairs.theorem2 import KKT_TOL
from oddatom.passes import PlanePasses, ShardGroup, SweepPasses
from oddatom.penalties import PENALTIES, make_penalty
from oddatom.rows.array.pair_shard import PairShard
from reference import dpl_ocsvm, omp, one_class_objective, one_class_svm, pair_objective, range_basis, row_penalty

EPSILON = 0.3
# A beta at which each penalty trims some of the atoms of `positive()`, and leaves some.
BETA = {"l21": 0.05, "l20": 0.004, "l2eps": 0.08}


def unit_rows(D):
    return D / np.linalg.norm(D, axis=1, keepdims=True)


def normalised(Y):
    return np.ascontiguousarray(Y / np.linalg.norm(Y))


def positive(N=60, m=6, seed=0):
    """Rows away from the origin, so that the one-class SVM has a margin."""
    rng = np.random.default_rng(seed)
    return normalised(rng.uniform(0, 1, (N, 3)) @ rng.uniform(0, 1, (3, m)) + 0.1 * rng.uniform(0, 1, (N, m)))


def mixed(N=60, m=6, seed=0):
    """Rows with a margin still, and codes of either sign, so that the ℓ1 penalty makes some of them zero."""
    rng = np.random.default_rng(seed)
    return normalised(rng.uniform(0, 1, (N, 3)) @ rng.uniform(0, 1, (3, m)) + 0.3 * rng.standard_normal((N, m)))


def atoms(n=10, m=6, seed=1):
    return unit_rows(np.random.default_rng(seed).uniform(size=(n, m)))


def data(kind):
    rng = np.random.default_rng(2)
    if kind == "positive":
        Y = positive(80)
    elif kind == "centred":
        Y = rng.standard_normal((80, 6))
    elif kind == "heavy_tails":
        Y = rng.standard_cauchy((80, 6))
    elif kind == "counts":
        Y = np.repeat(rng.poisson(1.0, (20, 6)).astype(float), 4, axis=0)  # equal rows, zero rows
    elif kind == "singular":
        Y = positive(80)[:, [0, 1, 2, 0, 1, 0]] * [1, 1, 1, 1, 2, 0]
    elif kind == "scaled_columns":
        Y = positive(80) * 10.0 ** np.linspace(-6, 0, 6)
    elif kind == "few_rows":  # fewer to an atom than features
        Y = rng.uniform(size=(9, 6))
    elif kind == "nearly_equal_rows":
        Y = np.repeat(rng.uniform(size=(4, 6)), 3, axis=0) + 1e-4 * rng.standard_normal((12, 6))
    return normalised(Y)


DATA = ["positive", "centred", "heavy_tails", "counts", "singular", "scaled_columns", "few_rows", "nearly_equal_rows"]


def settings(penalty="l21", beta=0.05, **others):
    others = {"s": 2, "nu": 0.2, "alpha": 0.02, **others}
    return DPL(penalty=make_penalty(penalty, beta, EPSILON), **others)


def run(Y, D, options, observer=None):
    group = ShardGroup([PairShard(Y)])
    return group, learn(group, D, options, observer)


def codes(group):
    return group.map(SweepPasses.codes)[0].toarray()


def worst_rise(history):
    """The largest rise of the Lagrangian at a half-step, as a share of the largest value in its sweep."""
    return max(float(np.max(np.diff(trace) / np.abs(trace).max(), initial=-1.0)) for trace in history.lagrangian)


def support(Y, D, s=2):
    indices, _ = omp(Y, D, s)
    used = np.zeros((len(Y), len(D)), bool)
    for j, chosen in enumerate(indices):
        used[j, chosen[chosen >= 0]] = True
    return used


# The whole algorithm


@pytest.mark.parametrize("eta", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_equals_the_slow_transcription(penalty, eta):
    Y, D = mixed(), atoms()
    beta, gamma = BETA[penalty], 0.2
    wanted_D, wanted_P, wanted_X, w, rho, totals = dpl_ocsvm(Y, D, 2, beta, gamma, 0.2, eta, 2, penalty, EPSILON)
    group, model = run(Y, D, settings(penalty, beta, eta=eta, alpha=gamma, max_iter=2))

    assert 0 < np.sum(wanted_X.any(axis=0)) < len(D)  # some atoms are trimmed, some not
    assert np.sum((np.abs(wanted_X) < 1e-9) & support(Y, D) & wanted_X.any(axis=0)) > 3  # and some codes are zero
    assert_array_equal(model.active, wanted_X.any(axis=0))
    assert_allclose(model.D, wanted_D, atol=1e-5)
    assert_allclose(model.P, wanted_P, atol=1e-5 * np.abs(wanted_P).max())
    assert_allclose(codes(group), wanted_X, atol=1e-5 * np.abs(wanted_X).max())
    assert_allclose(model.svm.w, w, atol=1e-6 * np.abs(w).max())
    assert_allclose(model.svm.rho, rho, rtol=1e-5)
    assert_allclose(model.history["total"], totals, rtol=1e-7)


def test_the_svm_and_the_l1_penalty_both_matter():
    Y, D = positive(), atoms()
    plain = run(Y, D, settings(beta=0.01, eta=0.0, alpha=0.0))[1]
    for other in (settings(beta=0.01, eta=100.0, alpha=0.0), settings(beta=0.01, eta=0.0, alpha=0.02)):
        assert np.abs(run(Y, D, other)[1].D - plain.D).max() > 1e-3


@pytest.mark.parametrize("pair_solver", ["exact", "gradient"])
def test_order_of_the_rows_does_not_matter(pair_solver):
    Y, D = positive(200), atoms()
    options = settings(beta=0.02, eta=30.0, pair_solver=pair_solver)
    order = np.random.default_rng(0).permutation(len(Y))
    group, model = run(Y, D, options)
    shuffled_group, shuffled = run(np.ascontiguousarray(Y[order]), D, options)
    assert model.active.any()
    assert_array_equal(shuffled.active, model.active)
    assert_allclose(shuffled.D, model.D, atol=1e-7)
    assert_allclose(shuffled.P, model.P, atol=1e-7 * np.abs(model.P).max())
    assert_allclose(shuffled.svm.w, model.svm.w, atol=1e-7 * np.abs(model.svm.w).max())
    assert_allclose(codes(shuffled_group), codes(group)[order], atol=1e-7 * np.abs(codes(group)).max())


# The Lagrangian


@pytest.mark.parametrize("eta", [0.0, 1.0, 1e3, 1e5])
@pytest.mark.parametrize("kind", DATA)
def test_lagrangian_never_rises_at_a_half_step(kind, eta):
    Y = data(kind)
    for penalty in PENALTIES:
        for beta, gamma in ((0.0, 0.0), (0.0, 0.05), (BETA[penalty], 0.02)):
            options = settings(penalty, beta, eta=eta, alpha=gamma, track_atoms=True, max_iter=3)
            _, model = run(Y, atoms(), options)
            assert len(model.history.lagrangian) == 3
            assert worst_rise(model.history) <= 1e-12, (penalty, beta, gamma)
            assert np.all(model.history["kkt"] <= KKT_TOL)
            for k, trace in enumerate(model.history.lagrangian):  # before, and after both halves of every pair
                assert trace.size == 1 + 2 * model.history["n_active"][k]


def test_lagrangian_falls_a_lot_at_first():
    _, model = run(positive(), atoms(), settings(track_atoms=True))
    first = model.history.lagrangian[0]
    assert first[-1] < 0.9 * first[0]
    assert np.sum(np.diff(first) < -1e-9) > first.size // 2  # both kinds of half-step do something


def _turned(group, pair, halfway):
    """An atom that is feasible and plausible, but not the best."""
    wrong = pair.d[::-1].copy()
    return dpl.exact_pair(group, pair, lambda _: halfway(wrong))._replace(d=wrong)


def _stretched(group, pair, halfway):
    """An analysis atom in the right direction, too long."""
    solution = dpl.exact_pair(group, pair, halfway)
    return solution._replace(p=1.2 * solution.p)


@pytest.mark.parametrize("wrong", [_turned, _stretched])
def test_a_wrong_half_step_makes_the_lagrangian_rise(wrong, monkeypatch):
    monkeypatch.setitem(dpl.PAIR_SOLVERS, "exact", wrong)
    _, model = run(positive(), atoms(), settings(track_atoms=True))
    assert worst_rise(model.history) > 1e-6


@pytest.mark.parametrize("penalty", PENALTIES)
def test_recorded_lagrangian_is_the_one_of_the_paper(penalty):
    """F + eta (½‖w‖² − ρ + Σ ξ_j/(νN) − Σ lam_j (w·x_j − ρ + ξ_j) − Σ mu_j ξ_j), mu_j = 1/(νN) − lam_j."""
    Y, eta, nu, beta = positive(), 10.0, 0.2, BETA[penalty]
    options = settings(penalty, beta, eta=eta, max_iter=0, track_atoms=True)
    group, model = run(Y, atoms(), options)
    w, rho, lam = model.svm.w, model.svm.rho, group.shards[0].multipliers / (nu * len(Y))
    xi = np.maximum(rho - codes(group) @ w, 0)
    assert_allclose(lam.sum(), 1)

    def lagrangian():
        X = codes(group)
        F = pair_objective(Y, model.D, X, model.alpha, penalty, beta, EPSILON)
        mu = 1 / (nu * len(Y)) - lam
        slack = xi.sum() / (nu * len(Y)) - lam @ (X @ w - rho + xi) - mu @ xi
        return F + eta * (0.5 * w @ w - rho + slack)

    before = lagrangian()
    options.sweep(group, model)
    trace = model.history.lagrangian[0]
    assert_allclose([trace[0], trace[-1]], [before, lagrangian()], rtol=1e-12)


def test_tracking_changes_nothing():
    Y, D = positive(), atoms()
    (group, model), (tracked_group, tracked) = (run(Y, D, settings(track_atoms=t)) for t in (False, True))
    assert model.history.lagrangian == []
    assert_allclose(tracked.D, model.D, atol=1e-10)
    assert_allclose(codes(tracked_group), codes(group), atol=1e-10)


# What holds at every stage


class Recorder(Observer):
    """Keeps the state after every iteration."""

    def __init__(self, group):
        self.group, self.states = group, []

    def end(self, k, model):
        E = np.concatenate([shard.E for shard in self.group.shards])
        kept = model.D, model.P, codes(self.group), E, model.active, model.norms, model.svm.w
        self.states.append((*(array.copy() for array in kept), model.svm.rho))
        return False


@pytest.mark.parametrize("pair_solver", ["exact", "gradient"])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_codes_residuals_and_records(penalty, pair_solver):
    if pair_solver == "gradient" and penalty != "l21":
        return  # it is the paper's scheme for that penalty
    Y, D0, beta = positive(), atoms(), BETA[penalty]
    used = support(Y, D0)
    group = ShardGroup([PairShard(Y)])
    recorder = Recorder(group)
    options = settings(penalty, beta, eta=5.0, max_iter=5, pair_solver=pair_solver)
    history = learn(group, D0, options, recorder).history
    alpha = 0.02 * used.sum(axis=0) / np.linalg.norm(used.sum(axis=0))

    assert all(column.shape == (6,) for column in history.values())
    old_D, old_active = D0, np.ones(len(D0), bool)
    for k, (D, P, X, E, active, norms, w, rho) in enumerate(recorder.states, start=1):
        assert_allclose(np.linalg.norm(D, axis=1), 1, rtol=1e-13)
        assert_allclose(X, np.where(used, Y @ P.T, 0), atol=1e-12 * max(np.abs(X).max(), 1e-300))
        assert_allclose(E, Y - X @ D, atol=1e-14)
        assert_allclose(norms, np.linalg.norm(X, axis=0), rtol=1e-12)
        assert_allclose(history["F"][k], pair_objective(Y, D, X, alpha, penalty, beta, EPSILON), rtol=1e-12)
        assert_allclose(history["G"][k], one_class_objective(X, w, rho, 0.2), rtol=1e-9)
        assert history["n_active"][k] == active.sum()
        # trimmed for good: atoms as they were, nothing of them in P, X and w
        assert not np.any(active & ~old_active)
        assert_array_equal(D[~active], old_D[~active])
        assert not P[~active].any()
        assert not X[:, ~active].any()
        assert not w[~active].any()
        assert P[active].any(axis=1).all()
        old_D, old_active = D, active
    assert history["n_active"][-1] < history["n_active"][0]
    assert_allclose(history["total"], history["F"] + options.eta * history["G"], rtol=1e-14)
    assert np.all(history["kkt"] <= KKT_TOL) == (pair_solver == "exact")  # 200 gradient steps are not that exact


def test_start():
    Y, D = positive(), atoms()
    D[3] = -Y.sum(axis=0) / np.linalg.norm(Y.sum(axis=0))
    D[4] = -D[3]  # never chosen: the third atom comes first
    group, model = run(Y, D, settings(max_iter=0))
    used = support(Y, D)
    indices, values = omp(Y, D, 2)
    X = np.zeros(used.shape)
    X[np.arange(len(Y))[:, None], indices] = values
    P = np.linalg.lstsq(Y, X, rcond=None)[0].T
    assert_array_equal(model.counts, used.sum(axis=0))
    assert_allclose(model.alpha, 0.02 * used.sum(axis=0) / np.linalg.norm(used.sum(axis=0)), rtol=1e-14)
    assert_allclose(model.P, P, atol=1e-8 * np.abs(P).max())
    assert_allclose(codes(group), np.where(used, Y @ P.T, 0), atol=1e-11)
    assert_array_equal(model.active, used.any(axis=0))
    assert not model.active[4]
    assert not model.P[4].any()
    assert_array_equal(model.D, D)
    assert_allclose(model.norms, np.linalg.norm(codes(group), axis=0), rtol=1e-12)


def test_l1_weight_by_default():
    Y, D = positive(), atoms()
    share = support(Y, D).sum(axis=0) / np.linalg.norm(support(Y, D).sum(axis=0))
    assert_allclose(run(Y, D, settings(alpha=None, max_iter=0))[1].alpha, share / np.sqrt(len(Y)), rtol=1e-14)


@pytest.mark.parametrize("pair_solver", ["exact", "gradient"])
def test_one_group_serves_several_fits(pair_solver):
    """A second fit on the same shards, with fewer atoms and so more rows to each, is the one on new shards."""
    Y = positive()
    options = settings(beta=0.01, max_iter=2, pair_solver=pair_solver)
    group = ShardGroup([PairShard(Y)])
    for n in (12, 3, 5):
        again, fresh = learn(group, atoms(n), options), run(Y, atoms(n), options)[1]
        assert_array_equal(again.D, fresh.D)
        assert_array_equal(again.P, fresh.P)


def test_singular_data_take_the_shortest_map():
    Y = data("singular")
    model = run(Y, atoms(), settings(max_iter=0))[1]
    assert_allclose(model.P @ (np.eye(6) - np.linalg.pinv(Y) @ Y), 0, atol=1e-9 * np.abs(model.P).max())


def test_last_svm_sees_the_rows_as_new_rows_will_be_coded():
    Y, D = positive(), atoms()
    options = settings(max_iter=2)
    group, model = run(Y, D, options)
    on = model.active
    assert 0 < on.sum() < len(D)
    svm, nu = fit_last_svm(group, model, options)
    X = Y @ model.P[on].T
    assert_allclose(group.map(PlanePasses.svm_all_rows)[0].toarray(), X, atol=1e-12 * np.abs(X).max())
    assert nu == 0.2
    assert_allclose(svm.w, one_class_svm(X, 0.2)[0], atol=1e-6 * np.abs(svm.w).max())

    svm, _ = fit_last_svm(group, model, replace(options, representation="omp"))
    indices, values = omp(Y, model.D[on], 2)
    X = np.zeros((len(Y), on.sum()))
    X[np.arange(len(Y))[:, None], indices] = values
    assert_allclose(group.map(PlanePasses.svm_all_rows)[0].toarray(), X, atol=1e-10 * np.abs(X).max())
    assert_allclose(svm.w, one_class_svm(X, 0.2)[0], atol=1e-6 * np.abs(svm.w).max())


# Limits


def test_without_penalties_and_with_independent_rows_a_pair_is_a_dictionary_step():
    """gamma = beta = eta = 0 and N_i ≤ m: p reaches every x, so that x = R d with d = Rᵀx normalised."""
    rng = np.random.default_rng(0)
    Y = normalised(rng.uniform(size=(12, 20)))
    D = unit_rows(rng.uniform(size=(6, 20)))
    group, model = run(Y, D, settings(beta=0.0, alpha=0.0, eta=0.0, max_iter=2))
    used = support(Y, D)
    assert used.sum(axis=0).max() <= 20
    indices, values = omp(Y, D, 2)
    X = np.zeros(used.shape)
    X[np.arange(len(Y))[:, None], indices] = values  # the least-squares map reproduces them: the rows are independent
    for _ in range(2):
        for i in np.flatnonzero(used.any(axis=0)):
            R = (Y - X @ D + np.outer(X[:, i], D[i]))[used[:, i]]
            D[i] = R.T @ X[used[:, i], i]
            D[i] /= np.linalg.norm(D[i])
            X[used[:, i], i] = R @ D[i]
    assert_allclose(model.D, D, atol=1e-9)
    assert_allclose(codes(group), X, atol=1e-10)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_without_the_l1_penalty_a_pair_is_a_projection_and_a_shrinkage(penalty):
    Y, D, beta, eta, nu = positive(), atoms(), BETA[penalty], 20.0, 0.2
    options = settings(penalty, beta, alpha=0.0, eta=eta, max_iter=0)
    group, model = run(Y, D, options)
    X, w, lam = codes(group), model.svm.w, group.shards[0].multipliers / (nu * len(Y))
    options.sweep(group, model)
    used = support(Y, D)
    for i in range(len(D)):
        rows = used[:, i]
        if not rows.any():
            continue
        R = (Y - X @ D + np.outer(X[:, i], D[i]))[rows]
        d = R.T @ X[rows, i]
        d /= np.linalg.norm(d)
        U = range_basis(Y[rows])
        x = U @ (U.T @ (R @ d + eta * w[i] * lam[rows]))
        t = np.linalg.norm(x)
        z = min(
            (0.0, max(t - beta, 0.0), EPSILON, t),
            key=lambda z, t=t: (z - t) ** 2 / 2 + row_penalty(penalty, z, beta, EPSILON),
        )
        X[rows, i] = x * (z / t)
        if z > 0:
            D[i] = d
    assert_allclose(model.D, D, atol=1e-9)
    assert_allclose(codes(group), X, atol=1e-10)


@pytest.mark.parametrize("gamma", [1e-100, 1e-160, 1e-200, 1e-310])
def test_a_vanishing_l1_penalty_is_none(gamma):
    Y, D = mixed(), atoms()
    assert_allclose(run(Y, D, settings(alpha=gamma))[1].D, run(Y, D, settings(alpha=0.0))[1].D, atol=1e-9)


@pytest.mark.parametrize("weights", [{"beta": 100.0}, {"alpha": 100.0}])
@pytest.mark.parametrize("pair_solver", ["exact", "gradient"])
def test_a_huge_penalty_trims_every_pair(weights, pair_solver):
    options = settings(**{"beta": 0.01, **weights}, pair_solver=pair_solver, max_iter=2)
    group, model = run(positive(), atoms(), options)
    assert not model.active.any()
    assert not model.P.any()
    assert not codes(group).any()
    assert_allclose(model.history["F"][1:], 0.5, rtol=1e-12)  # ‖Y‖ = 1 is all residual
