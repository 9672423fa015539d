"""The adapters inside PyOD: score combination, SUOD, feature bagging, LSCP and thresholders."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

pytest.importorskip("pyod.models.base")

from pyod.models import combination
from pyod.models.feature_bagging import FeatureBagging
from pyod.models.lscp import LSCP
from pyod.utils.data import generate_data
from pyod.utils.utility import standardizer

import oddatom.pyod

X, X_NEW, Y, Y_NEW = generate_data(n_train=150, n_test=80, n_features=4, contamination=0.1, random_state=42)
DETECTORS = {name: getattr(oddatom.pyod, name) for name in oddatom.pyod.__all__}
each = pytest.mark.parametrize("name", DETECTORS)


def make(name, **others):
    own = {"scaling": "robust"} if name.startswith("K") else {}
    return DETECTORS[name](**{"random_state": 0, "n_jobs": 1, **own, **others})


@pytest.fixture(scope="module")
def everyone():
    return {name: make(name).fit(X) for name in DETECTORS}


@pytest.fixture(scope="module")
def scores(everyone):
    training = np.column_stack([one.decision_scores_ for one in everyone.values()])
    return standardizer(training, np.column_stack([one.decision_function(X_NEW) for one in everyone.values()]))[1]


COMBINATIONS = {
    "average": lambda s: s.mean(axis=1),
    "maximization": lambda s: s.max(axis=1),
    "median": lambda s: np.median(s, axis=1),
}


@pytest.mark.parametrize("how", COMBINATIONS)
def test_combined_scores(scores, how):
    combined = getattr(combination, how)(scores)
    assert_allclose(combined, COMBINATIONS[how](scores))
    assert roc_auc_score(Y_NEW, combined) >= 0.9


@pytest.mark.parametrize("how", ["aom", "moa"])
def test_combined_in_buckets(scores, how):
    four = scores[:, 1:]
    combined = getattr(combination, how)(four, n_buckets=2, method="static", random_state=0)
    assert combined.shape == (80,)
    assert roc_auc_score(Y_NEW, combined) >= 0.9
    assert np.all(combined < four.max(axis=1))
    assert np.all(combined > four.min(axis=1))


def test_majority_vote(everyone):
    labels = np.column_stack([one.predict(X_NEW) for one in everyone.values()])
    assert_array_equal(combination.majority_vote(labels).ravel(), labels.sum(axis=1) > labels.shape[1] / 2)


@each
@pytest.mark.filterwarnings("ignore::oddatom.DegenerateMarginWarning")  # where a bag of features has no margin
def test_feature_bagging(name):
    bag = FeatureBagging(make(name), n_estimators=3, random_state=0).fit(X)
    assert len({one.random_state for one in bag.estimators_}) == 3
    members = []
    for one, features in zip(bag.estimators_, bag.estimators_features_, strict=True):
        alone = make(name, random_state=one.random_state).fit(X[:, features])
        assert_array_equal(one.decision_scores_, alone.decision_scores_)
        members.append(alone.decision_function(X_NEW[:, features]))
    assert_allclose(bag.decision_function(X_NEW), np.mean(members, axis=0))
    assert bag.labels_.sum() == 15
    assert clone(bag).base_estimator.get_params() == bag.base_estimator.get_params()


@pytest.mark.filterwarnings("ignore:The number of histogram bins")
def test_lscp(everyone):
    names = ["OddAtom", "DLOCSVM", "DPLOCSVM"]
    ensemble = LSCP([make(name) for name in names], random_state=0).fit(X)
    assert roc_auc_score(Y_NEW, ensemble.decision_function(X_NEW)) >= 0.9
    for name, one in zip(names, ensemble.detector_list, strict=True):
        assert_array_equal(one.decision_scores_, everyone[name].decision_scores_)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore:UNK does not have a predefined code")
def test_suod(everyone, n_jobs):
    pytest.importorskip("suod.models.base")
    suod = pytest.importorskip("pyod.models.suod")
    # Its forecast of costs would write into the installed package.
    ensemble = suod.SUOD([make(name) for name in DETECTORS], n_jobs=n_jobs, bps_flag=False, rp_flag_global=False)
    ensemble.fit(X)
    assert ensemble.labels_.sum() == 15
    for name, one in zip(DETECTORS, ensemble.model_.base_estimators, strict=True):
        assert_allclose(one.decision_scores_, everyone[name].decision_scores_, rtol=1e-9, atol=1e-12)
    assert roc_auc_score(Y_NEW, ensemble.decision_function(X_NEW)) >= 0.9


@each
@pytest.mark.parametrize("thresholder", ["IQR", "KARCH", "MAD", "ZSCORE", "CLF"])
def test_thresholders(name, thresholder, everyone):
    pytest.importorskip("pythresh.thresholds.base")
    thresholds = pytest.importorskip("pyod.models.thresholds")
    detector = make(name, contamination=getattr(thresholds, thresholder)()).fit(X)
    scores = everyone[name].decision_scores_
    assert_array_equal(detector.decision_scores_, scores)
    assert_array_equal(detector.labels_, getattr(thresholds, thresholder)().eval(scores))
    assert set(np.unique(detector.predict(X_NEW))) <= {0, 1}
    labels, confidence = detector.predict(X_NEW, return_confidence=True)
    assert labels.shape == confidence.shape == (80,)
    assert detector.predict_proba(X_NEW).shape == (80, 2)
    copy = clone(detector)
    assert type(copy.contamination) is type(detector.contamination)
    assert copy.contamination is not detector.contamination
    assert_array_equal(copy.fit(X).labels_, detector.labels_)
    assert "contamination__random_state" in detector.get_params()


@each
def test_in_a_scikit_learn_pipeline(name):
    pipeline = make_pipeline(MinMaxScaler(), make(name)).fit(X)
    direct = make(name).fit(MinMaxScaler().fit_transform(X))
    assert_array_equal(
        pipeline.decision_function(X_NEW), direct.decision_function(MinMaxScaler().fit(X).transform(X_NEW))
    )


@each
def test_grid_search_by_ranking(name):
    grid = {"contamination": [0.05, 0.1], "scoring": ["margin", "residual"]}
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(make(name), grid, scoring="roc_auc", cv=folds, error_score="raise").fit(X, Y)
    by_score = search.cv_results_["mean_test_score"].reshape(2, 2)
    assert_array_equal(by_score[0], by_score[1])  # contamination does not change the ranking
    assert search.best_score_ >= 0.8
