"""Every score against NumPy, row by row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from oddatom._threads import threads
from oddatom.coding import Codes, batch_omp
from oddatom.scores import SCORES

RNG = np.random.default_rng(0)
D = RNG.standard_normal((12, 7))
D /= np.linalg.norm(D, axis=1, keepdims=True)
Y = RNG.standard_normal((50, 7))
Y[3] = 0  # a code without a single atom
Y[4] = 2 * D[5]  # one atom where three are allowed
W = RNG.standard_normal(12)
WANTED = {
    "margin": lambda X: X @ W,
    "residual": lambda X: -np.sum((Y - X @ D) ** 2, axis=1),
}


@pytest.fixture(scope="module")
def codes():
    with threads(1):
        return batch_omp(Y, D, 3)


def dense(codes):
    X = np.zeros((len(Y), len(D)))
    for j, k in zip(*np.nonzero(codes.indices >= 0), strict=True):
        X[j, codes.indices[j, k]] += codes.values[j, k]
    return X


def test_every_score_is_tested():
    assert set(WANTED) == set(SCORES)


@pytest.mark.parametrize("name", SCORES)
def test_against_numpy(codes, name):
    assert (codes.indices[3] == -1).all()
    assert (codes.indices[4] >= 0).sum() == 1
    scores = SCORES[name](codes, W)
    assert scores.shape == (50,)
    assert_allclose(scores, WANTED[name](dense(codes)), atol=1e-12)


@pytest.mark.parametrize("name", SCORES)
def test_padding_is_not_an_atom(codes, name):
    """Its index is −1: taken for an atom, it would be the last one."""
    unused = np.append(W[:-1], np.inf)
    assert np.isfinite(SCORES[name](Codes(*(part[3:5] for part in codes)), unused)).all()


@pytest.mark.parametrize("name", SCORES)
def test_higher_is_more_normal(codes, name):
    """A row of more of what w points to, or of less that the atoms leave, scores higher."""
    scores, X = SCORES[name](codes, W), dense(codes)
    normality = X @ W if name == "margin" else -np.linalg.norm(Y - X @ D, axis=1)
    assert_array_equal(np.argsort(scores[5:]), np.argsort(normality[5:]))


@pytest.mark.parametrize("name", SCORES)
def test_a_score_does_not_depend_on_the_other_rows(codes, name):
    scores = SCORES[name](codes, W)
    order = RNG.permutation(50)
    assert_array_equal(SCORES[name](Codes(*(part[order] for part in codes)), W), scores[order])
    for j in range(50):
        assert_array_equal(SCORES[name](Codes(*(part[[j]] for part in codes)), W), scores[[j]])


@pytest.mark.parametrize("name", SCORES)
def test_no_rows(codes, name):
    assert SCORES[name](Codes(*(part[:0] for part in codes)), W).shape == (0,)
