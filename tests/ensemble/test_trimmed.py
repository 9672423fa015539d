"""Trimmed steps: centroids, atoms and spread against plain versions, and that rows left out shape none of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from oddatom.ensemble import trimmed
from oddatom.ensemble.trimmed import Spread, code_one, kept, learn_atoms, learn_centroids, learn_spread, nearest


def clusters(N=150, m=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 2, (4, m))[rng.integers(4, size=N)] + 0.3 * rng.normal(size=(N, m))


def deviations(N=150, m=6, seed=0, noise=0.02):
    """Multiples of three directions, and the directions."""
    rng = np.random.default_rng(seed)
    D = np.linalg.qr(rng.normal(size=(m, m)))[0][:3]
    return rng.normal(size=(N, 1)) * D[rng.integers(3, size=N)] + noise * rng.normal(size=(N, m)), D


def outliers(N, m, size, seed=5):
    """Far rows all around."""
    B = np.random.default_rng(seed).normal(size=(N, m))
    return size * B / np.linalg.norm(B, axis=1, keepdims=True)


def rng():
    return np.random.RandomState(0)


# Rows kept, and what they are coded by


@pytest.mark.parametrize(("t", "n"), [(0.0, 10), (0.35, 7), (0.5, 5), (0.99, 1)])
def test_kept_are_the_smallest(t, n):
    values = np.random.default_rng(1).normal(size=10)
    assert_array_equal(np.flatnonzero(kept(values, t)), np.sort(np.argsort(values)[:n]))


def test_kept_values_that_tie_are_kept_alike():
    assert_array_equal(kept(np.array([2.0, 1.0, 2.0, 3.0]), 0.5), [True, True, True, False])
    assert kept(np.zeros(9), 0.9).all()


def test_nearest_and_code_one_by_looking_at_every_pair():
    Y, C = clusters(), clusters(6, seed=1)
    label, distance = nearest(Y, C)
    every = np.array([[np.sum((y - c) ** 2) for c in C] for y in Y])
    assert_array_equal(label, every.argmin(axis=1))
    assert_allclose(distance, every.min(axis=1), rtol=1e-10)
    D = C / np.linalg.norm(C, axis=1, keepdims=True)
    chosen, gain, residual = code_one(Y, D)
    every = np.array([[np.sum((y - (y @ d) * d) ** 2) for d in D] for y in Y])
    assert_array_equal(chosen, every.argmin(axis=1))
    assert_allclose(gain, [y @ D[i] for y, i in zip(Y, chosen, strict=True)], rtol=1e-12)
    assert_allclose(residual, every.min(axis=1), rtol=1e-9, atol=1e-12)
    assert nearest(Y, Y)[1].max() <= 1e-12  # never below 0
    assert nearest(Y, Y)[1].min() >= 0


# Centroids


@pytest.mark.parametrize("t", [0.0, 0.35, 0.5])
@pytest.mark.parametrize("K", [1, 4, 12])
def test_centroids_are_lloyds(t, K):
    Y = clusters()
    assert_allclose(learn_centroids(Y, Y[:K], t), reference.lloyd(Y, Y[:K], trimmed.LLOYD_STEPS, t), rtol=1e-11)


def test_history_of_centroids_and_atoms():
    """The mean square that is left of the kept rows, before every step."""
    Y, history = clusters(), []
    learn_centroids(Y, Y[:3], 0.35, history)
    C = [Y[:3], *(reference.lloyd(Y, Y[:3], steps, 0.35) for steps in (1, 2, 3))]
    squares = [np.sort([min(np.sum((y - c) ** 2) for c in C[k]) for y in Y])[:98] for k in range(4)]
    assert_allclose(history, np.mean(squares, axis=1), rtol=1e-9)
    W, true = deviations()
    history = []
    learn_atoms(W, true, 0.35, history)
    squares = np.sort([min(np.sum((w - (w @ d) * d) ** 2) for d in true) for w in W])[:98]
    assert len(history) == trimmed.SWEEPS
    assert_allclose(history[0], np.mean(squares), rtol=1e-9)


def test_centroids_that_serve_few_rows_are_dropped():
    Y, far = clusters(300), np.full((4, 4), 50.0)
    first = np.r_[Y[:1], far[:1], far[:1] + 1]
    assert len(learn_centroids(Y, first, 0.0)) == 1  # nobody is next to the last two
    assert len(learn_centroids(np.r_[Y, far[:2]], first, 0.0)) == 1  # 2 of 302
    assert_allclose(learn_centroids(np.r_[Y, far], first, 0.0), [Y.mean(axis=0), far[0]])  # 4 of 304


def test_outliers_do_not_move_centroids():
    Y = clusters(80)
    one = learn_centroids(np.r_[Y, outliers(20, 4, 1e2)], Y[:6], 0.35)
    assert_array_equal(one, learn_centroids(np.r_[Y, outliers(20, 4, 1e5, seed=6)], Y[:6], 0.35))
    assert_allclose(one, learn_centroids(Y, Y[:6], 1 - 65 / 80), rtol=1e-11)  # 65 rows are kept either way
    assert np.abs(learn_centroids(np.r_[Y, outliers(20, 4, 1e2)], Y[:6], 0.0)).max() > 10  # untrimmed, they do


# Atoms


def test_one_atom_is_the_leading_direction():
    W = np.random.default_rng(2).normal(size=(200, 5)) * [3.0, 1.0, 0.5, 0.5, 0.5]
    D = learn_atoms(W, W[:1] / np.linalg.norm(W[0]), 0.0)
    assert D.shape == (1, 5)
    assert abs(D[0] @ np.linalg.svd(W)[2][0]) > 1 - 1e-9


@pytest.mark.parametrize("n_outliers", [0, 50])
def test_atoms_are_the_directions_that_rows_have(n_outliers):
    W, true = deviations()
    W = np.r_[W, outliers(n_outliers, 6, 30.0)]
    start = true + 0.4 * np.random.default_rng(3).normal(size=true.shape)
    D = learn_atoms(W, start / np.linalg.norm(start, axis=1, keepdims=True), 0.35)
    assert_allclose(np.linalg.norm(D, axis=1), 1, rtol=1e-12)
    assert_allclose(np.abs(D @ true.T), np.eye(3), atol=0.03)


def test_outliers_do_not_move_atoms():
    W, true = deviations(80)
    one = learn_atoms(np.r_[W, outliers(20, 6, 1e2)], true, 0.35)
    assert_array_equal(one, learn_atoms(np.r_[W, outliers(20, 6, 1e5, seed=6)], true, 0.35))
    assert_allclose(one, learn_atoms(W, true, 1 - 65 / 80), rtol=1e-10, atol=1e-13)
    assert np.abs(learn_atoms(np.r_[W, outliers(20, 6, 1e2)], true, 0.0) @ true.T).max() < 0.98  # untrimmed, they do


def test_atoms_that_take_up_little_are_dropped():
    W, true = deviations(noise=0.0)
    idle = np.linalg.qr(np.r_[true, np.eye(6)].T)[0].T[3:5]
    assert_allclose(np.abs(learn_atoms(W, np.r_[true, idle], 0.0) @ true.T), np.eye(3), atol=1e-9)
    W[0] = 0.01 * np.sqrt(np.sum(W**2)) * idle[0]  # 1e-4 of the energy
    assert len(learn_atoms(W, np.r_[true, idle], 0.0)) == 3
    W[0] *= 3  # 9e-4
    assert len(learn_atoms(W, np.r_[true, idle], 0.0)) == 4


def test_no_deviations_leave_the_atoms_alone():
    D = np.eye(4)[:2]
    assert_array_equal(learn_atoms(np.zeros((9, 4)), D, 0.35), D)


# Spread


@pytest.mark.parametrize("m", [1, 3, 20])
def test_all_directions_of_all_rows_are_the_ridge_covariance(m):
    W = np.random.default_rng(4).normal(size=(100, m)) @ np.random.default_rng(5).normal(size=(m, m))
    spread = learn_spread(W, m, 0.0, rng())
    wanted = reference.ridge_covariance(W)
    assert_allclose(reference.spread_covariance(spread), wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max())
    new = np.random.default_rng(6).normal(size=(30, m))
    assert_allclose(spread.distance(new), [w @ np.linalg.inv(wanted) @ w for w in new], rtol=1e-9)


def test_few_directions_keep_the_total_variance():
    W = np.random.default_rng(4).normal(size=(100, 8)) * np.arange(1, 9)
    spread = learn_spread(W, 3, 0.0, rng())
    wanted = reference.ridge_covariance(W)
    values, vectors = np.linalg.eigh(wanted)
    assert_allclose(spread.variances, values[::-1][:3], rtol=1e-10)
    assert_allclose(np.abs(np.sum(spread.directions * vectors.T[::-1][:3], axis=1)), 1, rtol=1e-10)
    assert_allclose(spread.rest, values[:-3].mean(), rtol=1e-10)
    assert_allclose(np.trace(reference.spread_covariance(spread)), np.trace(wanted), rtol=1e-10)


def test_distance_is_mahalanobis():
    V = np.linalg.qr(np.random.default_rng(0).normal(size=(7, 7)))[0][:3]
    spread = Spread(V, np.array([4.0, 2.0, 0.1]), 0.3)
    W = np.random.default_rng(1).normal(size=(20, 7))
    inverse = np.linalg.inv(reference.spread_covariance(spread))
    assert_allclose(spread.distance(W), [w @ inverse @ w for w in W], rtol=1e-11)


@pytest.mark.parametrize("t", [0.0, 0.35])
def test_subspace_iteration_finds_what_eigenvectors_are(t, monkeypatch):
    """On rows of rank five, fewer than the directions sought, and some noise."""
    draw = np.random.default_rng(7)
    W = draw.normal(size=(120, 5)) @ draw.normal(size=(5, 80)) + 0.01 * draw.normal(size=(120, 80))
    wide = reference.spread_covariance(learn_spread(W, 16, t, rng()))
    monkeypatch.setattr(trimmed, "WIDE", 80)
    exact = reference.spread_covariance(learn_spread(W, 16, t, rng()))
    assert_allclose(wide, exact, atol=1e-4 * np.abs(exact).max())


def test_subspace_iteration_with_fewer_rows_than_directions():
    W = np.random.default_rng(8).normal(size=(4, 100))
    spread = learn_spread(W, 16, 0.0, rng())
    wanted = reference.ridge_covariance(W)
    assert_allclose(reference.spread_covariance(spread), wanted, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("m", [5, 70])
def test_outliers_do_not_move_the_spread(m):
    W = np.random.default_rng(9).normal(size=(80, m))
    one, two = (
        learn_spread(np.r_[W, outliers(20, m, size, seed=seed)], 4, 0.35, rng()) for size, seed in ((1e3, 5), (1e5, 6))
    )
    for a, b in zip(one, two, strict=True):
        assert_array_equal(a, b)
    assert learn_spread(np.r_[W, outliers(20, m, 1e3)], 4, 0.0, rng()).variances[0] > 100 * one.variances[0]


def test_no_deviations_have_a_spread_of_one():
    spread = learn_spread(np.zeros((6, 3)), 2, 0.5, rng())
    assert_array_equal(spread.distance(np.eye(3)), 1.0)
