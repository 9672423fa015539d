"""Histograms of codes against NumPy, atom by atom; sums over blocks, weights, and what lies far out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from oddatom.arrays.threads import threads
from oddatom.coding import batch_omp, linear_codes
from oddatom.coding.histograms import (
    BINS,
    bin_counts,
    center_and_spread,
    code_bins,
    code_histograms,
    code_moments,
    histograms_of,
)

RNG = np.random.default_rng(0)
D = RNG.normal(size=(9, 5))
D /= np.linalg.norm(D, axis=1)[:, None]
Y = RNG.normal(size=(200, 5)) + 1


@pytest.fixture(scope="module")
def codes():
    with threads(1):
        return batch_omp(Y, D, 2)


def dense(codes, n):
    X = np.zeros((codes.indices.shape[0], n))
    for j, k in zip(*np.nonzero(codes.indices >= 0), strict=True):
        X[j, codes.indices[j, k]] = codes.values[j, k]
    return X


def test_against_numpy(codes):
    found = code_histograms(codes, 9)
    X = dense(codes, 9)
    for i in range(9):
        x = X[X[:, i] != 0, i]
        assert_allclose([found.center[i], found.spread[i]], [x.mean(), x.std()], rtol=1e-10)
        u = (x - x.mean()) / x.std()
        counts, _ = np.histogram(u / (1 + np.abs(u)), BINS, (-1, 1))
        share, density = (x.size + 0.5) / 201, (counts + 0.5) / (x.size + BINS / 2) * BINS
        assert_allclose(np.exp(found.present[i]), share * density, rtol=1e-10)
        assert_allclose(np.exp(found.absent[i]), (200 - x.size + 0.5) / 201, rtol=1e-10)
        assert_allclose(np.exp(found.present[i]).mean() + np.exp(found.absent[i]), 1, rtol=1e-2)  # a distribution


def test_sums_over_blocks_are_those_of_all_rows(codes):
    parts = [type(codes)(*(part[rows] for part in codes)) for rows in (slice(0, 33), slice(33, 33), slice(33, 200))]
    moments = sum(code_moments(part, 9) for part in parts)
    counts = sum(bin_counts(part, *center_and_spread(moments)) for part in parts)
    for one, other in zip(histograms_of(moments, counts, 200.0), code_histograms(codes, 9), strict=True):
        assert_allclose(one, other, rtol=1e-12)


def test_weights_are_repeated_rows(codes):
    weights = RNG.integers(1, 4, 200)
    again = type(codes)(*(np.repeat(part, weights, axis=0) for part in codes))
    repeated = code_histograms(again, 9)
    for one, other in zip(code_histograms(codes, 9, weights.astype(float)), repeated, strict=True):
        assert_allclose(one, other, rtol=1e-9)


def test_far_coefficients_fall_into_the_last_bins():
    values = np.array([-np.inf, -1e308, -1e9, -1e-320, 0.0, 1e9, 1e308, np.inf])
    assert_array_equal(code_bins(values, 0.0, 1.0), [0, 0, 0, 7, 7, BINS - 1, BINS - 1, BINS - 1])
    assert_array_equal(code_bins(values[[0, -1]], 0.0, 1e-300), [0, BINS - 1])


def test_a_constant_coefficient_lies_in_the_middle():
    """And one that differs from it by rounding does."""
    codes = linear_codes(np.full((50, 1), 0.1) * (1 + 1e-15 * RNG.normal(size=(50, 1))), 1)
    found = code_histograms(codes, 1)
    assert found.present[0].argmax() == BINS // 2
    assert np.exp(found.present[0, BINS // 2]) > 10


def test_an_unused_atom_and_no_atom():
    codes = linear_codes(np.ones((4, 2)), 2)._replace(indices=np.array([[0, -1]] * 4))
    found = code_histograms(codes, 2)
    assert_array_equal([found.center[1], found.spread[1]], [0.0, 1.0])
    assert np.isfinite(found.present).all()
    assert code_histograms(linear_codes(np.ones((4, 0)), 0), 0).present.shape == (0, BINS)
