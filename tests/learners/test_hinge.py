"""Coupling with the boundary fixed: F + eta G never rises, whatever the learner, the boundary and the penalty."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.datasets import load_wine

from oddatom import DPLOCSVM
from oddatom.boundary.hinge_codes import slack
from oddatom.learners import dpl as dpl_module
from oddatom.learners import hinge as hinge_module
from oddatom.learners.alternate import learn
from oddatom.learners.dl import DL
from oddatom.learners.dpl import DPL
from oddatom.passes import ShardGroup
from oddatom.penalties import make_penalty
from oddatom.rows.array import LocalShard
from oddatom.rows.array.pair_shard import PairShard
from oddatom.rows.array.weighted_shard import WeightedShard

KINDS = ("plane", "ball", "plane pairs", "ball pairs")


def problem(seed, kind, **others):
    """Rows, atoms and a learner: few rows and many, degenerate ones, every penalty, weak and strong coupling."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    N, m = int(rng.integers(3, 80)), int(rng.integers(2, 8))
    n = int(rng.integers(2, 9))
    Y = rng.normal(size=(N, m)) + rng.normal(size=m) * rng.choice([0, 1, 3])
    if seed % 4 == 1:
        Y = np.round(2 * Y)  # ties, and rows of zeros
    elif seed % 4 == 2:
        Y = Y[rng.integers(0, max(N // 3, 1), N)]  # rows that are the same
    elif seed % 4 == 3:
        Y[:, 0] = 1.0
    Y = Y / max(np.linalg.norm(Y), 1e-300)
    D = rng.normal(size=(n, m))
    nu = float(rng.choice([0.05, 0.1, 0.3, 0.6]))
    penalty = make_penalty(str(rng.choice(["l21", "l20", "l2eps"])), float(10 ** rng.uniform(-5, -1)), 1e-2)
    eta = float(rng.choice([0.01, 0.1, 0.5, 1, 3])) * (nu * N if rng.random() < 0.5 else 1.0)
    learner = {"s": min(int(rng.integers(1, 4)), n, m), "penalty": penalty, "nu": nu, "eta": eta, "max_iter": 8}
    learner |= {"coupling_form": "hinge", "curvature": float("ball" in kind), "track_atoms": True, **others}
    D = D / np.linalg.norm(D, axis=1)[:, None]
    if "pairs" in kind:
        return Y, D, DPL(alpha=float(rng.choice([0, 0.003, 0.03])), **learner), PairShard
    return Y, D, DL(**learner), LocalShard


def rises(model):
    """How much F + eta G rises at most from sweep to sweep, and its bound within one; relative to its size."""
    total = np.asarray(model.history["total"])
    size = np.abs(total).max() + 1e-300
    within = [np.diff(trace).max() for trace in model.history.lagrangian if trace.size > 1]
    return np.diff(total).max(initial=-np.inf) / size, max(within, default=0.0) / size


@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_never_rises(kind):
    """80 fits of each kind. With multipliers fixed instead it does."""
    fell = 0
    for seed in range(80):
        Y, D, learner, Shard = problem(seed, kind)
        half = len(Y) // 2
        model = learn(ShardGroup([Shard(Y[:half].copy()), Shard(Y[half:].copy())]), D, learner)
        over, within = rises(model)
        assert over <= 1e-8, seed  # the SVM's duality gap
        assert within <= 1e-10, seed
        fell += model.history["total"][-1] < model.history["total"][0]
    assert fell > 60


@pytest.mark.parametrize("kind", ["plane", "plane pairs"])
def test_with_multipliers_it_rises(kind):
    risen = 0
    for seed in range(60):
        Y, D, learner, Shard = problem(seed, kind, coupling_form="multipliers", track_atoms=False)
        model = learn(ShardGroup([Shard(Y)]), D, learner)
        risen += rises(model)[0] > 1e-6
    assert risen > 5


def test_the_bound_is_that_of_the_svm():
    """Where the boundary is that of the codes the bound is F + eta G itself."""
    for kind in KINDS:
        Y, D, learner, Shard = problem(4, kind)
        model = learn(ShardGroup([Shard(Y)]), D, learner)
        for k, trace in enumerate(model.history.lagrangian):
            assert trace[0] == pytest.approx(model.history["total"][k], rel=1e-7)


def atom_value(x, r, q, w, kappa, h, penalty):
    norm = np.linalg.norm(x)
    return 0.5 * norm**2 - x @ r + penalty.value(norm) + kappa * np.maximum(slack(x, q, w, h), 0.0).sum()


@pytest.mark.parametrize("curvature", [0.0, 1.0])
def test_codes_of_an_atom_are_the_best_there_are(curvature):
    """Against a general minimiser, from the solution and from elsewhere; and x = 0 where that is best."""
    rng = np.random.default_rng(0)
    kept = 0
    for seed in range(25):
        Y, D, learner, _ = problem(seed, "ball" if curvature else "plane")
        beta = float(rng.choice([1e-4, 0.05, 0.3]))
        penalty = make_penalty("l21", beta, 0.0)
        shard = LocalShard(Y)
        shard.encode(D, learner.s)
        shard.start_sweeps(D)
        group = ShardGroup([shard])
        used = np.diff(shard._ptr)
        i = int(np.argmax(used))
        w, rho, kappa = rng.normal(size=len(D)) * 0.1, 0.02, float(rng.choice([0.01, 0.3]))
        shard.hinge_start(w, rho, curvature, kappa)
        new = rng.normal(size=Y.shape[1])
        new /= np.linalg.norm(new)
        found = hinge_module._attempt(group, i, D[i], new, 1.0, penalty, kappa)
        x_old = shard.values.ravel()[shard._rows_of(i)]
        rows = shard._rows_of(i) // shard.values.shape[1]
        r = shard.E[rows] @ new + x_old * (D[i] @ new)
        q = shard._slack[rows] + w[i] * x_old - 0.5 * curvature * x_old**2
        for start in (np.zeros(r.size), r, rng.normal(size=r.size) * 0.1):
            other = minimize(atom_value, start, (r, q, w[i], kappa, curvature, penalty), method="Powell",
                             options={"xtol": 1e-9, "ftol": 1e-12, "maxiter": 20_000})  # fmt: skip
            assert min(found.value, found.zero) <= other.fun + 1e-9
        kept += found.value < found.zero
    assert 5 < kept < 25


def test_an_atom_is_trimmed_only_where_no_atom_is_better():
    """Many random atoms, with their best codes: none beats x = 0 where the sweep trimmed."""
    rng = np.random.default_rng(0)
    trimmed = 0
    for seed in range(40):
        Y, D, learner, _ = problem(seed, "ball" if seed % 2 else "plane", max_iter=0)
        penalty = make_penalty("l21", float(10 ** rng.uniform(-2, -0.3)), 0.0)
        shard = LocalShard(Y)
        group = ShardGroup([shard])
        model = learn(group, D, learner)
        weight = (1 + learner.curvature) * learner.eta / (learner.nu * len(Y))
        for i in np.flatnonzero(model.active):
            shard.hinge_start(model.svm.w, model.svm.rho, learner.curvature, weight)
            found = hinge_module._best(group, int(i), D[i], D[i], 1.0, penalty, weight)
            if found is None or not np.isinf(found.p):
                continue
            trimmed += 1
            for _ in range(30):
                d = rng.normal(size=D.shape[1])
                other = hinge_module._attempt(group, int(i), D[i], d / np.linalg.norm(d), 1.0, penalty, weight)
                assert other.value >= other.zero - 1e-12
    assert trimmed > 10


@pytest.mark.parametrize("kind", ["plane", "ball"])
def test_weights_are_repeated_rows(kind):
    for seed in range(10):
        Y, D, learner, _ = problem(seed, kind, weighted=True, max_iter=3)
        weights = np.random.default_rng(seed).integers(1, 4, len(Y))
        one = learn(ShardGroup([WeightedShard(Y, weights.astype(float))]), D, learner)
        _, _, plain, _ = problem(seed, kind, max_iter=3, eta=learner.eta)
        many = learn(ShardGroup([LocalShard(np.repeat(Y, weights, axis=0))]), D, plain)
        assert rises(one)[0] <= 1e-8
        size = np.abs(many.history["total"]).max()
        assert_allclose(one.history["total"], many.history["total"], atol=1e-4 * size)


def test_strong_coupling_with_a_ball_stays_bounded():
    """Unlike the plane's, the ball's objective is bounded below: R² ≥ 0."""
    Y, D, _, _ = problem(0, "ball")
    penalty = make_penalty("l21", 1e-4, 0.0)
    strong = DL(s=2, penalty=penalty, nu=0.3, eta=1e4, max_iter=40, coupling_form="hinge", curvature=1.0)
    model = learn(ShardGroup([LocalShard(Y)]), D, strong)
    assert model.history["total"][-1] >= 0.0
    assert np.isfinite(model.history["total"]).all()
    assert model.svm.squared_radius >= -1e-12


@pytest.mark.parametrize("kind", ["plane pairs", "ball pairs"])
def test_the_objective_never_rises_by_gradient_steps(kind):
    """The paper's gradient steps give a pair that may be no better than the old one, which is then kept."""
    fell = 0
    for seed in range(60):
        l21 = make_penalty("l21", (1e-5, 0.003, 0.05)[seed % 3], 0.0)
        Y, D, learner, Shard = problem(seed, kind, pair_solver="gradient", penalty=l21, max_iter=5)
        model = learn(ShardGroup([Shard(Y)]), D, learner)
        over, within = rises(model)
        assert over <= 1e-8, seed
        assert within <= 1e-10, seed
        fell += model.history["total"][-1] < model.history["total"][0]
    assert fell > 30


def gain_from_nothing(shard, pair, now, w, h, weight, rng):
    """How much the majorant falls from x = 0 with the best pair that some turns of d and x find, in plain NumPy."""
    pos = shard._rows_of(pair.i)
    rows, x = pos // shard.values.shape[1], shard.values.ravel()[pos]
    R, Y = shard.E[rows] + np.outer(x, now), shard.Y[rows]
    q = shard._slack[rows] + w * x - 0.5 * h * x**2
    U, sizes, _ = np.linalg.svd(Y, full_matrices=False)
    U = U[:, sizes > 1e-9 * sizes[0]]

    def value(d, x):
        hinges = np.maximum(slack(x, q, w, h), 0.0).sum() - np.maximum(q, 0.0).sum()
        rest = pair.penalty.value(np.linalg.norm(x)) + pair.alpha * np.abs(x).sum() + weight * hinges
        return 0.5 * x @ x - x @ (R @ d) + rest

    best, steps = 0.0, 2.0 ** -np.arange(18)
    leading = np.linalg.svd(U.T @ R)[2][:3]
    for d in (*leading, *-leading, *rng.normal(size=(12, R.shape[1]))):
        d = d / np.linalg.norm(d)
        for _ in range(4):
            c = U @ (U.T @ (R @ d + weight * w * (q > 0)))
            z = U @ (U.T @ (np.sign(c) * np.maximum(np.abs(c) - pair.alpha, 0.0)))
            best = min(best, *(value(d, t * z) for t in steps))
            d = R.T @ z
            if not d.any():
                break
            d = d / np.linalg.norm(d)
    return -best


@pytest.fixture
def trimmed(monkeypatch):
    """What a pair that is trimmed would have gained, one entry a pair."""
    gains, rng, step = [], np.random.default_rng(0), dpl_module.with_boundary

    def watch(group, pair, old, solution, weight, now):
        solution = step(group, pair, old, solution, weight, now)
        if not solution.p.any():
            (shard,) = group.shards
            w, _, h, _, _ = shard._hinge_of(pair.i)
            gains.append(gain_from_nothing(shard, pair, now, w, h, weight, rng))
        return solution

    monkeypatch.setattr(dpl_module, "with_boundary", watch)
    return gains


@pytest.mark.parametrize("kind", ["plane pairs", "ball pairs"])
def test_a_pair_is_trimmed_only_where_no_pair_is_better(kind, trimmed):
    """By the majorant itself: the SVM's multipliers are not the pull at x = 0."""
    for seed in range(40):
        penalty = make_penalty("l21", float(10 ** np.random.default_rng(seed).uniform(-1.3, -0.3)), 0.0)
        Y, D, learner, Shard = problem(seed, kind, penalty=penalty, max_iter=3, track_atoms=False)
        learn(ShardGroup([Shard(Y)]), D, learner)
    assert len(trimmed) > 20
    assert max(trimmed) < 1e-6  # the rows have norm one, together


@pytest.mark.parametrize("boundary", ["plane", "ball"])
@pytest.mark.parametrize("coupling", [0.1, 1.0])
def test_no_pair_of_wine_is_trimmed_by_mistake(boundary, coupling, trimmed):
    DPLOCSVM(boundary=boundary, coupling=coupling, random_state=0).fit(load_wine().data)
    assert len(trimmed) > 2
    assert max(trimmed) < 5e-7
