"""The ball (SVDD) by the solver of the plane: against cvxpy, invariances, limit cases; with weights, in row space."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from oddatom import SVDD
from oddatom.arrays.block import Block
from oddatom.boundary.plane import GAP_TOL, fit_one_class
from oddatom.boundary.weighted import fit_weighted
from oddatom.passes import ShardGroup
from oddatom.rows.array import OneClassShard, WeightedOneClassShard

cp = pytest.importorskip("cvxpy")


def value(X, c, square, nu, weights=None):
    """R² + 1/(nu W) Σ ω (‖x − c‖² − R²)₊, from its definition."""
    weights = np.ones(X.shape[0]) if weights is None else weights
    return square + weights @ np.maximum(((X - c) ** 2).sum(axis=1) - square, 0.0) / (nu * weights.sum())


def by_cvxpy(X, nu, weights=None):
    weights = np.ones(X.shape[0]) if weights is None else weights
    c, rho = cp.Variable(X.shape[1]), cp.Variable()
    xi = cp.Variable(X.shape[0], nonneg=True)
    outside = (X**2).sum(axis=1) - 2 * X @ c - rho <= xi  # ρ = R² − ‖c‖²
    problem = cp.Problem(cp.Minimize(cp.sum_squares(c) + rho + weights @ xi / (nu * weights.sum())), [outside])
    return problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)


def random_problem(seed):
    """Rows of every kind, in units of their root mean square norm, and nu."""
    rng = np.random.default_rng(seed)
    N, n = int(rng.integers(2, 70)), int(rng.integers(1, 7))
    X = rng.normal(size=(N, n)) * rng.choice([1.0, 0.1, 10.0], size=n) + rng.normal(size=n) * rng.choice([0, 1, 5])
    kind = seed % 5
    if kind == 1:
        X = np.round(X)  # ties
    elif kind == 2:
        X[rng.random(N) < 0.4] = X[0]  # rows that are the same
    elif kind == 3:
        X[rng.random((N, n)) < 0.6] = 0.0  # codes
    elif kind == 4:
        X = np.outer(X[:, 0], X[0])  # on a line
    scale = np.sqrt((X**2).sum() / N)
    return X / (scale if scale > 0 else 1.0), float(rng.choice([0.02, 0.1, 0.3, 0.5, 0.9, 1.0]))


@pytest.mark.parametrize("block", range(6))
def test_three_hundred_problems_against_cvxpy(block):
    for seed in range(50 * block, 50 * block + 50):
        X, nu = random_problem(seed)
        group = ShardGroup([OneClassShard(Block.dense(X[:1])), OneClassShard(Block.dense(X[1:]))])
        fit = fit_one_class(group, X.shape[1], nu, curvature=1.0)
        assert fit.gap <= GAP_TOL
        assert fit.objective == pytest.approx(by_cvxpy(X, nu), abs=1e-8), seed
        assert fit.objective == pytest.approx(value(X, fit.w, fit.squared_radius, nu), abs=1e-12), seed


def test_with_weights_it_is_the_ball_of_repeated_rows():
    for seed in range(40):
        X, nu = random_problem(seed)
        weights = np.random.default_rng(seed).integers(1, 4, X.shape[0]).astype(float)
        shard = WeightedOneClassShard(Block.dense(X), weights)
        fit = fit_weighted(ShardGroup([shard]), X.shape[1], nu, curvature=1.0)
        again = np.repeat(X, weights.astype(int), axis=0)
        other = fit_one_class(ShardGroup([OneClassShard(Block.dense(again))]), X.shape[1], nu, curvature=1.0)
        assert fit.objective == pytest.approx(other.objective, abs=1e-8), seed
        assert fit.objective == pytest.approx(by_cvxpy(X, nu, weights), abs=1e-8), seed


def test_many_rows_are_solved_by_those_near_the_sphere():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 6)) * [1, 2, 1, 0.5, 1, 1]
    model = SVDD(nu=0.03).fit(X)
    assert model.gap_ <= GAP_TOL
    outside = ((X - model.center_) ** 2).sum(axis=1) > model.radius_**2 * (1 + 1e-6)
    assert 0.029 < outside.mean() <= 0.03
    best = value(X, model.center_, model.radius_**2, 0.03)
    for _ in range(200):  # no ball near it is better
        c, square = model.center_ + 1e-3 * rng.normal(size=6), model.radius_**2 + 1e-2 * rng.normal()
        assert value(X, c, square, 0.03) >= best - 1e-9


def test_neither_order_nor_place_nor_unit_of_the_rows_matters():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(5_000, 4))
    model = SVDD(nu=0.1).fit(X)
    other = SVDD(nu=0.1).fit(X[rng.permutation(5_000)])
    assert_allclose(other.center_, model.center_, atol=1e-5)
    assert other.radius_ == pytest.approx(model.radius_, abs=1e-6)
    far = SVDD(nu=0.1).fit(X + 1e6)  # a plane cannot do that
    assert_allclose(far.center_ - 1e6, model.center_, atol=1e-5)
    assert far.radius_ == pytest.approx(model.radius_, rel=1e-6)
    small = SVDD(nu=0.1).fit(X * 2.0**-300)
    assert_array_equal(small.center_ * 2.0**300, model.center_)


@pytest.mark.parametrize("nu", [0.1, 1.0])
def test_rows_that_are_the_same(nu):
    for X in (np.zeros((20, 3)), np.full((20, 3), 7.0)):
        model = SVDD(nu=nu).fit(X)
        assert_allclose(model.center_, X[0])
        assert model.radius_ == pytest.approx(0.0, abs=1e-6)
        assert_array_equal(model.predict(X), 1)
        assert model.predict([X[0] + 1.0]) == -1


def test_two_points_and_all_rows_outside():
    X = np.array([[0.0, 0.0], [2.0, 0.0]])
    model = SVDD(nu=0.1).fit(X)  # the smallest ball that holds both
    assert_allclose(model.center_, [1.0, 0.0], atol=1e-7)
    assert model.radius_ == pytest.approx(1.0, abs=1e-7)
    rows = np.random.default_rng(0).normal(size=(50, 2))
    assert_allclose(SVDD(nu=1.0).fit(rows).center_, rows.mean(axis=0), atol=1e-9)  # every multiplier at its bound


def test_wide_rows_are_solved_in_their_own_space():
    X = np.random.default_rng(0).normal(size=(40, 900)) + 1.0
    model = SVDD(nu=0.2).fit(X)
    assert model.gap_ <= GAP_TOL
    assert_allclose(model.center_, model.dual_coef_ @ X, atol=1e-9)
    scale = np.sqrt(((X - X.mean(axis=0)) ** 2).sum() / 40)
    found = value(X, model.center_, model.radius_**2, 0.2) / scale**2
    assert found == pytest.approx(by_cvxpy((X - X.mean(axis=0)) / scale, 0.2), abs=1e-8)
