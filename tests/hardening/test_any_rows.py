"""Every detector on rows of any size, type and layout: one of its own errors, or finite scores, always the same.

A few examples; `make fuzz` looks for longer.
"""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse
from any_rows import LAYOUTS, Rows, rows
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from learned import tables
from long_runs import examples, explore, quick
from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM, SVDD, LinearOneClassSVM, OddAtomDetector, OddAtomWarning
from oddatom.ensemble.model import SCORES as PARTS
from oddatom.kernels.formulas import KERNELS
from oddatom.scores import SCORES

# All that a fit may say of finite rows. Another message is another library's, or a new one: look at it.
REFUSALS = (
    r"^Found array with 1 sample\(s\) \(shape=.*\) while a minimum of 2 is required by \w+\.$",
    r"^X holds nothing but zeros: there is nothing to learn\. Pass data that vary\.$",
    r"^X holds only constant columns \(scaling='\w+'\): there is nothing to learn\. Pass data that vary\.$",
    r"^X is too large: its Frobenius norm overflows\. Divide the data by a power of ten first\.$",
    r"^X is too large: its (margin|radius) overflows \(largest entry .*\)\. Divide it first\.$",
    r"^X is too small: its (margin|radius) vanishes \(largest entry .*\)\. Multiply it first\.$",
    r"^The kernel overflows on the training rows: its values go up to .* Scale the data, or lower gamma or degree; ",
    r"^The positive part of the kernel of all training rows is zero: there is nothing to learn\. Try another kernel\.$",
    r"^The \d+ landmarks see nothing of the other rows\. Pass a larger number as 'approximation', or .*",
    r"^The 'n_folds' parameter of \w+ must leave every fold a row and every fold's model two\. Got ",
    r"^The 'solver' parameter of \w+ must have an exact SVM where boundary=\"ball\": ",
    r"^The 'coupling_form' parameter of \w+ must be \"hinge\" where boundary=\"ball\"\. ",
    r"^\w+ cannot be fitted without one of \d+ folds\. .* Or lower 'n_folds', or pass None\.$",
)
LEARNED = {
    "n_atoms": st.sampled_from([None, 3]),
    "beta": st.sampled_from([0.02, 0.0, 0.5]),
    "penalty": st.sampled_from(["l21", "l20", "l2eps"]),
    "nu": st.sampled_from([0.1, 0.5, 1.0, 0.01]),
    "coupling": st.sampled_from([0.1, ("eta", 1.0), 0.0, 10.0, ("eta", 100.0)]),
    "coupling_form": st.sampled_from(["hinge", "hinge", "multipliers"]),
    "boundary": st.sampled_from(["ball", "plane"]),
    "trim": st.sampled_from([0.3, 0.0]),
    "max_iter": st.sampled_from([2, 1, 0]),
    "init": st.sampled_from(["random", "data"]),
    "solver": st.sampled_from(["exact", "exact", {"svm": "libsvm"}]),
    "scoring": st.sampled_from(sorted(SCORES)),
    "threshold": st.sampled_from(["svm", "auto", 0.2]),
    "n_folds": st.sampled_from([None, None, 2]),
    "scaling": st.sampled_from([None, "standard", "robust"]),
}
PAIR = {"representation": st.sampled_from(["analysis", "omp"])}
KERNEL = {
    "kernel": st.sampled_from(sorted(KERNELS)),
    "gamma": st.sampled_from(["scale", "auto", "median", 1e-3, 1e3]),
    "approximation": st.sampled_from([None, 1, 6]),
    "kernel_params": st.sampled_from([None, {"coding": "correlation"}]),
}
SETTINGS = {
    DLOCSVM: {**LEARNED, "solver": st.sampled_from(["exact", "paper", {"atoms": "power"}, {"svm": "libsvm"}])},
    DPLOCSVM: {**LEARNED, **PAIR, "alpha": st.sampled_from([None, 0.002, 0.0])},
    KDLOCSVM: {**LEARNED, **KERNEL},
    KDPLOCSVM: {**LEARNED, **PAIR, **KERNEL, "alpha": st.sampled_from([None, 0.002])},
    LinearOneClassSVM: {"nu": st.sampled_from([0.1, 0.5, 1.0, 0.01])},
    SVDD: {"nu": st.sampled_from([0.1, 0.5, 1.0, 0.01])},
    OddAtomDetector: {
        "scoring": st.sampled_from(sorted(PARTS)),
        "threshold": st.sampled_from(["auto", "svm", 0.2, "fdr"]),
        "trim": st.sampled_from([(0.2,), (0.0, 0.4)]),
        "n_groups": st.just(2),
    },
}
METHODS = ("score_samples", "decision_function", "predict", "explain", "transform", "p_values", "score_parts")
# New rows: beyond everything, next to nothing, and mixtures.
SIZES = np.array([1e308, -1e308, 1e-308, -5e-324, 0.0, 1.0, -1e154, 1e160])


