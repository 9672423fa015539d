"""What every learned detector refuses, with what words, and that a refused fit changes nothing."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from learned import broken, linear_only, rows

BAD_PARAMETERS = {
    "nu zero": ({"nu": 0}, r"The 'nu' parameter of NAME must be .* Got 0 instead\. It is the share"),
    "nu above one": ({"nu": 1.5}, r"The 'nu' parameter .* Got 1\.5 instead"),
    "nu negative": ({"nu": -0.1}, r"The 'nu' parameter .* Got -0\.1 instead"),
    "beta": ({"beta": -1.0}, r"The 'beta' parameter .* Got -1\.0 instead\. .*0 switches the penalty off"),
    "penalty": ({"penalty": "l22"}, r"The 'penalty' parameter of NAME must be 'l21' or .* Got 'l22' instead"),
    "n_nonzero": ({"n_atoms": 3, "n_nonzero": 4}, r"'n_nonzero' .* at most n_atoms = 3\. Got 4 instead; lower"),
    "init text": ({"init": [["a"] * 6]}, r"'init' parameter of NAME must be an array of numbers"),
    "n_jobs": ({"n_jobs": 0}, r"'n_jobs' parameter of NAME"),
}

BAD_INITS = {
    "init": ({"init": np.ones((4, 5))}, r"'init' .* = \(4, 6\)\. Got shape \(4, 5\) instead; pass one row per atom"),
    "init rows": ({"init": np.ones((4, 6)), "n_atoms": 3}, r"'init' .* = \(3, 6\)\. Got shape \(4, 6\) instead"),
    "init name": ({"init": "ones"}, r"The 'init' parameter .* Got 'ones' instead\. Pass a name, or one row per atom"),
    "init empty": ({"init": np.empty((0, 6))}, r"\(n_atoms, n_features\) = \(1, 6\). Got shape \(0, 6\)"),
    "zero atom": ({"init": np.diag([1.0, 1, 0, 1, 1, 1])}, r"'init' array must hold .* Row 2 is \[0\.0, .* replace"),
    "nan atom": ({"init": np.full((2, 6), np.nan)}, r"'init' array must hold finite, non-zero atoms\. Row 0 is \[nan"),
}

BAD_ROWS = {
    "nan": (broken(2, np.nan), {}, r"NaN or infinity in column 2\. NAME needs finite numbers: fill missing"),
    "inf": (broken([1, 4], -np.inf), {}, r"NaN or infinity in columns 1, 4\. "),
    "nan by name": (pd.DataFrame(broken(2, np.nan), columns=list("abcdef")), {}, r"infinity in column 'c'\. "),
    "no rows": (np.empty((0, 3)), {}, r"Found array with 0 sample\(s\)"),
    "one row": (np.ones((1, 3)), {}, r"Found array with 1 sample\(s\) .* minimum of 2 is required by NAME"),
    "zeros": (np.zeros((9, 3)), {}, r"X holds nothing but zeros: there is nothing to learn\. Pass data that vary"),
    "too large": (np.full((9, 3), 1e308), {}, r"X is too large: its Frobenius norm overflows\. Divide"),
    "constant": (np.full((9, 3), 0.1), {"scaling": "standard"}, r"only constant columns \(scaling='standard'\)"),
    "text": (np.array([["1", "x"], ["2", "y"]], dtype=object), {}, r"could not convert string .* Encode them"),
    "text in pandas": (
        pd.DataFrame({"a": [1.0, 2.0], "city": ["x", "y"], "b": [3, 4], "kind": ["u", "v"]}),
        {},
        r"could not convert string .* do not hold numbers: 'city', 'kind'\. Encode them as numbers first",
    ),
    "text in polars": (
        pl.DataFrame({"a": [1.0, 2.0], "city": ["x", "y"]}),
        {},
        r"could not convert string .* do not hold numbers: 'city'\. Encode them as numbers first",
    ),
    "dates": (
        pd.DataFrame({"a": [1.0, 2.0], "when": pd.to_datetime(["2020-01-01", "2020-01-02"])}),
        {},
        r"do not hold numbers: 'when'",
    ),
}


def assert_untouched(model):
    for method in (model.predict, model.explain, model.transform, model.detect_batch):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            method(rows())
    assert {name for name in vars(model) if name.endswith("_")} <= {"n_features_in_", "feature_names_in_"}


@pytest.mark.parametrize("case", BAD_PARAMETERS)
def test_bad_parameters(make, name, X, case):
    parameters, message = BAD_PARAMETERS[case]
    model = make(**parameters)
    with pytest.raises(ValueError, match=message.replace("NAME", name)):
        model.fit(X)
    assert_untouched(model)


@linear_only
@pytest.mark.parametrize("case", BAD_INITS)
def test_bad_first_dictionaries(make, name, X, case):
    parameters, message = BAD_INITS[case]
    model = make(**parameters)
    with pytest.raises(ValueError, match=message.replace("NAME", name)):
        model.fit(X)
    assert_untouched(model)


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows(make, name, case):
    X, parameters, message = BAD_ROWS[case]
    model = make(**parameters)
    with pytest.raises(ValueError, match=message.replace("NAME", name)):
        model.fit(X)
    assert_untouched(model)


def test_bad_new_rows(fitted, name, X):
    for method in (fitted.predict, fitted.transform, fitted.detect_batch, fitted.explain, fitted.score_samples):
        with pytest.raises(ValueError, match=f"X has 5 features, but {name} is expecting 6 features"):
            method(X[:, :5])
        with pytest.raises(ValueError, match=r"NaN or infinity in column 0\."):
            method(broken(0, np.inf))
        with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
            method(X[:0])


def test_a_failed_refit_leaves_the_old_model(make, name, X):
    model = make().fit(X)
    before = model.score_samples(X)
    bad = np.ones((10, 3))
    bad[0, 1] = np.nan
    for wrong in (bad, np.zeros((10, 3)), pd.DataFrame(bad, columns=list("abc"))):
        with pytest.raises(ValueError, match=r"NaN|zeros"):
            model.fit(wrong)
        assert not hasattr(model, "feature_names_in_")
        assert_array_equal(model.score_samples(X), before)
        with pytest.raises(ValueError, match=f"3 features, but {name} is expecting 6"):
            model.score_samples(np.ones((2, 3)))
