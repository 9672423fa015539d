"""Views against a slow reference, over gaps, ties and missing values."""

import numpy as np
import pytest

from oddatom.context.ordered import put_in_order
from oddatom.context.views import Views, in_units, running_views, typical_spreads
from oddatom.estimators._feedback import keys_of


def slowly(ordered, window):
    """Change, distance and spread of every number, row by row from the rows before it."""
    U, p = ordered.encoded.shape
    found = Views(*(np.full((p, U), np.nan) for _ in range(3)))
    for i in range(U):
        before = ordered.encoded[max(ordered.start[i], ordered.first[i] - window) : ordered.first[i]]
        for j in range(p):
            there = before[~np.isnan(before[:, j]), j]
            if there.size >= 5:
                found.spread[j, i] = np.quantile(there, 0.75) - np.quantile(there, 0.25)
            x = ordered.encoded[i, j]
            if np.isnan(x) or not there.size:
                continue
            found.change[j, i] = x - there[-1]
            if there.size >= 3:
                found.distance[j, i] = x - np.median(there)
    return found


@pytest.mark.parametrize("window", [2, 5, 24])
@pytest.mark.parametrize("seed", range(4))
def test_views_are_those_of_the_rows_before(seed, window):
    rng = np.random.RandomState(seed)
    n = 300
    times = np.cumsum(rng.choice([0.0, 1.0, 1.0, 2.0, 60.0], n))  # ties and gaps
    numbers = np.round(rng.randn(n, 3), 1)  # equal values
    numbers[rng.rand(n, 3) < 0.2] = np.nan
    ordered = put_in_order(rng.randint(0, 3, n), times, numbers, keys_of(numbers), gap=10.0)
    fast, slow = running_views(ordered.encoded, ordered.start, ordered.first, window), slowly(ordered, window)
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_some_rows_have_the_views_that_they_have_among_all():
    rng = np.random.RandomState(0)
    numbers = rng.randn(200, 2)
    ordered = put_in_order(np.zeros(200, np.int64), np.arange(200.0), numbers, keys_of(numbers))
    everything = running_views(numbers, ordered.start, ordered.first, 12)
    rows = np.array([150, 3, 151, 80, 81])
    some = running_views(numbers, ordered.start, ordered.first, 12, rows)
    for one, other in zip(some, everything, strict=True):
        assert np.array_equal(one[:, rows], other[:, rows], equal_nan=True)
    assert np.isnan(some.change[:, 100]).all()


def test_the_first_rows_have_no_context():
    numbers = np.array([[1.0], [5.0], [2.0], [9.0], [4.0], [7.0]])
    ordered = put_in_order(np.zeros(6, np.int64), np.arange(6.0), numbers, keys_of(numbers))
    views = running_views(ordered.encoded, ordered.start, ordered.first, 4)
    np.testing.assert_array_equal(views.change[0], [np.nan, 4.0, -3.0, 7.0, -5.0, 3.0])
    np.testing.assert_array_equal(views.distance[0], [np.nan, np.nan, np.nan, 7.0, 0.5, 2.5])
    assert np.isnan(views.spread[0]).all()  # four rows are too few


def test_units_are_between_the_typical_spread_and_the_running_one():
    views = Views(np.zeros((1, 4)), np.full((1, 4), 8.0), np.array([[4.0, 1.0, np.nan, 1e9]]))
    assert in_units(views, np.array([4.0]))[0] == pytest.approx([2.0, 4.0, 2.0, 1.0])


def test_a_number_that_never_moves_has_a_unit():
    assert typical_spreads(np.array([[0.0, np.nan, 0.0], [0.0, 2.0, 4.0]])).tolist() == [1.0, 3.0]
