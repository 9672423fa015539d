"""Numbers as deviations from the level of their category: against medians, unknown levels, and where none explains."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from oddatom.ensemble.levels import FEWEST_ROWS, fit_levels, shift_rows

CODES = np.array([False, False, True, True])


def machines(N=1500, seed=0, spread=10.0):
    """Two columns of numbers, the first with a level for each of six machines; the machine, and a code of chance."""
    rng = np.random.default_rng(seed)
    machine = rng.integers(0, 6, N)
    levels = spread * np.array([-2.0, 1.5, 0.3, -0.9, 0.8, 2.2])
    return np.column_stack([levels[machine] + rng.normal(size=N), rng.normal(size=N), machine, rng.integers(0, 4, N)])


def test_against_medians():
    X = machines()
    levels = fit_levels(X, CODES)
    assert (levels.columns, levels.categories) == ((0,), (2,))
    shifted = shift_rows(X, levels)
    for machine in range(6):
        rows = X[:, 2] == machine
        median, of_all = (np.quantile(v, 0.5, method="lower") for v in (X[rows, 0], X[:, 0]))
        wanted = X[rows, 0] - median + of_all
        assert_allclose(shifted[rows, 0], wanted, atol=1e-12)
    assert_array_equal(shifted[:, 1:], X[:, 1:])


@pytest.mark.parametrize(("spread", "shifted"), [(0.0, ()), (0.3, ()), (3.0, (0,))])
def test_a_category_must_explain_half_of_the_spread(spread, shifted):
    assert fit_levels(machines(spread=spread), CODES).columns == shifted


def test_no_category():
    X = machines()
    assert fit_levels(X, np.zeros(4, bool)) is None
    assert shift_rows(X, None) is X


@pytest.mark.parametrize("machine", [np.nan, -1.0, 6.0, 40.0])
def test_an_unknown_level_gets_the_nearest(machine):
    levels = fit_levels(machines(), CODES)
    rows = np.array([[15.2, 0.0, machine, 0.0], [500.0, 0.0, machine, 0.0], [500.0, 0.0, 0.0, 0.0]])
    found = shift_rows(rows, levels)[:, 0] - levels.center[0]
    assert abs(found[0]) < 1.0  # 15 is the level of one machine
    assert found[1] > 450.0  # and 500 of none
    assert found[2] > found[1]


def test_few_rows_make_no_level():
    X = machines()
    X[: FEWEST_ROWS - 1, 2], X[: FEWEST_ROWS - 1, 0] = 6.0, 80.0
    levels = fit_levels(X, CODES)
    assert np.isnan(levels.shifts[0, 6])
    assert np.isfinite(levels.shifts[0, :6]).all()
    X[FEWEST_ROWS - 1, 2] = 6.0
    assert np.isfinite(fit_levels(X, CODES).shifts[0, 6])


def test_missing_numbers_and_codes():
    X = machines()
    X[::5, 0], X[1::7, 2] = np.nan, -1.0
    levels = fit_levels(X, CODES)
    assert levels.columns == (0,)
    shifted = shift_rows(X, levels)
    assert_array_equal(np.isnan(shifted[:, 0]), np.isnan(X[:, 0]))
    assert_array_equal(np.isnan(shifted[:, 2]), X[:, 2] < 0)  # a missing category is a missing value
    assert X[1, 2] == -1.0  # the rows passed stay as they are


def test_columns_of_few_values_stay():
    X = machines()
    X[:, 0] = np.round(X[:, 2])
    assert fit_levels(X, CODES).columns == ()


def test_a_row_does_not_depend_on_those_around_it():
    X = machines()
    levels = fit_levels(X, CODES)
    whole = shift_rows(X, levels)
    assert_array_equal(np.concatenate([shift_rows(X[j : j + 1], levels) for j in range(50)]), whole[:50])


@pytest.mark.parametrize("n_bands", [3, 20])
def test_bands_of_a_number_do_not_explain_it(n_bands):
    X = machines()
    X[:, 3] = np.digitize(X[:, 1], np.quantile(X[:, 1], np.linspace(0, 1, n_bands + 1)[1:-1]))
    X[7, 3] = 0 if X[7, 3] else 1  # one is wrong
    assert fit_levels(X, CODES).columns == (0,)


@pytest.mark.parametrize("separation", [3.5, 4.0, 4.5, 5.0, 5.5, 8.0])
def test_levels_that_happen_to_touch_are_levels(separation):
    """Of a bell's shape, however far apart."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, 4, 2000)
    X = np.column_stack([separation * code + rng.normal(size=2000), code])
    assert fit_levels(X, np.array([False, True])).columns == (0,)


@pytest.mark.parametrize("n_levels", [20, 90, 120, 200])
def test_categories_of_many_levels(n_levels):
    rng = np.random.default_rng(0)
    code = rng.integers(0, n_levels, 20_000)
    X = np.column_stack([30.0 * rng.normal(size=n_levels)[code] + rng.normal(size=20_000), code])
    levels = fit_levels(X, np.array([False, True]))
    assert levels.columns == (0,)
    assert np.isfinite(levels.shifts).all()


def test_the_largest_numbers_stay_far_out():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 2, 400)
    X = np.column_stack([np.array([1e307, 6e307])[code] + 1e305 * rng.normal(size=400), code])
    levels = fit_levels(X, np.array([False, True]))
    assert levels.columns == (0,)
    largest = np.finfo(float).max
    shifted = shift_rows(np.array([[largest, 0.0], [-largest, 1.0], [1e308, np.nan]]), levels)[:, 0]
    assert np.isfinite(shifted).all()
    assert (np.abs(shifted - levels.center[0]) > 1e306).all()
