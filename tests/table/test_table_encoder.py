"""TableEncoder: what every sort of column becomes, and that a table may come as it likes."""

import datetime as dt
import doctest
import json
import pickle
import warnings
from decimal import Decimal
from os import cpu_count
from threading import get_ident

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import oddatom.table.encoder
from oddatom import TableWarning
from oddatom.arrays.threads import threads
from oddatom.table import ColumnDecision, TableEncoder
from oddatom.table.encoder import _by_column

N = 60


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "customer_id": np.arange(N) * 7 + 3,
            "age": [str(20 + i % 50) if i % 7 else "n/a" for i in range(N)],
            "price": ["1.234,5" if i % 2 else "7,25" for i in range(N)],
            "paid": ["yes", "no", None] * (N // 3),
            "colour": ["red", "blue ", "green"] * (N // 3),
            "city": [f"city {i % 30}" for i in range(N - 5)] + [None] * 5,
            "joined": pd.date_range("2020-01-01", periods=N)[np.arange(N) * 7 % N],
            "left": ["31.12.2020", "1.1.2021"] * (N // 2),
            "size": np.where(np.arange(N) % 6 == 0, np.inf, 2.0),
            "zip": [f"0{i % 4}231" for i in range(N)],
            "flag": [True, False] * (N // 2),
            "fixed": "a",
            "seven": 7,
            "nothing": None,
        }
    )


def only(column, **parameters):
    """Fit to one column, by name; return the encoder and its decision."""
    encoder = TableEncoder(**parameters).fit(pd.DataFrame(column))
    return encoder, encoder.columns_[0]


def test_every_column_against_pandas(frame):
    encoder = TableEncoder().fit(frame)
    out = pd.DataFrame(encoder.transform(frame), columns=encoder.get_feature_names_out())
    want = pd.DataFrame(index=frame.index)
    age = pd.to_numeric(frame["age"], errors="coerce")
    want["age"] = age.fillna(age.median())
    want["age is missing"] = age.isna()
    want["price"] = frame["price"].map({"1.234,5": 1234.5, "7,25": 7.25})
    want["paid"] = frame["paid"].map({"yes": 1, "no": 0}).fillna(1)
    want["paid is missing"] = frame["paid"].isna()
    for level in ("blue", "green", "red"):
        want[f"colour={level}"] = frame["colour"].str.strip() == level
    want["colour is new"] = 0
    city = frame["city"].fillna("missing")
    want["city frequency"] = city.map(city.value_counts() / N)
    want["city is missing"] = frame["city"].isna()
    want["joined"] = (frame["joined"] - frame["joined"].median()) / pd.Timedelta(days=1)
    left = pd.to_datetime(frame["left"], format="%d.%m.%Y")
    want["left"] = (left - left.median()) / pd.Timedelta(days=1)
    want["size"] = 2
    want["size is missing"] = np.isinf(frame["size"])
    for level in sorted(set(frame["zip"])):
        want[f"zip={level}"] = frame["zip"] == level
    want["zip is new"] = 0
    want["flag"] = frame["flag"]
    want["fixed=a"], want["fixed is new"], want["seven"] = 1, 0, 7
    pd.testing.assert_frame_equal(out, want.astype(float), rtol=1e-12)


def test_describe(frame):
    assert TableEncoder(ignore=["zip", "seven"], id="joined").fit(frame).describe() == [
        "customer_id: left out, every value is different",
        "age: number, median 39 for 9 missing values",
        "price: number, written as 1.234,5",
        "paid: boolean, true for 20 missing values",
        "colour: text, a column for each of 3 values (blue, green, red)",
        "city: text, 30 values, by how frequent each is, 5 missing values",
        "joined: left out, it names the rows",
        "left: date, written as day.month.year, days since 2020-12-31",
        "size: number, median 2 for 10 missing values",
        "zip: left out, it is ignored",
        "flag: boolean",
        "fixed: text, always the same (a)",
        "seven: left out, it is ignored",
        "nothing: left out, it has no values",
    ]


def test_the_library_does_not_matter(frame):
    encoder = TableEncoder().fit(frame)
    want = encoder.transform(frame)
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    batch = arrow.combine_chunks().to_batches()[0]
    for table in (arrow, batch, pl.from_pandas(frame), frame.astype(object), frame.astype({"colour": "category"})):
        assert np.array_equal(TableEncoder().fit(table).transform(table), want), type(table)
        assert np.array_equal(encoder.transform(table), want), type(table)
    unnamed = TableEncoder().fit_transform(frame.to_numpy(dtype=object))
    assert np.array_equal(unnamed, want)  # without its name the id is a counter


def test_a_text_file_gives_what_the_frame_gives(frame):
    frame = frame.drop(columns="size")
    text = frame.astype(object).where(frame.notna(), None).map(lambda value: None if value is None else str(value))
    encoder = TableEncoder().fit(frame)
    assert np.array_equal(encoder.transform(text), encoder.transform(frame))
    again = TableEncoder().fit(text)
    assert np.array_equal(again.transform(frame), encoder.transform(frame))


def test_output_is_plain(frame):
    encoder = TableEncoder().fit(frame)
    out = encoder.transform(frame)
    assert out.dtype == np.float64
    assert out.flags.c_contiguous
    names = encoder.get_feature_names_out()
    assert out.shape[1] == len(names) == len(set(names)) == len(encoder.source_)
    assert all(name.startswith(source) for name, source in zip(names, encoder.source_, strict=True))


def test_decisions_survive_json_and_pickle(frame):
    encoder = TableEncoder(max_levels=3).fit(frame)
    stored = json.loads(json.dumps([decision._asdict() for decision in encoder.columns_], allow_nan=False))
    again = clone(encoder)
    assert not hasattr(again, "columns_")
    again.columns_ = [ColumnDecision(**decision) for decision in stored]
    again.n_features_in_ = encoder.n_features_in_
    again.feature_names_in_ = encoder.feature_names_in_
    assert again.columns_ == encoder.columns_
    assert np.array_equal(again.transform(frame), encoder.transform(frame))
    assert np.array_equal(pickle.loads(pickle.dumps(encoder)).transform(frame), encoder.transform(frame))


def test_set_output(frame):
    out = TableEncoder().set_output(transform="pandas").fit_transform(frame.set_index("customer_id", drop=False))
    assert list(out.columns) == list(TableEncoder().fit(frame).get_feature_names_out())
    assert list(out.index) == list(frame["customer_id"])


def test_scikit_learn_agrees():
    check_estimator(TableEncoder())


def test_docstring_example():
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder(recurse=False).find(TableEncoder, "TableEncoder"):
        assert runner.run(test).failed == 0
    assert runner.tries > 3
    assert oddatom.table.encoder.__doc__


# Tables that differ from the training table


def test_columns_in_another_order_with_others_beside(frame):
    encoder = TableEncoder().fit(frame)
    other = frame.iloc[:, ::-1].assign(extra="x")
    assert np.array_equal(encoder.transform(other), encoder.transform(frame))


def test_a_column_that_is_not_there_counts_as_missing(frame):
    encoder = TableEncoder().fit(frame)
    with pytest.warns(TableWarning, match=r"not in the table, so all missing: 'age', 'colour'\."):
        out = encoder.transform(frame.drop(columns=["age", "colour", "customer_id", "nothing"]))
    want = encoder.transform(frame)
    names = list(encoder.get_feature_names_out())
    want[:, names.index("age")] = 39
    want[:, names.index("age is missing")] = 1
    want[:, [i for i, name in enumerate(names) if name.startswith("colour")]] = 0
    assert np.array_equal(out, want)


def test_a_table_of_other_columns_is_refused(frame):
    encoder = TableEncoder(columns=["age"]).fit(frame)
    with pytest.raises(ValueError, match=r"has none of the columns that TableEncoder was fitted on \('age'\).*'a'"):
        encoder.transform(pd.DataFrame({"a": [1]}))


def test_new_levels_stand_out():
    encoder, _ = only({"colour": ["red", "blue"] * 20})
    assert np.array_equal(encoder.transform(pd.DataFrame({"colour": ["pink", "red"]})), [[0, 0, 1], [0, 1, 0]])
    encoder, _ = only({"city": [f"c{i % 30}" for i in range(60)]})
    assert np.array_equal(encoder.transform(pd.DataFrame({"city": ["new", "c7"]})), [[0], [1 / 30]])


def test_values_that_cannot_be_read_are_counted():
    encoder, _ = only({"age": [1.0, 2.0, 4.0]})
    with pytest.warns(TableWarning, match=r"'age' has 2 values that are not numbers .*'old' \(filled in.*'always'"):
        out = encoder.transform(pd.DataFrame({"age": ["old", "3", "young"]}))
    assert out.tolist() == [[2.0], [3.0], [2.0]]
    with pytest.warns(TableWarning, match="'age' has 1 value missing, where training had none"):
        encoder.transform(pd.DataFrame({"age": [1.0, None]}))
    with pytest.warns(TableWarning, match="2 values that are not numbers"):
        assert encoder.transform(pd.DataFrame({"age": pd.date_range("2020", periods=2)})).tolist() == [[2.0], [2.0]]
    encoder, _ = only({"day": pd.date_range("2020", periods=3)})
    with pytest.warns(TableWarning, match=r"1 value that is not a date .*'5'"):
        assert encoder.transform(pd.DataFrame({"day": [5]})).tolist() == [[0.0]]
    encoder, _ = only({"ok": [True, False, True]})
    with pytest.warns(TableWarning, match=r"1 value that is not a boolean .*'7'"):
        assert encoder.transform(pd.DataFrame({"ok": [7, 0]})).tolist() == [[1.0], [0.0]]


def test_what_is_as_at_training_does_not_warn(frame):
    encoder = TableEncoder().fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.transform(frame)
        encoder.transform(frame.assign(age=None))  # training had missing values there


def test_missing_always_marks_every_column():
    encoder, decision = only({"age": [1.0, 2.0, 4.0]}, missing="always")
    assert decision.outputs == ["age", "age is missing"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encoder.transform(pd.DataFrame({"age": [None, 3.0]})).tolist() == [[2.0, 1.0], [3.0, 0.0]]


def test_arrays_go_by_position():
    X = np.array([[1.0, 5.0], [np.nan, 6.0], [3.0, 8.0]])
    encoder = TableEncoder().fit(X)
    assert list(encoder.get_feature_names_out()) == ["x0", "x0 is missing", "x1"]
    assert list(encoder.get_feature_names_out(["a", "b"])) == ["a", "a is missing", "b"]
    with pytest.raises(ValueError, match="X has 1 features, but TableEncoder is expecting 2 features as input"):
        encoder.transform(X[:, :1])
    with pytest.warns(UserWarning, match="X has feature names, but TableEncoder was fitted without"):
        encoder.transform(pd.DataFrame(X, columns=["a", "b"]))
    with pytest.warns(UserWarning, match="X does not have valid feature names, but TableEncoder was fitted with"):
        TableEncoder().fit(pd.DataFrame(X, columns=["a", "b"])).transform(X)
    assert TableEncoder(ignore=[0]).fit(X).source_ == ["x1"]


@pytest.mark.parametrize(
    ("training", "mixed", "want"),
    [
        (["1,5", "2.000,5"], [1.5, "1,5", 1.234, "1.234", True, dt.date(2024, 1, 1)], [1.5, 1.5, 1.234, 1234, 1, 1001]),
        (["1", "3"], [b"5", "5"], [2, 5]),
        (["1", "3"], [b"5", "5", [5], Decimal("2.5"), np.float32(0.5), 10**400, "x"], [2, 5, 2, 2.5, 0.5, 2, 2]),
        (["1.1.2024", "3.1.2024"], [dt.date(2024, 1, 4), "5.1.2024", "2024-01-06", 7], [2, 3, 4, 0]),
        (
            [dt.datetime(2024, 1, 1)],
            [dt.datetime(2024, 1, 2, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))), "2024-01-03 12:00", None],
            [1, 2.5, 0],
        ),
        (["yes", "no"], [True, "yes", 0, "0", 2.5, None], [1, 1, 0, 0, 1, 1]),
    ],
)
def test_objects_of_several_types_are_read_as_if_alone(training, mixed, want):
    encoder = TableEncoder().fit(pd.DataFrame({"a": training}))
    tables = [pd.DataFrame({"a": pd.Series(values, dtype=object)}) for values in [mixed, *([value] for value in mixed)]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        whole, *alone = (encoder.transform(table)[:, 0] for table in tables)
    assert whole.tolist() == want
    assert np.concatenate(alone).tolist() == want


# Decisions


@pytest.mark.parametrize(
    ("values", "kind", "action"),
    [
        (["1", "2", "3", "4", "5", "6", "7", "8", "9", "x"], "number", "number"),
        (["1", "2", "3", "4", "5", "6", "7", "8", "y", "x"], "text", "one-hot"),
        (["2024-01-01"] * 9 + ["soon"], "date", "number"),
        (["2024-01-01"] * 8 + ["soon"] * 2, "text", "one-hot"),
        (["03/04/2024", "12/31/2024"], "date", "number"),
        (["yes", "No", "no", None], "boolean", "number"),
        (["y", "n"], "boolean", "number"),
        (["n", "n"], "text", "one-hot"),
        (["yes", "no", "maybe"], "text", "one-hot"),
        (["0", "1", "1"], "number", "number"),
        ([True, None, False], "boolean", "number"),
        ([1, "a", 2.5, "a"], "text", "one-hot"),
        ([1, 2.5, True, None], "number", "number"),
        ([Decimal("1.5"), Decimal("NaN"), Decimal("sNaN")], "number", "number"),
        ([dt.date(2024, 1, 1), None], "date", "number"),
        ([dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.datetime(2024, 1, 1)], "date", "number"),
        ([dt.timedelta(1), dt.timedelta(2)], "number", "number"),
        ([10**400, 1], "number", "number"),
        (["$5", "7 %"], "number", "number"),
        ([None, float("nan"), "NA", ""], "empty", "left out"),
        ([float("inf"), -float("inf")], "empty", "left out"),
        (["nan", "inf"], "empty", "left out"),
        ([[1], [2]], "other", "left out"),
        ([b"a", b"b"], "other", "left out"),
    ],
)
def test_kinds(values, kind, action):
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object), "kept": 1.0})
    decision = TableEncoder().fit(frame).columns_[0]
    assert (decision.kind, decision.action) == (kind, action)


