"""Scores of training rows that a fit has at hand are those of `score_samples`, and labels those of `predict`."""

import numpy as np
import pytest

from oddatom import OddAtomDetector


def rows(kind, n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    X[7] = 9.0
    if kind == "missing":
        X[rng.random(X.shape) < 0.05] = np.nan
    if kind == "ties":
        X = np.round(X)
    return X


@pytest.mark.parametrize("scoring", ["joined", "margin"])
@pytest.mark.parametrize("kind", ["plain", "missing", "ties"])
@pytest.mark.parametrize("n", [300, 21_000])
def test_scores_of_the_fit(kind, n, scoring):
    X = rows(kind, n)
    detector = OddAtomDetector(scoring, random_state=0)
    scores = detector._fit_scores(X)
    assert np.array_equal(scores, detector.score_samples(X))
    assert np.array_equal(np.sort(scores), detector.train_scores_)


@pytest.mark.parametrize("threshold", ["auto", "svm", 0.05, "top=7", "p=0.02", ("fdr", 0.3)])
def test_labels_of_the_fit(threshold):
    X = rows("plain", 400)
    labels = OddAtomDetector(threshold=threshold, random_state=0).fit_predict(X)
    assert np.array_equal(labels, OddAtomDetector(threshold=threshold, random_state=0).fit(X).predict(X))
    assert labels[7] == -1 or threshold == ("fdr", 0.3)


def test_a_fit_of_its_own_is_called():
    class Shifted(OddAtomDetector):
        def fit(self, X, y=None):
            self.seen = True
            return super().fit(X)

    detector = Shifted(random_state=0)
    detector.fit_predict(rows("plain", 100))
    assert detector.seen
