"""Whatever a table holds: no failure, finite numbers, the same for a row in any batch, the same columns."""

import datetime as dt
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from oddatom import TableWarning
from oddatom.table import TableEncoder

FEW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
DATES = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 1, 1), timezones=st.sampled_from([None, dt.UTC]))
NUMERALS = ["1", "2.5", "-3e2", "007", "1,234", "1,5", "1.234,5", "5 %", "1e999", "nan", "inf"]
DAYS = ["2024-01-31", "31.1.2024", "01/02/2024", "2024-01-31 12:00:00+02:00"]
WORDS = st.sampled_from([*NUMERALS, *DAYS, "n/a", "", " ", "-", "red", "red ", "blue", "yes", "no", "true", "False"])
NUMBERS = st.one_of(st.floats(), st.integers(), st.integers(0, 3), st.decimals(), st.just(10**400))
ANYTHING = st.one_of(
    st.none(), NUMBERS, st.booleans(), WORDS, st.text(max_size=4), DATES, st.dates(), st.timedeltas(), st.just([1, 2]),
    st.just(b"ab"), st.just(np.datetime64("NaT")), st.just(np.float32(1.5)), st.just(pd.NA), st.just(pd.NaT),
    st.characters(categories=["Cs"]),
)  # fmt: skip
MIXED = [
    st.one_of(WORDS, NUMBERS),
    st.one_of(DATES, WORDS),
    st.one_of(st.sampled_from(["1,5", "2,5"]), st.floats(0, 1)),
]
KINDS = st.sampled_from([ANYTHING, WORDS, NUMBERS, DATES, *MIXED])


@st.composite
def columns(draw, n_rows):
    """Return a column of objects, often of one kind."""
    kind = draw(KINDS)
    values = np.empty(n_rows, dtype=object)
    for i, value in enumerate(draw(st.lists(kind, min_size=n_rows, max_size=n_rows))):
        values[i] = value
    return values


@st.composite
def tables(draw, names=("a", "b", "id")):
    n_rows = draw(st.sampled_from([1, 2, 3, 6, 10, 30]))
    return pd.DataFrame({name: pd.Series(draw(columns(n_rows)), dtype=object) for name in names})


def fitted(table, **parameters):
    try:
        return TableEncoder(**parameters).fit(table)
    except ValueError as error:
        assert str(error).startswith("No column of the table can be used")  # noqa: PT017
        assume(False)


def transformed(encoder, table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        return encoder.transform(table)


@FEW
@given(tables(), tables(), st.sampled_from(["seen", "always"]), st.integers(1, 4))
def test_any_table(training, other, missing, max_levels):
    encoder = fitted(training, missing=missing, max_levels=max_levels)
    for table in (training, other):
        out = transformed(encoder, table)
        assert out.shape == (len(table), len(encoder.get_feature_names_out()))
        assert np.isfinite(out).all()
        assert out.flags.c_contiguous
        alone = [transformed(encoder, table.iloc[i : i + 1]) for i in range(len(table))]
        assert np.array_equal(np.concatenate(alone), out)
        halves = [
            transformed(encoder, table.iloc[: len(table) // 2]),
            transformed(encoder, table.iloc[len(table) // 2 :]),
        ]
        assert np.array_equal(np.concatenate(halves), out)


@FEW
@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(table, random):
    encoder = fitted(table)
    rows = list(range(len(table)))
    random.shuffle(rows)
    again = TableEncoder().fit(table.iloc[rows])
    assert again.columns_ == encoder.columns_


@FEW
@given(st.lists(st.one_of(st.none(), WORDS, st.text(max_size=3)), min_size=1, max_size=40))
def test_text_is_the_same_in_any_container(words):
    table = pa.table({"a": pa.array(words, pa.string())})
    encoder = fitted(table)
    want = encoder.transform(table)
    for other in (
        pa.table({"a": pa.array(words, pa.large_string())}),
        pa.table({"a": pa.array(words, pa.string()).dictionary_encode()}),
        pa.table({"a": pa.chunked_array([pa.array(words[:1], pa.string()), pa.array(words[1:], pa.string())])}),
        pd.DataFrame({"a": pd.Series(words, dtype=object)}),
    ):
        assert TableEncoder().fit(other).columns_ == encoder.columns_
        assert np.array_equal(encoder.transform(other), want)


@FEW
@given(st.lists(st.one_of(st.none(), st.floats(), st.integers(-5, 5)), min_size=1))
def test_numbers_against_pandas(values):
    series = pd.to_numeric(pd.Series(values, dtype=object)).astype(float).replace([np.inf, -np.inf], np.nan)
    assume(series.notna().any())
    table = pd.DataFrame({"a": values})
    encoder = TableEncoder(columns=["a"]).fit(table)
    with np.errstate(over="ignore"):
        median = series.median()
    assume(np.isfinite(median))
    out = encoder.transform(table)
    np.testing.assert_allclose(out[:, 0], series.fillna(median), rtol=1e-15, atol=5e-324)
    if series.isna().any():
        assert np.array_equal(out[:, 1], series.isna())


def test_decimal_nan_is_missing():
    table = pd.DataFrame({"a": pd.Series([Decimal("sNaN"), Decimal("1.5"), "x"], dtype=object)})
    assert TableEncoder(columns=["a"]).fit(table).columns_[0].n_missing == 1
