"""Dates that are attributes: a Sunday among working days and a night among noons stand out, ordinary dates do not."""

import datetime as dt
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.ensemble import IsolationForest

import oddatom
from model_files import pack, unpack
from oddatom import OddAtomDetector, TableDetector, TableWarning
from oddatom.table import ColumnDecision, TableEncoder
from oddatom.table.dates import choose_features, feature_columns, read_times
from oddatom.table.drift import Drift, drift_words
from oddatom.table.forms import from_arrow

N = 600
WORKING_DAYS = pd.bdate_range("2023-01-02", "2024-12-31")
SUNDAYS = pd.to_datetime(["2023-06-18", "2024-03-10"])
ODD = [100, 400]
TINY = {"n_groups": 2, "trim": (0.3,), "n_centroids": 4, "n_atoms": 4, "n_directions": 2, "random_state": 0}


def invoices(days=WORKING_DAYS, seed=0, n=N):
    """Invoices in no order, on any of the days."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "invoice date": rng.choice(days, n),
            "amount": rng.lognormal(5.0, 0.5, n).round(2),
            "items": rng.poisson(6, n),
            "supplier": rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2]),
        }
    )


def clock(minutes):
    """Times of day from minutes since midnight."""
    return [(dt.datetime(2024, 1, 1) + dt.timedelta(minutes=int(m))).time() for m in np.round(minutes) % 1440]


def visits(minutes, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"at": clock(minutes), "amount": rng.lognormal(5.0, 0.5, N), "weight": rng.normal(10, 2, N)})


def around(middle, spread, seed=0):
    return np.random.default_rng(seed).normal(middle, spread, N)


def oddest(model, table, n):
    """Return the rows of the lowest scores, in order, and the column that each is odd for."""
    rows = np.argsort(model.score_samples(table), kind="stable")[:n]
    return sorted(rows.tolist()), set(model.explain(table.iloc[rows]).contributions.idxmin(axis=1))


def microseconds(days):
    return pd.DatetimeIndex(days).as_unit("us").asi8.astype(float)


def encoded(values, **parameters):
    """Return the outputs of one column by name, and the encoder."""
    table = pd.DataFrame({"d": values})
    encoder = TableEncoder(columns=["d"], **parameters).fit(table)
    return pd.DataFrame(encoder.transform(table), columns=encoder.get_feature_names_out()), encoder


# What stands out


@pytest.mark.parametrize("seed", range(3))
def test_a_sunday_among_working_days_comes_first(seed):
    table = invoices(seed=seed)
    table.loc[ODD, "invoice date"] = SUNDAYS
    model = TableDetector(random_state=0).fit(table)
    assert oddest(model, table, 2) == (ODD, {"invoice date"})
    assert model.columns_[0].line().startswith("invoice date: date, days since 202")
    assert model.columns_[0].line().endswith(", weekday")


def test_a_sunday_that_training_did_not_have_is_flagged():
    table = invoices()
    model = TableDetector(random_state=0).fit(table)
    assert (model.predict(table) == -1).mean() < 0.01
    later = table.head(50).copy()
    later.loc[7, "invoice date"] = SUNDAYS[0]
    assert np.flatnonzero(model.predict(later) == -1).tolist() == [7]


def test_a_tuesday_among_mondays_is_flagged():
    table = invoices(pd.date_range("2022-01-03", periods=120, freq="7D"), n=200)
    model = TableDetector(random_state=0).fit(table)
    assert "weekday" in model.columns_[0].reason
    table.loc[5, "invoice date"] += pd.Timedelta(days=1)
    assert model.predict(table)[5] == -1
    assert oddest(model, table, 1) == ([5], {"invoice date"})


@pytest.mark.parametrize("form", ["times", "text", "hours and minutes", "arrow", "dates"])
def test_a_visit_at_night_among_noons_comes_first(form):
    minutes = around(720, 60)
    minutes[ODD] = 180
    table = visits(minutes)
    if form == "text":
        table["at"] = table["at"].astype(str)
    elif form == "hours and minutes":
        table["at"] = [time.strftime("%H:%M") for time in table["at"]]
    elif form == "arrow":
        table["at"] = table["at"].astype(pd.ArrowDtype(pa.time64("us")))
    elif form == "dates":
        days = np.random.default_rng(1).choice(WORKING_DAYS, N)
        table["at"] = pd.to_datetime(days) + pd.to_timedelta(np.round(minutes), unit="min")
    model = TableDetector(random_state=0).fit(table)
    assert oddest(model, table, 2) == (ODD, {"at"})
    assert model.columns_[0].reason.endswith("time of day")


def test_midnight_is_in_the_middle_of_the_night():
    minutes = around(0, 30)
    minutes[[3, 4, 5]] = [1435, 5, 720]
    table = visits(minutes)
    model = TableDetector(random_state=0).fit(table)
    assert oddest(model, table, 1) == ([5], {"at"})
    before, after, noon = model.encoder_.transform(table)[3:6, :2]
    assert np.linalg.norm(before - after) < 0.05
    assert np.linalg.norm(before - noon) > 1.99


@pytest.mark.parametrize("n", [300, 1500])
@pytest.mark.parametrize("days", [pd.date_range("2022-01-01", "2023-12-31"), WORKING_DAYS], ids=["all", "working"])
def test_ordinary_dates_of_two_years_are_not_flagged_for_it(days, n):
    """December and Fridays have half as many invoices as others; no row is odd for that."""
    share = np.where(days.month == 12, 0.5, 1.0) * np.where(days.day_of_week == 4, 0.5, 1.0)
    rng = np.random.default_rng(3)
    table = invoices(rng.choice(days, 4 * n, p=share / share.sum()), n=n)
    model = TableDetector(random_state=0).fit(table)
    plain = TableDetector(random_state=0, dates="drop").fit(table)
    assert model.columns_[0].date_features == (["weekday", "rare weekday"] if days is WORKING_DAYS else [])
    assert (model.predict(table) == -1).sum() <= (plain.predict(table) == -1).sum()
    for some in (days[days.month == 12], days[days.month == 6], days[days.day_of_week == 4]):
        new = invoices(some, seed=9, n=90)
        flagged = new[model.predict(new) == -1]
        assert len(flagged) <= 3
        assert not len(flagged) or "invoice date" not in set(model.explain(flagged).contributions.idxmin(axis=1))


def test_a_summer_date_among_winters_is_flagged():
    days = pd.date_range("2020-01-01", "2023-12-31")
    winter = days[np.isin(days.month, [11, 12, 1, 2, 3])]
    table = invoices(winter)
    model = TableDetector(random_state=0).fit(table)
    assert model.columns_[0].line().endswith(", month")
    assert (model.predict(table) == -1).mean() <= 0.01
    july = invoices(days[days.month == 7], seed=1, n=50)
    assert (model.predict(july) == -1).all()
    assert set(model.explain(july).contributions.idxmin(axis=1)) == {"invoice date"}


def test_other_detectors_see_the_night_too():
    minutes = around(720, 60)
    minutes[ODD] = 180
    table = visits(minutes)
    model = TableDetector(IsolationForest(random_state=0)).fit(table)
    assert sorted(np.argsort(model.score_samples(table))[:2].tolist()) == ODD


# What the outputs are


DATES = pd.to_datetime(
    ["2024-02-29", "2023-01-01 06:00", "1969-12-31 18:00", None, "2024-07-01 12:00"], format="ISO8601"
)


def known(codes):
    """The outputs of DATES by an encoder that has every feature."""
    rng = np.random.default_rng(0)
    some = WORKING_DAYS[WORKING_DAYS.month != 7]
    stamps = pd.Series(rng.choice(some, N)) + pd.to_timedelta(rng.integers(0, 24, N), unit="h")
    encoder = TableEncoder(categories="codes" if codes else "one-hot").fit(pd.DataFrame({"d": stamps}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        out = encoder.transform(pd.DataFrame({"d": DATES}))
    return pd.DataFrame(out, columns=encoder.get_feature_names_out()), encoder, stamps


def test_codes_of_known_dates():
    out, encoder, stamps = known(codes=True)
    names = ["d", "d weekday", "d rare weekday", "d month", "d time sin", "d time cos"]
    assert list(out.columns) == names
    assert out["d weekday"].tolist() == [3, 6, 2, -1, 0]  # Thursday, Sunday, Wednesday, missing, Monday
    assert out["d month"].tolist() == [1, 0, 11, -1, 6]
    np.testing.assert_array_equal(out["d rare weekday"], [0, 1, 0, np.nan, 0])
    np.testing.assert_allclose(out["d time sin"], [0, 1, -1, np.nan, 0], atol=1e-15)
    np.testing.assert_allclose(out["d time cos"], [1, 0, 0, np.nan, -1], atol=1e-15)
    np.testing.assert_allclose(out["d"], (DATES - stamps.median()) / pd.Timedelta(days=1), rtol=1e-12)
    assert encoder.columns_[0].codes == [False, True, False, True, False, False]
    assert encoder.source_ == ["d"] * 6


def test_points_on_circles_of_known_dates():
    out, encoder, _ = known(codes=False)
    names = ["d", "d weekday sin", "d weekday cos", "d month sin", "d month cos", "d time sin", "d time cos"]
    assert list(out.columns) == names
    for name, place, period in (("weekday", [3, 6, 2, 0], 7), ("month", [1, 0, 11, 6], 12)):
        angle = 2 * np.pi * np.array(place) / period
        given = out.drop(index=3)
        np.testing.assert_allclose(given[f"d {name} sin"], np.sin(angle), atol=1e-15)
        np.testing.assert_allclose(given[f"d {name} cos"], np.cos(angle), atol=1e-15)
    assert not out.loc[3].any()  # missing
    assert encoder.columns_[0].codes == [False] * 7


def test_weekdays_and_months_against_pandas():
    days = pd.date_range("1895-01-01", "2105-12-31", freq="37h")
    features = ["weekday", "month", "time cycle"]
    decision = ColumnDecision("d", "date", "number", "", ["d"] * 5, date_features=features)
    weekday, month, sine, cosine = feature_columns(microseconds(days), decision)
    assert np.array_equal(weekday, days.day_of_week)
    assert np.array_equal(month, days.month - 1)
    hours = np.arctan2(sine, cosine) % (2 * np.pi) * 12 / np.pi
    np.testing.assert_allclose(hours, days.hour, atol=1e-9)


def test_missing_dates_are_marked():
    days = pd.Series(np.random.default_rng(0).choice(WORKING_DAYS, 100))
    days[::10] = pd.NaT
    out, encoder = encoded(days)
    assert list(out.columns) == ["d", "d weekday sin", "d weekday cos", "d is missing"]
    assert np.array_equal(out["d is missing"], days.isna())
    assert not out.loc[days.isna(), ["d", "d weekday sin", "d weekday cos"]].any(axis=None)
    assert encoder.columns_[0].reason.endswith(", weekday, the median for 10 missing values")
    out, encoder = encoded(days, categories="codes")
    assert (out.loc[days.isna(), "d weekday"] == -1).all()
    assert out.loc[days.isna(), ["d", "d rare weekday"]].isna().all(axis=None)
    assert encoder.columns_[0].reason.endswith(", weekday, 10 missing values")


MONTHS = pd.date_range("2010-01-01", "2019-12-31")
MONTHS = MONTHS[MONTHS.month <= 8]


@pytest.mark.parametrize(
    ("days", "want"),
    [
        (pd.bdate_range("2024-01-01", periods=59), []),
        (pd.bdate_range("2024-01-01", periods=60), ["weekday", "rare weekday"]),
        (list(pd.bdate_range("2024-01-01", periods=19)) * 10, []),  # too few days
        (pd.date_range("2022-01-01", periods=730), []),  # every weekday and month is ordinary
        (MONTHS[:240], []),  # months of one year are days
        (MONTHS[-1200::6], []),  # a month may be rare by chance
        (MONTHS, ["month"]),
        ([*pd.date_range("2024-01-01", periods=300), pd.Timestamp("1924-01-01")], []),  # one wrong year
        (pd.bdate_range("2024-01-01 09:30", periods=60), ["weekday", "rare weekday"]),  # always the same time
        (pd.date_range("2024-01-01", periods=30, freq="h"), ["time cycle"]),
    ],
)
def test_features_that_say_nothing_are_left_out(days, want):
    found, rare = choose_features(microseconds(days), True)
    assert found == want
    assert rare == ([5, 6] if "rare weekday" in want else [])
    cycles = [f.split()[0] + " cycle" for f in want if f != "rare weekday"]
    assert choose_features(microseconds(days), False) == (cycles, [])


# Times of day


def test_times_of_day_are_the_same_in_any_container():
    times = [dt.time(18), dt.time(0, 5, 30), None, dt.time(23, 59, 59, 250_000)]
    want = np.array([18.0, 5.5 / 60, np.nan, 24 - 0.75 / 3600]) * np.pi / 12
    text = [None if time is None else str(time) for time in times]
    arrow = [pa.array(times, pa.time64(unit)) for unit in ("us", "ns")]
    for values in (pd.Series(times, dtype=object), text, *(pa.table({"d": array}) for array in arrow)):
        table = values if isinstance(values, pa.Table) else pd.DataFrame({"d": values})
        encoder = TableEncoder(columns=["d"], categories="codes").fit(table)
        assert encoder.describe() == ["d: time of day, 1 missing value"]
        out = encoder.transform(table)
        assert list(encoder.get_feature_names_out()) == ["d sin", "d cos"]
        np.testing.assert_allclose(out, np.column_stack([np.sin(want), np.cos(want)]), atol=1e-12)
        mixed = pd.DataFrame({"d": pd.Series([dt.time(18), "00:05:30", None, "23:59:59.25"], dtype=object)})
        np.testing.assert_allclose(encoder.transform(mixed), out, atol=1e-12)


def test_times_that_cannot_be_read():
    words = ["18:05", "7:00", "00:00:00", "23:59:59,5", "24:00", "12:60", "12:00:60", "12", "12:5", "12:00x", None]
    read = read_times(pa.array(words, pa.large_string()))
    assert read[:4].tolist() == [65_100, 25_200, 0, 86_399.5]
    assert np.isnan(read[4:]).all()
    encoder = TableEncoder(columns=["d"]).fit(pd.DataFrame({"d": ["18:05", "19:10", "20:00"]}))
    with pytest.warns(TableWarning, match=r"2 values that are not times of day .*'25:00'"):
        out = encoder.transform(pd.DataFrame({"d": ["25:00", "noon", "18:00"]}))
    np.testing.assert_allclose(out, [[0, 0], [0, 0], [-1, 0]], atol=1e-15)
    with pytest.warns(TableWarning, match="1 value that is not a time of day"):
        encoder.transform(pd.DataFrame({"d": [7]}))


def test_times_in_the_order_of_the_rows_are_left_out():
    table = pd.DataFrame({"at": clock(np.arange(0, 1400, 7)), "x": np.random.default_rng(0).normal(size=200)})
    assert TableEncoder().fit(table).describe()[0].startswith("at: left out, it is the time of the rows")
    shuffled = table.sample(frac=1, random_state=0)
    assert TableEncoder().fit(shuffled).describe()[0] == "at: time of day"


def test_durations_stay_numbers_and_times_have_their_text():
    span = from_arrow(pa.array([dt.timedelta(seconds=90), None]))
    assert (span.form, span.data[0]) == ("numbers", 90.0)
    times = [dt.time(1, 0, 1), dt.time(0), None, dt.time(23, 59, 59, 999_999), dt.time(2, 0, 0, 500_000)]
    text = from_arrow(pa.array(times)).as_text().to_pylist()
    assert text == [None if time is None else str(time) for time in times]


def test_a_model_of_seconds_still_reads_times():
    """Before, times were numbers of seconds: such a model encodes them as it did."""
    encoder = TableEncoder().fit(pd.DataFrame({"at": [3700.0, 7201.5, 100.0]}))
    table = pa.table({"at": pa.array([dt.time(1), dt.time(2, 0, 1, 500_000), dt.time(0, 1, 40)])})
    assert encoder.transform(table).tolist() == [[3600.0], [7201.5], [100.0]]
    objects = [pd.DataFrame({"at": pd.Series(some, dtype=object)}) for some in ([dt.time(1), "18:05"], [dt.time(1)])]
    for table in objects:  # which were text, whatever stands beside them
        with pytest.warns(TableWarning, match="not a number|not numbers"):
            assert encoder.transform(table)[0].tolist() == [3700.0]  # the median


# Files and messages


@pytest.fixture(scope="module")
def model():
    table = invoices(WORKING_DAYS[WORKING_DAYS.month != 7]).assign(at=clock(around(720, 60)))
    table.loc[::20, ["invoice date", "at"]] = None
    return TableDetector(OddAtomDetector(**TINY)).fit(table), table


def test_save_and_load(model, tmp_path):
    model, table = model
    model.save(tmp_path / "model")
    loaded = oddatom.load(tmp_path / "model")
    assert loaded.columns_ == model.columns_
    np.testing.assert_array_equal(loaded.score_samples(table), model.score_samples(table))
    arrow = pa.Table.from_pandas(table)
    np.testing.assert_array_equal(loaded.score_samples(arrow), model.score_samples(table))


FORGED = {
    "an unknown feature": (0, {"date_features": ["eval"]}, "date_features.0 must be one of weekday"),
    "a feature twice": (0, {"date_features": ["month", "month"]}, "date_features must be those of a date"),
    "features out of order": (0, {"date_features": ["month", "weekday"]}, "date_features must be those of a date"),
    "both forms": (0, {"date_features": ["weekday", "weekday cycle"]}, "date_features must be those of a date"),
    "a feature less": (0, {"date_features": ["weekday", "rare weekday"]}, "outputs must be 3 names"),
    "features of a number": (1, {"date_features": ["month"]}, "date_features must be those of a number"),
    "no feature of a time": (4, {"date_features": []}, "date_features must be those of a time of day"),
    "days of a time": (4, {"date_features": ["weekday"]}, "date_features must be those of a time of day"),
    "an eighth weekday": (0, {"rare_weekdays": [5, 7]}, "rare_weekdays must be weekdays from 0 to 6"),
    "no weekday": (0, {"rare_weekdays": []}, "rare_weekdays must be weekdays from 0 to 6"),
    "a weekday of text": (0, {"rare_weekdays": ["Sunday"]}, "rare_weekdays.0 must be an integer"),
    "a clock of another style": (4, {"style": "1234.5"}, "style must be one of hour:minute:second"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_files_are_refused(model, name, tmp_path):
    place, fields, words = FORGED[name]
    model[0].save(tmp_path / "model")
    document, arrays = unpack(tmp_path / "model")
    columns = document["model"]["attributes"]["encoder_"]["model"]["attributes"]["columns_"]
    columns[place]["record"][1].update(fields)
    (tmp_path / "forged").write_bytes(pack(document, arrays))
    with pytest.raises(oddatom.ModelFileError, match=rf"columns_.{place}.{words}"):
        oddatom.load(tmp_path / "forged")


def test_a_file_without_the_new_fields_is_days_alone(tmp_path):
    days = pd.DataFrame({"d": np.random.default_rng(0).choice(WORKING_DAYS, 50), "x": np.arange(50.0) % 7})
    TableEncoder().fit(days)
    model = TableDetector(OddAtomDetector(**TINY)).fit(days)
    assert model.columns_[0].date_features == []  # too few dates
    model.save(tmp_path / "model")
    document, arrays = unpack(tmp_path / "model")
    for column in document["model"]["attributes"]["encoder_"]["model"]["attributes"]["columns_"]:
        for field in ("date_features", "rare_weekdays"):
            del column["record"][1][field]
    (tmp_path / "old").write_bytes(pack(document, arrays))
    old = oddatom.load(tmp_path / "old")
    assert old.columns_ == model.columns_
    np.testing.assert_array_equal(old.score_samples(days), model.score_samples(days))


def test_drift_is_told_in_words_of_the_feature(model):
    model, _ = model
    features = model.columns_[0].output_features
    place = {feature: features.index(feature) for feature in ("days", "weekday", "rare weekday", "month")}
    clock_place = len(features) + 3  # after amount, items and supplier
    moved = [
        (Drift(place["weekday"], 0.5, "other categories in 50 % of the rows"), "other weekdays in 50 % of the rows"),
        (Drift(place["rare weekday"], 0.4, "median 1, was 0", 1.0), "other weekdays"),
        (Drift(place["month"], 0.4, "other categories in 40 % of the rows"), "other months in 40 % of the rows"),
        (Drift(place["days"], 0.3, "median 9, was 2", 7.0), "median +7 days"),
        (Drift(place["days"], 0.2, "30 % missing, was 0 %"), "30 % missing, was 0 %"),
        (Drift(clock_place, 0.2, "median 0.5, was 0.1", 0.4), "other times"),
    ]
    for drift, words in moved:
        name = "at" if drift.place == clock_place else "invoice date"
        assert f"({name}: {words})" in drift_words([drift], model.columns_)
    both = drift_words([moved[0][0], moved[3][0]], model.columns_)
    assert both.startswith("1 column has moved since training (invoice date: median +7 days)")
