"""DPLOCSVM alone: scikit-learn's contract, linear codes and their explanation, the pairs, the appendix's algorithm."""

import doctest
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import oddatom
from learned import SCALINGS, first_atoms, make_detector, rows, same_model
from oddatom import DLOCSVM, DPLOCSVM, AllAtomsTrimmedWarning, DegenerateMarginWarning, SolverWarning
from oddatom.history import CODE_NORM, COLUMNS, ROUND_COLUMNS
from oddatom.learners import dpl
from reference import omp

detector = partial(make_detector, "DPL")
no_margin_wanted = pytest.mark.filterwarnings("ignore::oddatom.DegenerateMarginWarning")


@pytest.fixture(scope="module")
def fitted(X):
    return detector().fit(X)


@parametrize_with_checks(
    [
        DPLOCSVM.paper(),
        DPLOCSVM.paper(
            representation="omp",
            scaling="robust",
            init="data",
            scoring="description_length",
            threshold=0.1,
            n_folds=2,
        ),
    ]
)
@pytest.mark.filterwarnings("ignore::oddatom.exceptions.OddAtomWarning")
@pytest.mark.contract
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# The pairs


def first_codes(model, X):
    """OMP with the first dictionary, dense, and which atoms each row uses."""
    D = first_atoms() / np.linalg.norm(first_atoms(), axis=1, keepdims=True)
    indices, values = omp(X / model.scale_, D, model.n_nonzero_)
    codes = np.zeros((len(X), len(D)))
    for j, k in zip(*np.nonzero(indices >= 0), strict=True):
        codes[j, indices[j, k]] = values[j, k]
    return codes, codes != 0


def objective(Y, D, codes, support, beta, gamma):
    """F = ½‖Y − XD‖² + β Σ ‖x^i‖ + Σ α_i ‖x^i‖₁ with α = γ ς/‖ς‖, ς the number of rows that use each atom."""
    counts = support.sum(axis=0)
    alpha = gamma * counts / np.linalg.norm(counts)
    fit = 0.5 * np.sum((Y - codes @ D) ** 2)
    return fit + beta * np.linalg.norm(codes, axis=0).sum() + alpha @ np.abs(codes).sum(axis=0)


@pytest.mark.parametrize("pair_solver", ["exact", "gradient"])
def test_training_state_is_the_one_of_the_last_sweep(X, pair_solver):
    beta, gamma = 0.1, 0.05
    model = detector(beta=beta, alpha=gamma, init=first_atoms(), n_nonzero=3, solver={"pairs": pair_solver}).fit(X)
    _, support = first_codes(model, X)
    Y, D, P, active = X / model.scale_, model.dictionary_, model.analysis_dictionary_, model.active_atoms_
    used = support.any(axis=0)
    assert active.any()
    assert (used & ~active).any()
    assert not (active & ~used).any()
    assert_allclose(np.linalg.norm(D, axis=1), 1, rtol=1e-12)
    assert_array_equal(P[~active], 0)
    assert_array_equal(P[active].any(axis=1), True)
    assert_array_equal(model.components_, D[active])
    assert_array_equal(model.analysis_components_, P[active])
    codes = model.train_codes_
    assert isinstance(codes, scipy.sparse.csr_array)
    assert_allclose(codes.toarray(), np.where(support, Y @ P.T, 0), atol=1e-12)
    assert_array_equal(model.train_decision_, codes @ model.train_coef_ - model.train_offset_)
    F = objective(Y, D, codes.toarray(), support, beta, gamma)
    assert model.history_["F"][-1] == pytest.approx(F, rel=1e-10)
    assert_array_equal(model.train_coef_[~active], 0)
    assert model.n_iter_ == 6
    assert np.mean(model.train_decision_ < -1e-9) <= 0.11


def test_the_first_analysis_atoms_are_least_squares(X):
    model = detector(init=first_atoms(), n_nonzero=3, max_iter=0).fit(X)
    codes, support = first_codes(model, X)
    P = np.linalg.lstsq(X / model.scale_, codes, rcond=None)[0].T
    P[~support.any(axis=0)] = 0
    assert_allclose(model.analysis_dictionary_, P, atol=1e-8 * np.abs(P).max())


