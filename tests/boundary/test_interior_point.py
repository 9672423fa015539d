"""The interior point on a block of rows, others fixed, against cvxpy and its duality gap."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse

from oddatom.arrays.block import Block
from oddatom.boundary.interior_point import interior_point


def csr_block(X, rng):
    """CSR with the columns of each row in random order, as OMP leaves them."""
    columns = [rng.permutation(np.flatnonzero(x)) for x in X]
    indptr = np.concatenate([[0], np.cumsum([c.size for c in columns])])
    indices = np.concatenate(columns).astype(np.int32)
    data = np.concatenate([x[c] for x, c in zip(X, columns, strict=True)])
    np.testing.assert_array_equal(scipy.sparse.csr_array((data, indices, indptr), shape=X.shape).toarray(), X)
    return Block.csr(indptr, indices, data, X.shape[1])


def problem(kind, M, n, seed):
    """Block rows X, sum b of rows outside fixed at one, C and K = C − how many those are."""
    rng = np.random.default_rng(seed)
    X = rng.normal(0.7, 1.0, (M, n)) * (rng.random((M, n)) < 0.6)
    if kind == "duplicates":
        X = X[rng.integers(4, size=M)]
    elif kind == "wide_norms":
        X *= 10.0 ** rng.uniform(-1.5, 1.5, (M, 1))
    X /= np.sqrt(np.mean(np.sum(X**2, axis=1)))
    fixed = rng.normal(0.0, 0.5, (5, n))
    K = 0.4 * M + 0.3
    return X, fixed.sum(axis=0), 5 + K, K


def gap(X, b, C, K, w, rho, a):
    """Value of min ½‖v‖² − (b·v + K rho)/C + 1/C Σ (rho − x·v)₊, b's rows paying in full, less the dual's at a."""
    plane = (b + a @ X) / C
    primal = 0.5 * w @ w - (K * rho + b @ w) / C + np.maximum(rho - X @ w, 0.0).sum() / C
    return primal + 0.5 * plane @ plane


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["well", "duplicates", "wide_norms"])
@pytest.mark.parametrize("seed", range(3))
def test_against_cvxpy_and_its_gap(kind, sparse, seed):
    X, b, C, K = problem(kind, 50, 6, seed)
    block = csr_block(X, np.random.default_rng(seed)) if sparse else Block.dense(X)
    solution = interior_point(block, b, C, K, 1e-10)
    a, w = solution.a, solution.w
    assert a.min() >= 0.0
    assert a.max() <= 1.0
    assert abs(a.sum() - K) <= 1e-6
    np.testing.assert_allclose((b + a @ X) / C, w, atol=2e-5)  # ½‖difference‖² is part of the gap
    assert solution.gap <= 1e-10
    assert abs(gap(X, b, C, K, w, solution.rho, a)) <= 1e-6
    best = cp.Variable(50)
    cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares((b + X.T @ best) / C)), [best >= 0, best <= 1, cp.sum(best) == K]
    ).solve(solver=cp.CLARABEL)
    theirs = (b + X.T @ best.value) / C
    np.testing.assert_allclose(w, theirs, atol=1e-4)
    assert 0.5 * w @ w <= 0.5 * theirs @ theirs + 1e-7


@pytest.mark.parametrize("seed", range(3))
def test_dense_and_sparse_agree(seed):
    X, b, C, K = problem("well", 80, 7, seed)
    one = interior_point(Block.dense(X), b, C, K, 1e-10)
    two = interior_point(csr_block(X, np.random.default_rng(seed)), b, C, K, 1e-10)
    assert one.n_steps == two.n_steps
    np.testing.assert_allclose(one.w, two.w, atol=1e-9)
    np.testing.assert_allclose(one.rho, two.rho, atol=1e-9)
    np.testing.assert_allclose(one.a, two.a, atol=1e-7)


@pytest.mark.parametrize("sparse", [False, True])
def test_every_row_at_its_bound(sparse):
    X, b, C, _ = problem("well", 30, 4, 0)
    block = csr_block(X, np.random.default_rng(0)) if sparse else Block.dense(X)
    solution = interior_point(block, b, C, 30.0, 1e-10)
    np.testing.assert_array_equal(solution.a, 1.0)
    np.testing.assert_allclose(solution.w, (b + X.sum(axis=0)) / C)
    assert solution.rho == pytest.approx((X @ solution.w).max())
    assert solution.gap == 0.0


def test_stops_where_the_origin_is_reached():
    X = np.random.default_rng(0).standard_normal((200, 3))
    solution = interior_point(Block.dense(X), np.zeros(3), 60.0, 60.0, 1e-10)
    plane = solution.a @ X / 60.0
    assert 0.5 * plane @ plane <= 1e-10
    np.testing.assert_allclose(solution.w, plane, atol=1e-12)


def test_tighter_tolerance_is_met():
    X, b, C, K = problem("well", 200, 5, 1)
    loose, tight = (interior_point(Block.dense(X), b, C, K, tol) for tol in (1e-3, 1e-12))
    assert loose.gap <= 1e-3
    assert tight.gap <= 1e-12
    assert loose.n_steps < tight.n_steps
