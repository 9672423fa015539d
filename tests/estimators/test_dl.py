"""DLOCSVM alone: scikit-learn's contract, the state of the last sweep, codes, explanations, Algorithm 3."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

from learned import SCALINGS, make_detector, rows
from oddatom import DLOCSVM, Explanation, RankingWarning
from oddatom.learners.trimming import trim_batch
from oddatom.passes.group import ShardGroup
from oddatom.penalties import L20, L21, L2Eps
from oddatom.rows.array import LocalShard
from reference import dictionary_objective, omp

detector = partial(make_detector, "DL")
no_margin_wanted = pytest.mark.filterwarnings("ignore::oddatom.DegenerateMarginWarning")


@pytest.fixture(scope="module")
def fitted(X):
    return detector().fit(X)


# scikit-learn's contract


@parametrize_with_checks(
    [
        DLOCSVM.paper(),
        DLOCSVM.paper(
            scaling="robust",
            penalty="l20",
            init="data",
            solver={"atoms": "power"},
            scoring="description_length",
            threshold=0.1,
            n_folds=2,
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::oddatom.exceptions.OddAtomWarning")
@pytest.mark.contract
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_training_state_is_the_one_of_the_last_sweep(X):
    model = detector(beta=0.06, coupling=("eta", 10.0)).fit(X)
    Y = X / np.linalg.norm(X)
    assert model.scale_ == pytest.approx(np.linalg.norm(X), rel=1e-14)
    assert_allclose(np.linalg.norm(model.dictionary_, axis=1), 1, rtol=1e-14)
    assert 0 < model.active_atoms_.sum() < 12
    assert_array_equal(model.components_, model.dictionary_[model.active_atoms_])
    codes = model.train_codes_
    assert_array_equal(model.train_decision_, codes @ model.train_coef_ - model.train_offset_)
    F = dictionary_objective(Y, model.dictionary_, codes.toarray(), "l21", 0.06)
    assert model.history_["F"][-1] == pytest.approx(F, rel=1e-10)
    assert model.n_iter_ == 6
    assert np.mean(model.train_decision_ < -1e-9) <= 0.11


@no_margin_wanted
@pytest.mark.parametrize("scaling", SCALINGS)
def test_codes_and_what_they_stand_for(X, scaling):
    model = detector(scaling=scaling, n_nonzero=2).fit(X)
    codes = model.transform(X)
    assert isinstance(codes, scipy.sparse.csr_array)
    assert codes.shape == (len(X), len(model.components_))
    assert np.diff(codes.indptr).max() == 2
    center, spread, scale = model.scaling_
    if scaling is None:
        center, spread = 0, 1
    Y = (X - center) / spread / scale
    assert_allclose(np.linalg.norm(Y), 1)
    indices, values = omp(Y, model.components_, 2)
    dense = np.zeros(codes.shape)
    for j, k in zip(*np.nonzero(indices >= 0), strict=True):
        dense[j, indices[j, k]] = values[j, k]
    assert_allclose(codes.toarray(), dense, atol=1e-10)
    # The residual in the input's units is that of the codes, column by column.
    back = model.inverse_transform(codes)
    assert_allclose(X - back, (Y - dense @ model.components_) * scale * spread, atol=1e-9 * np.abs(X).max())
    assert_allclose(model.inverse_transform(dense), back, rtol=1e-9)


# Explanations


def assert_adds_up(model, X, explanation):
    """Against the scores and both tables in plain NumPy, row by row."""
    contributions, by_atom = explanation
    assert (contributions.shape, by_atom.shape) == (X.shape, (len(X), len(model.components_)))
    codes = model.transform(X).toarray()
    assert_allclose(by_atom, codes * model.coef_, rtol=1e-14)
    size = np.abs(by_atom).sum(axis=1)
    assert_rows_close(by_atom.sum(axis=1), model.score_samples(X), size)
    assert_rows_close(contributions, (codes * model.coef_) @ model.components_**2, size[:, None])
    assert_rows_close(contributions.sum(axis=1), model.score_samples(X), size)


def assert_rows_close(found, wanted, size):
    assert (np.abs(found - wanted) <= 1e-10 * size).all()


@no_margin_wanted
@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_explanations_add_up(load, scaling):
    X = load().data
    model = detector(scaling=scaling, max_iter=2, coupling=("eta", 10.0)).fit(X)
    explanation = model.explain(X)
    assert isinstance(explanation, Explanation)
    assert_adds_up(model, X, explanation)
    assert (explanation.by_atom != 0).any(axis=0).sum() > 3
    assert (explanation.contributions != 0).any(axis=0).all()


@no_margin_wanted
@pytest.mark.parametrize("score", ["residual", "description_length"])
@pytest.mark.parametrize("scaling", SCALINGS)
def test_explanations_of_other_scores_add_up(score, scaling):
    X = load_wine().data
    model = detector(scaling=scaling, max_iter=2, coupling=("eta", 10.0), scoring=score).fit(X)
    contributions, by_atom = model.explain(X)
    scores = model.score_samples(X)
    left = (model.scaling_.apply(X) - model.transform(X) @ model.components_) ** 2
    assert_allclose(contributions.sum(axis=1), scores, rtol=1e-8)
    factor = 1.0 if score == "residual" else 0.5 / model.code_statistics_.noise
    assert_allclose(by_atom.sum(axis=1), scores + factor * left.sum(axis=1), atol=1e-8 * np.abs(scores).max())
    wanted = by_atom @ model.components_**2 - factor * left
    assert_allclose(contributions, wanted, atol=1e-8 * np.abs(scores).max())
    assert (by_atom == 0).all() == (score == "residual")


def test_explanation_of_one_row(fitted, X):
    assert_adds_up(fitted, X[5:6], fitted.explain(X[5:6]))


@pytest.mark.contract
def test_explanations_of_pandas_frames(fitted, X):
    table = pd.DataFrame(X, columns=list("abcdef"), index=[f"row {j}" for j in range(len(X))])
    model, wanted = detector().fit(table), fitted.explain(X)
    for subset in (table, table.iloc[[7, 2, 7]]):
        contributions, by_atom = model.explain(subset)
        assert list(by_atom.columns) == list(model.get_feature_names_out())
        assert list(contributions.columns) == list("abcdef")
        for found, values in ((contributions, wanted.contributions), (by_atom, wanted.by_atom)):
            assert isinstance(found, pd.DataFrame)
            assert list(found.index) == list(subset.index)
            assert_array_equal(found.to_numpy(), values[table.index.get_indexer(subset.index)])
    unnamed = fitted.explain(pd.DataFrame(X))
    assert all(isinstance(part, np.ndarray) for part in unnamed)


@pytest.mark.contract
def test_explanations_of_polars_frames(fitted, X):
    table = pl.DataFrame({name: X[:, i] for i, name in enumerate("abcdef")})
    model, wanted = detector().fit(table), fitted.explain(X)
    contributions, by_atom = model.explain(table)
    assert isinstance(contributions, pl.DataFrame)
    assert isinstance(by_atom, pl.DataFrame)
    assert by_atom.columns == list(model.get_feature_names_out())
    assert contributions.columns == list("abcdef")
    assert_array_equal(contributions.to_numpy(), wanted.contributions)
    assert_array_equal(by_atom.to_numpy(), wanted.by_atom)


def test_explanations_of_arrays_are_arrays(X):
    """After a fit on a frame and with `set_output` too: they follow what is explained."""
    model = detector().set_output(transform="pandas").fit(pd.DataFrame(X, columns=list("abcdef")))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        explanation = model.explain(X)
    assert all(isinstance(part, np.ndarray) for part in explanation)


@pytest.mark.filterwarnings("ignore::oddatom.AllAtomsTrimmedWarning")
def test_explanations_without_atoms(X):
    table = pd.DataFrame(X, columns=list("abcdef"))
    model = detector(beta=100.0, scoring="residual").fit(table)
    contributions, by_atom = model.explain(table)
    assert by_atom.shape == (len(X), 0)
    assert_array_equal(contributions.to_numpy(), -((X / model.scale_) ** 2))
    (_, Y, codes), *_ = model._chunks(X[:2] * np.array([[1], [1e120]]))
    assert_allclose(codes.sq_residual, np.sum(Y**2, axis=1), rtol=1e-14)


@pytest.mark.filterwarnings("error")
def test_explanations_of_rows_of_extreme_size(fitted, X):
    row = X[:1]
    small = fitted.explain(row)
    assert_adds_up(fitted, row * 1e120, fitted.explain(row * 1e120))
    far = np.concatenate([row * 1e200, np.zeros_like(row), 1e200 * np.eye(6)[:1]])
    assert_allclose(fitted.explain(far).by_atom[0], small.by_atom[0] * 1e200, rtol=1e-12)
    contributions = detector(scoring="residual").fit(X).explain(far).contributions
    assert_array_equal(contributions[0], -np.finfo(np.float64).max)
    assert_array_equal(contributions[1], 0)
    assert not np.isnan(contributions).any()


@pytest.mark.filterwarnings("error")
def test_a_huge_row_of_which_nothing_is_left():
    """Its residual is 0 however large the row, not 0 · inf."""
    model = detector(n_nonzero=1, init=np.eye(3), max_iter=0, beta=0.0, scoring="residual")
    with pytest.warns(RankingWarning, match="residual of DLOCSVM is the same for every row"):
        model.fit(1 + np.diag([1.0, 2.0, 3.0]))
    huge = np.array([[0.0, 1e200, 0.0]])
    assert_array_equal(model.explain(huge).contributions, 0)
    (_, _, codes), *_ = model._chunks(huge)
    assert_array_equal(codes.sq_residual, 0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("n_features", [6, 70])
def test_a_coupling_that_overflows(n_features):
    X = np.random.default_rng(0).uniform(size=(60, n_features))
    with pytest.raises(ValueError, match=r"codes overflowed .* Lower the 'coupling' parameter"):
        DLOCSVM.paper(coupling=("eta", 1e300), beta=0.01, random_state=0).fit(X)


# Algorithm 3


def algorithm_3(model, X):
    """Literal: codes by OMP, E = Y − XD, zero the row of codes of every atom with σ₁(E_Ω + x d) < β, label."""
    Y = X / model.scale_
    D = model.dictionary_
    indices, values = omp(Y, D, model.n_nonzero_)
    codes = np.zeros((len(Y), len(D)))
    for j, k in zip(*np.nonzero(indices >= 0), strict=True):
        codes[j, indices[j, k]] = values[j, k]
    E = Y - codes @ D
    for i in range(len(D)):
        used = np.flatnonzero(codes[:, i])
        if used.size and np.linalg.svd(E[used] + np.outer(codes[used, i], D[i]))[1][0] < model.beta:
            codes[used, i] = 0
    return np.where(codes @ model.train_coef_ - model.train_offset_ <= 0, -1, 1), codes


def test_trimming_is_by_the_largest_singular_value(X):
    """A beta just below or above an atom's σ₁ keeps or zeroes its row of codes, and so with every penalty."""
    model = detector(n_nonzero=3).fit(X)
    new = rows(25, seed=7)
    D, Y = model.dictionary_, new / model.scale_
    codes = algorithm_3(model.set_params(beta=0.0), new)[1]
    E = Y - codes @ D
    used = np.flatnonzero(codes.any(axis=0))
    assert used.size > 3
    for i in used:
        on = np.flatnonzero(codes[:, i])
        sigma = np.linalg.svd(E[on] + np.outer(codes[on, i], D[i]))[1][0]
        for factor in (0.9999, 1.0001):
            beta = factor * sigma
            wanted = algorithm_3(model.set_params(beta=beta), new)[1]
            assert wanted[:, i].any() == (factor < 1)
            for penalty in (L21(beta), L20(beta**2 / 2), L2Eps(beta, 10.0)):
                trimmed = trim_batch(ShardGroup([LocalShard(Y)]), D, 3, penalty)
                assert_allclose(trimmed.toarray(), wanted, atol=1e-12)


@pytest.mark.parametrize("size", [3, 25, 120])
def test_detect_batch(X, size):
    model = detector(beta=0.05, n_nonzero=3).fit(X)
    new = rows(size, seed=7)
    wanted, _ = algorithm_3(model, new)
    assert_array_equal(model.detect_batch(new), wanted)


def test_detect_batch_trims_by_the_batch(X):
    """With a beta between the atoms' σ₁ some rows change their label, and others do not."""
    model = detector(beta=0.02, n_nonzero=3).fit(X)
    new = rows(40, seed=7)
    before, _ = algorithm_3(model.set_params(beta=0.0), new)
    changes = []
    for beta in (0.05, 0.1, 0.2, 0.4):
        after, codes = algorithm_3(model.set_params(beta=beta), new)
        assert_array_equal(model.detect_batch(new), after)
        changes.append(codes.any() and (after != before).any() and (after == before).any())
    assert any(changes)
