"""Coordinates of a feature space: ΦΦᵀ = K, on few rows where the rank is low, the positive part where K has another."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from oddatom.arrays.threads import threads
from oddatom.kernels import coordinates as kernel_map
from oddatom.kernels.coordinates import factor, fit_kernel_map
from oddatom.kernels.functions import Kernel

KERNELS = [
    Kernel("rbf", 0.3),
    Kernel("laplacian", 0.3),
    Kernel("polynomial", 0.3, 3, 1),
    Kernel("linear"),
    Kernel("cosine"),
    Kernel(lambda Y, Z: np.exp(-0.3 * ((Y[:, None] - Z) ** 2).sum(axis=-1))),
]
NAMES = [kernel.function if isinstance(kernel.function, str) else "callable" for kernel in KERNELS]


def rows(N, m=4, seed=0):
    return np.random.default_rng(seed).standard_normal((N, m))


def fit(kernel, Y, rank_tol=1e-10, n=None, method="uniform"):
    return fit_kernel_map(kernel, Y, rank_tol, n, method, np.random.RandomState(0))


def symmetric(values, seed=0):
    Q = np.linalg.qr(rows(len(values), len(values), seed))[0]
    K = Q @ np.diag(values) @ Q.T
    return (K + K.T) / 2, Q


@pytest.mark.parametrize("kernel", KERNELS, ids=NAMES)
def test_products_of_coordinates_are_the_kernel(kernel):
    Y, new = rows(60), rows(20, seed=1)
    fitted = fit(kernel, Y)
    Phi, top = fitted.apply(Y), kernel(Y, Y).max()
    assert Phi.shape == (60, fitted.T.shape[1])
    assert_allclose(Phi @ Phi.T, kernel(Y, Y), atol=1e-7 * top)
    assert_allclose(fitted.apply(new) @ Phi.T, kernel(new, Y), atol=1e-4 * top)
    assert_array_equal(fitted.landmarks, Y[fitted.indices])
    assert fitted.negative == 0


@pytest.mark.parametrize("kernel", KERNELS, ids=NAMES)
def test_a_matrix_is_its_kernel(kernel):
    Y = rows(50)
    K = kernel(Y, Y)
    one, two = fit(kernel, Y), fit(None, K)
    assert_array_equal(one.indices, two.indices)
    assert_allclose(two.T, one.T, rtol=1e-6, atol=1e-9 * np.abs(one.T).max())
    new = kernel(rows(9, seed=1), Y)
    assert_allclose(two.apply(new), one.apply(rows(9, seed=1)), atol=1e-6 * np.sqrt(K.max()))


@pytest.mark.parametrize(("name", "rank"), [("linear", 4), ("cosine", 4), ("polynomial", 15)])
def test_kernels_of_low_rank_take_few_rows(name, rank):
    fitted = fit(Kernel(name, 0.3, 2, 1), rows(80))
    assert fitted.indices.size == fitted.T.shape[1] == rank
    assert np.unique(fitted.indices).size == rank


def test_rank_tol_is_what_a_direction_adds_to_the_diagonal():
    Y, kernel = rows(80), Kernel("rbf", 0.05)
    K = kernel(Y, Y)
    ranks = []
    for rank_tol in (1e-1, 1e-3, 1e-6):
        fitted = fit(kernel, Y, rank_tol)
        missed = 1 - np.sum(fitted.apply(Y) ** 2, axis=1)
        assert missed.max() <= rank_tol * 1.001
        assert missed.min() > -1e-9
        assert missed.max() > 1e-3 * rank_tol  # no more rows than that takes
        one_less = fitted.indices[:-1]
        rest = np.diag(K) - np.einsum(
            "ij,ji->i", K[:, one_less], np.linalg.solve(K[np.ix_(one_less, one_less)], K[one_less])
        )
        assert rest.max() > rank_tol
        ranks.append(fitted.indices.size)
    assert ranks[0] < ranks[1] < ranks[2] < 80


def test_repeated_rows_count_once():
    Y = np.repeat(rows(7), 5, axis=0)
    fitted = fit(Kernel("laplacian", 0.5), Y)
    assert set(fitted.indices // 5) == set(range(7))
    assert fitted.T.shape == (7, 7)
    assert_allclose(fitted.apply(Y) @ fitted.apply(Y).T, Kernel("laplacian", 0.5)(Y, Y), atol=1e-9)


@pytest.mark.parametrize("n", [1, 12])
def test_nystroem(n):
    """Φ spans the landmarks and no more: K(Y, L) K(L, L)⁻¹ K(L, Y)."""
    Y, kernel = rows(60), Kernel("rbf", 0.3)
    fitted = fit(kernel, Y, n=n)
    assert fitted.indices.size == n
    L, Phi = Y[fitted.indices], fitted.apply(Y)
    assert_allclose(Phi @ Phi.T, kernel(Y, L) @ np.linalg.solve(kernel(L, L), kernel(L, Y)), atol=1e-9)
    matrix = fit(None, kernel(Y, Y), n=n)
    assert_array_equal(matrix.indices, fitted.indices)
    assert_allclose(matrix.apply(kernel(Y, Y)), Phi, atol=1e-9)


@pytest.mark.parametrize("n", [60, 100])
def test_nystroem_on_all_rows_is_exact(n):
    Y, kernel = rows(60), Kernel("rbf", 0.3)
    one, two = fit(kernel, Y), fit(kernel, Y, n=n, method="leverage")
    assert_array_equal(one.T, two.T)
    assert_array_equal(one.indices, two.indices)


# Matrices that are not positive


@pytest.mark.parametrize("positive_diagonal", [True, False])
def test_the_positive_part(positive_diagonal):
    values = np.array([-2.0, -0.5, -1e-13, 1e-13, 1.0, 2.0, 4.0]) + (3 if positive_diagonal else 0)
    values = np.where(np.abs(values - 3) < 1e-9, 0.0, values) if positive_diagonal else values
    values[:2] = -2.0, -0.5
    K, Q = symmetric(values)
    fitted = fit(None, K, rank_tol=1e-8)
    wanted = Q @ np.diag(np.maximum(values, 0)) @ Q.T
    Phi = fitted.apply(K)
    assert_allclose(Phi @ Phi.T, wanted, atol=1e-9)
    assert fitted.negative == pytest.approx(2.5 / values[values > 1e-9].sum(), rel=1e-9)
    assert_allclose(
        fitted.T.T @ K[np.ix_(fitted.indices, fitted.indices)] @ fitted.T, np.eye(fitted.T.shape[1]), atol=1e-9
    )


def test_a_diagonal_that_hides_it():
    """Positive pivots all the way, and yet not positive: the entries of what is left tell."""
    K = np.array([[1.0, 0.0, 0.0], [0.0, 1e-12, 0.5], [0.0, 0.5, 1e-12]])
    kept, T, negative = factor(K, 1e-8)
    assert negative == pytest.approx(0.5 / 1.5)
    assert_array_equal(kept, np.arange(3))
    assert_allclose(K @ T @ T.T @ K, np.diag([1.0, 0.25, 0.25]) + 0.25 * np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0]]))


def test_rounding_is_no_negative_part():
    Y = rows(60, 3)
    noise = 1e-13 * rows(60, 60, seed=2)
    fitted = fit(None, Y @ Y.T + noise + noise.T, rank_tol=1e-8)
    assert fitted.negative == 0
    assert fitted.indices.size == 3
    noisy = fit(None, Y @ Y.T + 1e3 * (noise + noise.T), rank_tol=1e-12)
    assert noisy.indices.size == 60  # by its eigenvectors
    assert noisy.negative == 0
    assert fit(Kernel("sigmoid", 0.3, coef0=1.0), rows(60)).negative > 1e-3


def test_rounding_does_not_make_it_lopsided():
    K, skew = Kernel("rbf", 0.3)(rows(30), rows(30)), 1e-3 * np.triu(rows(30, 30))
    one, two = fit(None, K + skew), fit(None, K + 0.5 * (skew + skew.T))
    assert_allclose(one.T, two.T, rtol=1e-9)
    function = fit(Kernel(lambda Y, Z: K + skew), rows(30))
    assert_allclose(function.T, two.T, rtol=1e-9)


def test_nothing_positive():
    K, _ = symmetric(np.array([-3.0, -1.0, 0.0]))
    assert fit(None, K).T.shape == (3, 0)  # the third is 0 up to rounding, and no direction
    assert fit(None, np.zeros((4, 4))).apply(np.zeros((4, 4))).shape == (4, 0)


# Rows and blocks


def test_coefficients():
    """D = AᵀΦ, with A zero but on the landmarks."""
    Y, kernel = np.repeat(rows(30), 2, axis=0), Kernel("rbf", 0.3)
    for n in (None, 10):
        fitted = fit(kernel, Y, rank_tol=1e-3, n=n)
        Phi = fitted.apply(Y)
        D = rows(5, Phi.shape[1], seed=3)
        A = fitted.coefficients(D)
        assert A.shape == (60, 5)
        assert_allclose(A.T @ Phi, D, atol=1e-9)
        assert_allclose(A.T @ kernel(Y, Y) @ A, D @ D.T, atol=1e-9)
        others = np.setdiff1d(np.arange(60), fitted.indices)
        assert others.size
        assert_array_equal(A[others], 0)


@pytest.mark.parametrize("kind", ["rbf", "precomputed"])
def test_blocks_do_not_matter(kind, monkeypatch):
    Y, kernel = rows(300), Kernel("rbf", 0.3)
    rows_ = Y if kind == "rbf" else kernel(Y, Y)
    fitted = fit(kernel if kind == "rbf" else None, rows_, rank_tol=1e-12)
    with threads(1):
        whole = fitted.apply(rows_)
        assert len(list(fitted.blocks(rows_))) == 1
        monkeypatch.setattr(kernel_map, "BLOCK_NUMBERS", 1)
        assert len(list(fitted.blocks(rows_))) == 5
        assert_array_equal(fitted.apply(rows_), whole)
        assert_array_equal(fitted.apply(rows_[[17]]), whole[[17]])
        assert_array_equal(fitted.apply(rows_[:0]), whole[:0])


def test_values_that_overflow():
    with pytest.raises(ValueError, match=r"kernel overflows on the training rows: its values go up to inf"):
        fit(Kernel("polynomial", 1e200), rows(9))
    with pytest.raises(ValueError, match=r"values go up to 1e\+101, .* divide a precomputed matrix"):
        fit(None, 1e101 * np.eye(4))
    fitted = fit(Kernel("polynomial", 0.3, 2.0), rows(9) / 9)
    assert np.isfinite(fitted.apply(1e160 * rows(9))).all()


@pytest.mark.parametrize("name", ["rbf", "laplacian", "polynomial", "linear", "cosine"])
def test_what_lies_outside_the_landmarks(name):
    """‖φ(y)‖² less its part in their span, by least squares in the Gram matrix; nothing for the landmarks."""
    rng = np.random.default_rng(3)
    kernel, Y = Kernel(name, 0.3), rng.normal(size=(12, 9))
    kernel_map = fit_kernel_map(kernel, Y[:5], 1e-12, None, "uniform", np.random.RandomState(0))
    found = kernel_map.outside(Y, kernel_map.apply(Y))
    K, k = kernel(Y[:5], Y[:5]), kernel(Y, Y[:5])
    wanted = np.diag(kernel(Y, Y)) - np.einsum("ij,ij->i", k, np.linalg.solve(K, k.T).T)
    assert_allclose(found, wanted, atol=1e-10 * np.diag(kernel(Y, Y)).max())
    assert found[5:].min() > 1e-3
    assert_allclose(found[:5], 0, atol=1e-10 * np.diag(kernel(Y, Y)).max())
    assert (found >= 0).all()
    assert_allclose(kernel.diagonal(Y), np.diag(kernel(Y, Y)), rtol=1e-14)


def test_nothing_is_known_outside_a_precomputed_matrix():
    K = np.diag([1.0, 2.0, 3.0])
    kernel_map = fit_kernel_map(None, K, 1e-12, None, "uniform", np.random.RandomState(0))
    assert_array_equal(kernel_map.outside(K[:2], kernel_map.apply(K[:2])), 0)
