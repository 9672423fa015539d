"""Tables whose rows come in a few kinds, such as those of categories: common kinds are normal, rare ones are odd."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from oddatom import OddAtomDetector
from oddatom.ensemble.members import MOST_KINDS, usual_rows


def categories(rng, N, *sizes):
    return np.hstack([np.eye(size)[rng.integers(0, size, N)] for size in sizes])


TABLES = {
    "one column of four": lambda rng: categories(rng, 1000, 4),
    "three times three": lambda rng: categories(rng, 1000, 3, 3),
    "few rows": lambda rng: categories(rng, 60, 3, 3),
    "very few rows": lambda rng: categories(rng, 40, 2, 2),
    "more kinds than centroids": lambda rng: categories(rng, 1000, 20, 2),
    "numbers": lambda rng: rng.integers(0, 3, (1000, 3)).astype(float),
    "grades": lambda rng: rng.integers(1, 6, (1000, 2)).astype(float),
}


@pytest.mark.parametrize("table", TABLES)
def test_common_kinds_are_normal(table):
    X = TABLES[table](np.random.default_rng(0))
    found = [OddAtomDetector(random_state=seed).fit(X) for seed in range(3)]
    for detector in found:
        assert (detector.predict(X) == -1).mean() < 0.05
        assert detector.score_samples(X).min() > -2.5
    if len(X) == 1000:  # members see other rows, but the same kinds
        assert_allclose(found[1].score_samples(X), found[0].score_samples(X), atol=0.2)


@pytest.mark.parametrize("seed", range(3))
def test_a_rare_combination_of_common_values_is_odd(seed):
    rng = np.random.default_rng(seed)
    A, B = rng.integers(0, 3, (2, 1000))
    both = (A == 0) & (B == 0)
    few = np.flatnonzero(~both | (np.cumsum(both) <= 3))
    X, rare = np.hstack([np.eye(3)[A], np.eye(3)[B]])[few], both[few]
    detector = OddAtomDetector(random_state=seed).fit(X)
    scores = detector.score_samples(X)
    assert scores[rare].max() < scores[~rare].min() - 5.0
    assert_array_equal(detector.predict(X) == -1, rare)


def test_rows_that_are_centroids_have_one_code():
    X = categories(np.random.default_rng(1), 300, 3, 2)
    detector = OddAtomDetector(random_state=0).fit(X)
    kinds, label = np.unique(X, axis=0, return_inverse=True)
    scores = detector.score_samples(X)
    for k in range(len(kinds)):
        assert np.ptp(scores[label.ravel() == k]) == 0.0
    # What rounding does to a row must not choose an atom for it.
    assert_allclose(detector.score_samples(kinds * (1 - 4e-16)), detector.score_samples(kinds), atol=1e-6)


def usual(Y, t=0.2, rarity=None):
    _, label, counts = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
    rarity = -np.log(counts[label.ravel()] / len(Y)) if rarity is None else rarity
    return {tuple(row) for row in Y[usual_rows(Y, rarity, t)]}


def test_usual_kinds():
    counts = {0.0: 500, 1.0: 300, 2.0: 120, 3.0: 80, 4.0: 25, 5.0: 12}  # 1,037 rows: three make up 80 % of them
    Y = np.repeat(list(counts), list(counts.values()))[:, None] + np.zeros(2)
    Y = Y[np.random.default_rng(0).permutation(len(Y))]
    assert usual(Y) == {(k, k) for k in (0.0, 1.0, 2.0, 3.0)}  # a quarter of 120 is 30
    assert usual(Y, 0.01) == {(k, k) for k in counts}  # the last but one brings it to 99 %, a quarter of 25 is 6
    assert usual(Y[::-1]) == usual(Y)
    assert usual(np.where(Y == 0.0, -0.0, Y)) == usual(Y)  # zeros have a sign


def test_no_kinds():
    rng = np.random.default_rng(0)
    assert usual(rng.normal(size=(200, 3))) == set()
    assert usual(np.repeat(rng.normal(size=(MOST_KINDS + 1, 2)), 10, axis=0)) == set()
    assert len(usual(np.repeat(rng.normal(size=(MOST_KINDS, 2)), 10, axis=0))) == MOST_KINDS
    assert usual(np.repeat(rng.normal(size=(300, 2)), 10, axis=0)) == set()  # each less than a hundredth
    # One value again and again among others, as a sensor that was off: what is left is no kind.
    assert usual(np.r_[np.zeros((550, 2)), rng.normal(size=(450, 2))]) == set()
