"""Rows in time: what is odd for its hour, its level and its stretch; streams; and what is refused."""

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor

import oddatom
from oddatom import OddAtomDetector, TableDetector
from oddatom.exceptions import DriftWarning, OddAtomError, ParameterError, TableWarning


def sensor(days=40, seed=0):
    """An hourly sensor with a daily cycle: a peak at noon, quiet at night; pressure beside it."""
    rng = np.random.RandomState(seed)
    stamps = pd.date_range("2024-01-01", periods=24 * days, freq="h")
    hour = np.asarray(stamps.hour)
    flow = 10.0 + 8.0 * np.exp(-0.5 * ((hour - 12) / 2.0) ** 2) + 0.5 * rng.randn(hour.size)
    return pd.DataFrame({"stamp": stamps, "flow": flow, "pressure": 3.0 + 0.2 * rng.randn(hour.size)})


def reasons(model, table, row):
    return model.explain(table).contributions.loc[row].idxmin()


def same(one, other):
    return np.array_equal(np.asarray(one), np.asarray(other))


@pytest.fixture(scope="module")
def normal():
    return sensor()


@pytest.fixture(scope="module")
def fitted(normal):
    return pickle.dumps(TableDetector(time="stamp", random_state=0).fit(normal))


@pytest.fixture
def model(fitted):
    """A model that has scored nothing yet."""
    return pickle.loads(fitted)


def test_a_value_that_is_usual_at_noon_is_odd_at_night():
    table, nights = sensor(), 24 * np.array([12, 21, 30]) + 3  # three in the morning
    table.loc[nights, "flow"] = 18.0
    timed = TableDetector(time="stamp", random_state=0).fit(table)
    assert set(np.argsort(timed.score_samples(table))[:3]) == set(nights)
    assert set(np.flatnonzero(timed.set_threshold("top=3").predict(table) == -1)) == set(nights)
    assert all(reasons(timed, table, night) == "flow: unusual for the hour and weekday" for night in nights)
    plain = TableDetector(random_state=0).fit(table).score_samples(table)
    assert np.mean([(plain <= plain[night]).sum() for night in nights]) > 20


def test_the_view_that_is_odd_is_named():
    rng = np.random.RandomState(0)
    walk = np.cumsum(rng.randn(800))
    jump = pd.DataFrame({"step": np.arange(800), "load": walk + 25.0 * (np.arange(800) >= 500)})
    found = TableDetector(time="step", random_state=0).fit(jump)
    assert found.score_samples(jump).argmin() == 500
    assert reasons(found, jump, 500) in ("load: jump", "load: far from its level")
    night = sensor()
    night.loc[24 * 30 + 3, "flow"] = 18.0
    names = list(TableDetector(time="stamp", random_state=0).fit(night).explain(night).contributions.columns)
    assert "flow: unusual for the hour and weekday" in names
    assert not any(name.startswith("stamp") for name in names)


def test_explanations_sum_to_the_scores(model, normal):
    new = sensor(6, seed=5)
    new["stamp"] += pd.Timedelta(days=40)
    new.loc[50, "pressure"] = 9.0
    np.testing.assert_allclose(model.explain(new).contributions.sum(axis=1), model.score_samples(new), rtol=1e-9)
    assert reasons(model, new, 55).startswith("pressure")  # it is odd because of row 50


def test_normal_rows_that_follow_are_not_flagged(model):
    new = sensor(40, seed=1)
    new["stamp"] += pd.Timedelta(days=40)
    assert (model.predict(new) == -1).mean() <= 0.005
    new.loc[300, ["flow", "pressure"]] = 60.0, 9.0
    assert model.predict(new)[300] == -1


def test_a_stretch_of_odd_rows_is_odd_as_a_whole(model):
    new = sensor(20, seed=2)
    new["stamp"] += pd.Timedelta(days=40)
    odd = np.arange(24 * 10, 24 * 11)
    new.loc[odd[::2], "pressure"] += 1.2  # every second row: the others look usual
    scores = model.score_samples(new)
    last = odd[8:]
    assert np.median(scores[last]) < np.quantile(scores[: odd[0]], 0.01)