def test_types_of_arrow_and_pandas():
    table = pa.table(
        {
            "decimal": pa.array([Decimal("1.25"), None]),
            "time": pa.array([dt.time(1, 0, 1), None]),
            "duration": pa.array([dt.timedelta(seconds=90), None]),
            "half": pa.array(np.array([1.5, np.nan], np.float16)),
            "code": pa.array([3, 4]).dictionary_encode(),
            "list": [[1], [2]],
        }
    )
    encoder = TableEncoder().fit(table)
    angle = 2 * np.pi * 3601 / 86_400
    want = [1.25, 0, np.sin(angle), np.cos(angle), 0, 90, 0, 1.5, 0]
    np.testing.assert_allclose(encoder.transform(table)[0, :9], want, rtol=1e-12)
    assert encoder.columns_[4].levels == ["3", "4"]  # the type says that they are categories
    assert not encoder.columns_[5].used
    months = pd.DataFrame({"m": pd.period_range("2020", periods=2, freq="M"), "x": [1, 2]})
    assert np.isfinite(TableEncoder().fit_transform(months)).all()


def test_days_and_months_are_told_apart():
    for day, style in (("31/12/2024", "day/month/year"), ("12/31/2024", "month/day/year")):
        _, decision = only({"d": ["01/02/2024", day]})
        assert decision.style == style


