"""Tails of columns: shares of values, growth beyond them, sides without rows, held-out rows, units, twins of a kind."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from oddatom.ensemble.tails import GROWTH, fit_tails, tail_formula, tail_nats

RNG = np.random.default_rng(0)


def cost(train, *values):
    """Costs of values in one column."""
    return tail_nats(np.array(values, float)[:, None], fit_tails(np.asarray(train, float)[:, None]))[:, 0]


@pytest.mark.parametrize("share", [0.001, 0.004, 0.0199, 0.02, 0.0201, 0.03, 0.049, 0.05, 0.051, 0.2, 0.49])
@pytest.mark.parametrize("rare", [2.0, -3.0])
def test_a_level_costs_the_logarithm_of_its_share(share, rare):
    """Up to one in fifty; among three values."""
    n = 10_000
    column = np.zeros(n)
    column[: round(share * n)] = rare
    column[-1] = -0.1 * rare
    usual, odd = cost(column, 0.0, rare)
    assert usual == 0
    assert_allclose(odd, min(-np.log(share), np.log(50)), rtol=1e-9)


@pytest.mark.parametrize("share", [0.001, 0.005, 0.02, 0.05, 0.3, 0.5])
def test_the_rarer_of_two_values_costs_the_logarithm_of_its_share(share):
    column = (np.arange(1000) < 1000 * share).astype(float)
    common, rare = cost(column, 0.0, 1.0)
    assert common == 0
    assert_allclose(rare, -np.log(share) if share < 0.5 else 0, rtol=1e-9)
    assert cost(column, 2.0, -2.0).min() > 4  # a third value


def codes_cost(train, *codes):
    tails = fit_tails(0.25 * np.asarray(train, float)[:, None], np.array([0.25]))
    return tail_nats(0.25 * np.array(codes, float)[:, None], tails)[:, 0]


def test_codes_cost_the_share_of_rows_with_codes_as_rare():
    train = np.repeat([3, 0, 1, 2, -1], [500, 300, 100, 50, 50])
    found = codes_cost(train, 3, 0, 1, 2, -1)
    assert_allclose(found, -np.log([1.0, 450 / 950, 150 / 950, 50 / 950, 1.0]), rtol=1e-9)
    assert_allclose(codes_cost(train, 4, 5, 99), np.log(1001) + GROWTH, rtol=1e-9)  # not in training


def test_many_rare_codes_are_not_rare_together():
    """One row in four has a code of its own: no more surprising than one in four."""
    train = np.concatenate([np.zeros(300), np.arange(1, 101)])
    assert_allclose(codes_cost(train, 1, 57, 100), np.log(4), rtol=1e-9)
    alone = np.concatenate([np.zeros(399), [1.0]])
    assert_allclose(codes_cost(alone, 1), np.log(400), rtol=1e-9)


def test_levels_of_several_values():
    """Each costs −log of the share of rows at least as far out on its side."""
    column = np.repeat([0.0, 1.0, 2.0, 3.0, -1.0], [500, 200, 100, 50, 150])
    assert_allclose(cost(column, 0.0, 1.0, 2.0, 3.0, -1.0), -np.log([1, 0.35, 0.15, 0.05, 0.15]), rtol=1e-9)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_cost_grows_outwards_and_beyond_all_rows(sign):
    x = np.concatenate([np.linspace(0, 10, 400), 10.0 ** np.arange(2, 290, 9.0)])
    found = cost(RNG.normal(size=3000), *(sign * x))
    assert (np.diff(found) >= 0).all()
    far = found[x > 5]
    assert (np.diff(far) > 0).all()
    assert np.isfinite(found).all()
    assert_allclose(np.diff(far[-10:]), GROWTH * np.log(1e9), rtol=1e-6)  # with the logarithm of the distance


def test_quantiles_against_counts():
    column = np.sort(RNG.normal(size=5000))
    for share in (0.35, 0.1, 0.05, 0.03, 0.02):
        above, below = column[round(5000 * (1 - share))], column[round(5000 * share) - 1]
        assert_allclose(cost(column, above, below), -np.log(share), atol=0.02)


def test_a_wrong_sign_and_a_tenth_are_far_out_among_positive_amounts():
    amounts = RNG.lognormal(4.0, 0.8, 2000)
    typical, tenth, negative, tenfold = cost(amounts, np.median(amounts), 0.5, -50.0, 5000.0)
    assert typical < 0.1
    assert tenth > 5
    assert negative > 5
    assert tenfold > 5
    assert cost(amounts - 2000.0, 0.5 - 2000.0)[0] < tenth - 1  # without a logarithmic scale it is not that far


def test_a_side_without_rows():
    counts = np.repeat([0.0, 1.0, 2.0], [800, 150, 50])
    below, farther = cost(counts, -1.0, -10.0)
    assert np.log(1000) < below < farther < 30
    constant, other, huge = cost(np.full(300, 7.0), 7.0, 7.1, 1e300)
    assert constant == 0
    assert np.log(300) < other < huge < np.inf
    assert cost(np.full(300, 7.0), 7.0 * (1 + 1e-15))[0] == 0  # rounding


@pytest.mark.parametrize("n", [1, 2, 3, 10, 49, 51])
def test_few_rows(n):
    train = RNG.normal(size=n)
    found = cost(train, *RNG.normal(size=20), 1e6, -1e6)
    assert np.isfinite(found).all()
    assert found[-2:].min() > found[:-2].max()
    assert cost(train, np.sort(train)[(n - 1) // 2])[0] == 0


def test_a_row_left_out_costs_no_less():
    column = np.concatenate([RNG.normal(size=500), [30.0, -40.0]])[:, None]
    tails = fit_tails(column)
    with_row, without = tail_nats(column, tails), tail_nats(column, tails, held_out=True)
    assert (without >= with_row).all()
    others = fit_tails(np.delete(column, -2, axis=0))
    assert_allclose(without[-2], tail_nats(column[-2:-1], others)[0], rtol=0.02)


def test_order_of_rows_and_units_do_not_matter():
    U = np.column_stack([RNG.normal(size=300), RNG.lognormal(size=300), RNG.integers(0, 3, 300)])
    one = tail_nats(2.0 * U, fit_tails(U))
    assert_array_equal(tail_nats(2.0 * U, fit_tails(RNG.permutation(U))), one)
    assert_allclose(tail_nats(2.0**900 * U, fit_tails(2.0**899 * U)), one, rtol=1e-12)


def test_formula_of_no_rows():
    tails = fit_tails(RNG.normal(size=(30, 2)))
    assert tail_formula(np.empty((0, 2)), tails).shape == tail_nats(np.empty((0, 2)), tails).shape == (0, 2)
