"""Rows on the margin, and rows that are centroids: rounding must not decide what an exported model says of them."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from oddatom import DLOCSVM, DPLOCSVM, LinearOneClassSVM, OddAtomDetector
from oddatom.onnx import to_onnx
from oddatom.onnx.exporting import _rounding

onnxruntime = pytest.importorskip("onnxruntime")
RNG = np.random.default_rng(5)
KINDS = {
    "four kinds": np.eye(4)[RNG.integers(0, 4, 1000)],
    "three levels": RNG.integers(0, 3, (1000, 3)).astype(float),
}


def run(detector, X):
    session = onnxruntime.InferenceSession(to_onnx(detector).SerializeToString())
    return session.run(["scores", "decision", "label"], {"X": X})


@pytest.mark.filterwarnings("ignore::oddatom.exceptions.OddAtomWarning")
@pytest.mark.parametrize("threshold", [0.05, 0.3, "auto", "svm"])
@pytest.mark.parametrize("score", ["margin", "residual"])
@pytest.mark.parametrize("Class", [DLOCSVM, DPLOCSVM])
def test_labels_of_training_rows(Class, score, threshold):
    for X in (KINDS["four kinds"], load_wine().data):
        detector = Class.paper(random_state=0, scoring=score, scaling="robust", threshold=threshold).fit(X)
        decision = detector.decision_function(X)
        near = (decision < 0.0) & (decision >= -_rounding(detector))  # inliers there
        labels = run(detector, X)[2]
        np.testing.assert_array_equal(labels[~near], detector.predict(X)[~near])
        assert (labels[near] == 1).all()


@pytest.mark.filterwarnings("ignore::oddatom.exceptions.OddAtomWarning")
def test_labels_of_the_svm():
    for X in KINDS.values():
        detector = LinearOneClassSVM(nu=0.2).fit(X + 0.5)
        np.testing.assert_array_equal(run(detector, X + 0.5)[2], detector.predict(X + 0.5))


@pytest.mark.filterwarnings("ignore::oddatom.exceptions.OddAtomWarning")
@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    "detector", [LinearOneClassSVM(), DLOCSVM.paper(random_state=0), DPLOCSVM.paper(random_state=0)], ids=str
)
def test_units(detector, unit):
    X = RNG.normal(size=(200, 5)) + 3
    new = np.vstack([X, -X[:50], RNG.normal(size=(100, 5))]) * unit
    detector.fit(X * unit)
    labels = run(detector, new)[2]
    assert 20 < (labels == -1).sum() < 340
    np.testing.assert_array_equal(labels, detector.predict(new))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", KINDS)
def test_rows_that_are_centroids(name, seed):
    X = KINDS[name]
    detector = OddAtomDetector(random_state=seed).fit(X[:700])
    scores, _, labels = run(detector, X)
    np.testing.assert_allclose(scores, detector.score_samples(X), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(labels, detector.predict(X))
