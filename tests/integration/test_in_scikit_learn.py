"""The detectors among scikit-learn's own tools: pipelines, searches, column transformers, frozen models, frames."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier, is_outlier_detector
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

import oddatom

DETECTORS = {
    "OddAtomDetector": {"n_groups": 2},
    "DLOCSVM": {"beta": 0.02},
    "DPLOCSVM": {"beta": 0.02, "alpha": 0.002},
    "KDLOCSVM": {"scaling": "robust"},
    "KDPLOCSVM": {"scaling": "robust", "alpha": 0.002},
}
LEARNED = [name for name in DETECTORS if name != "OddAtomDetector"]
each = pytest.mark.parametrize("name", DETECTORS)
no_margin = pytest.mark.filterwarnings("ignore::oddatom.DegenerateMarginWarning")  # in small folds, centred columns
each_learned = pytest.mark.parametrize("name", LEARNED)


def make(name, **others):
    return getattr(oddatom, name)(**{"random_state": 0, "n_jobs": 1, **DETECTORS[name], **others})


def labelled(N=120, m=4, seed=0):
    """Positive rows near a plane with a few far from it, and their labels: 1 and −1, one anomaly in ten."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.5, 1, (N, 2)) @ np.array([[1.0, 0.8, 0.2, 0.1], [0.1, 0.3, 0.9, 1.0]])[:, :m]
    X += 0.02 * rng.uniform(size=X.shape)
    y = np.ones(N, int)
    y[::10] = -1
    X[::10] = rng.uniform(0, 3, (N // 10, m))
    return X, y


X, Y = labelled()
NEW, Y_NEW = labelled(seed=1)
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
SCALERS = {"min-max": MinMaxScaler(), "max": MaxAbsScaler(), "robust": RobustScaler(with_centering=False)}


def frame(pandas, rows=X):
    table = pandas.DataFrame(rows, columns=["a", "b", "c", "d"])
    return table.assign(kind=np.where(np.arange(len(rows)) % 3 == 0, "x", "y"))


@each
@pytest.mark.parametrize("scaler", SCALERS)
def test_pipeline_is_scaler_and_detector_by_hand(name, scaler):
    pipeline = make_pipeline(clone(SCALERS[scaler]), make(name)).fit(X)
    scaler_alone = clone(SCALERS[scaler]).fit(X)
    alone = make(name).fit(scaler_alone.transform(X))
    Z = scaler_alone.transform(NEW)
    for method in ("score_samples", "decision_function", "predict"):
        assert_array_equal(getattr(pipeline, method)(NEW), getattr(alone, method)(Z))
    assert_array_equal(clone(pipeline).fit_predict(X), alone.predict(scaler_alone.transform(X)))
    assert pipeline.n_features_in_ == 4


@each
@no_margin
def test_pipeline_of_several_steps_without_a_margin(name):
    pipeline = make_pipeline(StandardScaler(), PCA(3, random_state=0), make(name, scoring="residual")).fit(X)
    assert roc_auc_score(Y_NEW, pipeline.score_samples(NEW)) > 0.8
    assert pipeline.set_params(**{f"{name.lower()}__nu": 0.3})[-1].get_params()["nu"] == 0.3


@each_learned
def test_codes_feed_another_detector(name):
    """A detector in the middle of a pipeline is a transformer of rows into codes."""
    pipeline = make_pipeline(make(name), IsolationForest(random_state=0)).fit(X)
    codes = make(name).fit(X).transform(X)
    assert isinstance(codes, np.ndarray) or codes.indices.dtype == codes.indptr.dtype == np.int32
    forest = IsolationForest(random_state=0).fit(codes)
    assert_array_equal(pipeline.predict(X), forest.predict(codes))


@each_learned
def test_codes_beside_other_features(name):
    union = FeatureUnion([("codes", make(name)), ("parts", PCA(2))]).fit(X)
    out = union.transform(NEW)
    assert out.shape == (120, union.transformer_list[0][1].components_.shape[0] + 2)
    assert union.get_feature_names_out()[0] == f"codes__{name.lower()}0"


@each
@no_margin
def test_grid_search_by_balanced_accuracy(name):
    grid = {"scoring": ["margin", "residual"], "threshold": ["svm", 0.1]}
    search = GridSearchCV(make(name), grid, scoring="balanced_accuracy", cv=FOLDS, error_score="raise").fit(X, Y)
    by_hand = [
        [
            balanced_accuracy_score(Y[test], make(name, **one).fit(X[train]).predict(X[test]))
            for train, test in FOLDS.split(X, Y)
        ]
        for one in ParameterGrid(grid)
    ]
    assert_allclose(search.cv_results_["mean_test_score"], np.mean(by_hand, axis=1))
    assert search.best_score_ > 0.9
    assert_array_equal(search.predict(NEW), make(name, **search.best_params_).fit(X).predict(NEW))


@pytest.mark.slow
@no_margin
def test_grid_search_over_detectors_in_two_processes():
    pipeline = Pipeline([("scale", MinMaxScaler()), ("detect", make("DLOCSVM"))])
    detectors = [make(name, scoring="residual") for name in DETECTORS]
    grid = {"detect": detectors, "scale": [MinMaxScaler(), "passthrough"]}
    searches = [
        GridSearchCV(pipeline, grid, scoring=("balanced_accuracy", "roc_auc"), refit="roc_auc", cv=FOLDS, n_jobs=n)
        for n in (1, 2)
    ]
    one, two = (search.fit(X, Y) for search in searches)
    for key in ("mean_test_balanced_accuracy", "mean_test_roc_auc"):
        assert_allclose(one.cv_results_[key], two.cv_results_[key], atol=1e-12)
    assert one.cv_results_["mean_test_roc_auc"].min() > 0.8
    assert two.best_estimator_["detect"].get_params()["scoring"] == "residual"


@each
def test_no_score_of_its_own(name):
    """Without `scoring` scikit-learn says so, rather than to call the parameter `score`."""
    with pytest.raises(TypeError, match="no scoring is specified"):
        GridSearchCV(make(name), {"nu": [0.1]}).fit(X, Y)


@each
@no_margin
def test_cross_validated_scores_and_labels(name):
    folds = list(FOLDS.split(X, Y))
    for method in ("predict", "decision_function"):
        labels = Y if method == "predict" else None  # scikit-learn asks for classes_ where scores come with labels
        out = cross_val_predict(make(name), X, labels, cv=folds, method=method)
        for train, test in folds:
            assert_array_equal(out[test], getattr(make(name).fit(X[train]), method)(X[test]))
    values = cross_val_score(make(name, scoring="residual"), X, Y, cv=FOLDS, scoring="roc_auc")
    assert values.min() > 0.8


@each
@no_margin
def test_column_transformer_before_it(name):
    pandas = pytest.importorskip("pandas")
    table, new = frame(pandas), frame(pandas, NEW)
    numbers = make_column_selector(dtype_include="number")
    columns = make_column_transformer((MinMaxScaler(), numbers), (OneHotEncoder(), ["kind"]), sparse_threshold=0)
    pipeline = make_pipeline(columns, make(name)).fit(table)
    assert pipeline[-1].n_features_in_ == 6
    assert not hasattr(pipeline[-1], "feature_names_in_")
    expected = make(name).fit(clone(columns).fit_transform(table)).score_samples(columns.transform(new))
    assert_array_equal(pipeline.score_samples(new), expected)
    assert pipeline.feature_names_in_.tolist() == ["a", "b", "c", "d", "kind"]
    shuffled = new[["kind", "d", "b", "a", "c"]]
    assert_array_equal(pipeline.score_samples(shuffled), expected)


@each
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_names_pass_through_set_output(name, library):
    frames = pytest.importorskip(library)
    table = frames.DataFrame(dict(zip("abcd", X.T, strict=True)))
    columns = make_column_transformer((MinMaxScaler(), ["b", "a"]), ("passthrough", ["d"]))
    pipeline = make_pipeline(columns, make(name)).set_output(transform=library).fit(table)
    assert pipeline[-1].feature_names_in_.tolist() == ["minmaxscaler__b", "minmaxscaler__a", "passthrough__d"]
    assert pipeline.predict(table).shape == (120,)


@each_learned
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_codes_as_a_frame(name, library):
    frames = pytest.importorskip(library)
    detector = make(name).fit(X)
    plain = detector.transform(NEW)
    codes = clone(detector).set_output(transform=library).fit(X).transform(NEW)
    assert isinstance(codes, frames.DataFrame)
    assert list(codes.columns) == detector.get_feature_names_out().tolist()
    assert_array_equal(codes.to_numpy(), plain if isinstance(plain, np.ndarray) else plain.toarray())
    assert type(detector.set_output(transform="default").transform(NEW)) is type(plain)


@each
def test_frozen(name):
    FrozenEstimator = pytest.importorskip("sklearn.frozen").FrozenEstimator
    detector = make(name).fit(X)
    frozen = FrozenEstimator(detector)
    assert_array_equal(clone(frozen).fit(NEW, None).score_samples(NEW), detector.score_samples(NEW))
    pipeline = make_pipeline(FunctionTransformer(), frozen).fit(NEW, None)
    assert_array_equal(pipeline.predict(NEW), detector.predict(NEW))
    assert pipeline[-1].offset_ == detector.offset_
    out = cross_val_predict(frozen, NEW, Y_NEW, cv=FOLDS)
    assert_array_equal(out, detector.predict(NEW))


@each
def test_it_is_told_apart_as_an_outlier_detector(name):
    assert is_outlier_detector(make(name))
    assert not is_classifier(make(name))
