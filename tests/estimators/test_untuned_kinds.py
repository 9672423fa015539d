"""Tables whose rows come in a few kinds, such as those of categories: common kinds are normal, rare ones are odd."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from oddatom import OddAtomDetector
from oddatom.ensemble.members import usual_rows


def categories(rng, N, *sizes):
    return np.hstack([np.eye(size)[rng.integers(0, size, N)] for size in sizes])


TABLES = {
    "one column of four": lambda rng: categories(rng, 1000, 4),
    "three times three": lambda rng: categories(rng, 1000, 3, 3),
    "few rows": lambda rng: categories(rng, 120, 3, 3),
    "very few rows": lambda rng: categories(rng, 40, 2, 2),
    "more kinds than centroids": lambda rng: categories(rng, 1000, 20, 2),
    "as many kinds as can be": lambda rng: categories(rng, 1000, 8, 8),
    "rounded otherwise": lambda rng: rng.integers(0, 3, (1000, 2)) * (1.0 + 1e-15 * rng.integers(0, 2, (1000, 2))),
    "numbers": lambda rng: rng.integers(0, 3, (1000, 3)).astype(float),
    "grades": lambda rng: rng.integers(1, 6, (1000, 2)).astype(float),
}


@pytest.mark.parametrize("table", TABLES)
def test_common_kinds_are_normal(table):
    for drawn in range(2):
        X = TABLES[table](np.random.default_rng(drawn))
        found = [OddAtomDetector(random_state=seed).fit(X) for seed in range(2)]
        for detector in found:
            assert (detector.predict(X) == -1).mean() < 0.05
            assert detector.score_samples(X).min() > -3.5
        # Members see other rows, but the same kinds.
        assert_allclose(found[1].score_samples(X), found[0].score_samples(X), atol=1e-6)


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


def usual(Y, t=0.2, most=64):
    _, label, counts = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
    return {tuple(row) for row in usual_rows(Y, -np.log(counts[label.ravel()] / len(Y)), t, most)}


def test_usual_kinds():
    counts = {0.0: 500, 1.0: 300, 2.0: 120, 3.0: 80, 4.0: 25, 5.0: 12}  # 1,037 rows: three make up 80 % of them
    Y = np.repeat(list(counts), list(counts.values()))[:, None] + np.zeros(2)
    Y = Y[np.random.default_rng(0).permutation(len(Y))]
    assert usual(Y) == {(k, k) for k in (0.0, 1.0, 2.0, 3.0)}  # a quarter of 120 is 30
    assert usual(Y, 0.01) == {(k, k) for k in counts}  # the last but one brings it to 99 %, a quarter of 25 is 6
    assert usual(Y[::-1]) == usual(Y)
    assert usual(np.where(Y == 0.0, -0.0, Y)) == usual(Y)  # zeros have a sign
    near = Y + 1e-14 * np.random.default_rng(1).integers(0, 2, Y.shape)
    rarity = -np.log(np.unique(Y[:, 0], return_counts=True)[1][Y[:, 0].astype(int)])
    assert len(usual_rows(near, rarity, 0.2, 64)) == 4


def test_no_kinds():
    rng = np.random.default_rng(0)
    assert usual(rng.normal(size=(200, 3))) == set()
    assert usual(np.repeat(rng.normal(size=(65, 2)), 10, axis=0)) == set()
    assert len(usual(np.repeat(rng.normal(size=(64, 2)), 10, axis=0))) == 64
    assert len(usual(np.repeat(rng.normal(size=(65, 2)), 10, axis=0), most=65)) == 65
    assert usual(np.repeat(rng.normal(size=(300, 2)), 10, axis=0), most=300) == set()  # each less than .5 %
    # One value again and again among others, as a sensor that was off: what is left is no kind.
    assert usual(np.r_[np.zeros((550, 2)), rng.normal(size=(450, 2))]) == set()


@pytest.mark.parametrize("share", [0.12, 0.22, 0.3])
@pytest.mark.parametrize("m", [5, 20])
def test_many_anomalies_among_rows_of_no_kind(m, share):
    """What is done about rows that repeat does not touch others: the quartiles, and the scores' own spread, count."""
    rng = np.random.default_rng(0)
    X, n = rng.normal(size=(1000, m)), int(1000 * share)
    X[:n] *= 10 ** rng.uniform(1, 3, (n, 1))
    detector = OddAtomDetector(random_state=0).fit(X)
    scores = detector.score_samples(X)
    assert np.mean(scores[:n][:, None] < scores[n:]) > 0.98
    flagged = detector.predict(X) == -1
    assert not flagged[n:].any()
    assert 0.02 * len(X) < flagged.sum() <= 0.06 * len(X)  # more have p-values above .05
    if share < 0.25:  # the third quartile is then theirs
        assert np.median(scores[:n]) < -5.0
        assert detector.n_anomalies_.estimate > 0.7 * n


def test_p_values_of_kinds():
    shares = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = categories(rng, 300, 3, 4)
        p = OddAtomDetector(random_state=seed).fit(X[:200]).p_values(X[200:])
        shares.append([(p <= level).mean() for level in (0.05, 0.1, 0.2, 0.5)])
        new = np.full((1, 7), 0.5)  # of no kind at all
        assert OddAtomDetector(random_state=seed).fit(X[:200]).p_values(new)[0] < 0.02
    assert (np.mean(shares, axis=0) <= np.array([0.05, 0.1, 0.2, 0.5]) + 0.02).all()


def test_fewer_kinds_where_few_centroids_are_asked_for():
    X = np.repeat(np.random.default_rng(0).normal(size=(60, 3)), 20, axis=0)
    assert OddAtomDetector(random_state=0).fit(X).ensemble_.packed.centroids.shape[1] == 60
    assert OddAtomDetector(n_centroids=4, random_state=0).fit(X).ensemble_.packed.centroids.shape[1] <= 4


@pytest.mark.parametrize(("n", "m"), [(100, 3), (200, 4), (300, 4)])
def test_p_values_where_kinds_are_barely_common(n, m):
    """A row that is held out must not make its own kind usual: rates of fresh rows."""
    rates = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, new = (rng.integers(0, 3, (size, m)).astype(float) for size in (n, 1000))
        rates.append((OddAtomDetector(random_state=seed).fit(X).p_values(new) <= 0.05).mean())
    assert np.mean(rates) < 0.08
