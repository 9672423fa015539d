"""Levels of groups: their own where groups lie apart, those of all rows where they do not."""

import numpy as np
import pytest

from oddatom.context.grouped import by_group, clipped_spreads, scale_rows
from oddatom.context.groups import learn_groups


def test_medians_and_spreads_are_those_of_every_group():
    rng = np.random.RandomState(0)
    values, groups = rng.randn(500), rng.randint(-1, 7, 500)
    groups[groups == 3] = 4
    values[rng.rand(500) < 0.1] = np.nan
    found = by_group(values, groups, 7)
    for g in range(7):
        own = values[(groups == g) & ~np.isnan(values)]
        assert found.n[g] == own.size
        if own.size:
            assert found.median[g] == pytest.approx(np.median(own))
            assert found.spread[g] == pytest.approx(np.subtract(*np.quantile(own, [0.75, 0.25])))
        else:
            assert np.isnan(found.median[g])


def test_groups_far_apart_keep_their_levels_and_scales():
    rng = np.random.RandomState(1)
    groups = np.repeat(np.arange(20), 200)
    level, scale = 100.0 * rng.randn(20), np.exp(rng.randn(20))
    numbers = (level[groups] + scale[groups] * rng.randn(4000))[:, None]
    found = learn_groups(numbers, groups, [str(g) for g in range(20)])
    assert np.abs(found.centers[:-1, 0] - level).max() < 0.5 * scale.max()
    z = found.apply(numbers, groups)[:, 0]
    deviations = [z[groups == g].std() for g in range(20)]
    assert 0.8 < min(deviations) < max(deviations) < 1.25


def test_groups_that_are_alike_have_the_level_of_all_rows():
    rng = np.random.RandomState(2)
    groups = np.repeat(np.arange(200), 5)
    found = learn_groups(rng.randn(1000, 1), groups, [str(g) for g in range(200)])
    assert np.abs(found.centers[:, 0]).max() < 0.4  # medians of five rows alone reach 1.5


def test_a_small_group_has_a_scale_between_its_own_and_the_usual_one():
    rng = np.random.RandomState(3)
    groups = np.append(np.repeat(np.arange(10), 100), [10, 10, 10])
    numbers = np.append(rng.randn(1000), [5.0, 5.0, 5.0])[:, None]
    found = learn_groups(numbers, groups, [str(g) for g in range(11)])
    assert 0.3 < found.scales[10, 0] < 0.97  # three equal values alone have none


def test_a_new_group_is_compared_with_all_rows():
    numbers = np.array([[0.0], [1.0], [2.0], [100.0], [101.0], [102.0]])
    found = learn_groups(numbers, np.array([0, 0, 0, 1, 1, 1]), ["a", "b"])
    assert np.array_equal(
        found.apply(np.array([[51.0]]), np.array([7])), found.apply(np.array([[51.0]]), np.array([-1]))
    )
    assert found.apply(np.array([[51.0]]), np.array([-1]))[0, 0] == pytest.approx(0.0)


def test_constant_and_missing_numbers_stay_finite():
    numbers = np.array([[1.0, np.nan], [1.0, np.nan], [1.0, np.nan], [1.0, 3.0]])
    found = learn_groups(numbers, np.array([0, 0, 1, 1]), ["a", "b"])
    z = found.apply(numbers, np.array([0, 0, 1, 1]))
    assert np.isfinite(z[:, 0]).all()
    assert np.isnan(z[:, 1]).tolist() == [True, True, True, False]


def log_spreads(values, groups):
    found = by_group(values, groups, int(groups.max()) + 1)
    return np.log(found.spread), np.log(clipped_spreads(values, groups, found).spread)


def test_clipped_spreads_are_twice_as_exact_and_odd_values_do_not_move_them():
    rng = np.random.RandomState(4)
    groups, values = np.repeat(np.arange(300), 100), rng.randn(30_000)
    quartiles, clipped = log_spreads(values, groups)
    assert clipped.mean() == pytest.approx(np.log(1.349), abs=0.02)
    assert clipped.var() < 0.6 * quartiles.var()
    assert clipped.var() * 100 == pytest.approx(0.6, abs=0.15)  # the noise that `scale_rows` reckons with
    values[::100] = 1e6
    assert np.abs(log_spreads(values, groups)[1] - clipped).max() < 0.15


def test_groups_share_a_scale_as_far_as_they_are_alike():
    rng = np.random.RandomState(5)
    groups, noise = np.repeat(np.arange(100), 50), rng.randn(5000)

    def rows(scales):
        values = scales[groups] * noise
        found = by_group(values, groups, 100)
        return scale_rows(clipped_spreads(values, groups, found), 1.0)

    assert rows(np.ones(100)) == 50.0
    assert rows(np.exp(rng.randn(100))) == pytest.approx(0.6, rel=0.5)  # the variance of their logarithms is 1
