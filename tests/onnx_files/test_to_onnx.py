"""Exported detectors give the scores of the detectors, in onnxruntime."""

import importlib.util
import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensembles import CATEGORICAL, mixed
from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM, SVDD, LinearOneClassSVM, OddAtomDetector, TableDetector, __version__
from oddatom.ensemble.model import SCORES
from oddatom.onnx import to_onnx

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

CLOSE = 1e-9  # of the largest score: both compute in float64
PARALLEL = 1e-7  # the same where atoms are nearly parallel, which makes much of rounding
DETECTORS = {
    **{f"ensemble {name}": OddAtomDetector(name, random_state=0) for name in SCORES if name != "context"},
    "linear": DPLOCSVM.paper(nu=0.05, random_state=0),
    "linear, robust": DPLOCSVM.paper(nu=0.3, scaling="robust", random_state=0),
    "pairs by pursuit": DPLOCSVM.paper(n_nonzero=3, representation="omp", random_state=0),
    "pairs, residual": DPLOCSVM.paper(n_nonzero=3, scoring="residual", random_state=0),
    "one atom": DLOCSVM.paper(n_nonzero=1, beta=0.02, random_state=0),
    "eight atoms": DLOCSVM.paper(n_nonzero=8, beta=0.001, random_state=0, threshold=0.1),
    "residual": DLOCSVM.paper(n_nonzero=4, beta=0.02, scoring="residual", random_state=0),
    "length": DLOCSVM.paper(n_nonzero=4, beta=0.02, scoring="description_length", scaling="robust", random_state=0),
    "svm": LinearOneClassSVM(nu=0.1),
    "svdd": SVDD(nu=0.1),
    "ball": DLOCSVM.paper(boundary="ball", coupling_form="hinge", scaling="robust", random_state=0),
    "ball of linear codes": DPLOCSVM.paper(boundary="ball", coupling_form="hinge", random_state=0),
}


@pytest.fixture(scope="module")
def rows():
    """Rows to learn from, and others; no row of the second is among the first, so none is a centroid."""
    X = load_wine().data
    order = np.random.RandomState(0).permutation(len(X))
    return X[order[:100]], X[order[100:]] * np.linspace(0.5, 2.0, 78)[:, None]


def run(exported, X):
    """Return scores, decisions and labels of rows by onnxruntime."""
    return onnxruntime.InferenceSession(exported.SerializeToString()).run(["scores", "decision", "label"], {"X": X})


def assert_same(detector, X, exported, close=CLOSE):
    scores, decision, label = run(exported, X)
    expected = detector.score_samples(X)
    size = np.abs(expected).max()
    assert expected.std() > 1e-6 * size  # they say something
    np.testing.assert_allclose(scores, expected, rtol=0, atol=close * size)
    np.testing.assert_allclose(decision, detector.decision_function(X), rtol=0, atol=2 * close * size)
    clear = np.abs(decision) > close * size
    assert clear.sum() > len(X) - 3
    np.testing.assert_array_equal(label[clear], detector.predict(X)[clear])
    assert (scores.dtype, decision.dtype, label.dtype) == (np.float64, np.float64, np.int64)


@pytest.mark.filterwarnings("ignore::oddatom.exceptions.DegenerateMarginWarning")
@pytest.mark.parametrize("name", DETECTORS)
def test_scores_decisions_and_labels(name, rows):
    detector = DETECTORS[name].fit(rows[0])
    for dtype in ("float64", "float32"):
        exported = to_onnx(detector, dtype=dtype)
        onnx.checker.check_model(exported, full_check=True)
        assert_same(detector, rows[1].astype(dtype), exported, PARALLEL if "pairs" in name else CLOSE)


@pytest.mark.parametrize("name", SCORES)
def test_categories_and_missing_values(name):
    detector = OddAtomDetector(name, categorical_features=CATEGORICAL, random_state=0).fit(mixed())
    X = mixed(200, seed=1)
    X[3, 6], X[4, 5] = 9.0, 20.0  # not in training
    X[5] = np.nan
    assert_same(detector, X, to_onnx(detector))


def test_labels_follow_the_threshold(rows):
    detector = OddAtomDetector(random_state=0).fit(rows[0])
    for threshold in ("auto", "svm", 0.3):
        _, decision, label = run(to_onnx(detector.set_threshold(threshold)), rows[1])
        np.testing.assert_array_equal(label, detector.predict(rows[1]))
        np.testing.assert_array_equal(label, np.where(decision >= 0, 1, -1))


@pytest.mark.parametrize("name", ["ensemble joined", "eight atoms", "linear"])
def test_any_number_of_rows_and_none(name, rows):
    exported = to_onnx(DETECTORS[name].fit(rows[0]))
    whole = run(exported, rows[1])[0]
    one_by_one = np.concatenate([run(exported, row[None])[0] for row in rows[1][:5]])
    np.testing.assert_allclose(one_by_one, whole[:5], rtol=1e-12)
    assert run(exported, np.empty((0, 13)))[0].shape == (0,)


