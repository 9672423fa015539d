"""Algorithm 1 against a slow transcription; what a sweep lowers; the limits that are other known methods."""

from pathlib import Path

import numpy as np
import pytest
import scipy.io
from numpy.testing import assert_allclose, assert_array_equal

from oddatom import DLOCSVM, AllAtomsTrimmedWarning
from oddatom.atoms.theorem1 import AtomSolution
from oddatom.learners import dl
from oddatom.learners.alternate import Observer, learn
from oddatom.learners.dl import DL
from oddatom.passes import ShardGroup, SweepPasses
from oddatom.penalties import L21, PENALTIES, make_penalty
from oddatom.rows.array import LocalShard
from reference import dictionary_objective, dl_ocsvm, omp, one_class_objective

SHARED = Path(__file__).parents[2].parent / "shared"
EPSILON = 0.3
# A beta at which each penalty trims some of the atoms of `positive()`, and leaves some.
BETA = {"l21": 0.06, "l20": 0.004, "l2eps": 0.06}


def unit_rows(D):
    return D / np.linalg.norm(D, axis=1, keepdims=True)


def normalised(Y):
    return np.ascontiguousarray(Y / np.linalg.norm(Y))


def positive(N=60, m=6, seed=0):
    """Rows away from the origin, so that the one-class SVM has a margin."""
    rng = np.random.default_rng(seed)
    return normalised(rng.uniform(0, 1, (N, 3)) @ rng.uniform(0, 1, (3, m)) + 0.1 * rng.uniform(0, 1, (N, m)))


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
    elif kind == "few_rows":
        Y = rng.uniform(size=(7, 6))
    return normalised(Y)


def settings(penalty="l21", beta=0.06, **others):
    others = {"s": 2, "nu": 0.2, **others}
    return DL(penalty=make_penalty(penalty, beta, EPSILON), **others)


def run(Y, D, options, observer=None):
    group = ShardGroup([LocalShard(Y)])
    return group, learn(group, D, options, observer)


def codes(group):
    return group.map(SweepPasses.codes)[0].toarray()


def worst_rise(history):
    """The largest rise of the Lagrangian at an atom, as a share of the largest value in its sweep."""
    return max(float(np.max(np.diff(trace) / np.abs(trace).max(), initial=-1.0)) for trace in history.lagrangian)


# The whole algorithm


