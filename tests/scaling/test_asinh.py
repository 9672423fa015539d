"""The robust asinh scaling: columns against NumPy, columns that hardly vary, extreme values, order of the rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from oddatom.scaling.asinh import fit_asinh, stretch


def rows(N=80, seed=0):
    rng = np.random.default_rng(seed)
    return rng.lognormal(size=(N, 4)) * [1.0, 1e-3, 1e4, 1.0] + [0.0, 5.0, -1e4, 1.0]


@pytest.mark.parametrize("N", [2, 3, 80])
def test_columns_against_numpy(N):
    X, new = rows(N), rows(seed=1)
    scaling = fit_asinh(X)
    assert_allclose(scaling.apply(X), reference.asinh_columns(X, X), rtol=1e-9, atol=1e-13)
    assert_allclose(scaling.apply(new), reference.asinh_columns(X, new), rtol=1e-9, atol=1e-13)
    assert_array_equal(scaling.apply(new[3:4]), scaling.apply(new)[3:4])


def test_middle_is_nearly_linear_and_far_values_a_logarithm():
    X = np.linspace(-5, 5, 101)[:, None]  # median 0, q95 − q5 = 9
    y = fit_asinh(X).apply(9.0 * np.array([[1e-3], [1.0], [1e3], [1e6], [-1e6]]))[:, 0]
    assert_allclose(y[0], 1e-3, rtol=1e-5)
    assert_allclose(y[3] - y[2], np.log(1e3) / 4, rtol=1e-6)
    assert y[3] == -y[4]
    assert (np.diff(y[:4]) > 0).all()


@pytest.mark.parametrize(("value", "other", "far"), [(0.1, 0.2, 10.0), (-3.0, 3.0, 20.0), (0.0, 5.0, 5.0)])
def test_constant_columns_measure_by_their_own_value(value, other, far):
    X = rows()
    X[:, 2] = value
    scaling = fit_asinh(X)
    assert_array_equal(scaling.apply(X)[:, 2], 0)
    kept = np.delete(X, 2, axis=1)
    assert_array_equal(np.delete(scaling.apply(X), 2, axis=1), fit_asinh(kept).apply(kept))
    X[0, 2] = other
    assert_allclose(scaling.apply(X)[0, 2], np.arcsinh(4 * far) / 4, rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e300])
def test_only_constant_columns(value):
    scaling = fit_asinh(np.full((6, 3), value))
    assert_array_equal(scaling.apply(np.full((6, 3), value)), np.zeros((6, 3)))


def test_where_most_rows_share_a_value_the_deviation_takes_over():
    X = rows()
    X[:, 1] = 7.0
    X[:3, 1] = [8.0, 9.0, 100.0]
    scaling = fit_asinh(X)
    assert_allclose(scaling.apply(X), reference.asinh_columns(X, X), rtol=1e-9, atol=1e-13)
    assert np.count_nonzero(scaling.apply(X)[:, 1]) == 3


def test_rounding_is_not_blown_up():
    X = rows()
    X[:, 1] = 1e20 * (1 + np.finfo(float).eps * (np.arange(80) % 2))
    assert np.abs(fit_asinh(X).apply(X)[:, 1]).max() < 1e-3
    x = np.zeros((200, 1))  # in units of the one far value the others are rounding
    x[:8, 0], x[9] = 1e-160, 1.0
    assert_array_equal(np.flatnonzero(fit_asinh(x).apply(x)), [9])


def test_far_values_do_not_move_it():
    X = rows(400)
    far = X.copy()
    far[:8] = 1e9  # 2 %
    assert_allclose(fit_asinh(far).apply(X[8:]), fit_asinh(X).apply(X[8:]), atol=0.08)


@pytest.mark.parametrize("power", [-1000, -900, 3, 900, 1000])
def test_units_that_are_powers_of_two_do_not_matter(power):
    X = np.abs(rows()[:, [0, 3]])
    assert_array_equal(fit_asinh(np.ldexp(X, power)).apply(np.ldexp(X, power)), fit_asinh(X).apply(X))


def test_order_of_rows_does_not_matter():
    X = rows()
    X[3:, 1] = 7.0
    one = fit_asinh(X)
    for seed in range(20):
        two = fit_asinh(X[np.random.default_rng(seed).permutation(80)])
        for name in one._fields:
            assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)


@pytest.mark.parametrize("factor", [5e-324, 1e-300, 1.0, 1e300, 1e308])
def test_extreme_values(factor):
    X = factor * np.array([[1.0, -1.0], [0.0, 1.0], [1.0, 0.5], [-1.0, 0.0], [0.5, 1.0]])
    new = np.array([[1e308, -1e308], [0.0, 5e-324]])
    with np.errstate(all="raise", under="ignore"):
        scaling = fit_asinh(X)
        Y, far = scaling.apply(X), scaling.apply(new)
    assert np.isfinite(Y).all()
    assert np.abs(Y).max() < 1
    assert np.abs(far).max() < 90


def test_stretch_undoes_half_of_the_bend():
    z = np.array([0.0, 1e-9, 0.3, -0.3, 5.0, -2000.0])
    y = np.arcsinh(4 * z) / 4
    assert_allclose(stretch(y) ** 2 * y, z, rtol=1e-9)
    assert stretch(np.zeros(1)) == 1
    assert stretch(np.array([80.0])) == np.sqrt(1e6 / 80)  # as far as can be
