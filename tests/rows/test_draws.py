"""Draws by what rows hold: the same for every order of the rows, random otherwise, copies one by one."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import chisquare, hypergeom

from oddatom.rows.draws import draw_order


def rows(N=300, m=3, seed=0):
    return np.random.default_rng(seed).normal(size=(N, m))


def with_copies(N=300, seed=0):
    return np.random.default_rng(seed).integers(0, 3, (N, 2)).astype(float)


TABLES = {"some": rows(), "one": rows(1), "two": rows(2), "copies": with_copies(), "alike": np.ones((50, 2))}


@pytest.mark.parametrize("X", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("seed", [0, 1, 2**31 - 2])
def test_every_row_once_whatever_their_order(X, seed):
    order = draw_order(X, seed)
    assert_array_equal(np.sort(order), np.arange(len(X)))
    for k in range(3):
        permuted = X[np.random.default_rng(k).permutation(len(X))]
        assert_array_equal(permuted[draw_order(permuted, seed)], X[order])


def test_seeds_draw_differently():
    heads = {tuple(draw_order(rows(), seed)[:5]) for seed in range(20)}
    assert len(heads) == 20


def test_one_changed_number_moves_its_row_alone():
    X = rows()
    changed = X.copy()
    changed[17, 2] = np.nextafter(changed[17, 2], 9.0)
    before, after = draw_order(X, 3), draw_order(changed, 3)
    assert_array_equal(before[before != 17], after[after != 17])
    assert np.flatnonzero(before == 17) != np.flatnonzero(after == 17)


def test_numbers_in_other_columns_are_other_rows():
    X = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0], [2.0, 2.0]])
    orders = {tuple(draw_order(X, seed)) for seed in range(400)}
    assert len(orders) == 24  # all of them: no two rows are tied


def test_a_negative_zero_is_a_zero():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    for seed in range(20):
        assert_array_equal(draw_order(X, seed), draw_order(np.abs(X), seed))


@pytest.mark.parametrize("X", [rows(40), np.repeat(rows(10), 4, axis=0)], ids=["different", "copies"])
def test_every_row_is_drawn_as_often(X):
    """By position for rows that differ; by content for copies, of which each content has four."""
    n_seeds, n_drawn = 4000, 10
    counts = np.zeros(len(X))
    for seed in range(n_seeds):
        counts[draw_order(X, seed)[:n_drawn]] += 1
    if len(np.unique(X, axis=0)) < len(X):
        counts = counts.reshape(-1, 4).sum(axis=1)
    # Drawn without replacement, counts vary less than chi-square supposes: too large a p-value is no fault.
    assert chisquare(counts).pvalue > 1e-3


def test_copies_are_drawn_one_by_one():
    """Half of the rows are copies of one: their number among the first 100 is hypergeometric."""
    X = rows(1000)
    X[::2] = X[0]
    counts = np.array([np.count_nonzero(draw_order(X, seed)[:100] % 2 == 0) for seed in range(400)])
    law = hypergeom(1000, 500, 100)
    assert abs(counts.mean() - 50) < 4 * law.std() / 20
    assert 0.85 < counts.std() / law.std() < 1.15
