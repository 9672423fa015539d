import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oddatom.report.ticks import DATES, date_ticks, number_ticks, parts, time_text, write_number

FINITE = st.floats(allow_nan=False, allow_infinity=False)
INSTANTS = st.floats(DATES[0], DATES[1] - 1)


def us(text):
    return float(np.datetime64(text, "us").astype(np.int64))


@pytest.mark.parametrize(
    ("low", "high", "most", "ticks"),
    [
        ("2024-01-01", "2024-02-29T23", 6, ["2024-01-08", "2024-01-22", "2024-02-05", "2024-02-19"]),
        ("2024-01-01", "2024-01-03T07", 6,
         ["00:00|2024-01-01", "12:00", "00:00|2024-01-02", "12:00", "00:00|2024-01-03"]),
        ("2024-01-01T23", "2024-01-02T01", 3, ["23:00|2024-01-01", "00:00|2024-01-02", "01:00"]),
        ("2024-01-15", "2024-07-20", 6, ["2024-02", "2024-03", "2024-04", "2024-05", "2024-06", "2024-07"]),
        ("2024-02-01", "2024-04-01", 3, ["2024-02", "2024-03", "2024-04"]),
        ("2001-05-05", "2033-01-01", 3, ["2010", "2020", "2030"]),
        ("0001-01-01", "9999-12-31", 6, ["2000", "4000", "6000", "8000"]),
        ("1969-12-31T23:59:30", "1970-01-01T00:00:30", 3, ["23:59:30|1969-12-31", "00:00:00|1970-01-01", "00:00:30"]),
        ("2024-01-01T10:00:00", "2024-01-01T10:00:00.5", 6,
         ["00.0|2024-01-01 10:00", "00.1", "00.2", "00.3", "00.4", "00.5"]),
        ("2024-01-01T10:00:05", "2024-01-01T10:00:05", 3, ["2024-01-01 10:00:05"]),
    ],
)  # fmt: skip
def test_ticks_of_dates(low, high, most, ticks):
    found = date_ticks(us(low), us(high), most)
    assert [f"{tick.text}|{tick.day}".rstrip("|") for tick in found] == ticks
    assert all(us(low) <= tick.value <= us(high) for tick in found)


def test_every_second_tick_says_its_day_where_the_others_may_be_hidden():
    found = date_ticks(us("2024-01-01T12"), us("2024-01-02T12"), 6, spare=True)
    assert [tick.text for tick in found] == ["12:00", "18:00", "00:00", "06:00", "12:00"]
    assert [tick.day for tick in found] == ["2024-01-01", "", "2024-01-02", "", ""]
    found = date_ticks(us("2024-01-01T18"), us("2024-01-02T18"), 6, spare=True)  # 18:00, 00:00, 06:00, 12:00, 18:00
    assert [tick.day for tick in found] == ["2024-01-01", "2024-01-02", "2024-01-02", "", ""]


@given(INSTANTS, INSTANTS, st.integers(3, 8))
@example(us("2024-01-03"), us("2024-01-09"), 3)
@example(DATES[0], DATES[1] - 1, 3)
@example(0.25, 0.75, 3)  # between two microseconds
def test_any_dates_have_ticks(a, b, most):
    low, high = min(a, b), max(a, b)
    found = date_ticks(low, high, most)
    assert len(found) <= most
    assert found or high - low < 2.0
    assert all(low <= tick.value <= high for tick in found)
    steps = np.diff([tick.value for tick in found])
    assert (steps > 0).all()
    assert steps.size == 0 or steps.max() <= 1.2 * steps.min()  # months differ in length


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (-10.3, 2.2, ["−10", "−5", "0"]),
        (0.0, 4.1, ["0", "1", "2", "3", "4"]),
        (0.0, 1440.0, ["0", "500", "1,000"]),
        (-2.5e5, 9.9e5, ["0", "500,000"]),
        (99.99, 100.01, ["99.99", "99.995", "100", "100.005", "100.01"]),
        (-1e-7, 2e-7, ["−1e−7", "0", "1e−7", "2e−7"]),
        (0.0, 8.6e7, ["0", "2e7", "4e7", "6e7", "8e7"]),
        (1234567.85, 1234567.95, ["1.2346e6"]),  # there is no room for more, and none is said twice
        (-1.7e308, 1.7e308, ["−1e308", "0", "1e308"]),
        (3.0, 3.0, ["3"]),
    ],
)
def test_ticks_of_numbers(low, high, texts):
    assert [tick.text for tick in number_ticks(low, high, 5)] == texts


@given(FINITE, FINITE, st.integers(2, 8))
@example(0.0, 5e-324, 5)
def test_any_numbers_have_ticks(a, b, most):
    low, high = min(a, b), max(a, b)
    found = number_ticks(low, high, most)
    assert len(found) <= most
    assert all(len(tick.text) <= 8 for tick in found)
    slack = 1e-9 * (high / 2 - low / 2)
    assert all(low / 2 - slack <= tick.value / 2 <= high / 2 + slack for tick in found)
    assert len({tick.text for tick in found}) == len(found)


@given(st.floats(-1e12, 1e12))
def test_numbers_are_written_as_they_are(value):
    text = write_number(value, 15).replace("−", "-").replace(",", "")
    assert float(text) == pytest.approx(value, rel=1e-13)


def test_parts_of_a_range():
    np.testing.assert_allclose(parts(np.array([2.0, 3.0, 4.0, 9.0, -np.inf]), 2.0, 4.0), [0, 0.5, 1, 1, 0])
    np.testing.assert_allclose(parts(np.array([-1.7e308, 0.0, 1.7e308]), -1.7e308, 1.7e308), [0, 0.5, 1])
    assert np.isnan(parts(np.array([np.nan]), 0.0, 1.0)).all()
    assert parts(np.array([5.0]), 5.0, 5.0) == 0.5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2024-01-21T03:00", "2024-01-21 03:00"),
        ("2024-01-21T03:00:10", "2024-01-21 03:00:10"),
        ("2024-01-21T10:20:30.250", "2024-01-21 10:20:30.25"),
        ("0001-01-01", "0001-01-01 00:00"),
        ("9999-12-31T23:59:59", "9999-12-31 23:59:59"),
    ],
)
def test_dates_as_text(text, said):
    assert time_text(us(text), True) == said


@pytest.mark.parametrize(("time", "said"), [(-1234567.0, "−1,234,567"), (0.1, "0.1"), (1e300, "1e+300")])
def test_counters_as_text(time, said):
    assert time_text(time, False) == said
