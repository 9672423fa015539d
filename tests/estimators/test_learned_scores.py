"""Every learned detector's scores: parts, what each is, the cut of each; nothing of it depends on the batch."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from learned import dense, kernel_only, linear_only, rows
from oddatom import AllAtomsTrimmedWarning
from oddatom.arrays import threads as _threads
from oddatom.arrays.threads import threads
from oddatom.coding import CODINGS, to_csr
from oddatom.decisions import quantile_offset
from oddatom.estimators import _base

NEW = rows(60, seed=7)
NEW[:20] += np.random.default_rng(8).uniform(-1, 1, (20, 6))
SCORES = ("margin", "residual", "description_length", "loda")  # "distance" of a ball: see test_boundary.py
others = pytest.mark.parametrize("score", [name for name in SCORES if name != "margin"])


def is_linear(model):
    return getattr(model, "representation", "omp") == "analysis"


def exact(model):
    """Whether `train_scores_` are `score_samples` to the last bit."""
    return not (is_linear(model) and hasattr(model, "kernel_map_") and model.scoring_ == "margin")


@pytest.mark.parametrize("score", SCORES)
def test_parts_are_the_scores(make, fitted, X, score):
    model = make(scoring=score).fit(X)
    parts = fitted.score_parts(NEW)
    assert tuple(parts) == SCORES[:3]  # histograms are made for scoring="loda"
    parts = model.score_parts(NEW) if score == "loda" else parts
    assert_array_equal(model.score_samples(NEW), parts[score])
    assert_array_equal(model.score_parts(NEW)[score], parts[score])
    assert_array_equal(model.decision_function(NEW), parts[score] - model.offset_)
    assert_array_equal(model.predict(NEW), np.where(parts[score] >= model.offset_, 1, -1))
    assert_array_equal(model.coef_, fitted.coef_)
    scores = np.sort(model.score_samples(X))
    if exact(model):
        assert_array_equal(model.train_scores_, scores)
    else:
        assert_allclose(model.train_scores_, scores, atol=1e-8 * np.abs(scores).max())


def test_default_is_the_margin(fitted):
    codes = dense(fitted.transform(NEW))
    assert fitted.scoring_ == "margin"
    assert fitted.offset_ == fitted.svm_offset_
    assert_allclose(fitted.score_samples(NEW), codes @ fitted.coef_, atol=1e-8)


def test_parts_in_plain_numpy(fitted, X):
    """From sparse codes, which `transform` returns unless codes are linear, and the rows in the space of the atoms."""
    D, statistics = fitted.components_, fitted.code_statistics_
    Y, codes = fitted._scaled(X)[0], fitted.transform(X)
    if is_linear(fitted):
        with threads(1):
            codes = to_csr(CODINGS[fitted._coding](Y, D, fitted.n_nonzero_), len(D))
    codes = dense(codes)
    if hasattr(fitted, "kernel_map_"):  # all that k(y, y) = 1 leaves beside the coordinates is one more of them
        Y = np.column_stack([Y, np.sqrt(np.maximum(1 - np.sum(Y**2, axis=1), 0))])
        D = np.column_stack([D, np.zeros(len(D))])
    parts = fitted.score_parts(X)
    assert_allclose(parts["residual"], -np.sum((Y - codes @ D) ** 2, axis=1), rtol=1e-6, atol=1e-12)
    used = 2 + hasattr(fitted, "kernel_map_")
    usage, variance, noise = reference.code_statistics(Y, D, codes, used)
    assert_allclose(statistics.usage, usage, rtol=1e-12)
    assert_allclose(statistics.variance, variance, rtol=1e-9)
    assert statistics.noise == pytest.approx(noise, rel=1e-6)
    assert_allclose(parts["description_length"], -reference.description_length(Y, D, codes, *statistics[:3]), rtol=1e-5)


@others
def test_the_svm_of_another_score_is_its_quantile(make, X, score):
    model = make(scoring=score).fit(X)
    scores = model.score_samples(X)
    assert model.offset_ == quantile_offset(scores, 0.11)
    assert (0.02 if score == "loda" else 0.05) < np.mean(model.predict(X) == -1) <= 0.11  # histograms tie
    assert np.mean(scores < model.offset_) <= 0.11


def test_a_row_that_is_like_no_other(fitted, X):
    """What the atoms cannot describe scores low by the residual and the description length; far away from all, too."""
    odd = np.where(np.arange(6) % 2, 1, -1) * X[:3]
    for far in (odd * 10, odd * 1000, np.full((1, 6), 1e3) * [1, -1, 2, -3, 1, 1]):
        parts, usual = fitted.score_parts(far), fitted.score_parts(X)
        assert parts["residual"].max() < usual["residual"].min()
        assert parts["description_length"].max() < usual["description_length"].min()


def test_parts_do_not_depend_on_the_batch(make, X, monkeypatch):
    model = make().fit(X[:70])
    mixed = np.vstack([NEW, NEW[:1] * 1e200])
    whole = model.score_parts(mixed)
    order = np.random.default_rng(1).permutation(len(mixed))
    shuffled = model.score_parts(mixed[order])
    singles = [model.score_parts(mixed[[j]]) for j in range(len(mixed))]
    monkeypatch.setattr(_base, "CHUNK_ROWS", 7)
    chunked = model.score_parts(mixed)
    for name, part in whole.items():
        assert not np.isnan(part).any()
        assert_array_equal(shuffled[name], part[order])
        assert_array_equal(np.concatenate([one[name] for one in singles]), part)
        assert_array_equal(chunked[name], part)


@linear_only
def test_residuals_of_extreme_rows(fitted, X):
    """‖y − x D‖² grows with the square of the row, until it overflows; no row is too large to be odd."""
    small = fitted.score_parts(X[:5])["residual"]
    assert_allclose(fitted.score_parts(1e120 * X[:5])["residual"] / 1e240, small, rtol=1e-6)
    for name in ("residual", "description_length"):
        assert_array_equal(fitted.score_parts(1e200 * X[:5])[name], -np.finfo(np.float64).max)


def test_number_of_threads_does_not_matter_to_parts(make, monkeypatch):
    monkeypatch.setattr(_threads, "SERIAL_NS", 100.0)
    X = rows(700)
    one, two = (make(n_jobs=n, scoring="description_length").fit(X) for n in (1, 2))
    assert one.offset_ == two.offset_
    assert_array_equal(one.train_scores_, two.train_scores_)
    for name, part in one.score_parts(NEW).items():
        assert_array_equal(two.score_parts(NEW)[name], part)


def test_a_score_set_later_waits_for_the_next_fit(make, X):
    model = make().fit(X)
    before = model.score_samples(NEW)
    assert_array_equal(model.set_params(scoring="residual").score_samples(NEW), before)
    assert_array_equal(model.fit(X).score_samples(NEW), model.score_parts(NEW)["residual"])


@linear_only
@others
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_scores_without_atoms(make, X, score):
    with pytest.warns(AllAtomsTrimmedWarning, match="trimmed every atom"):
        model = make(beta=100.0, scoring=score).fit(X)
    scores = model.score_samples(X)
    if score == "loda":  # nothing but codes counts
        assert_array_equal(scores, 0.0)
        return
    assert_array_equal(np.argsort(scores), np.argsort(-np.sum(X**2, axis=1)))
    assert 0.05 < np.mean(model.predict(X) == -1) <= 0.11
    assert_array_equal(model.train_scores_, np.sort(scores))
    assert model.code_statistics_.usage.shape == (0,)


@kernel_only
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_scores_without_atoms_in_a_kernels_space(make, X, score):
    with pytest.warns(AllAtomsTrimmedWarning, match="trimmed every atom"):
        model = make(beta=100.0, scoring=score).fit(X)
    scores = model.score_samples(X)
    assert_allclose(scores, scores[0], rtol=1e-9)  # k(y, y) = 1 for all of them
    if score == "margin":
        assert_array_equal(scores, 0)
        assert_array_equal(model.predict(X), 1)


@pytest.mark.filterwarnings("ignore::oddatom.OddAtomWarning", "error::RuntimeWarning")
@pytest.mark.parametrize("score", SCORES)
def test_one_row_again_and_again(make, score):
    """Nothing stands out, so nothing is flagged; all is finite."""
    X = np.tile(rows(1), (30, 1))
    for threshold in ("svm", "auto", 0.2):
        model = make(scoring=score, threshold=threshold).fit(X)
        assert np.isfinite(model.score_samples(NEW)).all()
        assert np.isfinite(model.offset_)
        assert_array_equal(model.predict(X), 1)


def test_bad_score(make, name, X):
    message = f"The 'scoring' parameter of {name} must be a str among .* Got 'odds' instead. The paper's is 'margin'"
    with pytest.raises(ValueError, match=message):
        make(scoring="odds").fit(X)
