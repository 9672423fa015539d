"""Errors carry what they are about as fields, and say the same sentence as ever; warnings likewise."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.utils._param_validation import InvalidParameterError

import oddatom
from oddatom import DLOCSVM, KDLOCSVM, LinearOneClassSVM, OddAtomDetector, OddAtomError, ParameterError, TableError
from oddatom.cli.advice import as_option, sentence
from oddatom.exceptions import TableWarning
from oddatom.table import TableEncoder, TableWriter, open_table

X = np.random.default_rng(0).gamma(2.0, size=(40, 3))
HOLED = np.where(np.arange(120).reshape(40, 3) == 7, np.nan, X)

PARAMETERS = {
    "nu": (lambda: OddAtomDetector(nu=2).fit(X), "OddAtomDetector", 2, "It is the share of rows allowed"),
    "max_iter": (lambda: DLOCSVM(max_iter=-1).fit(X), "DLOCSVM", -1, ""),
    "device": (lambda: DLOCSVM(device="tpu").fit(X), "DLOCSVM", "tpu", ""),
    "trim": (lambda: OddAtomDetector(trim=(2,)).fit(X), "OddAtomDetector", (2,), "(0.2, 0.4) is the default."),
    "threshold": (lambda: OddAtomDetector(threshold=2).fit(X), "OddAtomDetector", 2, "A float is the share"),
    "penalty": (lambda: DLOCSVM(penalty="l3").fit(X), "DLOCSVM", "l3", "'l2eps' alone"),
    "approximation": (lambda: KDLOCSVM(approximation=0).fit(X), "KDLOCSVM", 0, "None is exact"),
    "n_nonzero": (lambda: DLOCSVM(3, 4).fit(X), "DLOCSVM", 4, "lower n_nonzero"),
    "n_folds": (lambda: DLOCSVM(n_folds=99).fit(X), "DLOCSVM", 99, "pass more rows, or None."),
    "decay": (lambda: OddAtomDetector().partial_fit(X, decay=2), "OddAtomDetector.partial_fit", 2, "It is the share"),
    "max_levels": (lambda: TableEncoder(max_levels="a").fit(X), "TableEncoder", "a", "20 is the default."),
    "columns": (lambda: TableEncoder(["b"]).fit(pd.DataFrame({"a": [1, 2]})), "TableEncoder", ["b"], "It has 'a'."),
    "encoding": (lambda: open_table("a.csv", encoding="hex"), "open_table", "hex", "'utf-8' and 'latin-1' are usual."),
    "format": (lambda: TableWriter("a.csv", format="xls"), "TableWriter", "xls", ""),
}


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_parameters(parameter):
    call, owner, value, advice = PARAMETERS[parameter]
    with pytest.raises(ParameterError, match=f"^The '{parameter}' parameter of {owner} must ") as caught:
        call()
    error = caught.value
    assert isinstance(error, InvalidParameterError)
    assert isinstance(error, OddAtomError)
    assert (error.parameter, error.owner, error.value) == (parameter, owner, value)
    assert error.advice.startswith(advice)
    assert bool(error.advice) == bool(advice)
    assert str(error).endswith(error.advice)
    assert str(error).startswith(f"The '{parameter}' parameter of {owner} {error.problem}")
    said = sentence(error)
    assert said.startswith(f"--{ {'max_levels': 'max-levels'}.get(parameter, parameter) } must ")
    assert said.endswith(error.advice)


ROWS = {
    "nan": (lambda: OddAtomDetector().fit(HOLED), "contains NaN or infinity in column 1", "needs finite numbers"),
    "text": (lambda: DLOCSVM().fit(pd.DataFrame({"a": ["x", "y"]})), "could not convert", "do not hold numbers: 'a'"),
    "masked": (lambda: DLOCSVM().fit(np.ma.masked_greater(X, 3)), "is a masked array", "fill them in"),
    "path": (lambda: LinearOneClassSVM().fit("a.csv"), "Got the path 'a.csv'", "read its rows first"),
    "constant": (lambda: DLOCSVM().fit(np.zeros((4, 2))), "nothing but zeros", "Pass data that vary."),
}


@pytest.mark.parametrize("kind", ROWS)
def test_rows(kind):
    call, problem, advice = ROWS[kind]
    with pytest.raises(OddAtomError, match=problem) as caught:
        call()
    assert problem in caught.value.problem
    assert advice in caught.value.advice
    assert (caught.value.parameter, type(caught.value)) == ("X", OddAtomError)


def test_weights():
    with pytest.raises(OddAtomError, match="must not be negative") as caught:
        DLOCSVM().fit(X, sample_weight=-np.ones(40))
    assert (caught.value.parameter, caught.value.owner) == ("sample_weight", "DLOCSVM")
    assert caught.value.advice == "give rows that are not to count the weight 0."


TABLES = {
    "not utf-8": (b"a,b\n1,\xe9\n", "is not UTF-8.", "for instance encoding='latin-1'", "instance --encoding latin-1"),
    "utf-16": (
        "a,b\n".encode("utf-16"),
        "is not UTF-8 but UTF-16.",
        "Pass encoding='utf-16'.",
        "Pass --encoding utf-16.",
    ),
    "parquet": (b"PAR1..", "but a parquet file.", "or pass format='parquet'.", "or pass --format parquet."),
    "no rows": (b"a,b\n", "has a header and no rows.", "or header=False if it has", "or --no-header if it has"),
    "ragged": (b"a,b\n1,2\n3\n", "has 1 cell instead of 2", "or pass 'delimiter' if it", "or pass --delimiter if it"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables(kind, tmp_path):
    content, problem, advice, option = TABLES[kind]
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(TableError) as caught:
        open_table(tmp_path / "a.csv").read()
    error = caught.value
    assert problem in error.problem
    assert advice in error.advice
    assert str(error) == f"{error.problem} {error.advice}"
    assert option in sentence(error)
    assert sentence(error).startswith(error.problem)


def test_no_p_values_and_no_model_file(tmp_path):
    """What the library advises where the command line has other means."""
    with pytest.raises(ParameterError, match=r"without p-values. Got 'fdr' instead; fit with n_folds=5\.$") as caught:
        DLOCSVM(threshold="fdr").fit(X)
    assert sentence(caught.value).endswith("instead; fit on at least ten rows, or with --detector oddatom.")
    (tmp_path / "m").write_bytes(b"\xff" * 99)
    with pytest.raises(oddatom.ModelFileError, match=r"Pass a file that oddatom\.save wrote\.$") as caught:
        oddatom.load(tmp_path / "m")
    assert sentence(caught.value).endswith("Pass a file that `oddatom fit` wrote.")


def test_the_command_line_speaks_of_models():
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(OddAtomError, match="columns that TableEncoder was fitted on") as caught:
        encoder.transform(pd.DataFrame({"b": [1.0, 2.0]}))
    assert "columns that the model was fitted on ('a')" in sentence(caught.value)
    error = OddAtomError("Cannot save this TableEncoder.", owner="TableEncoder")
    assert sentence(error) == "Cannot save this model."


def test_errors_can_be_pickled():
    for error in (
        ParameterError("C", "x", "must be 1. Got 2 instead", value=2, advice="pass 1."),
        TableError("a is no table.", advice="Pass {format}.", options={"format": "csv"}),
    ):
        twin = pickle.loads(pickle.dumps(error))
        assert (type(twin), str(twin), vars(twin)) == (type(error), str(error), vars(error))


def test_options():
    assert as_option("random_state", None) == "--seed"
    assert as_option("missing", "always") == "--missing always"
    assert as_option("header", False) == "--no-header"


def test_warnings_have_parts():
    warning = TableWarning({str(k): f"column {k} lacks {{missing}}" for k in range(7)}, {"missing": "always"})
    assert str(warning).startswith("column 0 lacks missing='always'; column 1 ")
    assert str(warning).endswith("column 4 lacks missing='always'; and 2 more.")
    assert list(warning.parts(as_option).values())[4:] == ["column 4 lacks --missing always", "and 2 more"]
    assert str(TableWarning("one thing.")) == "one thing."


def test_transform_warns_by_kind():
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0]}))
    kinds = []
    for gaps in (1, 2):
        with pytest.warns(TableWarning, match="fit with missing='always'") as caught:
            encoder.transform(pd.DataFrame({"a": [np.nan] * gaps + [1.0] * (3 - gaps)}))
        kinds.append(list(caught[0].message.parts()))
    assert kinds[0] == kinds[1]
    assert len(kinds[0]) == 2
