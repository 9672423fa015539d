"""Calibration and log-mean-exp: against NumPy, what they do not depend on, parts that hardly vary."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from oddatom.ensemble.joining import SHARPNESS, fit_calibration, join, z_scores
from oddatom.ensemble.parts import BUILT_IN as PARTS
from oddatom.ensemble.parts import PARTS as REGISTERED
from oddatom.ensemble.row_parts import RowParts

M = 3
JOINED = tuple(name for name in PARTS if REGISTERED[name].joined)
IN_JOIN = np.array([name in JOINED for name in PARTS])
WEIGHTS = np.array([REGISTERED[name].weight for name in PARTS]) / sum(REGISTERED[name].weight for name in PARTS)


def some_parts(N=200, seed=0):
    rng = np.random.default_rng(seed)
    return RowParts(rng.lognormal(size=(N, M, 4)) * 10.0 ** np.arange(-2, 2), rng.lognormal(size=(N, 2)))


def changed(parts, k, values):
    """Put values into column k: the members' first, then those of the row alone."""
    members, rows = (a.copy() for a in parts[:2])
    if k < 4 * M:
        members.reshape(len(rows), -1)[:, k] = values
    else:
        rows[:, k - 4 * M] = values
    return RowParts(members, rows)


def column(parts, k):
    return np.column_stack([parts.members.reshape(len(parts.rows), -1), parts.rows])[:, k]


# Calibration


@pytest.mark.parametrize("members", [slice(None), slice(0, 1), slice(1, 3)])
def test_z_scores_against_numpy(members):
    train, new = some_parts(), some_parts(70, seed=1)
    Z = z_scores(new, fit_calibration(train), members)
    assert Z.shape == (70, 6)
    for p, name in enumerate(PARTS):
        ks = [4 * b + p for b in range(M)[members]] if p < 4 else [4 * M + p - 4]
        wanted = SHARPNESS * np.mean([reference.robust_z(column(train, k), column(new, k)) for k in ks], axis=0)
        assert_allclose(Z[:, p], wanted, rtol=1e-9, atol=1e-12, err_msg=name)


def test_training_rows_have_median_zero_and_the_quartiles_of_a_normal_distribution():
    parts = some_parts(2001)
    Z = z_scores(parts, fit_calibration(parts), slice(0, 1))
    assert_allclose(np.median(Z, axis=0), 0, atol=1e-12)
    assert_allclose(np.diff(np.quantile(Z, [0.25, 0.75], axis=0), axis=0), 1.3489795 * SHARPNESS, rtol=1e-6)


def test_units_of_the_parts_do_not_matter():
    parts, new = some_parts(), some_parts(50, seed=1)
    factors = 10.0 ** np.random.default_rng(2).uniform(-6, 6, (M, 4))
    one = z_scores(new, fit_calibration(parts))
    scaled, far = (RowParts(p.members * factors, p.rows * [1e5, 1e-5]) for p in (parts, new))
    assert_allclose(z_scores(far, fit_calibration(scaled)), one, rtol=1e-9, atol=1e-9)


def test_order_of_training_rows_does_not_matter():
    parts = some_parts()
    parts.members[:150, 0, 1] = 0.0  # the lift and the deviation of such a part are sums over rows
    order = np.random.default_rng(0).permutation(200)
    for a, b in zip(
        fit_calibration(parts), fit_calibration(RowParts(*(values[order] for values in parts[:2]))), strict=True
    ):
        assert_array_equal(a, b)


@pytest.mark.parametrize("k", [0, 7, 4 * M, 4 * M + 1])
@pytest.mark.parametrize("kind", ["zeros", "constant", "mostly zero", "few", "rounding"])
def test_parts_that_hardly_vary(kind, k):
    rng = np.random.default_rng(3)
    few = rng.random(200) < 0.05
    values = {
        "zeros": np.zeros(200),
        "constant": np.full(200, 3.0),
        "mostly zero": np.where(rng.random(200) < 0.2, rng.lognormal(size=200), 0.0),
        "few": np.where(few, 5.0, 2.0),
        "rounding": 2.0 + 1e-14 * rng.random(200),
    }[kind]
    parts = changed(some_parts(), k, values)
    calibration = fit_calibration(parts)
    assert (calibration.lift > 0).all()
    assert (calibration.spread > 0).all()
    Z = z_scores(parts, calibration)
    assert np.isfinite(Z).all()
    z = (np.log(values + calibration.lift[k]) - calibration.center[k]) / calibration.spread[k]
    if kind in ("zeros", "constant", "rounding"):
        assert np.abs(z).max() < 1e-9
    else:
        assert z.max() > 1
        assert np.median(z) == 0
    # A value never seen is odder than those seen, by a finite amount.
    far = z_scores(changed(parts, k, 1e9), calibration)
    p = k % 4 if k < 4 * M else 4 + k - 4 * M
    assert np.isfinite(far).all()
    assert (far[:, p] > Z[:, p]).all()


