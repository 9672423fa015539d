"""A model that was saved and loaded is the model: the same answers, bit for bit, and the same file again."""

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import oddatom
from model_files import (
    DETECTORS,
    KINDS,
    MIXED,
    NEW,
    SMALL,
    TINY,
    TRAIN,
    answers,
    assert_same_answers,
    fitted,
    kernel_of,
    quietly,
    rows_of,
)
from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM, LinearOneClassSVM, OddAtomDetector
from oddatom.table import TableEncoder, make_detector

LEARNED = {
    "DL": (DLOCSVM, {}),
    "DPL": (DPLOCSVM, {"alpha": 0.002}),
    "DPL omp": (DPLOCSVM, {"alpha": 0.002, "representation": "omp"}),
    "KDL": (KDLOCSVM, {}),
    "KDPL": (KDPLOCSVM, {"alpha": 0.002}),
    "KDPL omp": (KDPLOCSVM, {"alpha": 0.002, "representation": "omp"}),
}
KERNEL = [kind for kind in LEARNED if kind.startswith("K")]


def make(kind, **others):
    Class, own = LEARNED[kind]
    return Class(**{**SMALL, **own, **others})


def fit(model, X=TRAIN):
    return quietly(model.fit, X)


def there_and_back(model, tmp_path):
    """Save and load; the loaded model must give the same file again."""
    first, second = tmp_path / "first.oddatom", tmp_path / "second.oddatom"
    oddatom.save(model, first)
    loaded = oddatom.load(first)
    oddatom.save(loaded, second)
    assert first.read_bytes() == second.read_bytes()
    assert type(loaded) is type(model)
    return loaded


