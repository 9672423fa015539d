"""Numbers, booleans and dates in text equal slow readers of one word at a time."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddatom.table.dates import DATE_FORMATS, ISO, quick_dates, read_dates
from oddatom.table.forms import date_text, dates, from_arrow, number_text
from oddatom.table.words import (
    COMMAS,
    DECIMAL_COMMA,
    MISSING,
    PLAIN,
    has_leading_zeros,
    quick_numbers,
    read_booleans,
    read_numbers,
    split_words,
)

EPOCH = dt.datetime(1970, 1, 1)


def text(values):
    return pa.array(values, pa.large_string())


def same(a, b):
    return np.array_equal(a, b, equal_nan=True)


NUMBERS = {
    PLAIN: {"12": 12, "-1.5": -1.5, "+3": 3, "1e3": 1000, ".5": 0.5, "5.": 5, "$ 7": 7, "12 %": 12, "€3.5": 3.5},
    COMMAS: {"1,234.5": 1234.5, "12": 12, "-1,234,567": -1234567, "0.5": 0.5, "1,234e2": 123400},
    DECIMAL_COMMA: {"1.234,5": 1234.5, "0,5": 0.5, "1.234": 1234, "-7": -7, ",25": 0.25, "3,": 3},
}
NO_NUMBERS = {
    PLAIN: ["a", "1,5", "1 2", "0x10", "1e", "--5", "1_0", "", ".", "+", "12a", "1.2.3", "٣"],
    COMMAS: ["1,23", "12,3456", "1,234,56", ",234", "1.234,5", "0,965", "-0,965", "01,234"],
    DECIMAL_COMMA: ["1.23", "1,2,3", ",", "1,234.5", "0.965", "012.345"],
}


@pytest.mark.parametrize("style", NUMBERS)
def test_numbers(style):
    assert same(read_numbers(text(list(NUMBERS[style])), style), np.array(list(NUMBERS[style].values()), float))
    assert np.isnan(read_numbers(text([*NO_NUMBERS[style], None]), style)).all()


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_read_back_as_they_were(values):
    data = np.array(values)
    assert same(read_numbers(number_text(data), PLAIN), data)
    assert same(quick_numbers(text([repr(value) for value in values])), data)


@settings(max_examples=200, deadline=None)
@given(st.text("0123456789.eE+-naif ", max_size=8))
def test_the_quick_way_reads_numbers_as_the_slow_one(word):
    quick = quick_numbers(text([word]))
    if quick is not None and np.isfinite(quick[0]):
        assert same(read_numbers(text([word]), PLAIN), quick)


@settings(max_examples=200, deadline=None)
@given(st.text("0123456789.eE+-", max_size=8))
def test_numbers_are_those_of_python(word):
    try:
        wanted = float(word)
    except ValueError:
        wanted = np.nan
    assert same(read_numbers(text([word]), PLAIN), np.array([wanted]))


def test_booleans():
    words = ["true", "False", "YES", "no", "t", "N", "on", "1", "0", "maybe", None]
    assert same(read_booleans(text(words)), np.array([1, 0, 1, 0, 1, 0, 1, 1, 0, np.nan, np.nan]))


def test_missing_words():
    words = split_words(text([f"  {word.upper()}\t" for word in MISSING] + ["red ", "red", None, "nano"]))
    got = [words.words[int(code)].as_py() if code >= 0 else None for code in words.codes]
    assert got == [None] * len(MISSING) + ["red", "red", None, "nano"]
    assert {"", "na", "n/a", "null", "-", "nan", "none"} <= set(MISSING)


def test_codes_have_leading_zeros():
    assert has_leading_zeros(text(["01234", "98101", None]))
    assert not has_leading_zeros(text(["0", "0.5", "10", None]))
    assert not has_leading_zeros(text(["007", *["5"] * 100]))
    assert has_leading_zeros(text(["007", *["5"] * 99]))


WRITTEN = {
    ISO: "%Y-%m-%d",
    "year/month/day": "%Y/%m/%d",
    "day.month.year": "%d.%m.%Y",
    "month/day/year": "%m/%d/%Y",
    "day/month/year": "%d/%m/%Y",
    "day-month-year": "%d-%m-%Y",
}
STAMPS = st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(2250, 1, 1))  # later floats are not exact


def microseconds(stamps):
    return np.array([(stamp - EPOCH) // dt.timedelta(microseconds=1) for stamp in stamps], float)


def test_every_date_format_is_tested():
    assert set(WRITTEN) == set(DATE_FORMATS)


@pytest.mark.parametrize("order", WRITTEN)
@settings(max_examples=15, deadline=None)
@given(st.lists(STAMPS, min_size=1))
def test_dates(order, stamps):
    days = [dt.datetime(stamp.year, stamp.month, stamp.day) for stamp in stamps]
    assert same(read_dates(text([day.strftime(WRITTEN[order]) for day in days]), order), microseconds(days))
    full = [stamp.strftime(WRITTEN[order] + " %H:%M:%S.%f") for stamp in stamps]
    assert same(read_dates(text(full), order), microseconds(stamps))
    minutes = [stamp.replace(second=0, microsecond=0) for stamp in stamps]
    assert same(
        read_dates(text([m.strftime(WRITTEN[order] + " %H:%M") for m in minutes]), order), microseconds(minutes)
    )


@settings(max_examples=50, deadline=None)
@given(st.lists(STAMPS, min_size=1))
def test_dates_read_back_as_they_were(stamps):
    data = microseconds(stamps)
    assert same(read_dates(date_text(data), ISO), data)
    assert same(quick_dates(date_text(data)), data)


@settings(max_examples=200, deadline=None)
@given(
    st.from_regex(r"[0-3]?\d{1,3}-[01]?\d-[0-3]?\d([T ][0-2]?\d(:[0-6]\d(:[0-6]\d([.]\d{1,7})?)?)?Z?)?", fullmatch=True)
)
def test_the_quick_way_reads_dates_as_the_slow_one(word):
    quick = quick_dates(text([word]))
    if quick is not None:
        assert same(dates(read_dates(text([word]), ISO)).data, dates(quick).data)


def test_time_zones_count_from_utc():
    words = ["2024-03-01T12:00:00Z", "2024-03-01T12:00:00+02:00", "2024-03-01 12:00:00.5-0330", "2024-03-01 12:00 UTC"]
    wanted = pd.to_datetime(pd.Series(words[:3]), format="ISO8601", utc=True).dt.tz_localize(None)
    wanted = [*wanted, pd.Timestamp("2024-03-01 12:00")]
    assert same(read_dates(text(words), ISO), microseconds([stamp.to_pydatetime() for stamp in wanted]))


def test_what_is_no_date():
    words = ["2024-02-30", "2023-02-29", "2024-13-01", "2024-00-10", "2024-01-00", "0000-01-01", "2024-01-01 24:00"]
    words += ["2024-01-01 12:60", "2024-01", "20240101", "2024-01-01x", "", "1.5", None]
    assert np.isnan(read_dates(text(words), ISO)).all()
    assert same(read_dates(text(["2024-02-29"]), ISO), microseconds([dt.datetime(2024, 2, 29)]))


def test_dates_of_every_arrow_type_are_the_same():
    stamp = dt.datetime(2024, 2, 29)
    kinds = [pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")] + [pa.date32(), pa.date64()]
    for kind in kinds:
        values = from_arrow(pa.array([stamp, None], pa.timestamp("ms")).cast(kind))
        assert values.form == "dates"
        assert same(values.data, np.append(microseconds([stamp]), np.nan)), kind
    early = pa.array([-1], pa.timestamp("ns"))  # cut to the microsecond before
    assert from_arrow(early).data[0] == -1.0
