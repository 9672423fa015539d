"""OddAtomDetector on any finite table: it never fails nor warns, and whatever it returns is finite and in its range."""

import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from long_runs import examples, quick
from oddatom import OddAtomDetector
from oddatom.ensemble.model import SCORES

thorough = settings(quick, max_examples=examples(30, 250))


def normal(rng, N):
    return rng.normal(size=N)


def constant(rng, N):
    return np.full(N, rng.choice([0.0, 0.1, -3.0, 1e300, 1e-300]))


def binary(rng, N):
    return (rng.random(N) < rng.choice([0.01, 0.3, 0.5])).astype(float)


def cauchy(rng, N):
    return rng.standard_cauchy(N)


def huge(rng, N):
    return 1e300 * rng.standard_cauchy(N).clip(-1e7, 1e7)


def tiny(rng, N):
    return 1e-300 * rng.standard_cauchy(N)


def every_size(rng, N):
    return rng.choice([-1.0, 1.0], N) * 10.0 ** rng.uniform(-307, 307, N)


def mostly_zero(rng, N):
    """Of every size where they are not."""
    return np.where(rng.random(N) < 0.04, every_size(rng, N), 0.0)


def integers(rng, N):
    return rng.integers(-5, 6, N).astype(float)


def skewed(rng, N):
    return rng.lognormal(0, 4, N)


def rounded(rng, N):
    """Numbers that differ in the last digits alone."""
    return 1.0 + rng.integers(0, 3, N) * np.finfo(float).eps


COLUMNS = (
    normal,
    constant,
    binary,
    cauchy,
    huge,
    tiny,
    every_size,
    mostly_zero,
    integers,
    skewed,
    rounded,
)


@st.composite
def tables(draw):
    """Columns of several kinds, some of them nearly collinear, some rows alike."""
    N = draw(st.one_of(st.integers(2, 30), st.integers(31, 300)), label="rows")
    m = draw(st.one_of(st.integers(1, 8), st.integers(9, 60)), label="columns")
    kinds = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=4), label="kinds")
    rng = np.random.default_rng(draw(st.integers(0, 2**32), label="seed"))
    X = np.column_stack([kinds[f % len(kinds)](rng, N) for f in range(m)])
    if draw(st.booleans(), label="collinear"):
        other = X[:, rng.integers(m, size=m)]
        X = np.where(rng.random(m) < 0.5, 0.5 * other * (1 + 1e-12 * rng.normal(size=(N, m))), X)
    alike = draw(st.sampled_from([0.0, 0.0, 0.5, 0.97, 1.0]), label="share of rows alike")
    X[rng.random(N) < alike] = X[0]
    if draw(st.booleans(), label="copies"):
        X = X[rng.integers(N, size=N)]
    return X


def check(X, n_new=20, **parameters):
    """Fit and ask for everything, with warnings as errors."""
    rng = np.random.default_rng(0)
    N, m = X.shape
    assert np.isfinite(X).all()
    new = np.r_[X[:n_new], np.full((1, m), 1e308), np.full((1, m), -1e308), np.zeros((1, m))]
    new = np.r_[new, rng.choice([-1e308, 1e-308, 0.0, 1.0, 1e308], (5, m)), rng.normal(size=(5, m))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = OddAtomDetector(**{"random_state": 0, **parameters}).fit(X)
        scores, p, parts = model.score_samples(new), model.p_values(new), model.score_parts(new)
        contributions = model.explain(new).contributions
        for threshold in ("auto", "svm", 0.1, "fdr"):
            model.set_threshold(threshold)
            assert np.isfinite(model.offset_)
            assert set(model.predict(new)) <= {-1, 1}
        flagged = np.mean(model.set_threshold(0.1).predict(X) == -1)
    assert np.isfinite(scores).all()
    assert np.isfinite(model.train_scores_).all()
    assert flagged <= 0.1
    assert ((p > 0) & (p <= 1)).all()
    assert p.min() >= 1 / (N + 1)
    for name in SCORES:
        assert np.isfinite(parts[name]).all(), name
    assert np.isfinite(contributions).all()
    assert_allclose(contributions.sum(axis=1), scores, rtol=1e-10, atol=1e-10)
    assert_allclose(sum(model.weights_.values()), 1, rtol=1e-12)
    return model


@thorough
@given(tables())
@example(np.array([[1.0, 2.0], [3.0, 4.0]]))
@example(np.zeros((2, 1)))
@example(np.full((50, 3), 0.1))
def test_any_table(X):
    check(X)


@settings(quick, max_examples=examples(20, 150))
@given(
    tables(),
    st.fixed_dictionaries(
        {
            "scoring": st.sampled_from(sorted(SCORES)),
            "nu": st.sampled_from([1e-3, 0.3, 1.0]),
            "trim": st.sampled_from([(0.0,), (0.99,), (0.0, 0.5, 0.9)]),
            "n_groups": st.integers(2, 7),
            "n_centroids": st.integers(1, 40),
            "n_atoms": st.integers(1, 40),
            "n_directions": st.integers(1, 40),
            "rows_per_member": st.integers(2, 100),
        }
    ),
)
@example(np.random.default_rng(0).normal(size=(30, 2)), {"scoring": "margin"})
def test_any_parameters(X, parameters):
    check(X, **parameters)


@pytest.mark.parametrize("trim", [(0.0,), (0.2, 0.4)])
@pytest.mark.parametrize("power", range(-165, -145, 4))
def test_rows_that_vanish_beside_one(power, trim):
    """Squares of their deviations are too small to be told from 0, and members that miss the one see nothing else."""
    rng = np.random.default_rng(1)
    X = np.zeros((200, 3))
    X[::25] = 10.0**power * rng.normal(size=(8, 3))
    X[7] = 1.0
    check(X, trim=trim)


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("N", [2, 3, 5, 40])
def test_one_column(column, N):
    for seed in range(3):
        check(column(np.random.default_rng(seed), N)[:, None])


@pytest.mark.parametrize(("N", "m"), [(10, 2000), (50, 2000), (1000, 400)])
@pytest.mark.parametrize("column", [normal, every_size])
def test_wide_tables(N, m, column):
    check(np.column_stack([column(np.random.default_rng(f), N) for f in range(m)]), n_new=5)


@pytest.mark.slow
def test_a_million_rows():
    """Half of them copies of a few; learned from a sample, all of them scored."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 3))
    X[::2] = rng.integers(0, 3, (500_000, 3))
    X[1:2000:2] *= 1e200
    model = OddAtomDetector(threshold=0.01, random_state=0).fit(X)
    scores = model.score_samples(X)
    assert np.isfinite(scores).all()
    assert np.mean(model.decision_function(X) < 0) <= 0.01
    assert model.conformal_.n_samples == 20_000
    assert np.mean(scores[1:2000:2] < np.quantile(scores, 0.01)) > 0.99
    assert model.p_values(X[1:2000:2]).max() < 0.02
