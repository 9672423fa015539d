"""Corrupted rows: what is changed, by how much, and that the rest is left alone."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from oddatom.synthetic import KINDS, corrupt_features


def rows(N=200, m=6, seed=0):
    """The third column is constant, the fourth one value in most rows."""
    X = np.random.default_rng(seed).normal(size=(N, m)) * 10.0 ** np.arange(m)
    X[:, 2] = 7.0
    X[:, 3] = 0.0
    X[: N // 50, 3] = 1.0
    return X


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most_features", [1, 2, 4])
def test_labels_and_mask_say_what_was_changed(kind, most_features):
    X = rows()
    before = X.copy()
    changed, y, mask = corrupt_features(X, 0.2, kind=kind, most_features=most_features, random_state=0)
    assert_array_equal(X, before)
    assert_array_equal(changed[~mask], X[~mask])
    usual = np.arange(6) != 3  # where most rows hold one value, a swap may put it back
    assert (changed[:, usual] != X[:, usual])[mask[:, usual]].all()
    assert_array_equal(y, mask.any(axis=1))
    assert y.sum() == 40
    assert not mask[:, 2].any()
    counts = mask.sum(axis=1)[y == 1]
    assert set(counts) == set(range(1, most_features + 1))
    assert np.count_nonzero(mask.any(axis=0)) == 5


@pytest.mark.parametrize("size", [1.0, 3.0])
def test_shift_is_that_many_ranges(size):
    X = rows(2000)
    changed, _, mask = corrupt_features(X, 0.5, size=size, random_state=0)
    low, high = np.quantile(X, [0.05, 0.95], axis=0)
    spread = np.where(high > low, high - low, X.std(axis=0))
    moved = ((changed - X) / np.where(spread > 0, spread, 1.0))[mask]
    assert size * (1 - 1e-9) <= np.abs(moved).min() < 1.02 * size
    assert 1.98 * size < np.abs(moved).max() <= 2 * size * (1 + 1e-9)
    assert 0.45 < np.mean(moved > 0) < 0.55


def test_swap_puts_in_a_far_number_of_the_same_column():
    X = rows(101)
    changed, _, mask = corrupt_features(X, 0.5, kind="swap", random_state=0)
    for row, f in zip(*np.nonzero(mask), strict=True):
        distances = np.abs(X[:, f] - X[row, f])
        new = abs(changed[row, f] - X[row, f])
        assert changed[row, f] in X[:, f]
        assert np.count_nonzero(distances < new) >= 50 or f == 3
        assert new >= np.median(distances)


def test_the_seed_decides():
    one, two, three = (corrupt_features(rows(), random_state=seed) for seed in (0, 0, 1))
    assert_array_equal(one.X, two.X)
    assert_array_equal(one.mask, two.mask)
    assert not np.array_equal(one.mask, three.mask)


def test_at_least_one_row():
    assert corrupt_features(rows(), 1e-9, random_state=0).y.sum() == 1
    assert corrupt_features(rows(), 1.0, random_state=0).y.all()
    assert corrupt_features([[1, 2], [3, 4]], kind="swap", most_features=9, random_state=0).X.dtype == np.float64


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kind": "scale"}, r"The 'kind' parameter of corrupt_features must be one of .* Got 'scale' instead\."),
        ({"share": 0}, r"The 'share' parameter of corrupt_features must be in the range \(0, 1\]\. Got 0 instead\."),
        ({"share": 1.5}, r"The 'share' parameter of corrupt_features .* Got 1\.5 instead\."),
        (
            {"most_features": 0},
            r"The 'most_features' parameter of corrupt_features must be at least 1\. Got 0 instead\.",
        ),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        corrupt_features(rows(), **parameters)


def test_nothing_to_corrupt():
    with pytest.raises(ValueError, match="only constant columns: there is nothing to corrupt"):
        corrupt_features(np.ones((5, 2)))
