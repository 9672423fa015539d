"""make_detector finds odd rows in a table as it is; without pyarrow one line says what to install."""

import doctest
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import IsolationForest

import oddatom
from oddatom import OddAtomDetector, TableWarning, make_detector
from oddatom.table import TableDetector, open_table, table_detector


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 400
    kind = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "weight": np.where(kind, 70.0, 5.0) + rng.normal(size=n),
            "animal": np.where(kind, "dog", "cat"),
            "born": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "town": rng.choice(["Ulm", "Bonn", "Trier"], n),
        }
    )


def test_odd_rows_of_every_kind_come_first(frame):
    odd = frame.copy()
    odd.loc[3, "weight"] = 900.0
    odd.loc[5, "animal"] = "dragon"
    odd.loc[7, "born"] = pd.Timestamp("1820-01-01")
    for training in (odd, frame):
        scores = make_detector(OddAtomDetector(random_state=0)).fit(training).score_samples(odd)
        first = list(scores.argsort())
        assert set(first[:3]) == {3, 5, 7}


def test_parameters_reach_the_encoder(frame):
    model = make_detector(IsolationForest(random_state=0), ignore=["town"], max_levels=5)
    assert type(model) is TableDetector
    assert clone(model).get_params()["max_levels"] == 5
    assert "town" not in model.fit(frame).encoder_.source_
    assert make_detector().get_params() == TableDetector().get_params()


def test_a_file_gives_what_the_frame_gives(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = make_detector(IsolationForest(random_state=0))
    want = model.fit(frame).score_samples(frame)
    source = open_table(tmp_path / "t.csv", batch_rows=37)
    model.fit(source.read())
    assert np.array_equal(np.concatenate([model.score_samples(batch) for batch in source]), want)


def test_docstring_example():
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder(recurse=False).find(table_detector.make_detector, "make_detector", globs={}):
        assert runner.run(test).failed == 0
    assert runner.tries > 1


def test_names_are_public():
    assert oddatom.make_detector is table_detector.make_detector
    assert oddatom.TableDetector is TableDetector
    assert issubclass(oddatom.TableWarning, oddatom.OddAtomWarning)
    assert issubclass(oddatom.TableError, ValueError)
    assert {"TableDetector", "make_detector", "TableWarning", "TableError"} <= set(oddatom.__all__)
    assert TableWarning.__doc__
    with pytest.raises(AttributeError, match=r"no attribute 'TableReader'; it has .*TableEncoder"):
        _ = oddatom.table.TableReader


def test_without_pyarrow_one_line_says_what_to_install():
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import oddatom, oddatom.table\n"
        "oddatom.OddAtomDetector\n"
        "for name in oddatom.table.__all__:\n"
        "    try:\n"
        "        getattr(oddatom.table, name)\n"
        "    except ImportError as error:\n"
        '        assert str(error) == "oddatom.table needs pyarrow, which is not installed: '
        "pip install 'oddatom[table]'\", error\n"
        "    else:\n"
        "        assert name == 'ColumnDecision', name\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (
            "table.csv",
            r"The path 'table\.csv' .* read it with oddatom\.table\.open_table\(path\)\.read\(\) or pandas",
        ),
        (Path("table.csv"), "The path 'table.csv' was passed"),
        (pl.LazyFrame({"a": [1.0, 2.0]}), r"A polars LazyFrame was passed .* pass X\.collect\(\)"),
        ({"a": [1.0, 2.0]}, r"A mapping was passed .* make one of it, pandas\.DataFrame\(X\)"),
        ([{"a": 1.0}, {"a": 2.0}], "A list of mappings was passed"),
        (
            np.ma.masked_greater(np.arange(8.0).reshape(4, 2), 6),
            r"X has one: fill it in first, X\.astype",
        ),
    ],
    ids=str,
)
def test_what_holds_a_table_and_is_none(X, said):
    with pytest.raises(TypeError, match=said):
        make_detector().fit(X)
