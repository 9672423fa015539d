"""Errors carry what they are about as fields, and say the same sentence as ever; warnings likewise."""

import ast
import pickle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.utils._param_validation import InvalidParameterError

import oddatom
from oddatom import (
    DLOCSVM,
    KDLOCSVM,
    LinearOneClassSVM,
    OddAtomDetector,
    OddAtomError,
    ParameterError,
    TableError,
    WorkerLostError,
)
from oddatom.cli.advice import OPTIONS, as_option, sentence
from oddatom.cli.tables import check_places
from oddatom.ensemble.parts import PARTS, register
from oddatom.exceptions import TableWarning
from oddatom.kernels.functions import Kernel, check_range
from oddatom.learners.alternate import check_overflow
from oddatom.onnx import to_onnx
from oddatom.rows.checks import check_columns, not_finite
from oddatom.rows.files.file_source import FileSource
from oddatom.table import TableEncoder, TableWriter, open_table

X = np.random.default_rng(0).gamma(2.0, size=(40, 3))
HOLED = np.where(np.arange(120).reshape(40, 3) == 7, np.nan, X)

PARAMETERS = {
    "nu": (lambda: OddAtomDetector(nu=2).fit(X), "OddAtomDetector", 2, "It is the share of rows allowed"),
    "max_iter": (lambda: DLOCSVM.paper(max_iter=-1).fit(X), "DLOCSVM", -1, ""),
    "device": (lambda: DLOCSVM.paper(device="tpu").fit(X), "DLOCSVM", "tpu", ""),
    "trim": (lambda: OddAtomDetector(trim=(2,)).fit(X), "OddAtomDetector", (2,), "(0.2, 0.4) is the default."),
    "threshold": (lambda: OddAtomDetector(threshold=2).fit(X), "OddAtomDetector", 2, "A float is the share"),
    "penalty": (lambda: DLOCSVM.paper(penalty="l3").fit(X), "DLOCSVM", "l3", "'l2eps' alone"),
    "approximation": (lambda: KDLOCSVM.paper(approximation=0).fit(X), "KDLOCSVM", 0, "None is exact"),
    "n_nonzero": (lambda: DLOCSVM(3, 4).fit(X), "DLOCSVM", 4, "lower n_nonzero"),
    "n_folds": (lambda: DLOCSVM.paper(n_folds=99).fit(X), "DLOCSVM", 99, "pass more rows, or None."),
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
    assert sentence(error).startswith(OPTIONS.get(parameter, f"the model's {parameter!r}") + " must ")
    assert sentence(error).endswith(error.advice)


ROWS = {
    "nan": (lambda: DLOCSVM.paper().fit(HOLED), "contains NaN or infinity in column 1", "needs finite numbers"),
    "inf": (lambda: OddAtomDetector().fit(1.0 / (X * 0.0)), "contains infinity in columns 0, 1, 2", "NaN for missing"),
    "text": (
        lambda: DLOCSVM.paper().fit(pd.DataFrame({"a": ["x", "y"]})),
        "could not convert",
        "do not hold numbers: 'a'",
    ),
    "masked": (lambda: DLOCSVM.paper().fit(np.ma.masked_greater(X, 3)), "is a masked array", "fill them in"),
    "path": (lambda: LinearOneClassSVM().fit("a.csv"), "Got the path 'a.csv'", "read its rows first"),
    "constant": (lambda: DLOCSVM.paper().fit(np.zeros((4, 2))), "nothing but zeros", "Pass data that vary."),
}


@pytest.mark.parametrize("kind", ROWS)
def test_rows(kind):
    call, problem, advice = ROWS[kind]
    with pytest.raises(OddAtomError, match=problem) as caught:
        call()
    assert problem in caught.value.problem
    assert advice in caught.value.advice
    assert (caught.value.parameter, type(caught.value)) == ("X", OddAtomError)


@pytest.fixture
def files(tmp_path):
    """Files that are no rows: text, an array of one dimension, a frame with text."""
    (tmp_path / "text.parquet").write_text("a,b")
    np.save(tmp_path / "flat.npy", np.zeros(3))
    pd.DataFrame({"a": ["x"]}).to_parquet(tmp_path / "words.parquet")
    return tmp_path


FILES = {
    "text.parquet": ("is no Parquet file", "Pass Parquet or .npy files."),
    "flat.npy": ("must hold a two-dimensional array", "save np.ascontiguousarray of it."),
    "words.parquet": ("Column 'a' of", "Drop it, or make numbers of it"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_rows(files, name):
    problem, advice = FILES[name]
    with pytest.raises(TableError) as caught:
        DLOCSVM.paper().fit(files / name)
    error = caught.value
    assert problem in error.problem
    assert (error.parameter, error.value) == ("X", str(files / name))
    assert error.advice.startswith(advice)
    assert error.problem in str(error)
    assert str(error).endswith(error.advice)


def untold(A, B):
    return np.full((len(A), len(B)), np.nan)


def least(A, B):
    return 1.0


# A call, the parameter and the value that it is about, and how the problem and the advice start.
FIELDS = {
    "kernel function": (lambda: Kernel(untold)(X, X), "kernel", untold, "The kernel function returned NaN", "Make it"),
    "kernel shape": (lambda: Kernel(least)(X, X), "kernel", least, "A kernel function must return an", "it is called"),
    "kernel range": (
        lambda: check_range(1e200 * X),
        "kernel",
        1e200 * X.max(),
        "The kernel overflows",
        "Scale the data",
    ),
    "coupling": (
        lambda: check_overflow(np.inf, SimpleNamespace(eta=9.0)),
        "coupling",
        9.0,
        "The codes overflowed",
        "Lower the 'coupling' parameter",
    ),
    "part": (
        lambda: register(PARTS["norm"]),
        "part",
        PARTS["norm"],
        "There is a score or part",
        "Give the part another",
    ),
    "complex": (
        lambda: TableEncoder().fit(pd.DataFrame({"a": [1j, 2]}, dtype=object)),
        "X",
        complex,
        "Complex data not supported.",
        "Pass the real",
    ),
    "onnx model": (lambda: to_onnx(DLOCSVM), "model", DLOCSVM, "must be one of DLOCSVM", "pass a fitted detector, not"),
    "no files": (
        lambda: DLOCSVM.paper().fit(FileSource([])),
        "X",
        [],
        "Expected the paths of Parquet",
        "Name at least one.",
    ),
    "infinity in a file": (
        lambda: DLOCSVM.paper().fit(FileSource(np.where(np.isnan(HOLED), np.inf, HOLED))),
        "X",
        np.inf,
        "The array has inf in column 1, row 2",
        "Fill missing values in",
    ),
    "folder": (lambda: check_places("/"), None, "/", "'/' is a folder.", "Name a file in it."),
    "no folder": (lambda: check_places("/no/x"), None, "/no/x", "there is no folder '/no' to", "Make it, or choose"),
}


@pytest.mark.parametrize("kind", FIELDS)
def test_fields(kind):
    call, parameter, value, problem, advice = FIELDS[kind]
    with pytest.raises(OddAtomError) as caught:
        call()
    error = caught.value
    assert (error.parameter, error.value) == (parameter, value)
    assert error.problem.startswith(problem)
    assert error.advice.startswith(advice)
    assert error.problem in str(error)
    assert str(error).endswith(error.advice)
    assert sentence(error).endswith(error.advice)


def test_fields_of_torch():
    rows = pytest.importorskip("oddatom.arrays.torch_rows")
    with pytest.raises(OddAtomError, match="Got 'cuda:99' instead") as caught:
        rows.find_device("cuda:99")
    assert (caught.value.parameter, caught.value.value) == ("device", "cuda:99")
    assert caught.value.advice.startswith("pass 'c")
    with pytest.raises(OddAtomError, match="Got 1 dimensions instead; reshape them") as caught:
        rows.DeviceRows(np.zeros(3), "cpu", None)
    assert (caught.value.parameter, caught.value.value, caught.value.advice) == ("X", 1, "reshape them.")


@pytest.mark.parametrize("names", [None, [f"c{k}" for k in range(12)]])
def test_nan_is_said_once_and_alike(names):
    error = not_finite(np.arange(12), names)
    shown = ", ".join(map(str, range(10)) if names is None else map(repr, names[:10]))
    assert error.problem == f"Input X contains NaN or infinity in columns {shown} and 2 more."
    assert error.advice.startswith("The detector needs finite numbers: fill missing values in")
    assert "in column 3." in not_finite(np.array([3]), None, "DLOCSVM").problem


def test_columns_out_of_their_place_are_named():
    model = SimpleNamespace(feature_names_in_=["a", "b", "c"], n_features_in_=3)
    for names, odd in ((["a", "c", "b"], "c"), (["a", "b", "d"], "d"), (["a", "b"], "c"), (["a", "b", "c", "a"], "a")):
        with pytest.raises(OddAtomError, match=f"; '{odd}' is not in its place. Pass 'a', 'b', 'c'."):
            check_columns(model, len(names), names)


# Modules that raise ValueError itself, and why a user does not see it.
PLAIN = {
    "boundary/libsvm.py": "boundaries that the estimators have refused",
    "coding/batch_omp.py": "shapes that other modules of the package pass",
    "rows/array/plane_shard.py": "shapes that other modules of the package pass",
    "rows/device/torch_plane.py": "shapes that other modules of the package pass",
    "passes/declared.py": "declarations in the package's own code",
    "passes/group.py": "shards that other modules of the package pass",
    "paper/tables/_table.py": "cells that other modules of the package write",
    "rows/dask/cluster_group.py": "pieces that other modules of the package pass",
    "rows/files/spilled.py": "shards that other modules of the package make",
    "estimators/_weights.py": "caught where it is raised",
}


def test_errors_that_users_see_have_fields():
    package = Path(oddatom.__file__).parent
    found = set()
    for path in package.rglob("*.py"):
        name = path.relative_to(package).as_posix()
        raised = [node.exc for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Raise)]
        kinds = [getattr(one, "func", one) for one in raised]
        if any(isinstance(kind, ast.Name) and kind.id == "ValueError" for kind in kinds):
            found.add(name)
    assert found == set(PLAIN)


def test_weights():
    with pytest.raises(OddAtomError, match="must not be negative") as caught:
        DLOCSVM.paper().fit(X, sample_weight=-np.ones(40))
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


def test_no_p_values(monkeypatch):
    """What the library advises where the command line has other means."""
    with pytest.raises(ParameterError, match=r"without p-values. Got 'fdr' instead; fit with n_folds=5\.$") as caught:
        DLOCSVM.paper(threshold="fdr").fit(X)
    assert sentence(caught.value).endswith(
        "Got 'fdr' instead; fit on more rows, at least ten, or with --detector oddatom."
    )
    monkeypatch.setattr(DLOCSVM, "_without", lambda self, X, rows: (np.zeros((4, 2)), {}))
    with pytest.raises(OddAtomError, match=r"that vary\. Or lower 'n_folds', or pass None\.$") as caught:
        DLOCSVM.paper(n_folds=5).fit(X)
    assert (caught.value.parameter, caught.value.value) == ("n_folds", 5)
    assert sentence(caught.value).startswith("the model cannot be fitted without one of 5 folds.")
    assert sentence(caught.value).endswith(". Fit on more rows, at least ten, or with --detector oddatom.")


def test_the_command_line_speaks_of_models():
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(OddAtomError, match="columns that TableEncoder was fitted on") as caught:
        encoder.transform(pd.DataFrame({"b": [1.0, 2.0]}))
    assert "columns that the model was fitted on ('a')" in sentence(caught.value)
    error = OddAtomError("Cannot save {this owner}: {owner} is odd.", owner="TableEncoder")
    assert str(error) == error.problem == "Cannot save this TableEncoder: TableEncoder is odd."
    assert sentence(error) == "Cannot save this model: the model is odd."


def test_a_lost_worker_has_fields():
    error = WorkerLostError("Rows were lost: partition 3.", (3,), advice="Fit again.")
    assert isinstance(error, OddAtomError)
    assert isinstance(error, RuntimeError)
    assert str(error) == "Rows were lost: partition 3. Fit again."
    assert (error.problem, error.parameter, error.value) == ("Rows were lost: partition 3.", "X", (3,))
    assert (error.advice, error.partitions, error.model) == ("Fit again.", (3,), None)


def test_names_that_the_papers_evaluation_does_not_know():
    datasets, methods = (pytest.importorskip(f"oddatom.paper.{name}") for name in ("datasets", "methods"))
    for module, what, known in ((datasets, "data set", "glass"), (methods, "method", "lof")):
        with pytest.raises(OddAtomError, match=f"There is no {what} 'none'\\. Choose from ") as caught:
            module.find("none")
        assert (caught.value.parameter, caught.value.value) == ("name", "none")
        assert known in caught.value.advice


def test_errors_can_be_pickled():
    for error in (
        ParameterError("C", "x", "must be 1. Got 2 instead", value=2, advice="pass 1."),
        TableError("a is no table.", advice="Pass {format}.", options={"format": "csv"}),
        WorkerLostError("Rows were lost: partition 3.", (3,), advice="Fit again."),
    ):
        twin = pickle.loads(pickle.dumps(error))
        assert (type(twin), str(twin), vars(twin)) == (type(error), str(error), vars(error))


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
