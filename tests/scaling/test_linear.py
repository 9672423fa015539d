"""Scaling: columns and table against NumPy, there and back, constant columns, extreme values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from oddatom.scaling.array_columns import fit_scaling
from oddatom.scaling.column_statistics import SCALINGS

every_kind = pytest.mark.parametrize("kind", [None, *SCALINGS])


def rows(N=40, seed=0):
    rng = np.random.default_rng(seed)
    return rng.lognormal(size=(N, 4)) * [1.0, 1e-3, 1e4, 1.0] + [0.0, 5.0, -1e4, 1.0]


@every_kind
def test_fitted_rows(kind):
    X = rows()
    scaling, Y = fit_scaling(X, kind)
    if kind is None:
        wanted = X
    elif kind == "standard":
        wanted = (X - X.mean(axis=0)) / X.std(axis=0)
    else:
        wanted = (X - np.median(X, axis=0)) / (np.quantile(X, 0.75, axis=0) - np.quantile(X, 0.25, axis=0))
    assert_allclose(scaling.scale, np.linalg.norm(wanted), rtol=1e-12)
    assert_allclose(Y, wanted / np.linalg.norm(wanted), rtol=1e-9, atol=1e-14)
    assert_allclose(np.linalg.norm(Y), 1, rtol=1e-14)
    assert Y.flags.c_contiguous


@every_kind
def test_apply_and_undo(kind):
    X, new = rows(), rows(seed=1)
    before = X.copy()
    scaling, Y = fit_scaling(X, kind)
    assert_allclose(scaling.apply(X), Y, rtol=1e-13, atol=1e-16)
    assert_allclose(scaling.undo(Y), X, rtol=1e-12)
    assert_allclose(scaling.undo(scaling.apply(new)), new, rtol=1e-12)
    assert_array_equal(scaling.apply(new[:1]), scaling.apply(new)[:1])  # by the fitted numbers, not by the batch's
    applied = scaling.apply(np.asfortranarray(new).astype(np.float32))
    assert applied.flags.c_contiguous
    assert applied.dtype == np.float64
    assert_array_equal(X, before)


@pytest.mark.parametrize("kind", SCALINGS)
@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, -1e20, 1e300, 1e-300])
def test_constant_column_comes_out_as_zeros(kind, value):
    X = rows(37)
    X[:, 1] = value
    scaling, Y = fit_scaling(X, kind)
    assert_array_equal(Y[:, 1], 0)
    assert_array_equal(scaling.apply(X)[:, 1], 0)
    assert scaling.spread[1] == 1
    assert scaling.center[1] == value
    _, others = fit_scaling(np.delete(X, 1, axis=1), kind)
    assert_allclose(np.delete(Y, 1, axis=1), others, rtol=1e-12)


@pytest.mark.parametrize("kind", SCALINGS)
def test_rounding_is_not_blown_up(kind):
    X = rows()
    X[:, 1] = 1e20 * (1 + np.finfo(float).eps * (np.arange(40) % 2))
    _, Y = fit_scaling(X, kind)
    assert np.abs(Y[:, 1]).max() < 0.2 * np.abs(Y[:, 0]).max()


@pytest.mark.parametrize("kind", SCALINGS)
def test_only_constant_columns(kind):
    scaling, Y = fit_scaling(np.full((5, 2), 0.1), kind)
    assert_array_equal(Y, 0)
    assert scaling.scale == 1


def test_zeros():
    scaling, Y = fit_scaling(np.zeros((5, 2)), None)
    assert_array_equal(Y, 0)
    assert scaling.scale == 1


@every_kind
@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e160, 1e300])
def test_huge_and_tiny_values(kind, factor):
    X = rows()[:, [0, 3]]
    with np.errstate(all="raise", under="ignore"):
        scaling, Y = fit_scaling(factor * X, kind)
        back = scaling.undo(scaling.apply(factor * X))
    assert_allclose(Y, fit_scaling(X, kind)[1], rtol=1e-10)
    assert_allclose(back, factor * X, rtol=1e-12)
    assert_allclose(scaling.scale, fit_scaling(X, kind)[0].scale * (factor if kind is None else 1), rtol=1e-10)


@pytest.mark.parametrize("kind", SCALINGS)
def test_columns_of_very_different_size(kind):
    X = rows()[:, [0, 3]]
    assert_allclose(fit_scaling(X * [1e-300, 1e300], kind)[1], fit_scaling(X, kind)[1], rtol=1e-10)


@every_kind
def test_too_large(kind):
    X = 1.7e308 * np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match=r"X is too large: its Frobenius norm overflows\. Divide the data"):
        fit_scaling(X if kind is None else np.vstack([X, X[0], X[0]]), kind)


def test_robust_with_a_zero_interquartile_range():
    """The column's deviation takes its place; the median stays the center."""
    X = rows()
    X[:, 2] = 7.0
    X[:3, 2] = [8.0, 9.0, 100.0]
    scaling, Y = fit_scaling(X, "robust")
    assert scaling.center[2] == 7
    assert_allclose(scaling.spread[2], X[:, 2].std(), rtol=1e-12)
    assert np.count_nonzero(Y[:, 2]) == 3


def test_robust_is_robust():
    X = rows()
    scaling, _ = fit_scaling(X, "robust")
    X[0] *= 1e6
    outlier, _ = fit_scaling(X, "robust")
    assert_allclose(outlier.spread, scaling.spread, rtol=0.3)