@pytest.mark.parametrize("eta", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_equals_the_slow_transcription(penalty, eta):
    Y, D = positive(), atoms()
    beta = BETA[penalty]
    wanted_D, wanted_X, w, rho, totals = dl_ocsvm(Y, D, 2, beta, 0.2, eta, 4, penalty, EPSILON)
    group, model = run(Y, D, settings(penalty, beta, eta=eta, max_iter=4))

    assert 0 < np.sum(wanted_X.any(axis=0)) < len(D)  # some atoms are trimmed, some not
    assert_array_equal(model.active, wanted_X.any(axis=0))
    assert_allclose(model.D, wanted_D, atol=1e-6)
    assert_allclose(codes(group), wanted_X, atol=1e-6 * np.abs(wanted_X).max())
    assert_allclose(model.svm.w, w, atol=1e-6 * np.abs(w).max())
    assert_allclose(model.svm.rho, rho, rtol=1e-6)
    assert_allclose(model.history["total"], totals, atol=1e-7 * np.abs(totals).max())


def test_the_svm_moves_the_dictionary_only_through_eta():
    Y, D = positive(), atoms()
    alone, coupled = (run(Y, D, settings(eta=eta))[1] for eta in (0.0, 100.0))
    assert np.abs(alone.D - coupled.D).max() > 1e-3


def test_several_shards_give_the_same_model():
    Y, D = positive(), atoms()
    _, one = run(Y, D, settings())
    group = ShardGroup([LocalShard(Y[:11]), LocalShard(Y[11:40]), LocalShard(Y[40:])])
    three = learn(group, D, settings())
    assert_allclose(three.D, one.D, atol=1e-9)
    assert_allclose(three.svm.w, one.svm.w, atol=1e-8)
    assert_allclose(three.history["total"], one.history["total"], rtol=1e-9)


# The Lagrangian


@pytest.mark.parametrize("atom_solver", ["exact", "power"])
@pytest.mark.parametrize("eta", [0.0, 1.0, 1e3, 1e5])
@pytest.mark.parametrize("kind", ["positive", "centred", "heavy_tails", "counts", "few_rows"])
def test_lagrangian_never_rises_at_an_atom(kind, eta, atom_solver):
    Y = data(kind)
    for penalty in PENALTIES:
        for beta in (0.0, BETA[penalty]):
            options = settings(penalty, beta, eta=eta, atom_solver=atom_solver, track_atoms=True, max_iter=4)
            _, model = run(Y, atoms(), options)
            assert len(model.history.lagrangian) == 4
            assert worst_rise(model.history) <= 1e-12, (penalty, beta)


def test_lagrangian_falls_a_lot_at_first():
    _, model = run(positive(), atoms(), settings(track_atoms=True))
    first = model.history.lagrangian[0]
    assert first.size == 1 + model.history["n_active"][0]  # before the sweep, and after every atom
    assert first[-1] < 0.9 * first[0]


def _turned(A, g, d0):
    """An atom that is feasible and plausible, but not the best."""
    d = d0[::-1].copy()
    return AtomSolution(d, float(d @ A @ d + 2 * g @ d), 0.0, 0.0, True, 0)


class _Overshoot:
    """Shrinks too little: not a minimiser of ½(z − t)² + βz."""

    def value(self, t):
        return 0.06 * t

    def prox(self, t):
        return t + 0.06


def test_a_wrong_atom_makes_the_lagrangian_rise(monkeypatch):
    monkeypatch.setitem(dl.ATOM_SOLVERS, "exact", _turned)
    _, model = run(positive(), atoms(), settings(track_atoms=True))
    assert worst_rise(model.history) > 1e-6


def test_a_wrong_row_makes_the_lagrangian_rise():
    options = DL(s=2, penalty=_Overshoot(), nu=0.2, track_atoms=True)
    _, model = run(positive(), atoms(), options)
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
        F = dictionary_objective(Y, model.D, X, penalty, beta, EPSILON)
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
    assert_array_equal(model.D, tracked.D)
    assert_array_equal(codes(group), codes(tracked_group))


# What is recorded


class Recorder(Observer):
    """Keeps the state after every iteration; stops where told to."""

    def __init__(self, group, stop_at=0):
        self.group, self.stop_at = group, stop_at
        self.begun, self.states = [], []

    def begin(self, k):
        self.begun.append(k)

    def end(self, k, model):
        svm = model.svm
        self.states.append((model.D.copy(), codes(self.group), model.active.copy(), svm.w.copy(), svm.rho))
        return k == self.stop_at


@pytest.mark.parametrize("penalty", PENALTIES)
def test_recorded_objectives(penalty):
    Y, beta = positive(), BETA[penalty]
    group = ShardGroup([LocalShard(Y)])
    recorder = Recorder(group)
    model = learn(group, atoms(), settings(penalty, beta, max_iter=5), recorder)
    history = model.history

    assert recorder.begun == [1, 2, 3, 4, 5]
    assert model.n_iter == 5
    assert all(column.shape == (6,) for column in history.values())
    for k, (D, X, active, w, rho) in enumerate(recorder.states, start=1):
        assert_allclose(np.linalg.norm(D, axis=1), 1, rtol=1e-14)
        assert_allclose(history["F"][k], dictionary_objective(Y, D, X, penalty, beta, EPSILON), rtol=1e-12)
        assert_allclose(history["G"][k], one_class_objective(X, w, rho, 0.2), rtol=1e-12)
        assert history["n_active"][k] == active.sum()
    assert_allclose(history["total"], history["F"] + settings().eta * history["G"], rtol=1e-14)
    assert np.all(history["gap"] <= 1e-8)
    assert np.all(history["seconds"] > 0)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_trimmed_atoms_keep_their_values_and_never_return(penalty):
    Y, D0 = positive(), atoms()
    group = ShardGroup([LocalShard(Y)])
    recorder = Recorder(group)
    model = learn(group, D0, settings(penalty, BETA[penalty]), recorder)
    assert np.all(np.diff(model.history["n_active"]) <= 0)
    assert model.history["n_active"][-1] < model.history["n_active"][0]
    states = [(D0, None, model.history["n_active"][0], None, None), *recorder.states]
    for (old, *_), (new, X, active, w, _) in zip(states, recorder.states, strict=False):
        assert_array_equal(new[~active], old[~active])
        assert not X[:, ~active].any()
        assert not w[~active].any()
        assert X[:, active].any(axis=0).all()
    for before, after in zip(recorder.states, recorder.states[1:], strict=False):
        assert not np.any(after[2] & ~before[2])


def test_support_stays_the_one_of_omp():
    Y, D = positive(), atoms()
    group, _ = run(Y, D, settings(beta=0.0))
    indices, _ = omp(Y, D, 2)
    for row, chosen in zip(codes(group), indices, strict=True):
        assert set(np.flatnonzero(row)) <= set(chosen)


# When it stops


def test_tol_stops_early():
    Y, D = positive(), atoms()
    _, full = run(Y, D, settings(max_iter=50))
    changes = np.abs(np.diff(full.history["total"])) / np.abs(full.history["total"][:-1])
    first = 1 + int(np.flatnonzero(changes <= 1e-4)[0])
    _, model = run(Y, D, settings(max_iter=50, tol=1e-4))
    assert 1 < first < 50
    assert model.n_iter == first
    assert_array_equal(model.history["total"], full.history["total"][: first + 1])
    assert full.n_iter == 50


def test_observer_stops():
    group = ShardGroup([LocalShard(positive())])
    assert learn(group, atoms(), settings(), Recorder(group, stop_at=2)).n_iter == 2


def test_no_sweep():
    Y, D = positive(), atoms()
    group, model = run(Y, D, settings(max_iter=0))
    indices, values = omp(Y, D, 2)
    X = np.zeros((len(Y), len(D)))
    X[np.arange(len(Y))[:, None], indices] = values
    assert model.n_iter == 0
    assert all(column.shape == (1,) for column in model.history.values())
    assert_array_equal(model.D, D)
    assert_allclose(codes(group), X, atol=1e-12)
    assert_allclose(model.history["G"], one_class_objective(X, model.svm.w, model.svm.rho, 0.2), rtol=1e-9)


# Limits


def uniform_support_learning(Y, D, s, beta, n_sweeps):
    """Equation ksvd_supp_iter: (d, x) = (u₁, (σ₁ − β)v₁) of the atom's residual if σ₁ ≥ β, else (d, 0)."""
    D = D.copy()
    indices, values = omp(Y, D, s)
    X = np.zeros((len(Y), len(D)))
    X[np.arange(len(Y))[:, None], indices] = values
    for _ in range(n_sweeps):
        for i in range(len(D)):
            rows = np.flatnonzero(X[:, i])
            if rows.size == 0:
                continue
            R = Y[rows] - np.delete(X[rows], i, axis=1) @ np.delete(D, i, axis=0)
            v, sigma, u = np.linalg.svd(R, full_matrices=False)
            if sigma[0] < beta:
                X[rows, i] = 0
                continue
            sign = np.sign(u[0] @ D[i])
            D[i], X[rows, i] = sign * u[0], sign * (sigma[0] - beta) * v[:, 0]
    return D, X


def test_without_coupling_it_is_uniform_support_dictionary_learning():
    Y, D = positive(), atoms()
    wanted_D, wanted_X = uniform_support_learning(Y, D, 2, BETA["l21"], 6)
    assert 0 < np.sum(wanted_X.any(axis=0)) < len(D)
    models = [run(Y, D, settings(eta=0.0, nu=nu)) for nu in (0.03, 0.2, 0.9)]
    for group, model in models:
        assert_array_equal(model.D, models[0][1].D)
        assert_allclose(model.D, wanted_D, atol=1e-6)
        assert_allclose(codes(group), wanted_X, atol=1e-7)


def test_without_penalty_too_it_is_ksvd():
    Y, D = data("centred"), unit_rows(np.random.default_rng(5).standard_normal((10, 6)))
    _, model = run(Y, D, settings(beta=0.0, eta=0.0))
    for k in range(7):
        wanted_D, wanted_X = uniform_support_learning(Y, D, 2, 0.0, k)
        assert_allclose(model.history["F"][k], 0.5 * np.sum((Y - wanted_X @ wanted_D) ** 2), rtol=1e-8)
    assert_allclose(model.D, wanted_D, atol=1e-5)
    assert model.history["F"][-1] < 0.9 * model.history["F"][0]


@pytest.mark.parametrize("svm_solver", ["exact", "libsvm"])
@pytest.mark.parametrize("penalty", ["l21", "l20"])
def test_a_huge_beta_trims_every_atom(penalty, svm_solver):
    X = positive(40)
    model = DLOCSVM.paper(penalty=penalty, beta=100.0, solver={"svm": svm_solver}, random_state=0)
    with pytest.warns(AllAtomsTrimmedWarning, match=r"beta=100\.0 outweighs .* every score is 0\. Lower beta"):
        model.fit(X)
    assert_array_equal(model.score_samples(X), np.zeros(40))
    assert_array_equal(model.predict(X), np.ones(40))
    assert model.transform(X).shape == (40, 0)
    assert model.train_codes_.nnz == 0
    assert_allclose(model.dual_coef_.sum(), 1)
    assert_array_equal(model.inverse_transform(model.transform(X)), np.zeros(X.shape))
    assert list(model.get_feature_names_out()) == []


# Real data


@pytest.mark.skipif(not (SHARED / "data/odds/pendigits.mat").exists(), reason="needs shared/data beside the checkout")
def test_pendigits():
    Y = normalised(scipy.io.loadmat(SHARED / "data/odds/pendigits.mat")["X"].astype(float))
    for penalty, beta in (("l21", 0.02), ("l20", 1e-4), ("l2eps", 0.02)):
        options = settings(penalty, beta, s=4, nu=0.1, max_iter=3, track_atoms=True)
        _, model = run(Y, atoms(32, Y.shape[1]), options)
        assert worst_rise(model.history) <= 1e-12
        assert np.all(model.history["gap"] <= 1e-8)


def test_wide_data_are_solved_in_the_space_of_the_rows(monkeypatch):
    # 80 features, atoms with a handful of rows: Theorem 1 in the space of the rows gives the same model.
    rng = np.random.default_rng(0)
    Y = np.abs(rng.normal(size=(60, 80))) + 0.1
    Y /= np.linalg.norm(Y)
    D = rng.uniform(size=(30, 80))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    settings = DL(s=3, penalty=L21(1e-3), nu=0.2, eta=30.0, max_iter=3, track_atoms=True)
    asked = []
    original = LocalShard.rows
    monkeypatch.setattr(LocalShard, "rows", lambda self, *a: (asked.append(a[0]), original(self, *a))[1])
    one, two = ShardGroup([LocalShard(Y)]), ShardGroup([LocalShard(Y[:25].copy()), LocalShard(Y[25:].copy())])
    by_rows, apart = learn(one, D, settings), learn(two, D, settings)
    assert len(asked) > 30
    monkeypatch.setattr(dl, "WIDE", 1000)
    count = len(asked)
    by_moments = learn(ShardGroup([LocalShard(Y)]), D, settings)
    assert len(asked) == count
    for other in (apart, by_moments):
        np.testing.assert_allclose(by_rows.D, other.D, atol=1e-8)
        np.testing.assert_allclose(by_rows.svm.w, other.svm.w, atol=1e-8 * np.abs(other.svm.w).max())
    for trace in by_rows.history.lagrangian:
        assert (np.diff(trace) <= 1e-12 * np.abs(trace[:-1])).all()
