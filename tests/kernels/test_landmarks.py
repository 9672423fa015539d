"""Landmarks: different rows, the same for a seed, and what each way of choosing prefers."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from oddatom.kernels.functions import Kernel
from oddatom.kernels.landmarks import LANDMARKS, choose_landmarks

RBF = Kernel("rbf", 0.5)


def rows(N, m=4, seed=0):
    return np.random.default_rng(seed).standard_normal((N, m))


def choose(method, Y, n, seed=0, kernel=RBF):
    return choose_landmarks(method, kernel, Y, n, np.random.RandomState(seed))


@pytest.mark.parametrize("method", LANDMARKS)
@pytest.mark.parametrize("n", [1, 7, 59, 60])
def test_different_rows_the_same_for_a_seed(method, n):
    Y = rows(60)
    chosen = choose(method, Y, n)
    assert chosen.shape == (n,)
    assert np.unique(chosen).size == n
    assert chosen.min() >= 0
    assert chosen.max() < 60
    assert_array_equal(choose(method, Y, n), chosen)
    assert_array_equal(choose(method, RBF(Y, Y), n, kernel=None), chosen)
    if n == 7:
        assert set(choose(method, Y, n, seed=1)) != set(chosen)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", LANDMARKS)
@pytest.mark.parametrize("name", ["rbf", "linear"])
def test_fewer_different_rows_than_landmarks(method, name):
    Y = np.repeat(rows(3), 20, axis=0)
    for seed in range(5):
        chosen = choose(method, Y, 10, seed, Kernel(name, 0.5))
        assert np.unique(chosen).size == 10
        if method == "kmeans++":
            assert set(chosen[:3] // 20) == {0, 1, 2}  # one of each, before any twice


def test_a_row_away_from_itself_by_rounding():
    """A function may round a column differently from the diagonal; the same row is not taken twice for that."""
    Y = np.repeat(rows(3), 4, axis=0)
    kernel = Kernel(lambda A, B: A @ B.T - 1e-9 * (len(B) == 1))
    for seed in range(5):
        assert np.unique(choose("kmeans++", Y, 12, seed, kernel)).size == 12


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", LANDMARKS)
def test_mostly_zero_rows(method):
    """With a linear kernel they are nothing; a first choice may hold no others."""
    Y = np.zeros((200, 3))
    Y[:4] = rows(4, 3)
    found = [set(choose(method, Y, 4, seed, Kernel("linear"))) for seed in range(30)]
    assert all(len(chosen) == 4 for chosen in found)
    if method != "uniform":
        # Chosen first, once something of them has been seen.
        assert np.mean([len(chosen & {0, 1, 2, 3}) for chosen in found]) > 2.5


def clusters():
    """Ninety rows close together, and ten apart from them and from each other."""
    Y = 0.02 * rows(100)
    Y[90:] = 6 * rows(10, seed=1)
    return Y


def share_of_unusual(method, n=8):
    return np.mean([np.mean(choose(method, clusters(), n, seed) >= 90) for seed in range(60)])


def test_uniform_takes_rows_alike():
    assert abs(share_of_unusual("uniform") - 0.1) < 0.04
    counts = np.zeros(20)
    for seed in range(400):
        counts[choose("uniform", rows(20), 5, seed)] += 1
    assert counts.min() > 60  # 100 expected, with a deviation of 9
    assert counts.max() < 140


def test_leverage_prefers_unusual_rows():
    assert share_of_unusual("leverage") > 0.4


def test_kmeans_plus_plus_spreads():
    """Nearly every landmark is a new cluster: no second one of the ninety while others are far from all chosen."""
    assert share_of_unusual("kmeans++") > 0.8
    Y, kernel = rows(300, 2), Kernel("rbf", 0.3)

    def left(method, seed):
        """Squared distances in feature space to the nearest landmark, summed over rows."""
        chosen = choose(method, Y, 12, seed, kernel)
        return np.sum(2 - 2 * kernel(Y, Y[chosen]).max(axis=1))

    assert np.mean([left("kmeans++", s) for s in range(15)]) < 0.93 * np.mean([left("uniform", s) for s in range(15)])


def test_leverage_scores():
    """Chances go with diag(K(K + lam I)⁻¹): the estimate from all rows but one is close to it."""
    Y = clusters()
    K = RBF(Y, Y)
    counts = np.zeros(100)
    for seed in range(300):
        counts[choose("leverage", Y, 12, seed)] += 1
    values, vectors = np.linalg.eigh(K)
    lam = 0.1
    scores = np.einsum("ij,j,ij->i", vectors, values / (values + lam), vectors)
    assert np.corrcoef(counts, scores)[0, 1] > 0.9


@pytest.mark.parametrize("method", ["kmeans++", "leverage"])
def test_a_kernel_that_overflows(method):
    with pytest.raises(ValueError, match="kernel overflows on the training rows"):
        choose(method, rows(30), 5, kernel=Kernel("polynomial", 1e120))
