"""DLOCSVM as an estimator: scikit-learn's contract, exact repeatability, Algorithm 3, errors, callbacks, Ctrl-C."""

import io
import logging
import pickle
import signal
import threading

import joblib
import numba
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info, threadpool_limits

from oddatom import DLOCSVM, DegenerateMarginWarning, Explanation, _threads
from oddatom.detectors import _base
from oddatom.features.scaling import fit_scaling
from oddatom.learning import dl
from oddatom.learning.penalties import L20, L21, L2Eps
from oddatom.learning.trimming import trim_batch
from oddatom.scores import SCORES
from oddatom.shards import LocalShard, ShardGroup
from reference import dictionary_objective, omp

try:
    import sklearn.callback as callback
except ImportError:
    callback = None

SCALINGS = (None, "standard", "robust")
needs_callbacks = pytest.mark.skipif(callback is None, reason="this scikit-learn has no callbacks")
no_margin_wanted = pytest.mark.filterwarnings("ignore::oddatom.DegenerateMarginWarning")


def rows(N=120, m=6, seed=0):
    """Positive rows near a three-dimensional cone, the same for every seed, in columns of different units."""
    rng, cone = np.random.default_rng(seed), np.random.default_rng(99).uniform(0, 1, (3, m))
    X = rng.uniform(0.2, 1, (N, 3)) @ cone + 0.1 * rng.uniform(0, 1, (N, m))
    return X * 10.0 ** np.linspace(-0.5, 0.5, m)


def first_atoms(n=9, m=6, seed=3):
    return np.random.default_rng(seed).uniform(size=(n, m))


def detector(**others):
    return DLOCSVM(**{"beta": 0.02, "nu": 0.11, "random_state": 0, **others})


@pytest.fixture(scope="module")
def X():
    return rows()


@pytest.fixture(scope="module")
def fitted(X):
    return detector().fit(X)


def same_model(a, b):
    for name in ("dictionary_", "components_", "coef_", "dual_coef_", "train_decision_"):
        assert_array_equal(getattr(a, name), getattr(b, name))
    assert a.offset_ == b.offset_


# scikit-learn's contract


