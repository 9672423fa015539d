"""LinearOneClassSVM as a scikit-learn detector: contract, input, errors and warnings."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.svm import OneClassSVM
from sklearn.utils.estimator_checks import parametrize_with_checks

from oddatom import DegenerateMarginWarning, LinearOneClassSVM, SolverWarning
from oddatom.estimators._validation import check_rows

FITTED = ("coef_", "offset_", "dual_coef_", "gap_", "kkt_residual_", "n_iter_")


@parametrize_with_checks([LinearOneClassSVM(), LinearOneClassSVM(nu=0.2, n_jobs=1)])
@pytest.mark.filterwarnings("ignore::oddatom.exceptions.OddAtomWarning")
@pytest.mark.contract
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def normal_rows(N=400, n=3, seed=0):
    return np.random.default_rng(seed).normal(3.0, 1.0, (N, n))


def assert_same_fit(one, two):
    for name in FITTED:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)


def test_attributes_and_scores():
    X = normal_rows()
    model = LinearOneClassSVM(nu=0.2).fit(X)
    assert model.coef_.shape == (1, 3)
    assert np.ndim(model.offset_) == 0
    assert model.dual_coef_.shape == (400,)
    assert 0.0 <= model.gap_ <= 1e-8
    assert model.n_iter_ > 0
    np.testing.assert_allclose(model.coef_[0], model.dual_coef_ @ X, rtol=1e-10)
    assert model.dual_coef_.sum() == pytest.approx(1.0)
    assert model.dual_coef_.min() >= 0
    assert model.dual_coef_.max() <= (1 + 1e-12) / (0.2 * 400)
    new = normal_rows(50, seed=1)
    np.testing.assert_allclose(model.score_samples(new), new @ model.coef_[0])
    np.testing.assert_array_equal(model.decision_function(new), model.score_samples(new) - model.offset_)
    np.testing.assert_array_equal(model.predict(new), np.where(model.decision_function(new) >= 0, 1, -1))
    np.testing.assert_array_equal(model.fit_predict(X), model.predict(X))
    assert set(model.predict(X)) == {-1, 1}


def test_finds_what_libsvm_finds():
    X = normal_rows()
    model = LinearOneClassSVM(nu=0.2).fit(X)
    other = OneClassSVM(kernel="linear", nu=0.2, tol=1e-10).fit(X)
    C = 0.2 * len(X)
    np.testing.assert_allclose(model.coef_, other.coef_ / C, rtol=1e-5)
    np.testing.assert_allclose(model.offset_, other.offset_[0] / C, rtol=1e-5)
    far = np.abs(other.decision_function(X)) > 1e-4 * np.abs(other.offset_)
    assert far.sum() > 390
    np.testing.assert_array_equal(model.predict(X)[far], other.predict(X)[far])


def sparse_rows(N=500):
    rng = np.random.default_rng(4)
    return rng.normal(1.0, 1.0, (N, 8)) * (rng.random((N, 8)) < 0.4)


@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csr_matrix, scipy.sparse.coo_array])
@pytest.mark.parametrize("N", [500, 3000])
def test_sparse_input_is_dense_input(make, N):
    X = sparse_rows(N)
    dense = LinearOneClassSVM(nu=0.4).fit(X)
    sparse = LinearOneClassSVM(nu=0.4).fit(make(X))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-8)
    np.testing.assert_allclose(sparse.offset_, dense.offset_, atol=1e-8)
    np.testing.assert_allclose(sparse.decision_function(make(X)), dense.decision_function(X), atol=1e-7)


def test_sparse_input_in_any_order_with_duplicates():
    X = sparse_rows()
    tidy = scipy.sparse.csr_array(X)
    # Every entry in two halves, the columns of each row backwards.
    indices, data = [], []
    for x in X:
        columns = np.flatnonzero(x)[::-1]
        indices += [columns, columns]
        data += [x[columns] / 2, x[columns] / 2]
    untidy = scipy.sparse.csr_array((np.concatenate(data), np.concatenate(indices), 2 * tidy.indptr), shape=X.shape)
    before = untidy.indices.copy(), untidy.data.copy()
    rows = check_rows(LinearOneClassSVM(), untidy, reset=True, accept_sparse=True)
    np.testing.assert_array_equal(rows.indices, tidy.indices)
    np.testing.assert_array_equal(rows.data, tidy.data)
    model = LinearOneClassSVM(nu=0.4).fit(untidy)
    assert_same_fit(model, LinearOneClassSVM(nu=0.4).fit(tidy))
    np.testing.assert_allclose(model.score_samples(untidy), model.score_samples(X))
    np.testing.assert_array_equal(untidy.indices, before[0])  # the caller's matrix is left alone
    np.testing.assert_array_equal(untidy.data, before[1])


@pytest.mark.parametrize("nu", [1e-4, 0.01, 0.1, 0.25, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("kind", ["normal", "integers", "duplicates", "large"])
def test_share_of_outliers_and_rows_on_the_margin(kind, nu):
    rng = np.random.default_rng(2)
    X = normal_rows(4000 if kind == "large" else 300)
    if kind == "integers":
        X = rng.integers(1, 4, (300, 3)).astype(float)
    elif kind == "duplicates":
        X = X[rng.integers(5, size=300)]
    model = LinearOneClassSVM(nu=nu).fit(X)
    outliers = model.predict(X) == -1
    assert np.mean(outliers) <= nu
    a = model.dual_coef_ * nu * len(X)
    assert not outliers[a < 1 - 1e-3].any()  # on the margin or inside it
    assert np.mean(outliers | (a > 1e-8)) >= nu * (1 - 1e-9)  # nu bounds the support from below


@pytest.mark.parametrize("factor", [1e-150, 1e-6, 1e6, 1e150])
def test_units_of_the_data(factor):
    X = normal_rows()
    one, two = LinearOneClassSVM(nu=0.2).fit(X), LinearOneClassSVM(nu=0.2).fit(X * factor)
    np.testing.assert_allclose(two.coef_ / factor, one.coef_, rtol=1e-9)
    np.testing.assert_allclose(two.offset_ / factor / factor, one.offset_, rtol=1e-9)
    np.testing.assert_array_equal(two.predict(X * factor), one.predict(X))


def test_no_margin_warns():
    X = normal_rows()
    X -= X.mean(axis=0)
    model = LinearOneClassSVM(nu=0.1)
    with pytest.warns(DegenerateMarginWarning, match=r"origin lies in the reduced hull .* nu=0\.1.* larger nu"):
        model.fit(X)
    assert not model.coef_.any()
    np.testing.assert_array_equal(model.decision_function(X), 0.0)
    np.testing.assert_array_equal(model.predict(X), 1)


def test_zero_rows_warn():
    with pytest.warns(DegenerateMarginWarning, match="larger nu"):
        LinearOneClassSVM(nu=0.3).fit(np.zeros((10, 2)))


def test_a_margin_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LinearOneClassSVM(nu=0.1).fit(normal_rows())


def test_unfinished_solution_warns(monkeypatch):
    monkeypatch.setattr("oddatom.estimators.linear_one_class_svm.GAP_TOL", -1.0)
    with pytest.warns(SolverWarning, match=r"duality gap of .*RobustScaler"):
        LinearOneClassSVM(nu=0.1).fit(normal_rows())


@pytest.mark.parametrize("nu", [0, -0.1, 1.1, float("nan"), "auto", None])
def test_bad_nu(nu):
    with pytest.raises(ValueError, match=r"The 'nu' parameter of LinearOneClassSVM must be .*0\.1 is a usual choice"):
        LinearOneClassSVM(nu=nu).fit(normal_rows())


def test_bad_n_jobs():
    with pytest.raises(ValueError, match="The 'n_jobs' parameter of LinearOneClassSVM must be"):
        LinearOneClassSVM(n_jobs=1.5).fit(normal_rows())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_missing_values_name_their_columns(bad):
    X = normal_rows()
    X[5, 1] = bad
    with pytest.raises(ValueError, match=r"NaN or infinity in column 1\. .*SimpleImputer.*TableDetector"):
        LinearOneClassSVM().fit(X)
    with pytest.raises(ValueError, match=r"NaN or infinity in column 1\."):
        LinearOneClassSVM().fit(scipy.sparse.csr_array(X))
    X[7, 2] = bad
    with pytest.raises(ValueError, match=r"NaN or infinity in columns 1, 2\."):
        LinearOneClassSVM().fit(X)
    names = ["age", "height", "weight"]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        with pytest.raises(ValueError, match=r"columns 'height', 'weight'\."):
            LinearOneClassSVM().fit(frame)
    model = LinearOneClassSVM().fit(normal_rows())
    with pytest.raises(ValueError, match=r"NaN or infinity in columns 1, 2\."):
        model.predict(X)


def test_a_path_is_refused_for_what_it_is():
    match = r"LinearOneClassSVM takes rows in memory, no files\. Got the path 'a\.parquet'; .*pandas\.read_parquet"
    with pytest.raises(ValueError, match=match):
        LinearOneClassSVM().fit("a.parquet")
    with pytest.raises(ValueError, match=match):
        LinearOneClassSVM().fit(normal_rows()).predict(Path("a.parquet"))


def test_opposite_infinities_are_found():
    X = normal_rows()
    X[5, 0], X[6, 0] = np.inf, -np.inf
    with pytest.raises(ValueError, match=r"NaN or infinity in column 0\."):
        LinearOneClassSVM().fit(X)


def test_many_missing_columns_are_counted():
    with pytest.raises(ValueError, match=r"columns 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 5 more\."):
        LinearOneClassSVM().fit(np.full((4, 15), np.nan))


def test_large_numbers_are_no_infinities():
    X = np.full((10, 2), 1e308) * np.array([1.0, -1.0])
    with pytest.raises(ValueError, match="column 0"):
        LinearOneClassSVM().fit(np.where(np.arange(10)[:, None] == 3, np.inf, X)[:, :1])
    np.testing.assert_array_equal(check_rows(LinearOneClassSVM(), X[:, :1], reset=True), X[:, :1])


def test_text():
    with pytest.raises(ValueError, match=r"could not convert string to float.*OneHotEncoder.*TableDetector"):
        LinearOneClassSVM().fit(np.array([["1", "a"], ["2", "b"]], dtype=object))
    frame = pd.DataFrame({"size": [1.0, 2.0], "colour": ["red", "blue"], "kind": ["a", "b"]})
    with pytest.raises(
        ValueError, match=r"Columns that do not hold numbers: 'colour', 'kind'\. .*OneHotEncoder.*TableDetector"
    ):
        LinearOneClassSVM().fit(frame)
    with pytest.raises(ValueError, match=r"Columns that do not hold numbers: 'colour', 'kind'\."):
        LinearOneClassSVM().fit(pl.DataFrame({name: frame[name].tolist() for name in frame.columns}))


def test_shapes():
    model = LinearOneClassSVM()
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        model.fit(np.ones((1, 3)))
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        model.fit(np.ones(5))
    with pytest.raises(NotFittedError, match="LinearOneClassSVM instance is not fitted"):
        model.predict(np.ones((2, 3)))
    model.fit(normal_rows())
    with pytest.raises(ValueError, match="X has 2 features, but LinearOneClassSVM is expecting 3 features"):
        model.predict(np.ones((4, 2)))
    assert model.predict(np.ones((1, 3))).shape == (1,)


@pytest.mark.parametrize("N", [300, 5000])
def test_two_fits_are_identical(N):
    X = normal_rows(N)
    assert_same_fit(LinearOneClassSVM(nu=0.2).fit(X), LinearOneClassSVM(nu=0.2).fit(X))
    assert_same_fit(LinearOneClassSVM(nu=0.2, n_jobs=1).fit(X), LinearOneClassSVM(nu=0.2, n_jobs=2).fit(X))
    assert_same_fit(LinearOneClassSVM(nu=0.2).fit(X), LinearOneClassSVM(nu=0.2).fit(np.asfortranarray(X)))


@pytest.mark.contract
def test_frames():
    X = normal_rows()
    names = ["a", "b", "c"]
    plain = LinearOneClassSVM(nu=0.2).fit(X)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = LinearOneClassSVM(nu=0.2).fit(frame)
        assert list(model.feature_names_in_) == names
        assert_same_fit(model, plain)
        np.testing.assert_array_equal(model.score_samples(frame), plain.score_samples(X))
    renamed = pd.DataFrame(X, columns=["a", "b", "d"])
    with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
        model.predict(renamed)


def test_integers_and_lists():
    X = np.random.default_rng(0).integers(1, 9, (40, 3))
    expected = LinearOneClassSVM(nu=0.3).fit(X.astype(float))
    for form in (X, X.astype(np.float32), X.tolist()):
        assert_same_fit(LinearOneClassSVM(nu=0.3).fit(form), expected)


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array, scipy.sparse.csr_matrix, scipy.sparse.coo_array])
def test_contributions_sum_to_the_score(make):
    X = sparse_rows()
    X[7] = 0.0
    model = LinearOneClassSVM(nu=0.4).fit(make(X))
    contributions, by_atom = model.explain(make(X))
    assert by_atom is None
    assert scipy.sparse.issparse(contributions) == scipy.sparse.issparse(make(X))
    np.testing.assert_allclose(contributions.sum(axis=1), model.score_samples(make(X)), rtol=1e-12, atol=1e-12)
    table = contributions.toarray() if scipy.sparse.issparse(contributions) else contributions
    np.testing.assert_array_equal(table, X * model.coef_)
    assert model.score_samples(X).std() > 0.1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
def test_contributions_of_huge_rows_are_finite(make):
    model = LinearOneClassSVM(nu=0.2).fit(normal_rows())
    model.coef_ = np.array([[4.0, -2.0, 1e-3]])
    rows = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1e308, 1e308, 1.0], [0.0, 1e308, 1e308], [0.0, 0.0, -1e308]])
    table = model.explain(make(rows)).contributions
    table = table.toarray() if scipy.sparse.issparse(table) else table
    assert np.isfinite(table.sum(axis=1)).all()
    np.testing.assert_array_equal(table[[0, 1, 4]], rows[[0, 1, 4]] * model.coef_)  # others do not change a row
    short = rows[2:4] / 2.0**500 * (model.coef_ / 2.0**500)  # shorter, the same shares
    np.testing.assert_array_equal(table[2:4], short)


@pytest.mark.contract
def test_contributions_to_frames():
    X, names = normal_rows(), ["a", "b", "c"]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = LinearOneClassSVM(nu=0.2).fit(frame)
        contributions = model.explain(frame).contributions
        assert type(contributions) is type(frame)
        assert list(contributions.columns) == names
        np.testing.assert_array_equal(contributions, model.explain(X).contributions)
    with pytest.raises(NotFittedError):
        LinearOneClassSVM().explain(X)


@pytest.mark.contract
def test_clone_and_pickle():
    X = normal_rows()
    model = LinearOneClassSVM(nu=0.2, n_jobs=1).fit(X)
    fresh = clone(model)
    assert fresh.get_params() == {"nu": 0.2, "n_jobs": 1}
    assert not hasattr(fresh, "coef_")
    again = pickle.loads(pickle.dumps(model))
    assert_same_fit(again, model)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert_same_fit(fresh.fit(X), model)


def test_fit_leaves_the_data_alone():
    X = normal_rows()
    before = X.copy()
    LinearOneClassSVM().fit(X).predict(X)
    np.testing.assert_array_equal(X, before)
