"""What PyOD's own tests ask of each of its detectors, asked of the adapters, and what they leave open."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_array_less
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

pytest.importorskip("pyod.models.base")

from pyod.models.base import BaseDetector
from pyod.utils.data import generate_data

import oddatom
import oddatom.pyod

CONTAMINATION, ROC_FLOOR = 0.1, 0.8
X, X_NEW, Y, Y_NEW = generate_data(n_train=200, n_test=100, contamination=CONTAMINATION, random_state=42)
DETECTORS = {name: getattr(oddatom.pyod, name) for name in oddatom.pyod.__all__}
each = pytest.mark.parametrize("name", DETECTORS)


@pytest.fixture(scope="module")
def fitted():
    return {name: Class(contamination=CONTAMINATION, random_state=0).fit(X) for name, Class in DETECTORS.items()}


@pytest.fixture
def detector(fitted, name):
    return fitted[name]


@each
def test_fitted_attributes(detector):
    assert isinstance(detector, BaseDetector)
    assert detector.decision_scores_.shape == (200,)
    assert detector.labels_.shape == (200,)
    assert set(np.unique(detector.labels_)) == {0, 1}
    assert detector.labels_.sum() == 20
    assert_array_equal(detector.labels_, detector.decision_scores_ > detector.threshold_)
    assert detector._mu == pytest.approx(detector.decision_scores_.mean())
    assert detector._sigma == pytest.approx(detector.decision_scores_.std())
    assert detector.n_features_in_ == 2
    assert not hasattr(detector, "feature_names_in_")


@each
def test_scores_rank_anomalies_first(detector):
    scores = detector.decision_function(X_NEW)
    assert scores.shape == (100,)
    assert roc_auc_score(Y_NEW, scores) >= ROC_FLOOR
    assert roc_auc_score(Y, detector.decision_scores_) >= ROC_FLOOR


@each
def test_training_rows_keep_their_scores_and_labels(detector):
    assert_array_equal(detector.decision_function(X), detector.decision_scores_)
    assert_array_equal(detector.predict(X), detector.labels_)


@each
def test_the_detector_within_is_the_one_of_oddatom(name, detector):
    Class = getattr(oddatom, "OddAtomDetector" if name == "OddAtom" else name)
    alone = Class(random_state=0).fit(X)
    assert type(detector.detector_) is Class
    assert_array_equal(detector.decision_function(X_NEW), -alone.score_samples(X_NEW))


@each
def test_labels(detector):
    labels = detector.predict(X_NEW)
    assert labels.shape == Y_NEW.shape
    assert_array_equal(labels, detector.decision_function(X_NEW) > detector.threshold_)


@each
@pytest.mark.parametrize("method", ["linear", "unify"])
def test_probabilities(detector, method):
    probabilities = detector.predict_proba(X_NEW, method=method)
    assert probabilities.shape == (100, 2)
    assert probabilities.min() >= 0
    assert probabilities.max() <= 1
    assert_allclose(probabilities.sum(axis=1), 1)
    assert_array_less(-1e-12, np.diff(probabilities[np.argsort(detector.decision_function(X_NEW)), 1]))
    with_confidence, confidence = detector.predict_proba(X_NEW, method=method, return_confidence=True)
    assert_array_equal(with_confidence, probabilities)
    assert confidence.shape == (100,)
    if method == "linear":
        assert_array_equal(detector.predict_proba(X_NEW), probabilities)
        training = detector.predict_proba(X)[:, 1]
        assert training.min() == 0
        assert training.max() == pytest.approx(1)


@each
def test_unknown_probability_method(detector):
    with pytest.raises(ValueError, match="something"):
        detector.predict_proba(X_NEW, method="something")


@each
def test_confidence(detector):
    labels, confidence = detector.predict(X_NEW, return_confidence=True)
    assert_array_equal(labels, detector.predict(X_NEW))
    assert confidence.shape == Y_NEW.shape
    assert confidence.min() >= 0
    assert confidence.max() <= 1
    assert_array_equal(detector.predict_confidence(X_NEW), confidence)


@each
@pytest.mark.filterwarnings("ignore:The cost of rejection")
def test_rejection(detector):
    labels, (expected, bound, cost) = detector.predict_with_rejection(X_NEW, return_stats=True)
    assert labels.shape == Y_NEW.shape
    assert set(np.unique(labels)) <= {-2, 0, 1}
    kept = labels != -2
    assert_array_equal(labels[kept], detector.predict(X_NEW)[kept])
    assert_array_equal(detector.predict_with_rejection(X_NEW), labels)
    assert 0 <= expected <= 1
    assert 0 <= bound <= 1
    assert cost >= 0


@each
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_fit_predict(name, detector):
    assert_array_equal(clone(detector).fit_predict(X), detector.labels_)
    again = clone(detector)
    assert again.fit_predict_score(X, Y) == roc_auc_score(Y, detector.decision_scores_)
    assert again.fit_predict_score(X, Y, scoring="roc_auc_score") >= ROC_FLOOR
    assert 0 <= again.fit_predict_score(X, Y, scoring="prc_n_score") <= 1
    with pytest.raises(NotImplementedError, match="ROC and Precision"):
        again.fit_predict_score(X, Y, scoring="something")


@each
@pytest.mark.parametrize(("normalized", "most"), [(False, 201), (True, 1.01)])
def test_ranks(detector, normalized, most):
    ranks = detector._predict_rank(X_NEW, normalized=normalized)
    assert_allclose(rankdata(ranks), rankdata(detector.decision_function(X_NEW)), atol=4)
    assert_array_less(ranks, most)
    assert_array_less(-0.1, ranks)


@each
def test_contamination_moves_the_threshold_alone(name, detector):
    fewer = clone(detector).set_params(contamination=0.02).fit(X)
    assert_array_equal(fewer.decision_scores_, detector.decision_scores_)
    ties = name.startswith("K")  # rows far from all others have residuals of 1, all of their kernel
    assert (0 if ties else 3) <= fewer.labels_.sum() <= 4  # scores of two rows may be the same
    assert fewer.threshold_ > detector.threshold_


@each
def test_labels_given_are_ignored(name, detector, recwarn):
    same = clone(detector).fit(X, Y)
    assert_array_equal(same.decision_scores_, detector.decision_scores_)
    assert clone(detector).fit(X, np.ones(200)).predict_proba(X_NEW).shape == (100, 2)  # classes are not counted
    assert not recwarn


@each
def test_frames_have_names(name):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["width", "height"])
    detector = DETECTORS[name](random_state=0).fit(frame)
    assert detector.feature_names_in_.tolist() == ["width", "height"]
    with pytest.raises(ValueError, match="feature names"):
        detector.predict(frame[["height", "width"]])


@each
def test_not_fitted(name):
    unfitted = DETECTORS[name]()
    assert not hasattr(unfitted, "n_features_in_")
    for method in ("decision_function", "predict", "predict_proba", "predict_confidence"):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            getattr(unfitted, method)(X)


@each
def test_a_fit_that_fails_leaves_the_model(name, detector):
    refitted = clone(detector).fit(X)
    bad = X.copy()
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity in column 1"):
        refitted.fit(bad)
    assert_array_equal(refitted.predict(X_NEW), detector.predict(X_NEW))
    unfitted = clone(detector)
    with pytest.raises(ValueError, match="infinity in column 1"):
        unfitted.fit(bad)
    with pytest.raises(NotFittedError):
        unfitted.predict(X)


@each
def test_a_thresholder_that_fails_leaves_the_model(name, detector):
    class Refuses:
        def fit(self, scores):
            raise RuntimeError("no cut found")

        def predict(self, scores):
            return np.zeros(len(scores), int)

    refitted = clone(detector).fit(X)
    with pytest.raises(RuntimeError, match="no cut found"):
        refitted.set_params(contamination=Refuses()).fit(X_NEW)
    refitted.set_params(contamination=CONTAMINATION)
    assert_array_equal(refitted.decision_scores_, detector.decision_scores_)
    assert_array_equal(refitted.predict_proba(X_NEW), detector.predict_proba(X_NEW))
    with pytest.raises(RuntimeError, match="no cut found"):
        DETECTORS[name](contamination=Refuses()).fit(X).predict(X)


@each
@pytest.mark.parametrize("value", [0.6, 0, -0.1, 7])
def test_bad_contamination(name, value):
    with pytest.raises(ValueError, match=r"contamination must be in \(0, 0.5\]"):
        DETECTORS[name](contamination=value)
    with pytest.raises(ValueError, match=rf"'contamination' parameter of {name} must be .* Got {value} instead"):
        DETECTORS[name]().set_params(contamination=value).fit(X)


@each
def test_contamination_of_another_kind(name):
    with pytest.raises(ValueError, match=r"thresholder with fit and predict. Got 'auto' instead"):
        DETECTORS[name](contamination="auto").fit(X)


@each
def test_bad_parameters_are_the_detectors_business(name):
    with pytest.raises(ValueError, match=r"The 'nu' parameter of .* Got 2 instead"):
        DETECTORS[name](nu=2).fit(X)


def test_contamination_as_another_float():
    given = oddatom.pyod.OddAtom(contamination=np.float32(0.25), random_state=0)
    for detector in (
        given,
        clone(given),
        oddatom.pyod.OddAtom(random_state=0).set_params(contamination=np.float16(0.25)),
    ):
        assert detector.fit(X).labels_.sum() == 50
        assert_array_equal(detector.predict(X), detector.labels_)
    with pytest.raises(ValueError, match=r"contamination must be in \(0, 0.5\]"):
        oddatom.pyod.OddAtom(contamination=np.float32(0.7))


@pytest.mark.parametrize("method", ["linear", "unify"])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_probabilities_of_files_and_lists(tmp_path, method):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = str(tmp_path / "rows.parquet")
    pd.DataFrame(X_NEW, columns=["a", "b"]).to_parquet(path)
    detector = oddatom.pyod.OddAtom(random_state=0).fit(path)
    rows = pd.read_parquet(path)
    for given in (path, rows, X_NEW.tolist()):
        both = detector.predict_proba(given, method, return_confidence=True)
        assert_allclose(both[0], BaseDetector.predict_proba(detector, rows, method), rtol=1e-9, atol=1e-12)
        assert_allclose(both[1], detector.predict_confidence(rows), rtol=1e-9)
    assert_array_equal(detector.predict(path), detector.predict(rows))
