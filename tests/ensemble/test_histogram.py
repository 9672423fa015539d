"""Histogram: bins and costs by counting, rows left out of their own counts, values never seen."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from oddatom.ensemble.histogram import FEWEST, MOST, bins, fit_histogram, nats


def rows(N, seed=0):
    """Heavy tails, integers, two values, and one value in most rows."""
    rng = np.random.default_rng(seed)
    U = np.c_[rng.standard_t(2, N), rng.integers(0, 5, N), rng.random(N) < 0.3, (rng.random(N) < 0.004) * 1.0]
    return U.astype(float)


@pytest.mark.parametrize("N", [2, 7, 60, 150, 1200])
def test_costs_against_counting(N):
    U = rows(N)
    histogram = fit_histogram(U)
    assert histogram.cost.shape == (4, 2 + min(max(int(N**0.5), FEWEST), MOST))
    some = np.r_[U[:40], rows(20, seed=1), [[-99.0, 9.0, 0.5, 2.0], [99.0, -9.0, 1.0, 0.5]]]
    assert_allclose(nats(some, histogram), reference.histogram_nats(U, some), rtol=1e-12)


@pytest.mark.parametrize("N", [2, 7, 60, 150])
def test_held_out_is_a_recount_without_the_row(N):
    U = rows(N)
    held_out = nats(U, fit_histogram(U), held_out=True)
    assert_allclose(held_out, reference.histogram_nats(U, U, left_out=range(N)), rtol=1e-12)
    assert (held_out >= nats(U, fit_histogram(U))).all()


def test_shares_sum_to_one():
    histogram = fit_histogram(rows(300))
    assert_allclose(np.exp(-histogram.cost).sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.3, -1.0])
def test_a_value_never_seen_in_a_constant_column_is_rare(value):
    U = np.c_[rows(100)[:, :1], np.full(100, value)]
    histogram = fit_histogram(U)
    new = np.array([[0.0, value], [0.0, np.nextafter(value, 9)], [0.0, value - 1.0]])
    cost = nats(new, histogram)[:, 1]
    assert_allclose(cost, -np.log(np.array([100.5, 0.5, 0.5]) / (100 + 0.5 * 12)), rtol=1e-12)


def test_ends_of_the_range_are_inside():
    U = np.linspace(0.0, 1.0, 101)[:, None]  # q1 and q99 are rows: 0.01 and 0.99
    histogram = fit_histogram(U)
    assert_array_equal(bins(U[[0, 1, 99, 100]], histogram)[:, 0], [0, 1, 10, 11])


def test_a_range_too_short_for_bins_is_one_bin():
    U = np.zeros((50, 1))
    U[25:] = 5e-324
    histogram = fit_histogram(U)
    assert_array_equal(bins(np.array([[-1.0], [0.0], [5e-324], [1e-300]]), histogram)[:, 0], [0, 1, 1, 6 + 2])
    assert np.isfinite(histogram.cost).all()


def test_infinite_values_fall_outside():
    histogram = fit_histogram(rows(100))
    places = bins(np.array([[np.inf] * 4, [-np.inf] * 4]), histogram)
    assert_array_equal(places, [[11] * 4, [0] * 4])