@pytest.mark.parametrize("score", ["margin", "residual", "description_length"])
def test_codes_that_stop_early(rows, score):
    """Of a row of zeros, of rows that one or two atoms explain, and of a dictionary with an atom twice."""
    detector = DLOCSVM.paper(n_nonzero=5, beta=0.02, scoring=score, random_state=0).fit(rows[0])
    D = detector.components_ * detector.scale_
    X = np.concatenate([np.zeros((1, 13)), 0.3 * D, 0.2 * D[1:] + 0.1 * D[:-1]])
    assert np.diff(detector.transform(X).indptr).min() == 0  # the row of zeros has no atom
    assert_same(detector, X, to_onnx(detector))
    detector.components_[3] = detector.components_[2]
    np.testing.assert_allclose(run(to_onnx(detector), rows[1])[0], detector.score_samples(rows[1]), rtol=1e-7)


def test_an_atom_that_depends_on_others_is_not_taken(rows):
    """The third of three atoms is the second but for a millionth: it correlates, and yet the code stops before it."""
    detector = DLOCSVM.paper(n_nonzero=3, beta=0.02, random_state=0).fit(rows[0])
    D = detector.components_[:3].copy()
    D[2] = D[1] + 1e-6 * D[2]
    detector.components_ = D / np.linalg.norm(D, axis=1, keepdims=True)
    detector.coef_ = np.array([1.0, 2.0, 4.0])
    assert np.diff(detector.transform(rows[1]).indptr).max() == 2
    np.testing.assert_allclose(run(to_onnx(detector), rows[1])[0], detector.score_samples(rows[1]), rtol=1e-9)


def test_members_with_fewer_centroids_than_others(rows):
    near = 1.0 + 1e-6 * np.random.default_rng(0).normal(size=(200, 13))  # alike, but of no kind
    detector = OddAtomDetector(random_state=0).fit(np.repeat(rows[0][:40], 5, axis=0) * near)
    assert np.isinf(detector.ensemble_.packed.half_norms).any()
    X = rows[0][40:]
    X = np.concatenate([X, np.median(rows[0][:40], axis=0) + 0.01 * (X - X.mean(axis=0))])  # near 0, where padding is
    assert_same(detector, X, to_onnx(detector))


def test_rows_too_large_for_squares(rows):
    detector = DLOCSVM.paper(n_nonzero=4, beta=0.02, random_state=0).fit(rows[0])
    X = rows[1] * 10.0 ** np.linspace(0, 200, 78)[:, None]
    np.testing.assert_allclose(run(to_onnx(detector), X)[0], detector.score_samples(X), rtol=1e-7)
    detector = OddAtomDetector(random_state=0).fit(rows[0])
    np.testing.assert_allclose(run(to_onnx(detector), X)[0], detector.score_samples(X), rtol=1e-9)


@pytest.mark.parametrize(
    "name", ["ensemble joined", "ensemble histogram", "ensemble max_residual", "residual", "linear"]
)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_has_no_score(name, bad, rows):
    exported = to_onnx(DETECTORS[name].fit(rows[0]))
    X = rows[1].copy()
    X[4, 7] = bad
    scores, _, label = run(exported, X)
    if np.isnan(bad) and "ensemble" in name:  # a missing value
        np.testing.assert_allclose(scores, DETECTORS[name].score_samples(X), rtol=1e-9, atol=1e-12)
    else:
        assert np.isnan(scores[4])
        assert label[4] == -1
    others = np.arange(len(X)) != 4
    np.testing.assert_array_equal(scores[others], run(exported, rows[1])[0][others])


def test_what_is_written_beside_the_graph(rows, tmp_path):
    frame = pd.DataFrame(rows[0], columns=load_wine().feature_names)
    detector = OddAtomDetector(random_state=0, threshold=0.05).fit(frame)
    path = tmp_path / "wine.onnx"
    path.write_bytes(b"something else")
    exported = to_onnx(detector, path)
    assert path.read_bytes() == exported.SerializeToString()
    loaded = onnx.load(path)
    onnx.checker.check_model(loaded, full_check=True)
    assert (loaded.ir_version, [(one.domain, one.version) for one in loaded.opset_import]) == (10, [("", 21)])
    session = onnxruntime.InferenceSession(path)
    assert [(one.name, one.type, one.shape) for one in session.get_inputs()] == [("X", "tensor(double)", ["N", 13])]
    assert [(one.name, one.type, one.shape) for one in session.get_outputs()] == [
        ("scores", "tensor(double)", ["N"]),
        ("decision", "tensor(double)", ["N"]),
        ("label", "tensor(int64)", ["N"]),
    ]
    said = session.get_modelmeta().custom_metadata_map
    assert json.loads(said.pop("feature_names")) == load_wine().feature_names
    assert float(said.pop("offset")) == detector.offset_
    assert said == {
        "oddatom_version": __version__,
        "class": "OddAtomDetector",
        "score": "joined",
        "threshold": "0.05",
    }
    nameless = to_onnx(LinearOneClassSVM().fit(rows[0]), str(tmp_path / "svm.onnx"), dtype="float32")
    assert "feature_names" not in {one.key for one in nameless.metadata_props}
    assert onnxruntime.InferenceSession(tmp_path / "svm.onnx").get_inputs()[0].type == "tensor(float)"