@parametrize_with_checks(
    [
        DLOCSVM(),
        DLOCSVM(scaling="robust", penalty="l20", init="data"),
        DLOCSVM(svm_solver="libsvm", atom_solver="power"),
    ]
)
@pytest.mark.filterwarnings("ignore::oddatom.exceptions.OddAtomWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@no_margin_wanted
@pytest.mark.parametrize("scaling", SCALINGS)
def test_scores_decisions_and_labels_agree(X, scaling):
    model = detector(scaling=scaling)
    assert model.fit(X) is model
    scores = model.score_samples(X)
    assert scores.dtype == np.float64
    assert_allclose(scores, model.transform(X) @ model.coef_, rtol=1e-12, atol=1e-15)
    assert_array_equal(model.decision_function(X), scores - model.offset_)
    labels = model.predict(X)
    assert_array_equal(labels, np.where(scores >= model.offset_, 1, -1))
    assert_array_equal(clone(model).fit_predict(X), labels)
    assert np.mean(labels == -1) <= 0.11
    assert np.any(labels == -1)


def test_rows_on_the_margin_are_inliers(fitted, X):
    """Those with a multiplier strictly between its bounds lie on the margin."""
    top = 1 / (fitted.nu_ * len(X))
    on_margin = (fitted.dual_coef_ > 1e-6 * top) & (fitted.dual_coef_ < (1 - 1e-6) * top)
    assert on_margin.sum() > 1
    assert_allclose(fitted.decision_function(X)[on_margin], 0, atol=3e-6 * np.abs(fitted.score_samples(X)).max())
    assert_array_equal(fitted.predict(X)[on_margin], 1)


def test_last_svm_is_fitted_on_codes_like_those_of_new_rows(fitted, X):
    N, codes = len(X), fitted.transform(X)
    assert fitted.nu_ == 0.11
    assert fitted.dual_coef_.shape == (N,)
    assert fitted.dual_coef_.min() >= 0
    assert fitted.dual_coef_.max() <= (1 + 1e-12) / (0.11 * N)
    assert_allclose(fitted.dual_coef_.sum(), 1, rtol=1e-12)
    assert_allclose(codes.T @ fitted.dual_coef_, fitted.coef_, atol=1e-9 * np.abs(fitted.coef_).max())
    assert 0 <= fitted.gap_ <= 1e-8


def test_training_state_is_the_one_of_the_last_sweep(X):
    model = detector(beta=0.06, coupling=10.0).fit(X)
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


def test_default_sizes(X):
    model = detector(max_iter=1).fit(X)
    assert model.dictionary_.shape == (12, 6)
    assert model.n_nonzero_ == 2
    assert detector(n_atoms=1, max_iter=1).fit(X).n_nonzero_ == 1


def test_inverse_transform_of_the_wrong_width(fitted):
    with pytest.raises(ValueError, match=r"one column per active atom, \d+. Got 2 instead"):
        fitted.inverse_transform(np.ones((3, 2)))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames(fitted, X, frame):
    table = frame({f"f{i}": X[:, i] for i in range(X.shape[1])})
    model = detector().fit(table)
    assert list(model.feature_names_in_) == [f"f{i}" for i in range(6)]
    assert_array_equal(model.score_samples(table), fitted.score_samples(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[[f"f{i}" for i in (1, 0, 2, 3, 4, 5)]])


@pytest.mark.parametrize(("library", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output(fitted, X, library, frame):
    names = list(fitted.get_feature_names_out())
    assert names == [f"dlocsvm{i}" for i in range(len(fitted.components_))]
    table = detector().set_output(transform=library).fit(X).transform(X)
    assert isinstance(table, frame)
    assert list(table.columns) == names
    assert_array_equal(table.to_numpy(), fitted.transform(X).toarray())


def test_clone_and_parameters(fitted):
    twin = clone(fitted)
    assert twin.get_params() == fitted.get_params()
    assert not hasattr(twin, "components_")
    model = DLOCSVM(5, 2, init=first_atoms())
    assert (model.n_atoms, model.n_nonzero) == (5, 2)
    assert_array_equal(clone(model).init, first_atoms())


def test_pickle_and_joblib(fitted, X):
    buffer = io.BytesIO()
    joblib.dump(fitted, buffer)
    buffer.seek(0)
    for twin in (pickle.loads(pickle.dumps(fitted)), joblib.load(buffer)):
        same_model(twin, fitted)
        assert_array_equal(twin.score_samples(X), fitted.score_samples(X))
        assert_array_equal(twin.history_["total"], fitted.history_["total"])


# Repeatability


@no_margin_wanted
@pytest.mark.parametrize("scaling", SCALINGS)
def test_scores_do_not_depend_on_the_batch(X, scaling, monkeypatch):
    model = detector(scaling=scaling).fit(X[:70])
    whole, codes = model.score_samples(X), model.transform(X)
    order = np.random.default_rng(1).permutation(len(X))
    assert_array_equal(np.concatenate([model.score_samples(X[[j]]) for j in range(len(X))]), whole)
    assert_array_equal(model.score_samples(X[order]), whole[order])
    assert_array_equal(model.score_samples(np.asfortranarray(X)), whole)
    assert_array_equal(np.concatenate([model.score_samples(X[i : i + 49]) for i in range(0, len(X), 49)]), whole)
    monkeypatch.setattr(_base, "CHUNK_ROWS", 7)
    assert_array_equal(model.score_samples(X), whole)
    assert_array_equal(model.transform(X).toarray(), codes.toarray())


def test_number_of_threads_does_not_matter(monkeypatch):
    monkeypatch.setattr(_threads, "SERIAL_NS", 100.0)  # so that small passes run in parallel too
    X = rows(700)
    one, two = (detector(n_jobs=n).fit(X) for n in (1, 2))
    same_model(one, two)
    assert_array_equal(one.score_samples(X), two.score_samples(X))


def test_seed(fitted, X):
    same_model(detector(random_state=0).fit(X), fitted)
    assert np.abs(detector(random_state=1).fit(X).dictionary_ - fitted.dictionary_).max() > 1e-3


def test_order_of_training_rows_does_not_matter(X):
    order = np.random.default_rng(2).permutation(len(X))
    scores = detector(init=first_atoms()).fit(X).score_samples(X)
    shuffled = detector(init=first_atoms()).fit(X[order]).score_samples(X)
    assert_allclose(shuffled, scores, atol=1e-6 * np.abs(scores).max())


@no_margin_wanted
@pytest.mark.parametrize("factor", [1e-6, 1e6])
@pytest.mark.parametrize("scaling", SCALINGS)
def test_units_do_not_matter(X, scaling, factor):
    model, scaled = detector(scaling=scaling).fit(X), detector(scaling=scaling).fit(factor * X)
    assert_array_equal(scaled.predict(factor * X), model.predict(X))
    scores = model.score_samples(X)
    assert_allclose(scaled.score_samples(factor * X), scores, atol=1e-6 * np.abs(scores).max())


# Explanations


def assert_adds_up(model, X, explanation):
    """Against the scores, the squared residuals of the coder, and both tables in plain NumPy, row by row."""
    margin, residual = explanation
    assert (margin.shape, residual.shape) == ((len(X), len(model.components_)), X.shape)
    codes = model.transform(X).toarray()
    assert_allclose(margin, codes * model.coef_, rtol=1e-14)
    assert_rows_close(margin.sum(axis=1), model.score_samples(X), np.abs(margin).sum(axis=1))
    (_, Y, chunk), *more = model._chunks(X)
    assert not more
    sq_norms = np.sum(Y**2, axis=1)
    assert_rows_close(residual, (Y - codes @ model.components_) ** 2, sq_norms[:, None])
    assert_rows_close(residual.sum(axis=1), chunk.sq_residual, sq_norms)


def assert_rows_close(found, wanted, size):
    assert (np.abs(found - wanted) <= 1e-10 * size).all()


@no_margin_wanted
@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_explanations_add_up(load, scaling):
    X = load().data
    model = detector(scaling=scaling, max_iter=2, coupling=10.0).fit(X)
    explanation = model.explain(X)
    assert isinstance(explanation, Explanation)
    assert_adds_up(model, X, explanation)
    Y = X if scaling is None else (X - model.scaling_.center) / model.scaling_.spread
    Y = Y / model.scale_
    left = np.sum((Y - model.transform(X) @ model.components_) ** 2, axis=1)
    assert_rows_close(explanation.residual.sum(axis=1), left, np.sum(Y**2, axis=1))
    assert (explanation.margin != 0).any(axis=0).sum() > 3
    assert (explanation.residual > 0).any(axis=0).all()


@no_margin_wanted
@pytest.mark.parametrize("scaling", SCALINGS)
def test_explanations_do_not_depend_on_the_batch(X, scaling, monkeypatch):
    model = detector(scaling=scaling).fit(X[:70])
    mixed = X.copy()
    mixed[11] *= 1e200
    whole = model.explain(mixed)
    order = np.random.default_rng(1).permutation(len(X))
    singles = [model.explain(mixed[[j]]) for j in range(len(X))]
    for field in ("margin", "residual"):
        table = getattr(whole, field)
        assert_array_equal(np.concatenate([getattr(one, field) for one in singles]), table)
        assert_array_equal(getattr(model.explain(mixed[order]), field), table[order])
        assert_array_equal(getattr(model.explain(np.asfortranarray(mixed)), field), table)
        ordinary = np.delete(np.arange(len(X)), 11)
        assert_array_equal(getattr(model.explain(X), field)[ordinary], table[ordinary])
    monkeypatch.setattr(_base, "CHUNK_ROWS", 7)
    for found, wanted in zip(model.explain(mixed), whole, strict=True):
        assert_array_equal(found, wanted)


def test_explanation_of_one_row(fitted, X):
    assert_adds_up(fitted, X[5:6], fitted.explain(X[5:6]))


def test_explanations_of_pandas_frames(fitted, X):
    table = pd.DataFrame(X, columns=list("abcdef"), index=[f"row {j}" for j in range(len(X))])
    model, wanted = detector().fit(table), fitted.explain(X)
    for subset in (table, table.iloc[[7, 2, 7]]):
        margin, residual = model.explain(subset)
        assert list(margin.columns) == list(model.get_feature_names_out())
        assert list(residual.columns) == list("abcdef")
        for found, values in ((margin, wanted.margin), (residual, wanted.residual)):
            assert isinstance(found, pd.DataFrame)
            assert list(found.index) == list(subset.index)
            assert_array_equal(found.to_numpy(), values[table.index.get_indexer(subset.index)])
    unnamed = fitted.explain(pd.DataFrame(X))
    assert all(isinstance(part, np.ndarray) for part in unnamed)


def test_explanations_of_polars_frames(fitted, X):
    table = pl.DataFrame({name: X[:, i] for i, name in enumerate("abcdef")})
    model, wanted = detector().fit(table), fitted.explain(X)
    margin, residual = model.explain(table)
    assert isinstance(margin, pl.DataFrame)
    assert isinstance(residual, pl.DataFrame)
    assert margin.columns == list(model.get_feature_names_out())
    assert residual.columns == list("abcdef")
    assert_array_equal(margin.to_numpy(), wanted.margin)
    assert_array_equal(residual.to_numpy(), wanted.residual)


def test_explanations_of_arrays_are_arrays(X):
    """After a fit on a frame and with `set_output` too: they follow what is explained."""
    model = detector().set_output(transform="pandas").fit(pd.DataFrame(X, columns=list("abcdef")))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        explanation = model.explain(X)
    assert all(isinstance(part, np.ndarray) for part in explanation)


@pytest.mark.filterwarnings("ignore::oddatom.AllAtomsTrimmedWarning")
def test_explanations_without_atoms(X):
    table = pd.DataFrame(X, columns=list("abcdef"))
    model = detector(beta=100.0).fit(table)
    margin, residual = model.explain(table)
    assert margin.shape == (len(X), 0)
    assert_array_equal(residual.to_numpy(), (X / model.scale_) ** 2)
    (_, Y, codes), *_ = model._chunks(X[:2] * np.array([[1], [1e120]]))
    assert_allclose(codes.sq_residual, np.sum(Y**2, axis=1), rtol=1e-14)


@pytest.mark.filterwarnings("error")
def test_explanations_of_rows_of_extreme_size(fitted, X):
    row = X[:1]
    small = fitted.explain(row)
    assert_adds_up(fitted, row * 1e120, fitted.explain(row * 1e120))
    margin, residual = fitted.explain(np.concatenate([row * 1e200, np.zeros_like(row), 1e200 * np.eye(6)[:1]]))
    assert_allclose(margin[0], small.margin[0] * 1e200, rtol=1e-12)
    assert np.isinf(residual[0]).all()
    assert_array_equal(residual[1], 0)
    assert not np.isnan(residual).any()


@pytest.mark.filterwarnings("error")
def test_a_huge_row_of_which_nothing_is_left():
    """Its residual is 0 however large the row, not 0 · inf."""
    model = detector(n_nonzero=1, init=np.eye(3), max_iter=0, beta=0.0).fit(1 + np.eye(3))
    huge = np.array([[0.0, 1e200, 0.0]])
    assert_array_equal(model.explain(huge).residual, 0)
    (_, _, codes), *_ = model._chunks(huge)
    assert_array_equal(codes.sq_residual, 0)


# The first dictionary


def test_init_with_an_array_takes_its_rows(X):
    D = first_atoms()
    model = detector(init=100 * D, max_iter=0).fit(X)
    assert_allclose(model.dictionary_, D / np.linalg.norm(D, axis=1, keepdims=True), rtol=1e-14)
    assert detector(init=D.tolist(), n_atoms=9, max_iter=0).fit(X).dictionary_.shape == (9, 6)


def test_init_from_the_data_takes_rows(X):
    Y = np.vstack([np.zeros((5, 6)), X])
    model = detector(init="data", max_iter=0, n_atoms=20).fit(Y)
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    found = np.argmax(model.dictionary_ @ units.T, axis=1)
    assert_allclose(model.dictionary_, units[found], rtol=1e-12)
    assert np.unique(found).size == 20


def test_init_from_fewer_rows_than_atoms():
    assert detector(init="data", n_atoms=12).fit(rows(5)).dictionary_.shape == (12, 6)


def test_n_init_keeps_the_lowest_objective(X):
    rng = np.random.RandomState(0)
    singles = [detector(random_state=rng, max_iter=2).fit(X) for _ in range(4)]
    totals = [model.history_["total"][-1] for model in singles]
    assert np.argmin(totals) not in (0, 3)  # neither the first nor the last, which a bug may keep
    same_model(detector(max_iter=2, n_init=4).fit(X), singles[np.argmin(totals)])


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


# No margin


def test_without_a_margin():
    centred = np.random.default_rng(0).standard_normal((200, 5))
    model = detector(nu=0.1, n_atoms=8)
    with pytest.warns(
        DegenerateMarginWarning, match=r"no margin at nu=0\.1.*the plane of nu=.*Try a larger nu"
    ) as caught:
        model.fit(centred)
    assert caught[0].filename == __file__  # it points at the caller
    assert model.nu_ > model.nu
    assert model.coef_.any()
    assert model.dual_coef_.max() <= (1 + 1e-12) / (model.nu_ * 200)
    assert_allclose(model.dual_coef_.sum(), 1)
    assert 0.05 <= np.mean(model.predict(centred) == -1) <= 0.1


def test_without_a_margin_at_any_nu():
    """Each row with its opposite: the mean of the codes is zero, so nu = 1 has no margin either."""
    half = np.random.default_rng(0).standard_normal((50, 4))
    X = np.vstack([half, -half])
    model = detector(nu=0.5)
    with pytest.warns(DegenerateMarginWarning, match="every score is 0"):
        model.fit(X)
    assert_array_equal(model.score_samples(X), 0)
    assert_array_equal(model.predict(X), 1)


# Errors


BAD_PARAMETERS = {
    "nu zero": ({"nu": 0}, r"The 'nu' parameter of DLOCSVM must be .* Got 0 instead\. It is the share"),
    "nu above one": ({"nu": 1.5}, r"The 'nu' parameter .* Got 1\.5 instead"),
    "nu negative": ({"nu": -0.1}, r"The 'nu' parameter .* Got -0\.1 instead"),
    "beta": ({"beta": -1.0}, r"The 'beta' parameter .* Got -1\.0 instead\. .*0 switches the penalty off"),
    "penalty": ({"penalty": "l22"}, r"The 'penalty' parameter of DLOCSVM must be a str among .* Got 'l22' instead"),
    "n_nonzero": ({"n_atoms": 3, "n_nonzero": 4}, r"'n_nonzero' .* at most n_atoms = 3\. Got 4 instead; lower"),
    "init": ({"init": np.ones((4, 5))}, r"'init' .* = \(4, 6\)\. Got shape \(4, 5\) instead; pass one row per atom"),
    "init rows": ({"init": np.ones((4, 6)), "n_atoms": 3}, r"'init' .* = \(3, 6\)\. Got shape \(4, 6\) instead"),
    "init name": ({"init": "ones"}, r"The 'init' parameter .* Got 'ones' instead\. Pass a name, or one row per atom"),
    "zero atom": ({"init": np.diag([1.0, 1, 0, 1, 1, 1])}, r"'init' array must hold .* Row 2 is \[0\.0, .* replace"),
    "nan atom": ({"init": np.full((2, 6), np.nan)}, r"'init' array must hold finite, non-zero atoms\. Row 0 is \[nan"),
}


def assert_untouched(model):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        model.predict(rows())
    with pytest.raises(NotFittedError, match="not fitted yet"):
        model.explain(rows())
    assert {name for name in vars(model) if name.endswith("_")} <= {"n_features_in_", "feature_names_in_"}


@pytest.mark.parametrize("name", BAD_PARAMETERS)
def test_bad_parameters(X, name):
    parameters, message = BAD_PARAMETERS[name]
    model = DLOCSVM(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X)
    assert_untouched(model)


def broken(column, value):
    X = rows()
    X[5, column] = value
    return X


BAD_ROWS = {
    "nan": (broken(2, np.nan), {}, r"NaN or infinity in column 2\. DLOCSVM needs finite numbers: fill missing"),
    "inf": (broken([1, 4], -np.inf), {}, r"NaN or infinity in columns 1, 4\. "),
    "nan by name": (pd.DataFrame(broken(2, np.nan), columns=list("abcdef")), {}, r"infinity in column 'c'\. "),
    "no rows": (np.empty((0, 3)), {}, r"Found array with 0 sample\(s\)"),
    "one row": (np.ones((1, 3)), {}, r"Found array with 1 sample\(s\) .* minimum of 2 is required by DLOCSVM"),
    "zeros": (np.zeros((9, 3)), {}, r"X holds nothing but zeros: there is nothing to learn\. Pass data that vary"),
    "too large": (np.full((9, 3), 1e308), {}, r"X is too large: its Frobenius norm overflows\. Divide"),
    "constant": (np.full((9, 3), 0.1), {"scaling": "standard"}, r"only constant columns \(scaling='standard'\)"),
    "text": (np.array([["1", "x"], ["2", "y"]], dtype=object), {}, r"could not convert string .* Encode them"),
    "text in pandas": (
        pd.DataFrame({"a": [1.0, 2.0], "city": ["x", "y"], "b": [3, 4], "kind": ["u", "v"]}),
        {},
        r"could not convert string .* do not hold numbers: 'city', 'kind'\. Encode them as numbers first",
    ),
    "text in polars": (
        pl.DataFrame({"a": [1.0, 2.0], "city": ["x", "y"]}),
        {},
        r"could not convert string .* do not hold numbers: 'city'\. Encode them as numbers first",
    ),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_rows(name):
    X, parameters, message = BAD_ROWS[name]
    model = DLOCSVM(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X)
    assert_untouched(model)


def test_bad_new_rows(fitted, X):
    for method in (fitted.predict, fitted.transform, fitted.detect_batch, fitted.explain):
        with pytest.raises(ValueError, match="X has 5 features, but DLOCSVM is expecting 6 features"):
            method(X[:, :5])
        with pytest.raises(ValueError, match=r"NaN or infinity in column 0\."):
            method(broken(0, np.inf))
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        fitted.predict(X[:0])


def test_large_finite_rows_are_not_taken_for_infinite():
    X = rows(60) / rows(60).max()
    with np.errstate(over="ignore"):
        assert np.isinf((1e307 * X).sum())
    huge = detector().fit(1e307 * X)
    assert np.isfinite(huge.scale_)
    assert_array_equal(huge.predict(1e307 * X), detector().fit(X).predict(X))


# Progress


@pytest.fixture
def logger():
    logger = logging.getLogger("oddatom")
    level, handlers = logger.level, list(logger.handlers)
    yield logger
    logger.setLevel(level)
    logger.handlers[:] = handlers


@pytest.mark.usefixtures("logger")
def test_verbose_logs_a_line_an_iteration(X, caplog):
    model = detector(verbose=1, max_iter=3).fit(X)
    lines = [record.getMessage() for record in caplog.records if record.name == "oddatom"]
    assert len(lines) == 3
    for k, line in enumerate(lines, start=1):
        assert line.startswith(f"DLOCSVM: iteration {k}/3: objective {model.history_['total'][k]:.6g}, ")
    caplog.clear()
    detector(verbose=1, max_iter=1, n_init=2).fit(X)
    starts = [record.getMessage()[:30] for record in caplog.records]
    assert starts == [f"DLOCSVM: start {i}/2, iteration 1"[:30] for i in (1, 2)]
    caplog.clear()
    detector().fit(X)
    assert not caplog.records


class Recorder:
    """Notes every task; asks for what is given to it; stops or raises where told to."""

    def __init__(self, stop_at=None, error_at=None):
        self.stop_at, self.error_at = stop_at, error_at
        self.begun, self.ended, self.models, self.set_up = [], [], {}, 0

    def setup(self, estimator, context):
        self.set_up += 1

    def teardown(self, estimator, context):
        self.set_up -= 1

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        name = context.task_name
        self.ended.append(name)
        if fitted_estimator is not None:
            self.models[name] = fitted_estimator
            fitted_estimator.score_samples(X)
        if name == self.error_at:
            raise KeyboardInterrupt
        return name == self.stop_at


@needs_callbacks
def test_callbacks_see_every_task(X):
    recorder = Recorder()
    model = detector(max_iter=3, n_init=2).set_callbacks(recorder).fit(X)
    iterations = [f"iteration {k}" for k in (1, 2, 3)]
    assert recorder.begun == ["fit", "start 1", *iterations, "start 2", *iterations]
    assert recorder.ended == [*iterations, "start 1", *iterations, "start 2", "fit"]
    assert recorder.set_up == 0
    same_model(model, detector(max_iter=3, n_init=2).fit(X))


@needs_callbacks
def test_callbacks_are_given_models_that_score(X):
    recorder = Recorder()
    final = detector(max_iter=3).set_callbacks(recorder).fit(X)
    for k in (1, 2, 3):
        model = recorder.models[f"iteration {k}"]
        wanted = detector(max_iter=k).fit(X)
        assert model.n_iter_ == k
        assert_array_equal(model.dictionary_, wanted.dictionary_)
        assert_array_equal(model.decision_function(X), wanted.decision_function(X))
        assert_array_equal(model.history_["total"], wanted.history_["total"])
    same_model(recorder.models["fit"], final)


@needs_callbacks
def test_a_callback_can_stop_the_fit(X):
    recorder = Recorder(stop_at="iteration 2")
    model = detector(max_iter=6).set_callbacks(recorder).fit(X)
    assert model.n_iter_ == 2
    same_model(model, detector(max_iter=2).fit(X))


@needs_callbacks
def test_scoring_monitor(X):
    y = np.where(np.arange(len(X)) < 10, -1, 1)
    mixed = X.copy()
    mixed[:10] = mixed[:10, ::-1]
    monitor = callback.ScoringMonitor(scoring="roc_auc")
    detector(max_iter=3).set_callbacks(monitor).fit(mixed, y)
    scores = [row["roc_auc"] for row in monitor.get_logs().data if "iteration" in row["task_name"]]
    assert len(scores) == 3
    assert all(0 <= score <= 1 for score in scores)


# Ctrl-C


@pytest.fixture
def _threads_set():
    """Numbers of threads that are not those a fit sets."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    with threadpool_limits(2, user_api="blas"):
        yield
    numba.set_num_threads(before)


def thread_counts():
    return numba.get_num_threads(), [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@needs_callbacks
@pytest.mark.usefixtures("_threads_set")
def test_interrupted_by_a_callback(fitted, X):
    before = thread_counts()
    recorder = Recorder(error_at="iteration 2")
    model = detector().set_callbacks(recorder)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert thread_counts() == before
    assert recorder.set_up == 0
    assert_untouched(model)
    same_model(model.set_callbacks().fit(X), fitted)


class _At(logging.Handler):
    """Sets an event when the fit logs its third iteration."""

    def __init__(self):
        super().__init__()
        self.event, self.lines = threading.Event(), 0

    def emit(self, record):
        self.lines += 1
        if self.lines == 3:
            self.event.set()


@pytest.mark.usefixtures("_threads_set")
def test_interrupted_by_the_keyboard(fitted, X, logger):
    handler = _At()
    logger.addHandler(handler)

    def press():
        if handler.event.wait(60):
            signal.raise_signal(signal.SIGINT)

    before = thread_counts()
    presser = threading.Thread(target=press)
    presser.start()
    model = detector(max_iter=20_000, verbose=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    presser.join()
    assert 3 <= handler.lines < 20_000
    assert thread_counts() == before
    assert_untouched(model)
    same_model(model.set_params(max_iter=6, verbose=0).fit(X), fitted)


def test_interrupted_while_numba_returns_an_array(X, monkeypatch):
    """Numba runs Python code then; what a signal's handler raises there becomes the cause of a SystemError."""

    def interrupted(A, g, d0):
        raise SystemError("climb returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setitem(dl.ATOM_SOLVERS, "exact", interrupted)
    with pytest.raises(KeyboardInterrupt):
        detector().fit(X)


@pytest.mark.usefixtures("_threads_set")
def test_interrupted_scoring_gives_the_threads_back(fitted, X, monkeypatch):
    def interrupt(codes, w):
        raise KeyboardInterrupt

    before, scores = thread_counts(), fitted.score_samples(X)
    with monkeypatch.context() as patch:
        patch.setitem(SCORES, "margin", interrupt)
        # The traceback, and all it holds on to, is alive while the threads are counted.
        with pytest.raises(KeyboardInterrupt) as caught:
            fitted.score_samples(X)
    assert thread_counts() == before
    assert caught.tb is not None
    assert_array_equal(fitted.score_samples(X), scores)


# A failed fit, other threads, extreme rows


def test_a_failed_refit_leaves_the_old_model(X):
    model = detector().fit(X)
    before = model.score_samples(X)
    bad = np.ones((10, 3))
    bad[0, 1] = np.nan
    for wrong in (bad, np.zeros((10, 3)), pd.DataFrame(bad, columns=list("abc"))):
        with pytest.raises(ValueError, match=r"NaN|zeros"):
            model.fit(wrong)
        assert not hasattr(model, "feature_names_in_")
        assert_array_equal(model.score_samples(X), before)
        with pytest.raises(ValueError, match="3 features, but DLOCSVM is expecting 6"):
            model.score_samples(np.ones((2, 3)))


def test_number_of_blas_threads_does_not_matter():
    # Several sizes: a sum cut in two does not round differently every time.
    for N in (30_000, 45_000, 60_000):
        X = rows(N=N, m=8)
        with threadpool_limits(1):
            one = detector(max_iter=1).fit(X)
        with threadpool_limits(2):
            two = detector(max_iter=1).fit(X)
        same_model(one, two)
        assert one.scale_ == two.scale_


@no_margin_wanted
def test_training_rows_score_as_new_rows_do(X):
    for scaling in SCALINGS:
        model = detector(scaling=scaling).fit(X)
        assert_array_equal(model.scaling_.apply(X), fit_scaling(X, scaling)[1])


def test_rows_of_extreme_size_keep_their_side(fitted, X):
    row = X[:1]
    for size in (1e120, 1e160, 1e200, 1e250):
        assert_allclose(fitted.score_samples(row * size), fitted.score_samples(row) * size, rtol=1e-12)
        assert fitted.predict(-row * size)[0] == -1
        both = fitted.score_samples(np.concatenate([row, -row * size]))
        assert both[0] == fitted.score_samples(row)[0]


@pytest.mark.filterwarnings("ignore::oddatom.DegenerateMarginWarning")
def test_detect_batch_says_when_there_is_no_margin():
    X = np.random.default_rng(0).normal(size=(200, 4))
    model = detector(scaling="standard").fit(X)
    with pytest.warns(DegenerateMarginWarning, match="every row an anomaly"):
        labels = model.detect_batch(X)
    assert (labels == -1).all()


def test_dates_and_bad_starts_are_named(X):
    frame = pd.DataFrame({"a": [1.0, 2.0], "when": pd.to_datetime(["2020-01-01", "2020-01-02"])})
    with pytest.raises(ValueError, match="do not hold numbers: 'when'"):
        detector().fit(frame)
    with pytest.raises(ValueError, match="'init' parameter of DLOCSVM must be an array of numbers"):
        detector(init=[["a"] * 6]).fit(X)
    with pytest.raises(ValueError, match=r"\(n_atoms, n_features\) = \(1, 6\). Got shape \(0, 6\)"):
        detector(init=np.empty((0, 6))).fit(X)
    with pytest.raises(ValueError, match="'n_jobs' parameter of DLOCSVM"):
        detector(n_jobs=0).fit(X)


def test_verbose_leaves_logging_as_it_was(X, capsys):
    logger = logging.getLogger("oddatom")
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []
    try:
        detector(verbose=1, max_iter=2).fit(X)
        assert logger.handlers == []
        assert logger.level == logging.NOTSET
        assert capsys.readouterr().err.count("iteration") == 2
        logger.setLevel(logging.WARNING)
        detector(verbose=1, max_iter=2).fit(X)
        assert logger.level == logging.WARNING
        assert capsys.readouterr().err == ""
    finally:
        root.handlers = handlers
        logger.setLevel(logging.NOTSET)
