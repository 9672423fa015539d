"""Rows that a person has judged: what they change, what they leave alone, and where they are kept."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import average_precision_score

import oddatom
from ensembles import CATEGORICAL, factors, mixed
from oddatom import OddAtomDetector, TableDetector
from oddatom.ensemble.feedback import STRENGTH, likeness
from oddatom.estimators._feedback import MOST_JUDGED


def two_kinds(seed=0, n=600):
    """Rows with two kinds of odd ones in different columns: rows 0 to 19 matter, rows 20 to 39 do not."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:20, 0] += rng.uniform(5, 6, 20)
    X[20:40, 3] -= rng.uniform(5, 6, 20)
    return X


@pytest.fixture
def model():
    return OddAtomDetector(random_state=0).fit(two_kinds())


def labels_of(places):
    return np.where(np.asarray(places) < 20, -1, 1)


def test_rows_like_judged_ones_follow_them(model):
    """Five anomalies and five normal rows of either kind put the other fifteen apart."""
    X = two_kinds()
    judged = [*range(5), *range(20, 25)]
    y = np.arange(len(X)) < 20
    others = np.setdiff1d(np.arange(len(X)), judged)
    before = model.score_samples(X)
    assert average_precision_score(y[others], -before[others]) < 0.7
    assert model.feedback(X[judged], labels_of(judged), rows=X) is model
    after = model.score_samples(X)
    assert average_precision_score(y[others], -after[others]) > 0.9
    assert (after[5:20] < before[5:20]).all()
    assert (after[25:40] > before[25:40]).all()
    usual = np.abs(X).max(axis=1) < 1.5
    assert np.median(np.abs(after - before)[usual]) < 0.2 * STRENGTH
    assert np.abs(after - before)[others].max() <= STRENGTH
    fresh = two_kinds(seed=1)
    assert average_precision_score(y, -model.score_samples(fresh)) > 0.8


def test_labels_that_say_nothing_change_nothing(model):
    """Where likeness does not foretell labels, other rows stay where they are."""
    X = two_kinds()
    before = model.score_samples(X)
    model.feedback(X[:12], [-1, 1] * 6)
    others = slice(40, None)
    assert model.ensemble_.feedback.strength < 0.5 * STRENGTH
    assert np.abs(model.score_samples(X)[others] - before[others]).max() < 0.3


def test_a_row_called_normal_is_not_flagged_again():
    X = np.random.default_rng(0).normal(size=(300, 4))
    X[7] = [50.0, 0.0, 0.0, 0.0]
    model = OddAtomDetector(random_state=0).fit(X)
    assert model.predict(X[7:8])[0] == -1
    model.feedback(X[7:8], ["normal"], rows=X)
    for threshold in ("auto", 0.5, "svm"):
        assert model.set_threshold(threshold).predict(X[7:8])[0] == 1
    model.set_threshold("auto")
    assert model.predict(X[7:8] + 30.0)[0] == -1  # another row


def test_scores_p_values_parts_and_explanations_agree(model):
    X = two_kinds()
    judged = [*range(5), *range(20, 25)]
    model.feedback(X[judged], labels_of(judged), rows=X)
    scores, p = model.score_samples(X), model.p_values(X)
    assert_array_equal(model.score_parts(X)["joined"], scores)
    assert_allclose(model.explain(X).contributions.sum(axis=1), scores, rtol=1e-10, atol=1e-10)
    order = np.argsort(scores)
    assert (np.diff(p[order]) >= 0).all()
    assert (p[model.predict(X) == -1] <= 0.05).all()
    assert_array_equal(np.concatenate([model.score_samples(row[None]) for row in X[:50]]), scores[:50])


def test_judged_anomalies_leave_the_calibration(model):
    """p-values regain power: a row as odd as the judged ones gets a lower one, and usual rows stay uniform."""
    X, fresh = two_kinds(), two_kinds(seed=2)
    before, n = model.p_values(fresh), model.conformal_.n_samples
    model.feedback(X[:20], [-1] * 20, rows=X)
    assert model.conformal_.n_samples == n - 20
    after = model.p_values(fresh)
    assert np.median(after[:20]) < 0.5 * np.median(before[:20])
    for level in (0.05, 0.2, 0.5):
        assert np.mean(after[40:] <= level) < 1.35 * level
    model.feedback(X[:20], [1] * 20, rows=X)  # judged again
    assert model.conformal_.n_samples == n
    model.feedback(X[:0], [], rows=X, keep=False)
    assert model.ensemble_.feedback is None
    assert_array_equal(model.p_values(fresh), before)


@pytest.mark.parametrize("with_rows", [True, False])
@pytest.mark.parametrize("n_judged", [10, 100])
def test_usual_rows_stay_where_they_are(n_judged, with_rows):
    """Many judged anomalies neither move usual rows nor make their p-values small."""
    rng = np.random.default_rng(0)
    X, fresh = rng.normal(size=(2000, 6)), rng.normal(size=(2000, 6))
    X[:200, 0] += rng.uniform(5, 6, 200)
    model = OddAtomDetector(random_state=0).fit(X)
    before = model.score_samples(fresh)
    judged = [*range(n_judged), *range(300, 305)]
    model.feedback(X[judged], np.where(np.array(judged) < 200, -1, 1), rows=X if with_rows else None)
    assert abs(np.median(model.score_samples(fresh) - before)) < 0.3
    assert np.mean(model.p_values(fresh) <= 0.05) < 0.07
    assert np.mean(model.predict(fresh) == -1) < 0.01
    if with_rows:
        assert (model.set_threshold("top=50").predict(X) == -1).sum() == 50
        assert np.mean(model.set_threshold(0.05).predict(X) == -1) <= 0.05


