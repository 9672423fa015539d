"""Cross-conformal p-values: by counting, uniform for normal rows, and the false discovery rate they keep."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest

from oddatom import DPLOCSVM
from oddatom.decisions import CrossConformal, benjamini_hochberg, fold_rows
from reference import cross_conformal

RNG = np.random.default_rng(0)


def rows(rng, n):
    """Normal rows: positive, near a plane."""
    return rng.uniform(0.5, 1, (n, 2)) @ [[1, 2, 1, 0.5], [2, 1, 0.5, 1]] + 0.1 * rng.normal(size=(n, 4))


def stub(rng, n_train, n_folds, *new):
    """Scores of a detector that is a mean and a distance from it: p-values of the new rows."""
    X = rng.normal(size=(n_train, 3))
    folds = fold_rows(n_train, n_folds, np.random.RandomState(rng.integers(2**31)))
    centers = [np.delete(X, fold, axis=0).mean(axis=0) for fold in folds]
    held_out = [-np.linalg.norm(X[fold] - c, axis=1) for fold, c in zip(folds, centers, strict=True)]
    conformal = CrossConformal(held_out)
    return [conformal.p_values(-np.stack([np.linalg.norm(Z - c, axis=1) for c in centers], axis=1)) for Z in new]


@pytest.mark.parametrize("sizes", [(5,), (3, 4), (1, 1, 1), (20, 21, 20, 20)])
def test_by_counting(sizes):
    held_out = [RNG.integers(0, 12, n).astype(float) for n in sizes]  # with ties
    scores = RNG.integers(-1, 13, (30, len(sizes))).astype(float)
    conformal = CrossConformal(held_out)
    p = conformal.p_values(scores)
    assert_allclose(p, cross_conformal(held_out, scores), rtol=1e-15)
    assert conformal.n_samples == sum(sizes)
    assert_array_equal(pickle.loads(pickle.dumps(conformal)).p_values(scores), p)
    for fold in conformal.held_out:
        assert (np.diff(fold) >= 0).all()


def test_range():
    conformal = CrossConformal([np.arange(4.0), np.arange(5.0)])
    assert_allclose(conformal.p_values(np.array([[-np.inf] * 2, [np.inf] * 2, [0, -1]])), [0.1, 1.0, 0.2])
    assert conformal.p_values(np.empty((0, 2))).shape == (0,)


def test_folds():
    folds = fold_rows(23, 5, 0)
    assert sorted(map(len, folds)) == [4, 4, 5, 5, 5]
    assert_array_equal(np.sort(np.concatenate(folds)), np.arange(23))
    assert any(np.diff(fold).max() > 1 for fold in folds)
    assert all((np.diff(fold) > 0).all() for fold in folds)
    assert all(map(np.array_equal, folds, fold_rows(23, 5, 0)))
    assert not all(map(np.array_equal, folds, fold_rows(23, 5, 1)))


def test_uniform_for_normal_rows():
    """One fresh row of each of many fits: uniform, and no more than t are at or below t, as nearly as can be told."""
    rng = np.random.default_rng(1)
    p = np.array([stub(rng, 50, 5, rng.normal(size=(1, 3)))[0][0] for _ in range(1500)])
    steps = (p - rng.uniform(size=p.size) / 51).clip(0, 1)  # p is one of 51 values; spread over its step it is uniform
    assert kstest(steps, "uniform").pvalue > 1e-3
    for t in (0.05, 0.1, 0.25, 0.5):
        assert np.mean(p <= t) <= t + 3 * np.sqrt(t * (1 - t) / p.size)


def false_discoveries(q, n_draws=200):
    rng = np.random.default_rng(2)
    shares, power = [], []
    for _ in range(n_draws):
        (p,) = stub(rng, 200, 4, np.concatenate([rng.normal(size=(40, 3)), rng.normal(4, 1, (10, 3))]))
        found = benjamini_hochberg(p, q)
        shares.append(found[:40].sum() / max(found.sum(), 1))
        power.append(found[40:].mean())
    return np.array(shares), np.array(power)


@pytest.mark.parametrize("q", [0.1, 0.3])
def test_false_discovery_rate(q):
    """On average at most q of the rows reported are normal, not far fewer, and most planted anomalies are found."""
    shares, power = false_discoveries(q)
    error = shares.std() / np.sqrt(len(shares))
    assert shares.mean() <= q + 3 * error
    assert shares.mean() >= 0.8 * q * 0.6 - 3 * error  # q times the share of normal rows is expected
    assert power.mean() > 0.5


def test_a_detector_keeps_the_false_discovery_rate():
    rng = np.random.default_rng(3)
    p_normal, shares, power = [], [], []
    for seed in range(60):
        model = DPLOCSVM.paper(
            n_atoms=3, max_iter=1, nu=0.2, scoring="residual", n_folds=3, threshold=("fdr", 0.2), random_state=seed
        ).fit(rows(rng, 80))
        new = np.concatenate([rows(rng, 24), rows(rng, 6) + 3 * rng.choice([-1, 1], (6, 4))])
        p = model.p_values(new)
        found = model.predict(new) == -1
        assert_array_equal(found, benjamini_hochberg(p, 0.2))
        p_normal.append(p[0])
        shares.append(found[:24].sum() / max(found.sum(), 1))
        power.append(found[24:].mean())
    assert kstest(p_normal, "uniform").pvalue > 1e-3
    assert np.mean(shares) <= 0.2 + 3 * np.std(shares) / np.sqrt(60)
    assert np.mean(power) > 0.5