def test_levels_do_not_depend_on_the_order_of_the_rows(frame):
    shuffled = frame.sample(frac=1, random_state=0)
    assert TableEncoder().fit(shuffled).columns_ == TableEncoder().fit(frame).columns_


def test_max_levels():
    column = {"c": ["a", "b", "c", "a"] * 10}
    assert only(column, max_levels=3)[1].action == "one-hot"
    assert only(column, max_levels=2)[1].action == "frequency"
    assert only(column, max_levels=2)[1].shares == [0.5, 0.25, 0.25]


def test_the_median_of_the_largest_numbers_is_finite():
    top = np.finfo(float).max
    encoder, decision = only({"a": [top, np.nan, top / 2]})
    assert decision.fill == 0.75 * top
    assert np.isfinite(encoder.transform(pd.DataFrame({"a": [None, top]}))).all()


def test_names_that_clash_are_made_different():
    frame = pd.DataFrame({"a": [1.0, np.nan], "a is missing": [1.0, 2.0], "b=c": ["x", "x"], "b": ["c=x", "d"]})
    names = list(TableEncoder().fit(frame).get_feature_names_out())
    assert len(set(names)) == len(names)
    assert names[:3] == ["a", "a is missing", "a is missing (2)"]
    twice = pd.DataFrame([[1.0, 2.0]] * 3, columns=["a", "a"])
    assert TableEncoder().fit_transform(twice).tolist() == [[1.0, 2.0]] * 3