def test_rows_that_are_not_the_training_rows(model):
    X = two_kinds()
    with pytest.warns(oddatom.exceptions.OddAtomWarning, match="not the rows that this model was fitted to"):
        model.feedback(X[:2], [1, -1], rows=X + 1.0)


def test_judgements_add_up_and_the_last_one_counts(model):
    X = two_kinds()
    other = OddAtomDetector(random_state=0).fit(X).feedback(X[:6], [-1, -1, -1, 1, 1, 1])
    model.feedback(X[:3], [-1, -1, 1]).feedback(X[2:6], ["anomaly", "normal", "normal", "normal"])
    assert_array_equal(model.ensemble_.feedback.rows, other.ensemble_.feedback.rows)
    assert_array_equal(model.score_samples(X), other.score_samples(X))
    model.feedback(X[:1], [-1], keep=False)
    assert len(model.ensemble_.feedback.rows) == 1
    assert model.fit(X).ensemble_.feedback is None
    assert not hasattr(model, "conformal_before_")


def test_saved_loaded_copied_and_updated(model, tmp_path):
    X = two_kinds()
    model.feedback(X[:4], [-1, -1, 1, 1], rows=X)
    model.save(tmp_path / "model")
    loaded = oddatom.load(tmp_path / "model")
    assert_array_equal(loaded.score_samples(X), model.score_samples(X))
    assert_array_equal(loaded.p_values(X), model.p_values(X))
    again = [m.feedback(X[4:6], [-1, 1], rows=X).p_values(X) for m in (loaded, model)]
    assert_array_equal(*again)
    updated = OddAtomDetector(random_state=0).partial_fit(X).feedback(X[:4], [-1, -1, 1, 1])
    updated.partial_fit(two_kinds(seed=3))
    assert len(updated.ensemble_.feedback.rows) == 4
    updated.set_params(scoring="margin").partial_fit(two_kinds(seed=4))
    assert len(updated.ensemble_.feedback.rows) == 4


def test_categories_and_missing_cells():
    """Likeness is 1 for the row itself and less for a row that differs in a category or lacks a cell."""
    X = mixed()
    model = OddAtomDetector(categorical_features=CATEGORICAL, random_state=0).fit(X)
    whole = X[~np.isnan(X).any(axis=1)][:1]
    other, lacking = whole.copy(), whole.copy()
    other[0, CATEGORICAL[0]] = 1.0 - np.clip(whole[0, CATEGORICAL[0]], 0, 1)
    lacking[0, next(f for f in range(X.shape[1]) if f not in CATEGORICAL)] = np.nan
    model.feedback(whole, ["anomaly"])
    same, changed, less = likeness(np.r_[whole, other, lacking], model.ensemble_.feedback, model.ensemble_)[:, 0]
    assert same == 1.0
    assert 0.0 < changed < 1.0
    assert less <= 0.5
    assert np.isfinite(model.score_samples(X)).all()


def test_on_torch_and_in_onnx(tmp_path):
    torch = pytest.importorskip("torch")
    X = two_kinds()
    model = OddAtomDetector(random_state=0).fit(X).feedback(X[:4], [-1, -1, 1, 1])
    there = oddatom.load(_saved(model, tmp_path))
    assert_allclose(
        there._device_scores(X, torch.device("cpu")).numpy(), model.score_samples(X), rtol=1e-12, atol=1e-12
    )
    pytest.importorskip("ndonnx")
    session = pytest.importorskip("onnxruntime").InferenceSession
    from oddatom.onnx import to_onnx

    graph = session(to_onnx(model).SerializeToString())
    assert_allclose(graph.run(["scores"], {"X": X})[0].ravel(), model.score_samples(X), rtol=1e-9, atol=1e-9)


def _saved(model, folder):
    model.save(folder / "model")
    return folder / "model"


def test_tables():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"amount": rng.gamma(3.0, size=400), "shop": rng.choice(["a", "b", "c"], 400)})
    frame.loc[5, "amount"] = 300.0
    model = TableDetector(random_state=0).fit(frame)
    assert model.predict(frame)[5] == -1
    assert model.feedback(frame.iloc[[5]], ["normal"], rows=frame) is model
    assert model.predict(frame)[5] == 1
    assert not hasattr(TableDetector(oddatom.DLOCSVM.paper()), "feedback")


@pytest.mark.parametrize(
    "labels", [[0, 1], [True, False], ["odd", "normal"], [1], [[1], [1]], [1.0, np.nan], 1, [None, 1]], ids=repr
)
def test_wrong_labels(model, labels):
    before = model.score_samples(two_kinds())
    with pytest.raises(ValueError, match=r"'labels' parameter of OddAtomDetector.feedback must be -1 or 'anomaly'"):
        model.feedback(two_kinds()[:2], labels)
    assert model.ensemble_.feedback is None
    assert_array_equal(model.score_samples(two_kinds()), before)


def test_wrong_rows_and_scores(model):
    with pytest.raises(ValueError, match="expecting 6 features"):
        model.feedback(np.zeros((1, 5)), [1])
    with pytest.raises(ValueError, match=f"at most {MOST_JUDGED:,} judged rows"):
        model.feedback(np.random.default_rng(0).normal(size=(MOST_JUDGED + 1, 6)), [1] * (MOST_JUDGED + 1))
    with pytest.raises(ValueError, match="fit with scoring='joined'"):
        OddAtomDetector("margin", random_state=0).fit(factors(100)).feedback(factors(100)[:1], [1])
