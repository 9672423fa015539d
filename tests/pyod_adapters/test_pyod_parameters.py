"""Parameters of the PyOD adapters: signature, types, clone, repr, help and pickle."""

import doctest
import importlib
import inspect
import pickle
import sys
import typing

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.utils import get_tags

pytest.importorskip("pyod.models.base")

import oddatom
import oddatom.pyod
from oddatom.pyod._adapter import LEFT_OUT

DETECTORS = {name: getattr(oddatom.pyod, name) for name in oddatom.pyod.__all__}
each = pytest.mark.parametrize("name", DETECTORS)


def inner(name):
    return getattr(oddatom, "OddAtomDetector" if name == "OddAtom" else name)


def rows(N=60, m=3, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 1, (N, m))


@each
def test_signature_is_the_detectors_without_what_pyod_answers(name):
    ours = dict(inspect.signature(DETECTORS[name]).parameters)
    assert ours.pop("contamination").default == 0.1
    theirs = {key: p for key, p in inspect.signature(inner(name)).parameters.items() if key not in LEFT_OUT}
    assert list(ours) == list(theirs)
    for key, parameter in ours.items():
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert parameter.default == theirs[key].default
        assert parameter.annotation == theirs[key].annotation


@each
def test_types_for_editors_name_every_parameter(name):
    kwargs = typing.get_type_hints(DETECTORS[name].__init__)["parameters"]
    (types,) = typing.get_args(kwargs)
    hints, theirs = typing.get_type_hints(types), typing.get_type_hints(inner(name).__init__)
    assert set(hints) == set(inspect.signature(DETECTORS[name]).parameters) - {"contamination"}
    for key, hint in hints.items():
        assert hint == theirs[key] or theirs[key] is typing.Any, key


@each
def test_get_set_clone(name):
    detector = DETECTORS[name](0.2, scoring="residual", n_atoms=7)
    params = detector.get_params()
    assert set(params) == {"contamination", *inner(name)().get_params()} - set(LEFT_OUT)
    assert (params["contamination"], params["scoring"], params["n_atoms"]) == (0.2, "residual", 7)
    assert detector.set_params(scoring="margin", nu=0.3) is detector
    assert detector.get_params()["scoring"] == "margin"
    copy = clone(detector)
    assert copy.get_params() == detector.get_params()
    assert copy is not detector
    with pytest.raises(ValueError, match="Invalid parameter nonsense"):
        detector.set_params(nonsense=1)


@each
def test_there_is_no_method_score(name):
    assert not hasattr(DETECTORS[name](), "score")


def test_arrays_are_kept_as_they_are():
    init = rows(4)
    assert oddatom.pyod.DLOCSVM(init=init).get_params()["init"] is init


@each
@pytest.mark.parametrize(
    ("parameter", "advice"),
    [
        ("threshold", "PyOD cuts by 'contamination'"),
        ("n_folds", "predict_confidence"),
        ("n_atom", "it has .*n_atoms"),
    ],
)
def test_unknown_parameter(name, parameter, advice):
    with pytest.raises(TypeError, match=f"{name} has no parameter '{parameter}': .*{advice}"):
        DETECTORS[name](**{parameter: 1})


@each
def test_repr_shows_the_class_and_its_parameters(name):
    text = repr(DETECTORS[name](0.25, scoring="residual"))
    assert text.startswith(f"{name}(")
    assert "contamination=0.25" in text
    assert "scoring='residual'" in text


@each
def test_html_repr_shows_parameters_and_whether_it_is_fitted(name):
    detector = DETECTORS[name](0.25, nu=0.5, random_state=0)
    before, after = detector._repr_html_(), detector.fit(rows())._repr_html_()
    assert name in before
    assert "contamination" in before
    assert "<span>Not fitted</span>" in before
    assert "<span>Fitted</span>" in after


@each
def test_help_is_the_detectors_own(name):
    text = inspect.getdoc(DETECTORS[name])
    described = text.split("Attributes\n")[0]
    entries = [
        key.strip() for line in described.splitlines() if " : " in line[:60] for key in line.split(" : ")[0].split(",")
    ]
    assert set(entries) >= set(inspect.signature(DETECTORS[name]).parameters)
    assert not set(LEFT_OUT) & set(entries)
    assert f"detector_ : {inner(name).__name__}" in text


def test_example():
    failed, tried = doctest.testmod(oddatom.pyod)
    assert failed == 0
    assert tried >= 5


@each
@pytest.mark.parametrize("through", ["pickle", "joblib", "pyod"])
def test_saving(name, through, tmp_path):
    detector = DETECTORS[name](0.2, nu=0.5, random_state=0, n_jobs=1).fit(rows())
    if through == "pickle":
        loaded = pickle.loads(pickle.dumps(detector))
    elif through == "joblib":
        joblib.dump(detector, tmp_path / "model")
        loaded = joblib.load(tmp_path / "model")
    else:
        persistence = pytest.importorskip("pyod.utils.persistence")
        persistence.save(detector, tmp_path / "model")
        loaded = persistence.load(tmp_path / "model", trusted=True)
    assert loaded.get_params() == detector.get_params()
    assert_array_equal(loaded.predict_proba(rows(seed=1)), detector.predict_proba(rows(seed=1)))


def test_the_detector_within_has_its_own_format(tmp_path):
    detector = oddatom.pyod.DLOCSVM(random_state=0).fit(rows())
    with pytest.raises(ValueError, match=r"is a DLOCSVM, .* Save the detector in it, model\.detector_\.$"):
        oddatom.save(detector, tmp_path / "model.safetensors")
    oddatom.save(detector.detector_, tmp_path / "model.safetensors")
    loaded = oddatom.load(tmp_path / "model.safetensors")
    assert_array_equal(-loaded.score_samples(rows(seed=1)), detector.decision_function(rows(seed=1)))


@pytest.mark.parametrize("name", ["KDLOCSVM", "KDPLOCSVM"])
def test_precomputed_kernel(name):
    X, new = rows(), rows(20, seed=1)
    Class = DETECTORS[name]
    matrix = Class(kernel="precomputed", random_state=0).fit(X @ X.T)
    assert matrix.decision_scores_.shape == (60,)
    assert matrix.predict(new @ X.T).shape == (20,)
    assert get_tags(matrix).input_tags.pairwise
    assert not get_tags(Class()).input_tags.pairwise


@each
def test_it_is_an_outlier_detector_to_scikit_learn(name):
    assert get_tags(DETECTORS[name]()).estimator_type == "outlier_detector"


def test_own_subclass():
    class Half(oddatom.pyod.DLOCSVM):
        def __init__(self, n_atoms=4):
            super().__init__(0.5, n_atoms=n_atoms)

        def get_params(self, deep=True):
            return {"n_atoms": self.n_atoms}

    assert clone(Half(5)).fit(rows()).labels_.sum() == 30


def test_without_pyod(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyod.models.base", None)
    monkeypatch.delitem(sys.modules, "oddatom.pyod")
    monkeypatch.delitem(sys.modules, "oddatom.pyod._adapter")
    with pytest.raises(ImportError, match=r"needs PyOD .*pip install 'oddatom\[pyod\]'"):
        importlib.import_module("oddatom.pyod")