def test_history(X):
    history = detector(verbose=2, coupling=("eta", 10.0), alpha=0.05, n_nonzero=3).fit(X).history_
    assert set(history) == {*COLUMNS, *ROUND_COLUMNS, CODE_NORM, "kkt"}
    assert all(column.shape == (7,) for column in history.values())
    assert history["kkt"][0] == 0
    assert 0 < history["kkt"].max() <= 1e-6
    assert_allclose(history["total"], history["F"] + 10.0 * history["G"], rtol=1e-12)
    assert len(history.lagrangian) == 6
    for before, trace in zip(history["n_active"], history.lagrangian, strict=False):
        assert trace.size == 1 + 2 * before  # a value before the sweep, two a pair
        assert np.diff(trace).max() <= 1e-12 * np.abs(trace).max()
        assert np.diff(trace).min() < 0
    assert detector().fit(X).history_.lagrangian == []


def test_an_inexact_pair_is_reported(X, monkeypatch):
    exact = dpl.PAIR_SOLVERS["exact"]
    monkeypatch.setitem(dpl.PAIR_SOLVERS, "exact", lambda *args: exact(*args)._replace(residual=1e-3))
    with pytest.warns(SolverWarning, match=r"residual of 1\.0e-03 instead of 1e-06\. Look for") as caught:
        model = detector(max_iter=2).fit(X)
    assert caught[0].filename == __file__
    assert_array_equal(model.history_["kkt"], [0, 1e-3, 1e-3])