@pytest.mark.parametrize("k", [0, 4 * M])
def test_quartiles_of_one_kind_of_rows_among_others(k):
    rng = np.random.default_rng(4)
    many = np.round(rng.lognormal(0.0, 0.05, 200), 2)  # values that repeat
    values = np.where(np.arange(200) % 5 == 0, 1000.0 * many, many)  # a fifth is of another kind
    calibration = fit_calibration(changed(some_parts(), k, values))
    z = (np.log(values + calibration.lift[k]) - calibration.center[k]) / calibration.spread[k]
    assert 1.0 < z.max() / SHARPNESS < 3.0  # not 100, as by the quartiles
    fewer = np.where(np.arange(200) % 25 == 0, 1000.0 * many, many)  # where they are few, the quartiles say what is odd
    calibration = fit_calibration(changed(some_parts(), k, fewer))
    z = (np.log(fewer + calibration.lift[k]) - calibration.center[k]) / calibration.spread[k]
    assert z.max() > 50.0
    apart = np.where(np.arange(200) % 5 == 0, 1000.0, 1.0) * rng.lognormal(0.0, 0.05, 200)  # no value twice
    calibration = fit_calibration(changed(some_parts(), k, apart))
    z = (np.log(apart + calibration.lift[k]) - calibration.center[k]) / calibration.spread[k]
    assert z.max() > 50.0


def test_no_rows():
    assert z_scores(RowParts(*(a[:0] for a in some_parts()[:2])), fit_calibration(some_parts())).shape == (0, 6)


def test_a_row_does_not_depend_on_those_around_it():
    parts = some_parts(30_000)  # enough for chunks
    calibration = fit_calibration(parts)
    Z = z_scores(parts, calibration)
    for rows in (slice(0, 1), slice(17, 900), slice(29_999, None)):
        assert_array_equal(
            z_scores(RowParts(*(np.ascontiguousarray(a[rows]) for a in parts[:2])), calibration), Z[rows]
        )


# Joining


def test_join_against_numpy():
    Z = 3 * np.random.default_rng(0).normal(size=(100, 6))
    assert_allclose(join(Z, WEIGHTS), reference.log_mean_exp(Z, WEIGHTS), rtol=1e-11, atol=1e-12)
    assert_allclose(join(Z + 5.0, WEIGHTS), join(Z, WEIGHTS) + 5.0, rtol=1e-12)


def test_join_lies_between_mean_and_largest():
    Z = 3 * np.random.default_rng(0).normal(size=(300, 6))
    joined = join(Z, WEIGHTS)
    assert (joined >= Z @ WEIGHTS).all()
    assert (joined <= Z[:, IN_JOIN].max(axis=1)).all()
    assert_allclose(join(np.full((1, 6), 1.7), WEIGHTS), 1.7, rtol=1e-12)


def test_join_grows_with_every_part_but_the_residual():
    Z = np.random.default_rng(0).normal(size=(50, 6))
    for p, name in enumerate(PARTS):
        more = Z.copy()
        more[:, p] += 0.5
        if name == "residual":
            assert_array_equal(join(more, WEIGHTS), join(Z, WEIGHTS))
        else:
            assert (join(more, WEIGHTS) > join(Z, WEIGHTS)).all()


def test_join_of_huge_numbers():
    Z = np.array([[1e9] * 6, [-1e9] * 6, [-1e9, 0, 0, 1e300, 0, 0], [1e9, 0, 0, 0, 0, 0.0]])
    joined = join(Z, WEIGHTS)
    assert_allclose(joined[:2], [1e9, -1e9], rtol=1e-12)
    assert -1 < joined[2] < 0
    assert_allclose(joined[3], 1e9, rtol=1e-8)