def answers(model, X):
    """What a model says of rows, by name."""
    found = {}
    for name in METHODS:
        if not hasattr(model, name) or (name == "p_values" and model.conformal_ is None):
            continue
        said = getattr(model, name)(X)
        parts = tables(said) if isinstance(said, tuple) else tuple(said.values()) if isinstance(said, dict) else (said,)
        for k, part in enumerate(parts):
            found[f"{name} {k}"] = part.toarray() if scipy.sparse.issparse(part) else np.asarray(part)
    return found


def fitted(Class, parameters, X):
    """The model, or None and what the fit said against the rows."""
    try:
        return Class(**parameters).fit(X), ""
    except (ValueError, TypeError) as error:
        return None, str(error)


def check(Class, parameters, these):
    """Fit to rows as given and as a plain array, and ask both models everything, with warnings as errors."""
    if Class not in (LinearOneClassSVM, SVDD):
        parameters = {"random_state": 0, **parameters}
    given, plain = these.given(), these.plain()
    before = plain.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", OddAtomWarning)
        model, refusal = fitted(Class, parameters, given)
        other, same = fitted(Class, parameters, plain)
        assert refusal == same
        if model is None:
            assert any(re.search(known, refusal) for known in REFUSALS), refusal
            return
        said, again = answers(model, given), answers(other, plain)
        alone = {i: answers(model, plain[i : i + 1]) for i in {0, these.N - 1}}
        fresh = answers(model, np.vstack([np.resize(np.roll(SIZES, k), (1, these.m)) for k in range(9)]))
    assert_array_equal(plain, before)
    for name, values in said.items():
        assert np.isfinite(values).all(), name
        assert_array_equal(values, again[name], err_msg=name)
        for i, one in alone.items():
            if name.startswith("explain"):  # products of matrices are rounded by the number of rows
                assert_allclose(one[name], values[i : i + 1], rtol=1e-9, atol=1e-12 * np.abs(values).max(initial=0))
            else:
                assert_array_equal(one[name], values[i : i + 1], err_msg=f"{name}, row {i} alone")
        assert not np.isnan(fresh[name]).any(), name
    for found in (said, fresh):
        assert set(found["predict 0"]) <= {-1, 1}
        assert np.isfinite(found["score_samples 0"]).all()
        for p in (found[name] for name in found if name.startswith("p_values")):
            assert ((p > 0) & (p <= 1)).all()


@pytest.mark.parametrize("Class", SETTINGS)
def test_any_rows_and_settings(Class):
    @settings(quick, max_examples=examples(20, 120))
    @given(parameters=st.fixed_dictionaries(SETTINGS[Class]), these=rows())
    def test(parameters, these):
        check(Class, parameters, these)

    explore(test, share=1 / len(SETTINGS))


