"""The description length and its statistics: against loops, and data that leave nothing to measure."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from oddatom.arrays.threads import threads
from oddatom.coding import Codes, batch_omp
from oddatom.scores import code_statistics, score

RNG = np.random.default_rng(1)
D = RNG.standard_normal((9, 6))
D[:8, 5], D[8, :5] = 0, 0
D /= np.linalg.norm(D, axis=1, keepdims=True)
Y = RNG.standard_normal((40, 6)) @ np.diag([3, 2, 1, 1, 1, 1e-9])  # no row uses the last atom
UNUSED = np.zeros(9)  # the plane, which has no part in it


def dense(codes):
    X = np.zeros((len(codes.values), 9))
    for j, k in zip(*np.nonzero(codes.indices >= 0), strict=True):
        X[j, codes.indices[j, k]] = codes.values[j, k]
    return X


@pytest.fixture(scope="module")
def sparse():
    with threads(1):
        return batch_omp(Y, D, 2)


def test_statistics_of_sparse_codes(sparse):
    X = dense(sparse)
    assert not X[:, 8].any()
    assert (X != 0).any(axis=0)[:3].all()
    usage, variance, noise, _ = code_statistics(sparse, 9, 6)
    wanted = reference.code_statistics(Y, D, X, 2)
    assert_allclose(usage, wanted[0], rtol=1e-14)
    assert_allclose(variance, wanted[1], rtol=1e-12)
    assert noise == pytest.approx(wanted[2], rel=1e-10)


def test_against_loops(sparse):
    statistics = code_statistics(sparse, 9, 6)
    wanted = -reference.description_length(Y, D, dense(sparse), *statistics[:3])
    assert_allclose(score("description_length", sparse, UNUSED, statistics), wanted, rtol=1e-9)


def test_a_coefficient_below_the_noise_costs_nothing_to_tell(sparse):
    statistics = code_statistics(sparse, 9, 6)
    loud = statistics._replace(noise=10 * statistics.variance.max())
    wanted = -reference.description_length(Y, D, dense(sparse), *loud[:3])
    assert_allclose(score("description_length", sparse, UNUSED, loud), wanted, rtol=1e-9)
    rest = wanted + np.sum((Y - dense(sparse) @ D) ** 2, axis=1) / (2 * loud.noise)
    louder = loud._replace(noise=1e6 * loud.noise)
    assert_allclose(score("description_length", sparse, UNUSED, louder), rest, atol=1e-4)


def test_what_makes_a_description_long():
    """A rare atom, a coefficient larger than usual, a residual larger than usual: each alone."""
    often, rare = np.array([[0]], np.int32), np.array([[1]], np.int32)
    statistics = code_statistics(
        Codes(np.repeat([0, 0, 0, 1], 25)[:, None].astype(np.int32), np.ones((100, 1)), np.full(100, 0.1)),
        2, 3,
    )  # fmt: skip

    def length(atom, value, left):
        codes = Codes(atom, np.array([[value]]), np.array([left]))
        return score("description_length", codes, np.zeros(2), statistics)[0]

    assert length(often, 1.0, 0.1) > length(rare, 1.0, 0.1)
    assert length(often, 1.0, 0.1) > length(often, -2.0, 0.1)
    assert length(often, 1.0, 0.1) > length(often, 1.0, 0.2)
    odds = np.log(75.5 / 25.5) - np.log(25.5 / 75.5)
    assert length(often, 1.0, 0.1) - length(rare, 1.0, 0.1) == pytest.approx(odds, rel=1e-12)
    assert length(often, 1.0, 0.1) - length(often, 1.0, 0.2) == pytest.approx(0.1 / (2 * 0.1 / 2), rel=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("values", [0.0, 1.0, 1e-170])
@pytest.mark.parametrize("left", [0.0, 1e-320, 1.0])
def test_nothing_to_measure(values, left):
    """No residual, no coefficients, one row again and again: finite, and the odd row out is odd."""
    indices = np.zeros((5, 1), np.int32)
    codes = Codes(indices, np.full((5, 1), values), np.full(5, left))
    statistics = code_statistics(codes, 1, 1)
    assert min(*statistics.variance, statistics.noise) > 0
    usual = score("description_length", codes, UNUSED, statistics)
    assert np.isfinite(usual).all()
    assert np.ptp(usual) == 0
    far = Codes(indices[:1], codes.values[:1], codes.sq_residual[:1] + 5.0)
    odd = score("description_length", far, UNUSED, statistics)
    assert odd[0] < usual[0]


@pytest.mark.filterwarnings("error")
def test_without_atoms():
    codes = Codes(np.full((4, 1), -1, np.int32), np.zeros((4, 1)), np.arange(1.0, 5.0))
    statistics = code_statistics(codes, 0, 3)
    assert_allclose(score("description_length", codes, np.empty(0), statistics), -np.arange(1, 5) / 2.5)


@pytest.mark.filterwarnings("error")
def test_huge_rows_are_as_odd_as_can_be(sparse):
    statistics = code_statistics(sparse, 9, 6)
    huge = Codes(sparse.indices[:1], sparse.values[:1] * 1e200, np.array([np.inf]))
    assert_array_equal(score("description_length", huge, UNUSED, statistics), -np.finfo(np.float64).max)


def test_noise_follows_the_normal_rows():
    """Two rows in five that the atoms do not describe leave it where it was, to within the rows' own spread."""
    left = np.concatenate([np.linspace(0.9, 1.1, 30), np.full(20, 1e6)])
    codes = Codes(np.zeros((50, 1), np.int32), np.ones((50, 1)), left)
    assert 0.9 <= 3 * code_statistics(codes, 1, 4).noise <= 1.1
