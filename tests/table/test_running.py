"""Columns that run with the rows are left out; dates and numbers that are attributes stay."""

import warnings

import numpy as np
import pandas as pd
import pytest

from oddatom import TableDetector
from oddatom.table import TableEncoder
from oddatom.table.running import runs_as_counter, runs_as_time

N = 300
RNG = np.random.default_rng(0)
TIMES = pd.date_range("2024-03-01", periods=N, freq="7min")
RUNNING = {
    "timestamps": TIMES,
    "text": TIMES.strftime("%Y-%m-%d %H:%M:%S"),
    "late rows": TIMES[np.r_[0:100, 103, 100:103, 104:N]],
    "falling": TIMES[::-1],
    "days that repeat": np.repeat(pd.date_range("2024-03-01", periods=N // 10), 10),
    "epoch": 1.7e9 + 60.0 * np.arange(N),
    "epoch in ms": 1_700_000_000_000 + RNG.integers(100, 9000, N).cumsum(),
    "counter with gaps": np.delete(np.arange(N + 5), [50, 51, 120, 200, 201]) * 10,
    "nearly in order": TIMES[np.argsort(np.arange(N) + RNG.normal(0, 5, N))],
    "one in twenty is late": TIMES[
        np.argsort(np.arange(N) + (RNG.random(N) < 0.05) * RNG.integers(2, 6, N), kind="stable")
    ],
    "epoch with fractions": 1.7e9 + 60.0 * np.arange(N) + RNG.random(N),
    "epochs of four machines": np.tile(1.7e9 + 60.0 * np.arange(N // 4), 4),
    "seconds since the start": np.cumsum(RNG.random(N)),
    "whole seconds since the start": np.cumsum(RNG.integers(1, 9, N)),
    "tenths of seconds": 0.1 * np.arange(N),
    "counter with many gaps": np.arange(N) + np.cumsum(RNG.random(N) < 0.2),
    "days of a spreadsheet": 45_000.0 + np.arange(N) / 1440,
    "days as digits": [int(day.strftime("%Y%m%d")) for day in pd.date_range("2024-03-01", periods=N)],
    "minutes as digits": [int(time.strftime("%Y%m%d%H%M")) for time in TIMES],
    "row number": np.arange(1, N + 1),
    "gaps in it": pd.Series(TIMES).where(np.arange(N) % 7 > 0),
}
STAYING = {
    "birthdays": pd.to_datetime("1950-01-01") + pd.to_timedelta(RNG.integers(0, 20_000, N), unit="D"),
    "voltage with a slip": 4.2 - 0.002 * np.arange(N) + RNG.normal(0, 0.001, N) - 0.15 * (np.arange(N) == 250),
    "noisy trend": 0.5 * np.arange(N) + RNG.normal(0, 3, N),
    "grid": np.linspace(0.0, 100.0, N),
    "odometer": np.cumsum(RNG.random(N)),
    "growth": 1.02 ** np.arange(N),
    "sorted uniform": np.sort(RNG.random(N)),
    "sorted revenue": np.sort(np.exp(RNG.uniform(np.log(1e8), np.log(4e9), N))).round(),
    "sorted zips": np.sort(RNG.integers(10_000, 99_999, N)),
    "sorted days": np.sort(RNG.integers(0, 60, N)),
    "shuffled stamps": RNG.permutation(20240301 + np.arange(N) % 28),
    "two dates": np.repeat(pd.to_datetime(["2024-01-01", "2024-06-01"]), N // 2),
    "sorted amounts": np.sort(RNG.gamma(2.0, 100.0, N)).round(),
    "sorted floats": np.sort(RNG.normal(size=N)),
    "whole numbers": RNG.integers(0, 100, N),
    "constant": np.full(N, 7),
}


def encoded(values, name="when"):
    frame = pd.DataFrame({"x": RNG.normal(size=len(values)), name: values})
    return TableEncoder().fit(frame), frame


@pytest.mark.parametrize("name", RUNNING)
def test_left_out(name):
    encoder, frame = encoded(RUNNING[name])
    assert encoder.columns_[1].line().startswith("when: left out, it ")
    assert "rows" in encoder.columns_[1].reason
    assert list(encoder.get_feature_names_out()) == ["x"]
    named = TableEncoder(columns=["x", "when"]).fit(frame)  # whoever names it gets it
    assert "when" in named.get_feature_names_out()


@pytest.mark.parametrize("name", STAYING)
def test_staying(name):
    encoder, _ = encoded(STAYING[name], name)
    assert encoder.columns_[1].used


@pytest.mark.parametrize("n", [20, 50, 100])
def test_what_a_table_is_sorted_by_stays(n):
    rng = np.random.default_rng(n)
    columns = {"latitude": np.sort(rng.uniform(30, 60, n)), "price": np.sort(rng.uniform(1, 9, n)).round(2)}
    columns["response time"] = np.sort(rng.lognormal(0.0, 1.0, n))
    assert set(TableEncoder().fit(pd.DataFrame(columns)).source_) == set(columns)


def test_few_rows_have_an_order_by_chance():
    few = np.arange(19.0) * 3600e6
    assert not runs_as_time(few)
    assert not runs_as_counter(few)
    assert runs_as_counter(np.arange(20.0) * 3600)
    assert not runs_as_time(np.full(50, 5.0))
    assert not runs_as_time(np.full(50, np.nan))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not runs_as_counter(np.tile([-1.7e308, 1.7e308], 20))


def test_rows_that_come_later_are_not_odd_for_that():
    """A model of one day flags no more of the next, and does not name the time as a reason."""
    rng = np.random.default_rng(1)
    day = pd.DataFrame({"when": pd.date_range("2024-03-01", periods=1000, freq="min")})
    day["flow"], day["pressure"] = rng.normal(size=1000), rng.normal(size=1000)
    later = day.assign(when=day["when"] + pd.Timedelta(days=1), flow=rng.normal(size=1000))
    later.loc[17, "flow"] = 40.0
    model = TableDetector(random_state=0).fit(day)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labels = model.predict(later)
    assert labels[17] == -1
    assert (labels == -1).mean() < 0.01
    assert list(model.explain(later).contributions.columns) == ["flow", "pressure"]
