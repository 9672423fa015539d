"""The SVM of rows with weights is that of repeated rows, and of what a convex solver finds."""

import numpy as np
import pytest
import scipy.sparse

from oddatom import LinearOneClassSVM
from oddatom.arrays.block import Block
from oddatom.arrays.quantiles import repeated, weighted_quantile
from oddatom.boundary.weighted import BAND, fit_weighted, weighted_quantile_offset
from oddatom.passes.group import ShardGroup
from oddatom.rows.array import WeightedOneClassShard


def rows(n_rows=200, seed=0, centre=2.0, n=4):
    rng = np.random.default_rng(seed)
    return rng.normal(centre, 1.0, (n_rows, n)), rng.integers(1, 6, n_rows).astype(float)


@pytest.mark.parametrize("nu", [0.03, 0.3, 1.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_whole_weights_are_repeated_rows(nu, sparse):
    X, weights = rows()
    given = scipy.sparse.csr_array(X) if sparse else X
    model = LinearOneClassSVM(nu=nu).fit(given, sample_weight=weights)
    twice = LinearOneClassSVM(nu=nu).fit(np.repeat(X, weights.astype(int), axis=0))
    np.testing.assert_allclose(model.coef_, twice.coef_, rtol=1e-5)
    np.testing.assert_allclose(model.offset_, twice.offset_, rtol=1e-5)
    assert model.gap_ <= 1e-8
    assert model.kkt_residual_ <= 1e-12  # its rows on the margin are solved for exactly
    sums = np.bincount(np.repeat(np.arange(X.shape[0]), weights.astype(int)), twice.dual_coef_)
    np.testing.assert_allclose(model.dual_coef_ @ X, sums @ X, rtol=1e-5)
    assert model.dual_coef_.sum() == pytest.approx(1.0)
    assert (model.dual_coef_ <= weights / (nu * weights.sum()) * (1 + 1e-9)).all()


def test_many_rows_are_solved_near_the_margin_alone():
    X, weights = rows(5 * BAND, n=3)
    model = LinearOneClassSVM(nu=0.05).fit(X, sample_weight=weights)
    twice = LinearOneClassSVM(nu=0.05).fit(np.repeat(X, weights.astype(int), axis=0))
    assert model.gap_ <= 1e-8
    np.testing.assert_allclose(model.coef_, twice.coef_, rtol=1e-4)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_any_weights_by_a_convex_solver(size):
    cp = pytest.importorskip("cvxpy")
    X, _ = rows(60)
    weights = np.random.default_rng(1).gamma(0.5, 1.0, 60) + 1e-3
    nu = 0.2
    w, rho = cp.Variable(X.shape[1]), cp.Variable()
    slack = weights @ cp.pos(rho - X @ w) / (nu * weights.sum())
    cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) - rho + slack)).solve(solver="CLARABEL", tol_gap_abs=1e-11)
    model = LinearOneClassSVM(nu=nu).fit(X, sample_weight=size * weights)
    np.testing.assert_allclose(model.coef_[0], w.value, rtol=1e-4)
    np.testing.assert_allclose(model.offset_, rho.value, rtol=1e-4)


@pytest.mark.parametrize("weights", [0.9 ** np.arange(400), 10.0 ** np.linspace(-6, 6, 400)], ids=["fading", "wide"])
@pytest.mark.parametrize("nu", [0.05, 0.5])
def test_weights_of_very_different_size(weights, nu):
    X, _ = rows(400)
    model = LinearOneClassSVM(nu=nu).fit(X, sample_weight=weights)
    assert model.gap_ <= 1e-8
    assert model.kkt_residual_ <= 1e-4


def test_no_margin_is_seen():
    X, weights = rows(centre=0.0)
    shard = WeightedOneClassShard(Block.dense(X), weights)
    assert fit_weighted(ShardGroup([shard]), 4, 0.9).degenerate
    zero = WeightedOneClassShard(Block.dense(np.zeros((5, 2))), np.arange(1.0, 6.0))
    assert fit_weighted(ShardGroup([zero]), 2, 0.5).degenerate
    assert zero.svm_dual_coef(0.5 * zero.weights.sum()).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0])
def test_the_offset_by_weight_is_that_of_repeated_margins(nu):
    X, weights = rows()
    shard = WeightedOneClassShard(Block.dense(X), weights)
    w = np.array([1.0, -0.5, 0.2, 0.0])
    margins = np.sort(np.repeat(X @ w, weights.astype(int)))
    expected = margins[int(np.ceil(nu * margins.size - 1e-9)) - 1]
    assert weighted_quantile_offset(ShardGroup([shard]), w, nu) == pytest.approx(expected)


@pytest.mark.parametrize("q", [0.0, 0.25, 0.5, 0.77, 1.0])
def test_weighted_quantiles_are_those_of_repeated_numbers(q):
    values, weights = rows(37, n=1)
    values = values[:, 0]
    assert weighted_quantile(values, weights, q) == pytest.approx(
        np.quantile(np.repeat(values, weights.astype(int)), q)
    )


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0])
def test_quantiles_of_equal_weights_below_one_are_plain_ones(size):
    values = rows(37, n=1)[0][:, 0]
    assert weighted_quantile(values, np.full(37, size), 0.3) == pytest.approx(np.quantile(values, 0.3))


def test_numbers_are_repeated_or_spread_by_weight():
    values = np.array([3.0, 1.0, 2.0])
    assert repeated(values, np.array([1.0, 2.0, 3.0])).tolist() == [1, 1, 2, 2, 2, 3]
    assert repeated(values, np.array([0.1, 0.1, 9.9])).tolist() == [2, 2, 2]