def same_state(a, b):
    """Compare two values all the way down, types included."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert a.flags.f_contiguous == b.flags.f_contiguous
        assert_array_equal(a, b)
    elif scipy.sparse.issparse(a):
        assert a.indices.dtype == b.indices.dtype
        assert (a != b).nnz == 0
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same_state(x, y)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same_state(a[key], b[key])
    elif hasattr(a, "__dict__"):
        hidden = {"_callback_fit_ctx", "_skl_callbacks_to_teardown"}
        same_state(
            *({k: v for k, v in sorted(vars(one).items()) if k not in hidden} for one in (a, b)),
        )
    else:
        assert a == b or a != a


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(kind, tmp_path):
    model = fitted(kind)
    loaded = there_and_back(model, tmp_path)
    assert_same_answers(model, loaded, rows_of(kind))
    same_state(model, loaded)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", DETECTORS)
def test_any_number_of_threads(kind, n_jobs, tmp_path):
    model = fitted(kind)
    loaded = there_and_back(model, tmp_path)
    many = np.tile(np.asarray(NEW), (100, 1)) * np.linspace(0.5, 2.0, 100 * len(NEW))[:, None]
    loaded.set_params(n_jobs=n_jobs)
    assert_array_equal(quietly(model.score_samples, many), quietly(loaded.score_samples, many))


@pytest.mark.parametrize("score", ["margin", "residual", "description_length"])
@pytest.mark.parametrize("kind", LEARNED)
def test_scores(kind, score, tmp_path):
    model = fit(make(kind, scoring=score, scaling="robust"))
    assert_same_answers(model, there_and_back(model, tmp_path), NEW)


@pytest.mark.parametrize("score", ["joined", "margin", "residual", "histogram", "norm"])
def test_scores_of_the_untuned_detector(score, tmp_path):
    model = fit(OddAtomDetector(**TINY, scoring=score))
    loaded = there_and_back(model, tmp_path)
    assert_same_answers(model, loaded, NEW)
    assert loaded.weights_ == model.weights_


@pytest.mark.parametrize("approximation", [None, 9])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "sigmoid", "linear", "cosine"])
@pytest.mark.parametrize("kind", KERNEL)
def test_kernels(kind, kernel, approximation, tmp_path):
    model = fit(make(kind, kernel=kernel, approximation=approximation, scaling="standard"))
    assert_same_answers(model, there_and_back(model, tmp_path), NEW)


@pytest.mark.parametrize("coding", ["correlation", "gram"])
@pytest.mark.parametrize("kind", KERNEL)
def test_precomputed_kernels(kind, coding, tmp_path):
    options = {"kernel": "precomputed", "n_folds": 3, "kernel_params": {"coding": coding}}
    model = fit(make(kind, **options), kernel_of(TRAIN, TRAIN))
    assert_same_answers(model, there_and_back(model, tmp_path), kernel_of(NEW, TRAIN))


@pytest.mark.parametrize("threshold", ["svm", "auto", 0.2, "fdr", ("fdr", 0.3)])
@pytest.mark.parametrize("kind", ["DL", "KDPL"])
def test_thresholds(kind, threshold, tmp_path):
    model = fit(make(kind, threshold=threshold, n_folds=2))
    loaded = there_and_back(model, tmp_path)
    assert loaded.get_params()["threshold"] == threshold
    assert_same_answers(model, loaded, NEW)
    for other in ("auto", 0.4, ("fdr", 0.5)):
        assert_same_answers(model.set_threshold(other), loaded.set_threshold(other), NEW)
    assert_same_answers(model, there_and_back(loaded, tmp_path), NEW)


def test_thresholds_of_the_untuned_detector(tmp_path):
    model = fit(OddAtomDetector(**TINY, threshold=["fdr", 0.2]))
    loaded = there_and_back(model, tmp_path)
    assert loaded.get_params() == model.get_params()
    assert_same_answers(model.set_threshold(0.1), loaded.set_threshold(0.1), NEW)


@pytest.mark.parametrize("scaling", [None, "standard", "robust"])
@pytest.mark.parametrize("kind", LEARNED)
def test_scalings_and_history(kind, scaling, tmp_path):
    model = fit(make(kind, scaling=scaling, verbose=2, n_init=2))
    loaded = there_and_back(model, tmp_path)
    same_state(model, loaded)
    assert len(loaded.history_.lagrangian) == 2


@pytest.mark.parametrize("kind", LEARNED)
def test_no_atoms_left(kind, tmp_path):
    model = fit(make(kind, beta=1e3))
    assert model.components_.shape[0] == 0
    assert_same_answers(model, there_and_back(model, tmp_path), NEW)


def test_feature_names(tmp_path):
    frame = TRAIN.rename(columns=dict(zip(TRAIN.columns, ["ü", 'q"uote\\', "__class__", "a.b\n\x00"], strict=True)))
    model = fit(DLOCSVM.paper(**SMALL), frame)
    loaded = there_and_back(model, tmp_path)
    assert loaded.feature_names_in_.dtype == object
    assert loaded.feature_names_in_.tolist() == list(frame.columns)
    assert loaded.explain(frame).contributions.columns.tolist() == list(frame.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.score_samples(TRAIN)


def test_no_feature_names(tmp_path):
    model = fit(DLOCSVM.paper(**SMALL), np.asarray(TRAIN))
    assert not hasattr(there_and_back(model, tmp_path), "feature_names_in_")


def test_set_output_is_kept(tmp_path):
    model = fit(DLOCSVM.paper(**SMALL)).set_output(transform="pandas")
    frame = there_and_back(model, tmp_path).transform(NEW)
    assert frame.equals(model.transform(NEW))


def test_parameters_are_kept(tmp_path):
    start = np.asfortranarray(np.random.default_rng(0).uniform(size=(5, 4)))
    model = fit(DLOCSVM.paper(beta=np.float64(0.02), n_nonzero=np.int64(2), init=start, n_jobs=-1, random_state=7))
    loaded = there_and_back(model, tmp_path)
    assert_array_equal(loaded.init, start)
    assert loaded.init.flags.f_contiguous
    assert {k: v for k, v in loaded.get_params().items() if k != "init"} == {
        k: v for k, v in model.get_params().items() if k != "init"
    }
    assert_array_equal(fit(clone(loaded)).coef_, model.coef_)


def test_init_may_be_a_list(tmp_path):
    start = np.random.default_rng(0).uniform(size=(5, 4)).tolist()
    assert_array_equal(there_and_back(fit(DLOCSVM.paper(init=start)), tmp_path).init, start)


def test_random_states_are_not_kept(tmp_path):
    model = fit(OddAtomDetector(**{**TINY, "random_state": np.random.RandomState(3)}))
    loaded = there_and_back(model, tmp_path)
    assert loaded.random_state is None
    assert_same_answers(model, loaded, NEW)


def test_sparse_rows(tmp_path):
    rows = scipy.sparse.csr_array(np.asarray(TRAIN))
    model = LinearOneClassSVM(nu=0.2).fit(rows)
    loaded = there_and_back(model, tmp_path)
    assert_array_equal(loaded.predict(rows), model.predict(rows))


def test_pipeline_of_two(tmp_path):
    model = make_pipeline(DPLOCSVM.paper(**SMALL, alpha=0.002), OddAtomDetector(**TINY))
    fit(model)
    loaded = there_and_back(model, tmp_path)
    assert [name for name, _ in loaded.steps] == ["dplocsvm", "oddatomdetector"]
    assert_same_answers(model, loaded, NEW)
    assert loaded["oddatomdetector"].get_params() == model["oddatomdetector"].get_params()


def test_tables(tmp_path):
    table = MIXED.iloc[:40]
    encoder = fit(TableEncoder(columns=table.columns[:4], ignore=np.array(["day"])), table)
    loaded = there_and_back(encoder, tmp_path)
    assert loaded.columns_ == encoder.columns_
    assert loaded.describe() == encoder.describe()
    assert loaded.columns == ["size", "colour", "day", "town"]
    assert_array_equal(quietly(loaded.transform, MIXED), quietly(encoder.transform, MIXED))
    model = fit(make_detector(DLOCSVM.paper(**SMALL)), table)
    loaded = there_and_back(model, tmp_path)
    assert_same_answers(model, loaded, MIXED)
    assert_same_answers(model, loaded, pa.Table.from_pandas(MIXED))


def test_loaded_arrays_belong_to_the_model(tmp_path):
    loaded = there_and_back(fitted("KDLOCSVM"), tmp_path)
    assert loaded.landmark_indices_ is loaded.kernel_map_.indices  # stored once, as it was
    assert loaded.components_.flags.writeable
    assert loaded.components_.flags.aligned


def test_answers_of_a_model_are_not_all_the_same():
    for kind in KINDS:
        assert answers(fitted(kind), rows_of(kind))["score_samples 0"].std() > 0