@pytest.mark.parametrize("by", [None, "machine"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_stream_gets_the_scores_of_a_batch_to_the_last_bit(seed, by):
    rng = np.random.RandomState(seed)
    tables = []
    for name in ("a", "b", "c")[: 3 if by else 1]:
        one = sensor(12, seed=seed + ord(name))
        one["flow"] += 50.0 * ord(name)
        one["machine"] = name
        tables.append(one)
    table = pd.concat(tables).sort_values(["stamp", "machine"], kind="stable").reset_index(drop=True)
    table = table.drop(index=rng.choice(len(table), len(table) // 20, replace=False))  # irregular
    table = table[(table["stamp"] < "2024-01-09") | (table["stamp"] > "2024-01-10")]  # a gap
    table = pd.concat([table, table.iloc[rng.choice(len(table), 12)]])  # repeats
    twins = table.iloc[rng.choice(len(table), 12)].assign(flow=lambda t: t["flow"] + 1.0)  # other rows of one time
    table = pd.concat([table, twins]).sort_values("stamp", kind="stable").reset_index(drop=True)
    table.loc[rng.rand(len(table)) < 0.05, "pressure"] = np.nan
    columns = {"ignore": ["machine"]} if by is None else {"by": by}
    model = TableDetector(time="stamp", window=12, random_state=0, **columns).fit(table[:150])
    new = table[150:]
    if by:
        new = new.assign(machine=new["machine"].replace("c", "d"))  # one that training did not have
    kept = pickle.dumps(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = pickle.loads(kept).score_samples(new)
        one_by_one, in_pieces = pickle.loads(kept), pickle.loads(kept)
        assert same(np.concatenate([one_by_one.score_samples(new[i : i + 1]) for i in range(len(new))]), whole)
        cuts = np.sort(rng.choice(len(new), 9, replace=False))
        assert same(
            np.concatenate([in_pieces.score_samples(piece) for piece in np.split(new, cuts) if len(piece)]), whole
        )
        shuffled = rng.permutation(len(new))
        assert same(pickle.loads(kept).score_samples(new.iloc[shuffled]), whole[shuffled])


def test_series_that_come_one_after_the_other_are_followed_each(normal):
    one, other = sensor(20, seed=3), sensor(20, seed=4)
    table = pd.concat([one.assign(machine="a"), other.assign(machine="b")])
    model = TableDetector(time="stamp", by="machine", random_state=0).fit(table)
    new = table.assign(stamp=table["stamp"] + pd.Timedelta(days=20))
    kept = pickle.dumps(model)
    whole = pickle.loads(kept).score_samples(new)
    pieces = [new[i : i + 7] for i in range(0, len(new), 7)]
    assert same(np.concatenate([model.score_samples(piece) for piece in pieces]), whole)


def test_rows_that_are_scored_again_get_the_same_scores(model, normal):
    new = sensor(10, seed=6)
    new["stamp"] += pd.Timedelta(days=40)
    first, second = new[:100], new[100:]
    kept = pickle.loads(pickle.dumps(model))
    scores = [kept.score_samples(first), kept.score_samples(second)]
    assert same(kept.score_samples(second), scores[1])
    assert same(kept.predict(second), np.where(scores[1] < kept.offset_, -1, 1))
    assert same(kept.decision_function(second), scores[1] - kept.offset_)
    assert same(kept.score_samples(normal), pickle.loads(pickle.dumps(model)).score_samples(normal))


def test_a_look_back_changes_nothing(model):
    new = sensor(12, seed=10)
    new["stamp"] += pd.Timedelta(days=40)
    kept = pickle.dumps(model)
    whole = pickle.loads(kept).score_samples(new)
    followed = pickle.loads(kept)
    followed.score_samples(new[:100])
    assert same(followed.score_samples(new[40:90]), whole[40:90])  # a part of it again
    assert same(followed.score_samples(new[63:64]), whole[63:64])
    followed.explain(new[50:51])
    followed.score_samples(sensor(1))  # training rows
    assert same(followed.score_samples(new[100:]), whole[100:])


def test_an_earlier_stream_may_be_scored_again_row_by_row(model):
    new = sensor(100, seed=13)  # longer than what the model keeps
    new["stamp"] += pd.Timedelta(days=40)
    whole = model.score_samples(new)
    assert same(np.concatenate([model.score_samples(new[i : i + 1]) for i in range(300)]), whole[:300])
    assert same(np.concatenate([model.score_samples(new[i : i + 9]) for i in range(300, 2400, 9)]), whole[300:])


def test_other_rows_of_the_same_times_are_not_mixed(model):
    new = sensor(8, seed=11)
    new["stamp"] += pd.Timedelta(days=40)
    other = sensor(8, seed=12).assign(stamp=new["stamp"])
    kept = pickle.dumps(model)
    followed = pickle.loads(kept)
    followed.score_samples(new)
    assert same(followed.score_samples(other), pickle.loads(kept).score_samples(other))


def test_rows_that_differ_in_text_alone_are_two_rows():
    rng = np.random.RandomState(0)
    table = pd.DataFrame({"step": np.repeat(np.arange(200.0), 2), "x": np.repeat(rng.randn(200), 2)})
    table["colour"] = rng.choice(["red", "blue"], 400)
    table.loc[300, "colour"] = "pink"
    model = TableDetector(time="step", random_state=0).fit(table)
    scores = model.score_samples(table)
    assert scores[300] < scores[301] - 1.0
    shuffled = table.sample(frac=1.0, random_state=1)
    other = TableDetector(time="step", random_state=0).fit(shuffled)
    assert same(other.score_samples(shuffled), scores[shuffled.index])
    assert other.offset_ == model.offset_


def test_the_order_of_series_of_the_same_times_does_not_matter():
    tables = [sensor(10, seed=seed).assign(machine=f"m{seed}") for seed in range(4)]
    one = pd.concat(tables)
    other = pd.concat(tables[::-1])
    new = sensor(5, seed=9).assign(machine="m2")
    new["stamp"] += pd.Timedelta(days=10)
    models = [TableDetector(time="stamp", by="machine", random_state=0).fit(table) for table in (one, other)]
    assert same(*(model.score_samples(new) for model in models))


def test_huge_numbers_are_odd_not_an_error(normal):
    table = normal.assign(machine=np.arange(len(normal)) % 2)
    table.loc[[300, 700], "flow"] = [1.7e308, -1.7e308]
    for columns in ({"time": "stamp"}, {"by": "machine"}, {"time": "stamp", "by": "machine"}):
        model = TableDetector(random_state=0, **columns).fit(table)
        scores = model.score_samples(table)
        away = [row for row in range(len(table)) if not (0 <= row - 300 < 100 or 0 <= row - 700 < 100)]
        assert max(scores[[300, 700]]) < scores[away].min()


def test_models_with_any_parameters_can_be_saved(tmp_path, normal):
    table = normal.assign(machine=np.arange(len(normal)) % 2)
    model = TableDetector(time="stamp", by=np.array(["machine"]), window=np.int64(12), random_state=0).fit(table)
    oddatom.save(model, tmp_path / "model.oddatom")
    assert same(oddatom.load(tmp_path / "model.oddatom").score_samples(table), model.score_samples(table))


def test_what_a_detector_does_not_take_is_refused(normal):
    with pytest.raises(TypeError, match="takes no sample_weight"):
        TableDetector(time="stamp").fit(normal, sample_weight=np.ones(len(normal)))


def test_detectors_that_score_no_new_rows_take_times(normal):
    table = normal.copy()
    table.loc[500, "flow"] = 60.0
    assert TableDetector(LocalOutlierFactor(), time="stamp").fit_predict(table)[500] == -1


def test_a_model_in_time_is_no_onnx_file(model):
    onnx = pytest.importorskip("oddatom.onnx")
    with pytest.raises(OddAtomError, match="made of groups or times"):
        onnx.to_onnx(model)


def test_the_first_rows_of_a_series_are_not_odd():
    tables = [sensor(20, seed=seed).assign(machine=f"m{seed}") for seed in range(5)]
    table = pd.concat(tables, ignore_index=True)
    scores = TableDetector(time="stamp", by="machine", random_state=0).fit(table).score_samples(table)
    first = np.concatenate([scores[start : start + 12] for start in range(0, len(table), 480)])
    assert np.median(first) > np.quantile(scores, 0.2)


def test_training_rows_are_scored_as_at_training(normal):
    model = TableDetector(time="stamp", random_state=0)
    labels = model.fit_predict(normal)
    assert same(labels, model.predict(normal))
    assert same(np.sort(model.score_samples(normal)), model.detector_.train_scores_)


def test_a_saved_model_goes_on_where_it_was(tmp_path, model):
    new = sensor(10, seed=7)
    new["stamp"] += pd.Timedelta(days=40)
    followed = pickle.loads(pickle.dumps(model))
    whole = pickle.loads(pickle.dumps(model)).score_samples(new)
    followed.score_samples(new[:90])
    oddatom.save(followed, tmp_path / "model.oddatom")
    again = oddatom.load(tmp_path / "model.oddatom")
    assert same(again.score_samples(new[90:]), whole[90:])
    assert same(again.p_values(new[90:]), followed.p_values(new[90:]))


def test_a_score_uses_earlier_rows_alone(model):
    new = sensor(10, seed=8)
    new["stamp"] += pd.Timedelta(days=40)
    changed = new.copy()
    changed.loc[150:, ["flow", "pressure"]] = 99.0
    kept = pickle.dumps(model)
    one, other = (pickle.loads(kept).score_samples(table)[:150] for table in (new, changed))
    assert same(one, other)


def test_the_order_of_the_rows_of_a_table_does_not_matter(normal):
    shuffled = normal.sample(frac=1.0, random_state=0)
    one = TableDetector(time="stamp", random_state=0).fit(normal)
    other = TableDetector(time="stamp", random_state=0).fit(shuffled)
    assert same(other.score_samples(shuffled), one.score_samples(normal)[shuffled.index])


@pytest.mark.parametrize("form", ["epoch", "text", "counter", "day first", "digits", "digits as text"])
def test_times_are_read_in_every_form(form):
    table = sensor(10)
    table.loc[100, "pressure"] = 9.0
    stamps = table["stamp"]
    table["stamp"] = {
        "epoch": stamps.astype("int64") // 10**9
        if str(stamps.dtype) == "datetime64[ns]"
        else stamps.astype("int64") // 10**6,
        "text": stamps.dt.strftime("%Y-%m-%d %H:%M:%S"),
        "counter": np.arange(len(table)),
        "day first": stamps.dt.strftime("%d.%m.%Y %H:%M"),
        "digits": stamps.dt.strftime("%Y%m%d%H").astype(int),
        "digits as text": stamps.dt.strftime("%Y%m%d%H%M"),
    }[form]
    model = TableDetector(time="stamp", random_state=0).fit(table)
    assert model.score_samples(table).argmin() == 100
    assert (model.context_.context.time.hours is not None) == (form != "counter")
    assert model.context_.context.time.window == 24


def test_time_columns_are_left_out_by_default_and_the_list_says_what_time_would_do(normal):
    lines = TableDetector(random_state=0).fit(normal).encoder_.describe()
    assert lines[0].startswith("stamp: left out, it is the time of the rows")
    assert "--time" in lines[0]


def test_a_column_that_wanders_does_not_flag_later_rows():
    rng = np.random.RandomState(0)
    table = pd.DataFrame({"stamp": pd.date_range("2024-01-01", periods=1000, freq="min"), "flow": rng.randn(1000)})
    table["heat"] = 20.0 + 0.02 * np.arange(1000) + 0.1 * rng.randn(1000)
    table.loc[900, "flow"] = 9.0
    model = TableDetector(random_state=0).fit(table[:500])
    with pytest.warns(DriftWarning, match="heat"):
        labels = model.predict(table[500:])
    assert labels[400] == -1
    assert model.score_samples(table[500:]).argmin() == 400
    table.loc[950, "heat"] = 2000.0  # beyond all wandering
    with pytest.warns(DriftWarning):
        assert model.predict(table[500:])[450] == -1


@pytest.mark.parametrize("seed", range(3))
def test_a_trend_and_a_walk_do_not_flag_later_rows(seed):
    rng = np.random.RandomState(seed)
    table = pd.DataFrame({"stamp": pd.date_range("2024-01-01", periods=1000, freq="min")})
    table["walk"] = np.cumsum(rng.randn(1000))
    table["trend"] = 0.01 * np.arange(1000) + rng.randn(1000)
    table.loc[900, "walk"] += 30.0
    model = TableDetector(time="stamp", random_state=0).fit(table[:500])
    with pytest.warns(DriftWarning):
        labels = model.predict(table[500:])
    assert labels[400] == -1
    assert (labels[:400] == -1).mean() < 0.02


def test_folds_are_blocks_of_time_with_gaps(normal):
    from oddatom.estimators._in_order import RowOrder, arrange

    rows = np.arange(400.0)[:, None]
    by_time = np.random.RandomState(0).permutation(400)
    drawn = arrange(RowOrder(rows, by_time, 20, rows.shape[1], lambda own: own), 4, 20_000, 0)
    place = np.argsort(by_time)
    blocks = [np.sort(place[drawn[fold::4]]) for fold in range(4)]
    for block in blocks:
        assert same(block, np.arange(block[0], block[0] + block.size))
    assert all(later[0] - earlier[-1] == 21 for earlier, later in pairwise(blocks))


def test_p_values_of_normal_rows_are_not_too_small(model):
    new = sensor(60, seed=9)
    new["stamp"] += pd.Timedelta(days=40)
    new.loc[700, "pressure"] = 9.0
    p = model.p_values(new)
    assert p[700] == p.min() < 0.005
    assert 0.002 < (p[:700] <= 0.05).mean() < 0.12  # neighbours are alike: a twentieth in expectation
    assert 0.3 < np.median(p[:700]) < 0.7


def test_other_detectors_take_times_too(normal):
    table = normal.copy()
    table.loc[500, "flow"] = 40.0
    model = TableDetector(IsolationForest(random_state=0), time="stamp").fit(table)
    assert model.score_samples(table).argmin() == 500
    assert model.predict(table)[500] == -1
    assert same(model.fit_predict(table), model.predict(table))


@pytest.mark.parametrize(
    ("change", "parameters", "words"),
    [
        ({"stamp": "soon"}, {}, "'soon', which is neither a date nor a number"),
        ({"stamp": [None, *range(1, 100)]}, {}, "a row has no number in column 'stamp' .row 1."),
        ({"stamp": 5.0}, {}, "all values of column 'stamp' are equal"),
        ({}, {"window": 100}, "must be shorter than the table, which has 100 rows"),
        (
            {"name": ["a", "b"] * 50},
            {"by": "name", "window": 60},
            "must be shorter than the longest series, which has 50",
        ),
        ({}, {"by": "name"}, "all rows have the same value in 'name': they are one group"),
        ({}, {"window": 1}, "'window' parameter"),
        ({}, {"time": "when"}, "must name columns of the table"),
        ({}, {"time": None, "window": 5}, "'window' parameter of TableDetector needs a time column"),
        ({"name": np.arange(100)}, {"by": "name"}, "every row has a group of its own"),
        ({"name": np.arange(100) // 2, "stamp": np.arange(100) // 2}, {"by": "name"}, "no group has two times"),
        ({}, {"by": "stamp"}, "must name other columns than the time. Got 'stamp'"),
    ],
)
def test_bad_input_is_refused_in_one_line(change, parameters, words):
    rng = np.random.RandomState(0)
    table = pd.DataFrame({"stamp": np.arange(100.0), "x": rng.randn(100), "name": "a"}).assign(**change)
    with pytest.raises(OddAtomError, match=words) as error:
        TableDetector(random_state=0, **{"time": "stamp", **parameters}).fit(table)
    assert "\n" not in str(error.value)


def test_new_rows_without_a_time_are_refused(model, normal):
    with pytest.raises(OddAtomError, match="no column 'stamp', which puts the rows in order"):
        model.score_samples(normal.drop(columns="stamp"))
    with pytest.raises(OddAtomError, match="2 rows have no time"):
        model.score_samples(normal.assign(stamp=normal["stamp"].where(normal.index > 1)))


def test_what_needs_rows_by_themselves_is_refused(normal):
    model = TableDetector(time="stamp", random_state=0)
    with pytest.raises(OddAtomError, match="learns from all rows at once"):
        model.partial_fit(normal)
    with pytest.raises(OddAtomError, match="takes no judged rows"):
        model.fit(normal).feedback(normal[:2], ["normal", "anomaly"])


def test_a_failed_fit_leaves_the_model_as_it_was(normal):
    model = TableDetector(OddAtomDetector(), time="stamp", random_state=0).fit(normal)
    before = model.score_samples(normal)
    with pytest.raises(ParameterError):
        model.set_params(window=10_000).fit(normal)
    assert same(model.score_samples(normal), before)


def test_times_of_one_day_put_rows_in_order():
    table = sensor(2)[:24].assign(stamp=[f"{hour:02d}:00" for hour in range(24)])
    assert "it is the time of the rows" in TableDetector(random_state=0).fit(table).encoder_.describe()[0]
    table.loc[15, "pressure"] = 9.0
    model = TableDetector(time="stamp", window=5, random_state=0).fit(table.sample(frac=1.0, random_state=0))
    assert "a row every 1 hour" in model.context_.lines()[0]
    assert model.score_samples(table).argmin() in (15, 16)  # the jump there, or back
    assert reasons(model, table, 15).startswith("pressure")


def test_times_in_another_unit_are_refused(normal):
    seconds = 1_704_067_200 + 3600 * np.arange(len(normal))
    model = TableDetector(time="stamp", random_state=0).fit(normal.assign(stamp=seconds))
    with pytest.raises(OddAtomError, match="counts milliseconds, where training had seconds"):
        model.score_samples(normal.assign(stamp=1000 * seconds))


@pytest.mark.parametrize("seed", range(2))
def test_rows_after_a_gap_are_no_odder_than_others(seed):
    rng = np.random.RandomState(seed)
    step = np.where(np.arange(3000) % 100 == 0, 5000.0, 1.0)
    table = pd.DataFrame(rng.randn(3000, 3), columns=["a", "b", "c"]).assign(stamp=np.cumsum(step))
    model = TableDetector(time="stamp", window=30, random_state=0).fit(table)
    oddest = np.argsort(model.score_samples(table))[:60] % 100
    assert np.count_nonzero(oddest < 6) <= 10  # 3.6 by chance
    assert (model.predict(table) == -1).mean() < 0.005
    table.loc[500, "a"] = 9.0  # the first after a gap has no other views
    assert reasons(model, table, 500) == "a"


def test_a_view_that_is_missing_is_usual_for_other_detectors():
    table = sensor(10)
    table.loc[100, "pressure"] = 9.0
    model = TableDetector(IsolationForest(random_state=0), time="stamp").fit(table)
    features = model._place(table).features
    assert (features[0, 2:6] == 0.0).all()  # the first row has no jumps and no levels
    assert features[1:, 2:6].any(axis=1).all()
    assert model.score_samples(table).argmin() in (100, 101)  # the jump there or back


@pytest.mark.parametrize("n_series", [40, 1200])
def test_many_series_are_followed_to_the_last_bit(n_series):
    def rows(start, stop, seed):
        rng = np.random.RandomState(seed)
        stamps = pd.date_range("2024-01-01", periods=stop, freq="h")[start:]
        table = pd.DataFrame(
            {"stamp": np.repeat(stamps, n_series), "sensor": np.tile(np.arange(n_series), stop - start)}
        )
        return table.assign(x=rng.randn(len(table)) + table["sensor"] % 7)

    model = TableDetector(time="stamp", by="sensor", window=24, random_state=0).fit(rows(0, 60, 0))
    new, kept = rows(60, 63, 1), pickle.dumps(model)
    pieces = np.concatenate([model.score_samples(new[k : k + n_series]) for k in range(0, len(new), n_series)])
    assert same(pieces, pickle.loads(kept).score_samples(new))


def test_series_that_are_forgotten_are_said(monkeypatch, normal):
    monkeypatch.setattr("oddatom.context.following.MOST_ROWS", 1000)
    table = pd.concat([normal.assign(sensor=k, stamp=normal["stamp"] + pd.Timedelta(days=k)) for k in range(3)])
    with pytest.warns(TableWarning, match="series that ended first are forgotten"):
        TableDetector(time="stamp", by="sensor", random_state=0).fit(table)


def test_machines_that_follow_each_other_do_not_wander():
    rng = np.random.RandomState(0)
    stamps = pd.date_range("2024-01-01", periods=300, freq="min")
    parts = [pd.DataFrame({"stamp": stamps, "x": 10 * k + rng.randn(300), "y": rng.randn(300)}) for k in range(4)]
    model = TableDetector(random_state=0).fit(pd.concat(parts, ignore_index=True))
    new = pd.concat(parts[::-1], ignore_index=True)
    new.loc[[600, 700], "x"] = 60.0, 45.0
    assert set(model.score_samples(new).argsort()[:2]) == {600, 700}
    assert (model.predict(new)[[600, 700]] == -1).all()


def test_a_spike_beyond_all_wandering_comes_first():
    rng = np.random.RandomState(0)
    slow = np.zeros(2000)
    for i in range(1, 2000):
        slow[i] = 0.995 * slow[i - 1] + 0.1 * rng.randn()
    table = pd.DataFrame(
        {"stamp": pd.date_range("2024-01-01", periods=2000, freq="min"), "x": slow, "y": rng.randn(2000)}
    )
    table.loc[1500, "x"] = slow[:1000].max() + 20.0
    model = TableDetector(random_state=0).fit(table[:1000])
    assert not np.isnan(model.context_.context.limits[0]).all()  # it wanders
    assert model.score_samples(table[1000:]).argmin() == 500
    assert model.predict(table[1000:])[500] == -1
