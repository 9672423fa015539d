"""What OddAtomDetector refuses, with what words, and that a refused fit changes nothing."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from ensembles import factors
from oddatom import OddAtomDetector

METHODS = ("score_samples", "decision_function", "predict", "p_values", "score_parts", "explain")
BAD_PARAMETERS = {
    "scoring": (
        {"scoring": "margins"},
        r"'scoring' parameter of NAME must be a str among .* Got 'margins' instead\. 'joined'",
    ),
    "score none": ({"scoring": None}, r"The 'scoring' parameter of NAME must be a str among .* Got None instead\."),
    "nu zero": ({"nu": 0}, r"The 'nu' parameter of NAME must be .* Got 0 instead\. It is the share"),
    "nu above one": ({"nu": 1.5}, r"The 'nu' parameter of NAME .* Got 1\.5 instead"),
    "trim empty": (
        {"trim": ()},
        r"'trim' parameter of NAME must hold shares in the range \[0\.0, 1\.0\), at least one",
    ),
    "trim one": (
        {"trim": (0.3, 1.0)},
        r"The 'trim' parameter of NAME must hold .* Got \(0\.3, 1\.0\) instead\. \(0\.",
    ),
    "trim negative": ({"trim": [-0.1]}, r"The 'trim' parameter of NAME must hold .* Got \[-0\.1\] instead"),
    "trim nan": ({"trim": [float("nan")]}, r"The 'trim' parameter of NAME must hold .* Got \[nan\] instead"),
    "trim bool": ({"trim": [False]}, r"The 'trim' parameter of NAME must hold .* Got \[False\] instead"),
    "trim text": ({"trim": ("0.3",)}, r"The 'trim' parameter of NAME must hold .* Got \('0\.3',\) instead"),
    "trim number": (
        {"trim": 0.3},
        r"The 'trim' parameter of NAME must be an instance of 'tuple' or .* Got 0\.3 instead\.",
    ),
    "n_groups": ({"n_groups": 1}, r"The 'n_groups' parameter of NAME .* Got 1 instead\. .* p-values need at least two"),
    "n_centroids": ({"n_centroids": 0}, r"The 'n_centroids' parameter of NAME must be an int .* Got 0 instead"),
    "n_atoms": ({"n_atoms": 2.0}, r"The 'n_atoms' parameter of NAME must be an int .* Got 2\.0 instead"),
    "n_directions": ({"n_directions": 0}, r"The 'n_directions' parameter of NAME must be an int .* Got 0 instead"),
    "rows_per_member": ({"rows_per_member": 1}, r"The 'rows_per_member' parameter of NAME must be .* Got 1 instead"),
    "n_jobs": ({"n_jobs": 0}, r"The 'n_jobs' parameter of NAME must be .* Got 0 instead"),
    "random_state": ({"random_state": "seed"}, r"The 'random_state' parameter of NAME must be .* Got 'seed' instead"),
    "threshold name": (
        {"threshold": "none"},
        r"'threshold' parameter of NAME must be 'svm', 'auto', .* Got 'none' inst",
    ),
    "threshold zero": (
        {"threshold": 0.0},
        r"The 'threshold' parameter of NAME .* Got 0\.0 instead\. A float is the share",
    ),
    "threshold large": ({"threshold": 0.6}, r"The 'threshold' parameter of NAME must be .* Got 0\.6 instead"),
    "threshold level": (
        {"threshold": ("fdr", 1.0)},
        r"The 'threshold' parameter of NAME .* Got \('fdr', 1\.0\) instead",
    ),
    "threshold none": ({"threshold": None}, r"The 'threshold' parameter of NAME must be .* Got None instead"),
}


def broken(column, value):
    X = factors(60)
    X[5, column] = value
    return X


BAD_ROWS = {
    "inf": (broken([1, 4], -np.inf), r"infinity in columns 1, 4\. NAME takes finite numbers, and NaN for missing"),
    "inf by name": (pd.DataFrame(broken(2, np.inf), columns=list("abcdefghijkl")), r"infinity in column 'c'\. "),
    "inf in polars": (pl.DataFrame(broken(2, np.inf), schema=list("abcdefghijkl")), r"infinity in column 'c'\. "),
    "no rows": (np.empty((0, 3)), r"Found array with 0 sample\(s\)"),
    "one row": (np.ones((1, 3)), r"Found array with 1 sample\(s\) .* minimum of 2 is required by NAME"),
    "no columns": (np.empty((5, 0)), r"Found array with 0 feature\(s\)"),
    "one dimension": (np.ones(5), r"Expected 2D array, got 1D array"),
    "text": (np.array([["1", "x"], ["2", "y"]], dtype=object), r"could not convert string .* Encode them"),
    "text in pandas": (
        pd.DataFrame({"a": [1.0, 2.0], "city": ["x", "y"], "b": [3, 4], "kind": ["u", "v"]}),
        r"could not convert string .* do not hold numbers: 'city', 'kind'\. Encode them as numbers first",
    ),
    "text in polars": (
        pl.DataFrame({"a": [1.0, 2.0], "city": ["x", "y"]}),
        r"could not convert string .* do not hold numbers: 'city'\. Encode them as numbers first",
    ),
    "dates": (
        pd.DataFrame({"a": [1.0, 2.0], "when": pd.to_datetime(["2020-01-01", "2020-01-02"])}),
        r"do not hold numbers: 'when'",
    ),
    "complex": (np.ones((4, 2)) * 1j, r"Complex data not supported"),
}


def fitted_attributes(model):
    return {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}


@pytest.mark.parametrize("case", BAD_PARAMETERS)
def test_bad_parameters(case):
    parameters, message = BAD_PARAMETERS[case]
    model = OddAtomDetector(**parameters)
    with pytest.raises(ValueError, match=message.replace("NAME", "OddAtomDetector")):
        model.fit(factors(60))
    assert not fitted_attributes(model)


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows(case):
    X, message = BAD_ROWS[case]
    model = OddAtomDetector()
    with pytest.raises(ValueError, match=message.replace("NAME", "OddAtomDetector")):
        model.fit(X)
    assert not fitted_attributes(model)


def test_masked_values_are_missing():
    X = np.ma.array(factors(60), mask=np.zeros((60, 12), bool))
    model = OddAtomDetector(random_state=0).fit(X)
    assert_array_equal(model.score_samples(X), OddAtomDetector(random_state=0).fit(X.data).score_samples(X.data))
    X[3, 1] = X[4, 0] = np.ma.masked
    filled = X.filled(np.nan)
    wanted = OddAtomDetector(random_state=0).fit(filled)
    assert_array_equal(OddAtomDetector(random_state=0).fit(X).score_samples(X), wanted.score_samples(filled))
    assert_array_equal(wanted.explain(X).contributions, wanted.explain(filled).contributions)
    whole = np.ma.array(np.arange(40).reshape(20, 2), mask=np.arange(40).reshape(20, 2) % 7 == 3)  # of integers
    assert np.isfinite(OddAtomDetector(random_state=0).fit(whole).score_samples(whole)).all()


@pytest.mark.parametrize("method", METHODS)
def test_bad_new_rows(method):
    with pytest.raises(NotFittedError, match="This OddAtomDetector instance is not fitted yet"):
        getattr(OddAtomDetector(), method)(factors(60))
    call = getattr(OddAtomDetector(random_state=0).fit(factors(60)), method)
    with pytest.raises(ValueError, match="X has 5 features, but OddAtomDetector is expecting 12 features"):
        call(factors(60)[:, :5])
    with pytest.raises(ValueError, match=r"infinity in column 0\. OddAtomDetector takes finite numbers, and NaN for"):
        call(broken(0, np.inf))
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        call(factors(60)[:0])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        call(factors(60)[0])


def test_bad_threshold_of_a_fitted_model():
    X = factors(60)
    model = OddAtomDetector(threshold=0.1, random_state=0).fit(X)
    labels = model.predict(X)
    for threshold in ("none", 0.7, ("fdr", 2.0), True):
        with pytest.raises(ValueError, match="The 'threshold' parameter of OddAtomDetector must be"):
            model.set_threshold(threshold)
        assert model.threshold == 0.1
        assert_array_equal(model.predict(X), labels)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        OddAtomDetector().set_threshold(0.1)


def test_a_failed_refit_leaves_the_old_model():
    X = factors(60)
    model = OddAtomDetector(random_state=0).fit(X)
    before, attributes = model.score_samples(X), fitted_attributes(model)
    bad = np.ones((10, 3))
    bad[0, 1] = np.inf
    for wrong in (bad, pd.DataFrame(bad, columns=list("abc")), np.ones((1, 3))):
        with pytest.raises(ValueError, match=r"infinity|minimum of 2"):
            model.fit(wrong)
        assert fitted_attributes(model) == attributes
        assert_array_equal(model.score_samples(X), before)
    model.set_params(nu=7)
    with pytest.raises(ValueError, match="'nu' parameter"):
        model.fit(X[:30])
    assert_array_equal(model.score_samples(X), before)


def test_an_interrupted_refit_leaves_the_old_model(monkeypatch):
    X = factors(60)
    model = OddAtomDetector(random_state=0).fit(X)
    before = model.score_samples(X)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("oddatom.estimators.odd_atom.quantile_offset", interrupt)  # late: most is learned by then
    with pytest.raises(KeyboardInterrupt):
        model.fit(factors(60, seed=1)[:, :4])
    assert_array_equal(model.score_samples(X), before)
    assert model.n_features_in_ == 12