STANDARD, ODD = {"scaling": "standard"}, {"n_groups": 2, "trim": (0.2,)}
FOUND = {
    "means of columns in another order": (DLOCSVM, STANDARD, Rows(23, 2, ("binary",), layout="F")),
    "a deviation too small to be a number": (DLOCSVM, STANDARD, Rows(2, 1, ("constant",), dtype="mixed")),
    "a sum in another order": (OddAtomDetector, {**ODD, "scoring": "margin"}, Rows(3, 1, ("binary",), 2)),
    "shares in another order": (OddAtomDetector, ODD, Rows(4, 8, ("binary",), layout="F")),
    "margins that cancel at infinity": (LinearOneClassSVM, {}, Rows(2, 3, ("binary",), 2, dtype="i8")),
    "margins beyond every float": (LinearOneClassSVM, {}, Rows(2, 2, ("constant",), 2)),
    "offsets from the last number": (LinearOneClassSVM, {"nu": 1.0}, Rows(12, 8, ("mostly_zero",), 1048575, 0, 0.5)),
    "linear margins beyond every float": (DPLOCSVM, {"beta": 0.02, "max_iter": 2}, Rows(2, 1, ("constant",))),
    "a mean in another order": (SVDD, {"nu": 0.1}, Rows(8, 2, ("few_values",), layout="F")),
    "deviations that vanish": (SVDD, {"nu": 0.1}, Rows(2, 5, ("tiny", "binary"))),
    "a decision beyond every float": (
        DPLOCSVM,
        {"boundary": "plane", "scoring": "margin", "threshold": "auto", "scaling": None, "beta": 0.02, "max_iter": 2},
        Rows(37, 2, ("mostly_zero",), 68882),
    ),
    "ranges beyond every float": (DLOCSVM, {"max_iter": 2}, Rows(4, 3, ("every_size",), 0, 119)),
    "a tail without a scale": (
        DPLOCSVM,
        {
            "boundary": "plane",
            "scoring": "margin",
            "threshold": "auto",
            "scaling": None,
            "representation": "omp",
            "init": "data",
            "beta": 0.02,
            "max_iter": 2,
        },
        Rows(13, 6, ("mostly_zero", "normal", "few_values"), 9),
    ),
    "margins that vanish": (LinearOneClassSVM, {}, Rows(9, 2, ("positive",), power=-200)),
}


@pytest.mark.parametrize("case", FOUND)
def test_what_failed_once(case):
    check(*FOUND[case])


def test_a_margin_that_vanishes_is_refused():
    with pytest.raises(
        ValueError, match=r"X is too small: its (margin|radius) vanishes \(largest entry .*e-200\)\. Multiply it"
    ):
        LinearOneClassSVM().fit(Rows(9, 2, ("positive",), power=-200).given())


@pytest.mark.parametrize("sparse", [False, True])
def test_large_margins_are_those_of_smaller_rows(sparse):
    model = LinearOneClassSVM().fit(Rows(50, 3, ("positive",)).given())
    X = np.array([[1.0, -1.0, 1e-30], [0.5, 0.25, 0.0], [-1.0, -1.0, -1.0], [0.0, 1e-9, 0.0]])
    rows = scipy.sparse.csr_array(X * 2.0**1000) if sparse else X * 2.0**1000
    assert_array_equal(model.score_samples(rows), model.score_samples(X) * 2.0**1000)
    beyond = model.score_samples(scipy.sparse.csr_array(X * 2.0**1023) if sparse else X * 2.0**1023)
    most = np.finfo(np.float64).max
    assert_allclose(beyond / most, np.clip(model.score_samples(X) / 2, -1, 1), rtol=1e-12)


def test_rows_are_what_they_say():
    """The strategy makes what it is to make: every layout, the same numbers."""
    for layout in LAYOUTS:
        these = Rows(5, 3, ("every_size",), 1, layout=layout)
        given = these.given()
        assert_array_equal(np.asarray(given, np.float64), these.plain())
        if layout == "list":
            continue
        assert given.flags.aligned == (layout != "unaligned")
        assert given.flags.writeable == (layout not in ("read-only", "map"))
        assert given.flags.c_contiguous == (layout not in ("F", "strided", "reversed"))
        assert given.dtype.isnative == (layout != "big-endian")