def test_dates_can_be_dropped():
    frame = pd.DataFrame({"d": ["2024-01-01", "2024-01-03"], "x": [1, 2]})
    encoder = TableEncoder(dates="drop").fit(frame)
    assert encoder.describe()[0] == "d: left out, dates='drop'"
    assert encoder.source_ == ["x"]


# Parameters and errors


def test_named_columns_are_used_though_they_look_like_ids(frame):
    encoder = TableEncoder(columns=["customer_id", "age"]).fit(frame)
    assert encoder.source_ == ["customer_id", "age", "age"]
    assert encoder.n_features_in_ == frame.shape[1]


@pytest.mark.parametrize("parameter", ["columns", "ignore", "id"])
def test_a_name_that_is_not_there_is_refused(frame, parameter):
    with pytest.raises(ValueError, match=rf"The '{parameter}' parameter of TableEncoder must name .* Got 'agee'"):
        TableEncoder(**{parameter: ["agee"]}).fit(frame)


@pytest.mark.parametrize(
    ("parameters", "advice"),
    [
        ({"columns": "age"}, "A list of names"),
        ({"max_levels": 0}, "20 is the default"),
        ({"dates": "days"}, "Got 'days' instead"),
        ({"missing": "no"}, "Got 'no' instead"),
    ],
)
def test_parameters_are_checked(frame, parameters, advice):
    with pytest.raises(ValueError, match=f"The '{next(iter(parameters))}' parameter of TableEncoder must be.*{advice}"):
        TableEncoder(**parameters).fit(frame)


def test_a_table_without_a_usable_column_is_refused(frame):
    with pytest.raises(ValueError, match=r"'customer_id' \(every value is different\), 'nothing' \(it has no"):
        TableEncoder().fit(frame[["customer_id", "nothing"]])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        TableEncoder().fit(frame.iloc[:0])


def test_a_failed_fit_keeps_the_old_model(frame):
    encoder = TableEncoder().fit(frame)
    with pytest.raises(ValueError, match="No column"):
        encoder.fit(frame[["nothing"]])
    assert np.array_equal(encoder.transform(frame), TableEncoder().fit_transform(frame))


def test_no_rows_give_no_rows(frame):
    assert TableEncoder().fit(frame).transform(frame.iloc[:0]).shape[0] == 0


def test_columns_are_looked_at_by_as_many_threads_as_there_are_around():
    with threads(1):
        assert set(_by_column(lambda i: get_ident(), 8, 20_000)) == {get_ident()}
    if cpu_count() > 1:
        with threads(2):
            assert get_ident() not in _by_column(lambda i: get_ident(), 8, 20_000)
    assert _by_column(lambda i: i * i, 8, 20_000) == [i * i for i in range(8)]