def test_the_graph_holds_no_more_than_the_score_needs(rows):
    detector = OddAtomDetector("histogram", random_state=0).fit(rows[0])
    exported = to_onnx(detector)
    needed = {name for node in exported.graph.node for name in node.input}
    assert {constant.name for constant in exported.graph.initializer} <= needed
    assert exported.ByteSize() < 0.2 * to_onnx(OddAtomDetector(random_state=0).fit(rows[0])).ByteSize()


@pytest.mark.filterwarnings("ignore:DLOCSVM gives every training row the same score")
def test_what_cannot_be_exported_is_refused(rows):
    X = rows[0]
    with pytest.raises(ValueError, match=r"must be one of DLOCSVM.* Got KDLOCSVM instead; its scores need the kernel"):
        to_onnx(KDLOCSVM.paper())
    pipeline = make_pipeline(StandardScaler(), OddAtomDetector())
    with pytest.raises(ValueError, match=r"Got Pipeline instead; export its last step, pipeline\['oddatomdetector'\]"):
        to_onnx(pipeline)
    with pytest.raises(
        ValueError, match=r"Got TableDetector instead; export the detector in it, model\.detector_, and"
    ):
        to_onnx(TableDetector(OddAtomDetector()).fit(X))
    with pytest.raises(ValueError, match="Got StandardScaler instead; pass a fitted detector"):
        to_onnx(StandardScaler())
    with pytest.raises(ValueError, match="pass a fitted detector, not its class"):
        to_onnx(OddAtomDetector)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        to_onnx(OddAtomDetector())
    with pytest.raises(ValueError, match=r"'dtype' parameter of to_onnx must be one of .* Got 'float16' instead"):
        to_onnx(OddAtomDetector(), dtype="float16")
    detector = OddAtomDetector(random_state=0).fit(X).set_threshold(("fdr", 0.2))
    with pytest.raises(ValueError, match=r"with threshold=\('fdr', 0.2\).* Call set_threshold"):
        to_onnx(detector)
    wide = np.random.RandomState(0).uniform(size=(60, 40))
    crowded = DLOCSVM.paper(n_nonzero=33, beta=0.0, nu=0.5, max_iter=1, random_state=0).fit(wide)
    with pytest.raises(ValueError, match=r"with 33 non-zeros: .* Fit with a lower n_nonzero"):
        to_onnx(crowded)
    with pytest.warns(UserWarning, match="trimmed every atom"):
        empty = DLOCSVM.paper(beta=1e6, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"DLOCSVM has no atoms left.* Lower beta"):
        to_onnx(empty)


def test_what_holds_a_detector_is_refused_for_it(rows):
    detector = LinearOneClassSVM(nu=0.1).fit(rows[0])
    labels = np.where(np.arange(len(rows[0])) % 2, 1, -1)
    search = GridSearchCV(LinearOneClassSVM(), {"nu": [0.1]}, scoring="accuracy", cv=2)
    with pytest.raises(ValueError, match="Got GridSearchCV instead; pass a fitted detector of these classes"):
        to_onnx(search)
    holders = {"estimator": FrozenEstimator(detector), "best_estimator_": search.fit(rows[0], labels)}
    if importlib.util.find_spec("pyod"):
        from oddatom.pyod import OddAtom

        holders["detector_"] = OddAtom(random_state=0).fit(rows[0])
    for attribute, model in holders.items():
        with pytest.raises(ValueError, match=rf"Got \w+ instead; pass the detector in it, model\.{attribute}\.$"):
            to_onnx(model)
        to_onnx(getattr(model, attribute))


def test_without_onnx_the_error_names_the_extra(rows, monkeypatch):
    detector = LinearOneClassSVM().fit(rows[0])
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'oddatom\[onnx\]'"):
        to_onnx(detector)


def test_margins_beyond_floats_of_the_plain_svm():
    X = np.abs(load_wine().data)
    model = LinearOneClassSVM(nu=0.1).fit(X)
    far = X[:3] * np.array([[1.0], [1e300], [1e304]])
    assert model.score_samples(far)[-1] == np.finfo(np.float64).max
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    scores, labels = session.run(["scores", "label"], {"X": far})
    np.testing.assert_allclose(scores, model.score_samples(far), rtol=1e-9)
    np.testing.assert_array_equal(labels, model.predict(far))