def test_a_pair_that_is_no_number_is_reported(X, monkeypatch):
    """One residual that is no number, then good ones: the largest of them must not hide it."""
    exact, residuals = dpl.PAIR_SOLVERS["exact"], [np.nan]
    monkeypatch.setitem(
        dpl.PAIR_SOLVERS, "exact", lambda *args: exact(*args)._replace(residual=residuals.pop() if residuals else 0.0)
    )
    with pytest.warns(SolverWarning, match="residual of nan instead of 1e-06"):
        model = detector(max_iter=2).fit(X)
    assert_array_equal(model.history_["kkt"], [0, np.nan, 0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("pair_solver", ["exact", "gradient"])
@pytest.mark.parametrize("coupling", [1e160, 1e300])
def test_a_coupling_that_overflows(X, pair_solver, coupling):
    with pytest.raises(ValueError, match=r"codes overflowed .* Lower the 'coupling' parameter"):
        detector(coupling=("eta", coupling), alpha=0.05, solver={"pairs": pair_solver}).fit(X)


def test_pair_solvers(X):
    exact, gradient = (
        detector(solver={"pairs": name}, coupling=("eta", 0.0), alpha=0.05).fit(X) for name in ("exact", "gradient")
    )
    assert np.abs(exact.dictionary_ - gradient.dictionary_).max() > 1e-6
    start = exact.history_["F"][0]
    assert gradient.history_["F"][0] == start
    assert exact.history_["F"][-1] < 0.9 * start
    assert gradient.history_["F"][-1] == pytest.approx(exact.history_["F"][-1], rel=0.01)


@pytest.mark.parametrize(("penalty", "beta"), [("l21", 0.1), ("l20", 0.01), ("l2eps", 0.1)])
def test_penalties_trim(X, penalty, beta):
    kept = [detector(penalty=penalty, beta=weight, n_nonzero=3).fit(X).active_atoms_.sum() for weight in (0, beta)]
    assert 1 < kept[1] < kept[0]


def test_alpha_shortens_codes_and_trims(X):
    models = [detector(alpha=alpha, n_nonzero=3, beta=0.0).fit(X) for alpha in (0.0, 0.05, 0.2)]
    lengths = [np.abs(model.train_codes_).sum() for model in models]
    assert lengths[2] < 0.98 * lengths[1] < 0.98**2 * lengths[0]
    assert models[2].active_atoms_.sum() < models[0].active_atoms_.sum()
    with pytest.warns(AllAtomsTrimmedWarning, match=r"beta=0\.02 and alpha=50\.0 outweigh all .* Lower beta or alpha"):
        detector(alpha=50.0).fit(X)


@pytest.mark.parametrize("coupling", [0.0, 30.0])
def test_coupling_moves_the_pairs(fitted, X, coupling):
    other = detector(coupling=("eta", coupling)).fit(X)
    assert np.abs(other.analysis_dictionary_ - fitted.analysis_dictionary_).max() > 1e-6


# Limit cases


def test_without_penalties_and_svm_it_finds_the_principal_subspace(X):
    """Every row uses every atom: the objective falls to that of the best rank-k approximation."""
    k = 2
    model = detector(beta=0, alpha=0, coupling=("eta", 0), n_atoms=k, n_nonzero=k, max_iter=400).fit(X)
    Y = X / model.scale_
    _, sigma, V = np.linalg.svd(Y, full_matrices=False)
    assert model.train_codes_.count_nonzero() == k * len(X)
    assert model.history_["F"][-1] == pytest.approx(0.5 * np.sum(sigma[k:] ** 2), rel=1e-6)
    assert_allclose(model.inverse_transform(model.transform(X)), X @ V[:k].T @ V[:k], atol=1e-3 * np.abs(X).max())


def test_one_pair_is_the_first_singular_vector(X):
    model = detector(beta=0, alpha=0, coupling=("eta", 0), n_atoms=1, max_iter=30).fit(X)
    v = np.linalg.svd(X)[2][0]
    assert_allclose(np.abs(model.components_[0] @ v), 1, rtol=1e-12)
    assert_allclose(model.analysis_components_, model.components_, atol=1e-6)
    # In one dimension the margin of a row is its share of v times a constant.
    share = X @ model.components_[0] / model.scale_
    assert_allclose(model.score_samples(X), share * model.coef_[0], rtol=1e-6)


# Codes


@no_margin_wanted
@pytest.mark.parametrize("scaling", SCALINGS)
def test_codes_are_linear(X, scaling):
    model = detector(scaling=scaling).fit(X)
    center, spread, scale = model.scaling_
    Y = (X if scaling is None else (X - center) / spread) / scale
    assert_allclose(np.linalg.norm(Y), 1)
    new = rows(50, seed=4)
    Y = (new if scaling is None else (new - center) / spread) / scale
    codes = model.transform(new)
    assert isinstance(codes, np.ndarray)
    assert_allclose(codes, Y @ model.analysis_components_.T, atol=1e-13)
    assert_allclose(model.score_samples(new), codes @ model.coef_, atol=1e-13)
    back = codes @ model.components_ * scale
    assert_allclose(model.inverse_transform(codes), back if scaling is None else back * spread + center, rtol=1e-9)


@no_margin_wanted
@pytest.mark.parametrize("scaling", SCALINGS)
def test_omp_codes(X, scaling):
    model = detector(scaling=scaling, representation="omp", n_nonzero=2).fit(X)
    codes = model.transform(X)
    assert isinstance(codes, scipy.sparse.csr_array)
    indices, values = omp(model.scaling_.apply(X), model.components_, 2)
    dense = np.zeros(codes.shape)
    for j, k in zip(*np.nonzero(indices >= 0), strict=True):
        dense[j, indices[j, k]] = values[j, k]
    assert_allclose(codes.toarray(), dense, atol=1e-10)
    assert_allclose(model.score_samples(X), dense @ model.coef_, atol=1e-10)


def test_representation_counts_from_the_next_fit_on(X):
    new = rows(40, seed=5)
    for first, then in (("analysis", "omp"), ("omp", "analysis")):
        model = detector(representation=first).fit(X)
        twin = detector(representation=then).fit(X)
        scores, codes = model.score_samples(new), model.transform(new)
        # The pairs are the same; the plane is that of the codes as they will be made.
        assert_array_equal(model.analysis_dictionary_, twin.analysis_dictionary_)
        assert np.abs(model.coef_ - twin.coef_).max() > 1e-6 * np.abs(model.coef_).max()
        model.set_params(representation=then)
        assert model.representation_ == first
        assert_array_equal(model.score_samples(new), scores)
        assert type(model.transform(new)) is type(codes)
        assert_allclose(model.explain(new).contributions.sum(axis=1), scores, atol=1e-10 * np.abs(scores).max())
        same_model(model.fit(X), twin)
        assert model.representation_ == then
        assert_array_equal(model.score_samples(new), twin.score_samples(new))


# Explanations


@no_margin_wanted
@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_shares_add_up_to_the_score(load, scaling):
    X = load().data
    model = detector(scaling=scaling, max_iter=2, beta=0.01).fit(X)
    (shares, by_atom), scores = model.explain(X), model.score_samples(X)
    assert_allclose(by_atom, model.transform(X) * model.coef_, rtol=1e-14)
    plane = model.analysis_components_.T @ model.coef_
    assert isinstance(shares, np.ndarray)
    assert shares.shape == X.shape
    assert_allclose(shares, model.scaling_.apply(X) * plane, rtol=1e-14)
    assert (np.abs(shares.sum(axis=1) - scores) <= 1e-10 * np.abs(shares).sum(axis=1)).all()
    if scaling != "standard":
        assert (np.abs(shares).max(axis=0) > 0).all()
    for size in (1e120, 1e303):
        one = model.explain(X[5:6] * size).contributions
        assert_allclose(one.sum(), model.score_samples(X[5:6] * size)[0], rtol=0, atol=1e-10 * np.abs(one).sum())


def test_a_feature_that_is_off_shows_in_its_share(fitted, X):
    """One entry of a row moved against the plane: that share alone falls, by what the score falls."""
    row = X[:1].copy()
    plane = fitted.analysis_components_.T @ fitted.coef_
    f = int(np.argmax(np.abs(plane)))
    moved = row.copy()
    moved[0, f] -= 3 * np.sign(plane[f])
    change = fitted.explain(moved).contributions[0] - fitted.explain(row).contributions[0]
    assert_array_equal(np.delete(change, f), 0)
    assert change[f] < 0
    assert change[f] == pytest.approx((fitted.score_samples(moved) - fitted.score_samples(row))[0], rel=1e-9)


@no_margin_wanted
def test_shares_of_constant_and_repeated_columns(X):
    odd = np.column_stack([X, np.full(len(X), 3.0), X[:, 2], np.zeros(len(X))])
    for scaling in (None, "robust"):
        model = detector(scaling=scaling, n_atoms=14).fit(odd)
        assert model.history_["kkt"].max() <= 1e-6
        shares = model.explain(odd).contributions
        # Columns of zeros tell nothing; two that are the same share what they tell.
        assert_allclose(shares[:, [6, 8] if scaling else [8]], 0, atol=1e-12 * np.abs(shares).max())
        assert_allclose(shares[:, 2], shares[:, 7], atol=1e-6 * np.abs(shares).max())


@pytest.mark.contract
def test_shares_of_frames(fitted, X):
    wanted = fitted.explain(X).contributions
    table = pd.DataFrame(X, columns=list("abcdef"), index=[f"row {j}" for j in range(len(X))])
    model = detector().fit(table)
    for subset in (table, table.iloc[[7, 2, 7]]):
        shares = model.explain(subset).contributions
        assert isinstance(shares, pd.DataFrame)
        assert list(shares.columns) == list("abcdef")
        assert list(shares.index) == list(subset.index)
        assert_array_equal(shares.to_numpy(), wanted[table.index.get_indexer(subset.index)])
    shares = model.explain(pl.DataFrame({name: X[:, i] for i, name in enumerate("abcdef")})).contributions
    assert isinstance(shares, pl.DataFrame)
    assert shares.columns == list("abcdef")
    assert_array_equal(shares.to_numpy(), wanted)
    assert isinstance(fitted.explain(pd.DataFrame(X)).contributions, np.ndarray)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert isinstance(model.explain(X).contributions, np.ndarray)


def test_explanation_of_omp_codes(X):
    model = detector(representation="omp").fit(X)
    contributions, by_atom = model.explain(X)
    codes = model.transform(X).toarray()
    size = np.abs(by_atom).max()
    assert_allclose(by_atom, codes * model.coef_, rtol=1e-14)
    assert_allclose(contributions, by_atom @ model.components_**2, atol=1e-10 * size)
    assert_allclose(contributions.sum(axis=1), model.score_samples(X), atol=1e-10 * size)
    table = pd.DataFrame(X, columns=list("abcdef"))
    contributions, by_atom = detector(representation="omp").fit(table).explain(table)
    assert list(by_atom.columns) == list(model.get_feature_names_out())
    assert list(contributions.columns) == list("abcdef")


@pytest.mark.filterwarnings("error")
def test_huge_entries_against_each_other(fitted):
    """Their shares cancel: the score is what is left, not inf − inf."""
    plane = fitted.analysis_components_.T @ fitted.coef_
    f, g = np.argsort(-np.abs(plane))[:2]
    row = np.zeros((1, 6))
    row[0, f], row[0, g] = 1.0, -plane[f] / plane[g]
    row *= 1e308 / np.abs(row).max()
    model = detector().fit(1e-6 * rows())  # y = x / scale overflows
    assert np.isfinite(model.explain(row).contributions).all()
    assert not np.isnan(model.score_samples(row)).any()
    assert model.predict(-rows()[:1] * 1e307)[0] == -1
    assert model.predict(rows()[:1] * 1e307)[0] == 1


# The appendix's algorithm


def appendix(model, X, tol):
    """Literal: codes by OMP with D, zero the row of codes of every atom with ‖p_i Y‖ < tol, label."""
    Y, D, P = X / model.scale_, model.dictionary_, model.analysis_dictionary_
    indices, values = omp(Y, D, model.n_nonzero_)
    codes = np.zeros((len(Y), len(D)))
    for j, k in zip(*np.nonzero(indices >= 0), strict=True):
        codes[j, indices[j, k]] = values[j, k]
    for i in range(len(D)):
        if np.linalg.norm(P[i] @ Y.T) < tol:
            codes[:, i] = 0
    return np.where(codes @ model.train_coef_ - model.train_offset_ <= 0, -1, 1)


@pytest.mark.parametrize("representation", ["analysis", "omp"])
@pytest.mark.parametrize("size", [3, 25, 120])
def test_detect_batch(X, size, representation):
    model = detector(n_nonzero=3, representation=representation).fit(X)
    new = rows(size, seed=7)
    wanted = appendix(model, new, 1e-8)
    assert_array_equal(model.detect_batch(new), wanted)
    assert (wanted == 1).any()


def test_detect_batch_trims_by_the_batch(X):
    """A tol between the atoms' norms changes the labels of some rows, and not of others."""
    model = detector(n_nonzero=3).fit(X)
    new = rows(40, seed=7)
    norms = np.linalg.norm(new / model.scale_ @ model.analysis_components_.T, axis=0)
    before = appendix(model, new, 0.0)
    assert_array_equal(model.detect_batch(new, tol=0), before)
    changes = []
    for norm in np.sort(norms):
        for tol in (0.999 * norm, 1.001 * norm):
            after = appendix(model, new, tol)
            assert_array_equal(model.detect_batch(new, tol=tol), after)
            changes.append((after != before).any() and (after == before).any())
    assert any(changes)
    assert_array_equal(model.detect_batch(new, tol=1.001 * norms.max()), -1)


@pytest.mark.parametrize("tol", [-1e-3, "small", None, np.nan])
def test_detect_batch_refuses_a_wrong_tol(fitted, X, tol):
    with pytest.raises(ValueError, match=rf"'tol' parameter of detect_batch .* Got {tol!r} instead; try 1e-8"):
        fitted.detect_batch(X, tol=tol)


# Errors


BAD_PARAMETERS = {
    "alpha": ({"alpha": -1.0}, r"The 'alpha' parameter of DPLOCSVM .* Got -1\.0 instead\. .*0 switches that penalty"),
    "representation": ({"representation": "svd"}, r"The 'representation' parameter .*'analysis'.* Got 'svd' instead"),
    "solver": ({"solver": "newton"}, r"The 'solver' parameter of DPLOCSVM must be .*'gradient'.* Got 'newton' instead"),
    "solver of pairs": ({"solver": {"pairs": "power"}}, r"The 'solver' parameter .* Got \{'pairs': 'power'\} instead"),
    "a step of others": (
        {"solver": {"atoms": "exact"}},
        r"The 'solver' parameter .* 'svm': 'exact' or 'libsvm'\}\. Got",
    ),
    "l20 by gradient": (
        {"solver": "paper", "penalty": "l20"},
        r"The 'penalty' parameter of DPLOCSVM must be 'l21' where .* Got 'l20' instead; use solver='exact'",
    ),
}


@pytest.mark.parametrize("name", BAD_PARAMETERS)
def test_bad_parameters(X, name):
    parameters, message = BAD_PARAMETERS[name]
    model = DPLOCSVM.paper(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X)
    assert not hasattr(model, "components_")


@no_margin_wanted
def test_docstring_example():
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    (test,) = finder.find(oddatom.DPLOCSVM, "DPLOCSVM")
    assert len(test.examples) > 3
    assert runner.run(test).failed == 0


@pytest.mark.parametrize(
    "detector", [DPLOCSVM.paper(beta=0.01, random_state=0), DLOCSVM.paper(n_nonzero=1, random_state=0)]
)
def test_a_flat_margin_is_reported(detector):
    if isinstance(detector, DPLOCSVM):
        X = np.column_stack([StandardScaler().fit_transform(load_wine().data), np.ones(178)])
    else:
        X = np.repeat([[1.0, 2.0]], 50, axis=0)
    with pytest.warns(DegenerateMarginWarning, match="same score"):
        detector.fit(X)
    assert np.ptp(detector.score_samples(X)) < 1e-5 * np.abs(detector.score_samples(X)).max()
