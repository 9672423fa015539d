"""OddAtomDetector on rows with missing values: every method, every place that rows may be, and what cannot change."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

import oddatom
from ensembles import CATEGORICAL, factors, mixed
from oddatom import OddAtomDetector


def make(**options):
    return OddAtomDetector(**{"categorical_features": CATEGORICAL, "random_state": 0, **options})


@pytest.fixture(scope="module")
def model():
    return make().fit(mixed())


def test_every_method(model):
    X = mixed(200, seed=1)
    scores, explained = model.score_samples(X), model.explain(X).contributions
    assert np.isfinite(scores).all()
    assert_allclose(explained.sum(axis=1), scores, rtol=1e-9, atol=1e-12)
    p = model.p_values(X)
    assert ((p > 0) & (p <= 1)).all()
    assert_array_equal(model.predict(X) == -1, model.decision_function(X) < 0)
    for name, values in model.score_parts(X).items():
        assert np.isfinite(values).all(), name
    assert model.__sklearn_tags__().input_tags.allow_nan


def test_order_batch_and_threads_change_no_bit(model):
    X, new = mixed(), mixed(150, seed=1)
    wanted = model.score_samples(new)
    order = np.random.default_rng(0).permutation(len(X))
    for other in (make().fit(X[order]), make(n_jobs=1).fit(X), make(n_jobs=2).fit(X)):
        assert_array_equal(other.score_samples(new), wanted)
    assert_array_equal(np.concatenate([model.score_samples(row[None]) for row in new]), wanted)
    quiet = -np.where(np.isnan(X), np.nan, -X)  # other bits of the same NaN
    assert_array_equal(make().fit(quiet).score_samples(new), wanted)


def test_a_missing_code_is_minus_one_or_nan(model):
    X = mixed(100, seed=1)
    other = X.copy()
    other[:, CATEGORICAL] = np.where(np.isnan(X[:, CATEGORICAL]), -1.0, X[:, CATEGORICAL])
    assert_array_equal(model.score_samples(other), model.score_samples(X))


def test_rows_that_lack_cells_are_as_odd_as_others():
    """Neither more nor less often among the first tenth, by a factor of two."""
    X = factors(3000)
    X[::2] = np.where(np.random.default_rng(0).random((1500, 12)) < 0.25, np.nan, X[::2])
    scores = OddAtomDetector(random_state=0).fit(X).score_samples(X)
    first = np.argsort(scores)[:300]
    assert 0.3 < np.mean(first % 2 == 0) < 0.7


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_gross_errors_come_first_among_empty_cells(share):
    X = factors(1500)
    X[np.random.default_rng(1).random(X.shape) < share] = np.nan
    for row, column in enumerate((2, 5, 9)):
        X[row, column] = 60.0
    model = OddAtomDetector(random_state=0).fit(X)
    assert set(np.argsort(model.score_samples(X))[:3]) == {0, 1, 2}
    assert_array_equal(model.explain(X[:3]).contributions.argmin(axis=1), [2, 5, 9])


def test_p_values_are_uniform_where_cells_are_missing():
    rates = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = np.where(rng.random((900, 12)) < 0.15, np.nan, factors(900, seed=seed))
        p = OddAtomDetector(random_state=seed).fit(X[:600]).p_values(X[600:])
        rates.append([(p <= level).mean() for level in (0.05, 0.1, 0.2, 0.5)])
    assert_allclose(np.mean(rates, axis=0), [0.05, 0.1, 0.2, 0.5], atol=0.03)


def test_partial_fit_remembers_missing_values(tmp_path):
    batches = [mixed(300, seed=seed) for seed in range(3)]
    model = make()
    for rows in batches:
        model.partial_fit(rows)
    assert np.isnan(model.memory_.rows).any()
    model.save(tmp_path / "model")
    loaded = oddatom.load(tmp_path / "model")
    assert_array_equal(
        loaded.partial_fit(batches[0]).score_samples(batches[1]),
        model.partial_fit(batches[0]).score_samples(batches[1]),
    )


def test_frames_and_sparse_rows(model):
    X = mixed()
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    assert_array_equal(make().fit(frame).train_scores_, model.train_scores_)
    assert_array_equal(make().fit(scipy.sparse.csr_array(X)).train_scores_, model.train_scores_)
    assert_array_equal(make().fit(frame.convert_dtypes()).train_scores_, model.train_scores_)


def test_files(model, tmp_path):
    X = mixed()
    np.save(tmp_path / "rows.npy", X)
    frame = pd.DataFrame(X, columns=list("abcdefgh")).astype({"f": "Int64", "h": "boolean"})
    frame.to_parquet(tmp_path / "rows.parquet")
    for name in ("rows.npy", "rows.parquet"):
        found = make().fit(tmp_path / name)
        assert_array_equal(found.train_scores_, model.train_scores_)
        assert_array_equal(found.score_samples(tmp_path / name), model.score_samples(X))
    X[7, 2] = np.inf
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(ValueError, match=r"rows\.npy has inf in column 2, row 7"):
        make().fit(tmp_path / "rows.npy")


def test_tensors(model):
    torch = pytest.importorskip("torch")
    from oddatom.rows.device.tensor_source import TensorSource

    X = mixed()
    source = TensorSource(torch.tensor(X), torch.device("cpu"), missing=True)
    assert_allclose(make().fit(source).train_scores_, model.train_scores_, rtol=1e-9, atol=1e-11)
    X[3, 1] = -np.inf
    with pytest.raises(ValueError, match=r"infinity in column 1\. The detector takes finite numbers, and NaN"):
        TensorSource(torch.tensor(X), torch.device("cpu"), missing=True)


def test_dask(model):
    da = pytest.importorskip("dask.array")
    from distributed import Client

    X = mixed()
    with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None):
        found = make().fit(da.from_array(X, chunks=(300, 8)))
        assert_array_equal(found.train_scores_, model.train_scores_)
        assert_array_equal(found.score_samples(da.from_array(X, chunks=(300, 8))).compute(), model.score_samples(X))
        X[3, 1] = np.inf
        with pytest.raises(ValueError, match=r"infinity in column 1\."):
            make().fit(da.from_array(X, chunks=(300, 8)))


@pytest.mark.parametrize("columns", [slice(None), slice(0, 1), slice(5, 8)])
def test_hardly_any_cells(columns):
    """A table that is nearly empty, or has one column, or no number: finite scores, and no warning."""
    X = mixed()[:, columns]
    codes = [c for c in (0, 1) if X.shape[1] == 3]
    X[np.random.default_rng(0).random(X.shape) < 0.9] = np.nan
    scores = OddAtomDetector(categorical_features=codes, random_state=0).fit(X).score_samples(X)
    assert np.isfinite(scores).all()


def test_nothing_but_missing_values():
    X = np.full((30, 3), np.nan)
    model = OddAtomDetector(random_state=0).fit(X)
    assert np.ptp(model.score_samples(X)) == 0
    assert (model.predict(X) == 1).all()


@pytest.mark.parametrize("method", ["score_samples", "predict", "p_values", "explain", "score_parts"])
@pytest.mark.parametrize("columns", [1, 7, 9])
def test_other_columns_are_refused_whatever_is_missing(model, method, columns):
    X = np.full((3, columns), np.nan)
    with pytest.raises(ValueError, match=f"X has {columns} features, but OddAtomDetector is expecting 8"):
        getattr(model, method)(X)


@pytest.mark.parametrize("share", [0.5, 0.95, 0.99])
def test_a_column_that_most_rows_lack_makes_the_others_no_odder(share):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2)) @ rng.normal(size=(2, 5)) + 0.3 * rng.normal(size=(3000, 5))
    X[rng.random(3000) < share, 2] = np.nan
    model = OddAtomDetector(threshold=0.05, random_state=0).fit(X)
    there = ~np.isnan(X[:, 2])
    assert (model.predict(X[there]) == -1).mean() < 0.15


def test_missing_cells_are_usual_where_training_had_none():
    X = factors(2000)
    model = OddAtomDetector(random_state=0).fit(X)
    lacking = np.where(np.random.default_rng(0).random(X.shape) < 0.5, np.nan, X)
    for name in ("norm", "distance", "description_length"):
        whole, some = (np.median(model.score_parts(rows)[name]) for rows in (X, lacking))
        assert abs(whole - some) < 1.0, name


def test_a_column_without_a_value_says_nothing():
    X = factors(300)
    X[:, 4] = np.nan
    model = OddAtomDetector(random_state=0).fit(X)
    new = np.repeat(X[:1], 4, axis=0)
    new[1:, 4] = 0.0, 5.0, -1e300
    scores = model.score_samples(new)
    assert_array_equal(scores[1:], scores[1])
    binary = (X[:, :4] > 0).astype(float)
    more = np.column_stack([binary, np.full(300, np.nan)])
    used = [np.isfinite(OddAtomDetector(random_state=0).fit(A).ensemble_.scaling.spread).sum() for A in (binary, more)]
    assert used == [4, 4]
