"""Windows, figures, simulated series and groups of the stream benchmark; neither data, PyOD nor aeon is needed."""

import warnings
from importlib.util import find_spec

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from benchmarks import _stream_peers, streams  # noqa: E402
from benchmarks._stream_peers import Reconstruction, Run, peer_runs, standardise, windows  # noqa: E402

from oddatom.exceptions import DriftWarning  # noqa: E402

SEEDS = range(5)


def autocorrelation(x, lag):
    x = x - x.mean()
    return float((x[lag:] * x[:-lag]).sum() / (x * x).sum())


def mean_autocorrelation(family, lag):
    return np.mean([autocorrelation(streams.simulate(family, 4000, seed)["x0"].to_numpy(), lag) for seed in SEEDS])


# ---------------------------------------------------------------------------------------------------- windows and peers
def test_a_window_is_the_row_and_the_rows_before_it():
    X = np.arange(12.0).reshape(6, 2)
    found = windows(X, 3)
    np.testing.assert_array_equal(found[4], [4, 5, 6, 7, 8, 9])  # rows 2, 3, 4
    np.testing.assert_array_equal(found[0], [0, 1] * 3)
    np.testing.assert_array_equal(found[1], [0, 1, 0, 1, 2, 3])
    assert found.shape == (6, 6)
    np.testing.assert_array_equal(windows(X, 1), X)


def test_later_rows_do_not_change_a_window():
    X = np.random.default_rng(0).normal(size=(50, 3))
    changed = X.copy()
    changed[30:] += 9.0
    np.testing.assert_array_equal(windows(X, 24)[:30], windows(changed, 24)[:30])
    assert (windows(X, 24)[30:] != windows(changed, 24)[30:]).any(axis=1).all()


def test_columns_are_standardised_by_the_training_rows():
    X = np.random.default_rng(0).normal(5.0, 3.0, size=(300, 3))
    X[:, 2] = 0.1
    X[100:, 0] += 50.0
    X[100:, 2] = 1.1
    found = standardise(X, 100)
    np.testing.assert_allclose(found[:100, :2].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(found[:100, :2].std(axis=0), 1.0)
    assert found[100:, 0].min() > 5.0
    np.testing.assert_allclose(found[:100, 2], 0.0, atol=1e-12)
    np.testing.assert_allclose(found[100:, 2], 1.0)  # constant in training: not divided by rounding
    np.testing.assert_allclose(standardise(X)[:, :2].mean(axis=0), 0.0, atol=1e-12)


def test_reconstruction_error_is_the_distance_to_the_components():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 1)) * [3.0, 4.0] + 0.01 * rng.normal(size=(500, 2))
    Z = np.array([[6.0, 8.0], [-4.0, 3.0]])  # along the one component, and 5 away from it
    scores = Reconstruction().scores(Reconstruction().make(0), X, Z)
    np.testing.assert_allclose(scores, [0.0, 25.0], atol=0.1)


def test_peers_score_the_rows_after_training(monkeypatch):
    monkeypatch.setattr(_stream_peers, "_NAMES", ("IsolationForest",))
    monkeypatch.setattr(_stream_peers, "find_spec", lambda name: None)
    X = np.random.default_rng(0).normal(size=(120, 2))
    X[-1] += 20.0
    runs = list(peer_runs(X, 100))
    names = [name for name, _ in runs]
    assert names == [
        *["IsolationForest, rows"] * 3,
        "PCA, rows",
        *["IsolationForest, windows of 24"] * 3,
        "PCA, windows of 24",
    ]
    forest, pca = runs[0].scores(), runs[-1].scores()
    assert forest.shape == pca.shape == (20,)
    assert forest.argmax() == pca.argmax() == 19
    assert "PCA, rows" not in [name for name, _ in peer_runs(X[:, :1], None)]


@pytest.mark.skipif(find_spec("aeon") is not None, reason="aeon is installed")
def test_the_library_for_series_is_named_where_it_is_not_installed(monkeypatch):
    monkeypatch.setattr(_stream_peers, "choose", lambda only, skip: [])
    assert _stream_peers.check_peers() == {"KMeansAD (aeon)": "aeon is not installed (pip install aeon)"}


# -------------------------------------------------------------------------------------------------------------- figures
def test_figures_of_a_known_ranking():
    y = np.array([0, 1, 0, 1])
    found = streams.figures(y, [0.1, 0.4, 0.3, 0.2])
    assert found["auroc"] == pytest.approx(0.75)  # three of four pairs in order
    assert found["ap"] == pytest.approx(0.5 * (1 / 1 + 2 / 3))
    assert streams.figures(y, [-np.inf, np.inf, 0.0, np.inf]) == {"auroc": 1.0, "ap": 1.0}


def test_failures_count_as_random():
    y = np.array([0, 0, 0, 1])

    def fails():
        raise ValueError("no\nmore")

    runs = [
        Run("good", lambda: y.astype(float)),
        Run("bad", fails),
        Run("empty", lambda: np.full(4, np.nan)),
        Run("seeds", lambda: y.astype(float)),
        Run("seeds", lambda: -y.astype(float)),
    ]
    found = streams.rank(y, runs)
    assert found["good"] == {"auroc": 1.0, "ap": 1.0}
    assert found["bad"] == {"auroc": 0.5, "ap": 0.25, "error": "ValueError: no"}
    assert found["empty"]["ap"] == 0.25
    assert "NaN" in found["empty"]["error"]
    assert found["seeds"] == {"auroc": 0.5, "ap": pytest.approx((1 + 0.25) / 2)}


def test_means_over_sets():
    by_set = {"a": {"x": {"auroc": 0.6, "ap": 0.2}}, "b": {"x": {"auroc": 0.8, "ap": 0.6}}}
    found = streams.over_sets(by_set, [0.1, 0.3])
    assert found["figures"]["x"] == {"auroc": pytest.approx(0.7), "ap": pytest.approx(0.4)}
    assert (found["sets"], found["anomalies"]) == (2, pytest.approx(0.2))
    assert found["ap by set"] == {"x": {"a": 0.2, "b": 0.6}}


# ---------------------------------------------------------------------------------------------------------------- files
def test_labels_are_no_columns(tmp_path, monkeypatch):
    folder = tmp_path / "streams"
    folder.mkdir()
    (tmp_path / "odds").mkdir()
    stamp = "2020-03-09 15:56:3"
    (folder / "valve2_0.csv").write_text(
        "datetime;Flow;anomaly;changepoint\n" + "".join(f"{stamp}{i};{i}.5;{i % 2}.0;1.0\n" for i in range(4))
    )
    (folder / "speed.csv").write_text("timestamp,value,anomaly\n" + "".join(f"{stamp}{i},{i},1\n" for i in range(4)))
    monkeypatch.setenv("ODDATOM_DATA", str(tmp_path / "odds"))
    (pump,), (series,) = streams.stream_files()
    table, time, y = streams.read_stream(pump)
    assert (list(table), time, y.tolist()) == (["datetime", "Flow"], "datetime", [0, 1, 0, 1])
    assert table["datetime"].iloc[1] == pd.Timestamp("2020-03-09 15:56:31")
    table, time, y = streams.read_stream(series)
    assert (list(table), time, y.tolist()) == (["timestamp", "value"], "timestamp", [1, 1, 1, 1])
    monkeypatch.setenv("ODDATOM_DATA", str(tmp_path / "nowhere"))
    assert streams.stream_files() == ([], [])


# --------------------------------------------------------------------------------------------------- simulated families
@pytest.mark.parametrize("family", streams.FAMILIES)
def test_simulated_series_are_hourly_and_follow_the_seed(family):
    one, again, other = (streams.simulate(family, 1000, seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one, again)
    assert not np.array_equal(one["x0"], other["x0"])
    assert (one["timestamp"].diff().dropna() == pd.Timedelta(hours=1)).all()
    assert one["timestamp"].dt.day_of_week[0] == 0
    assert one.shape == (1000, 6 if "5 columns" in family else 2)


@pytest.mark.parametrize(("family", "phi"), [("white noise, 5 columns", 0.0), ("AR(1), 0.5", 0.5), ("AR(1), 0.9", 0.9)])
def test_autocorrelation_is_as_claimed(family, phi):
    for lag in (1, 2, 5):
        assert mean_autocorrelation(family, lag) == pytest.approx(phi**lag, abs=0.05)


def test_autoregression_has_variance_1_from_the_first_row_on():
    X = streams.ar(np.random.default_rng(0), 50, 0.9, 20_000)
    np.testing.assert_allclose(X[[0, 1, 10, 49]].var(axis=1), 1.0, atol=0.04)
    assert abs(np.corrcoef(X[0], X[1])[0, 1] - 0.9) < 0.01


def test_daily_cycle():
    assert mean_autocorrelation("daily cycle", 24) > 0.7
    assert mean_autocorrelation("daily cycle", 12) < -0.7
    frame = streams.simulate("daily cycle", 4000, 0)
    by_hour = frame.groupby(frame["timestamp"].dt.hour)["x0"].mean()
    np.testing.assert_allclose(by_hour, 3.0 - 3.0 * np.cos(2.0 * np.pi * np.arange(24) / 24.0), atol=0.5)
    by_weekday = frame.groupby(frame["timestamp"].dt.day_of_week)["x0"].mean()
    assert np.ptp(by_weekday) < 0.5


def test_weekly_pattern():
    frame = streams.simulate("weekly pattern", 4000, 0)
    noon = frame[frame["timestamp"].dt.hour == 12]
    by_weekday = noon.groupby(noon["timestamp"].dt.day_of_week)["x0"].mean()
    np.testing.assert_allclose(by_weekday, [6.0] * 5 + [1.8] * 2, atol=0.8)
    assert mean_autocorrelation("weekly pattern", 168) > mean_autocorrelation("weekly pattern", 72) + 0.1


def test_drifting_series_drift():
    walk, trend, shift = (
        np.stack([streams.simulate(family, 4000, seed)["x0"] for seed in SEEDS])
        for family in ("random walk", "linear trend", "level shift")
    )
    steps = np.diff(walk, axis=1)
    assert steps.std() == pytest.approx(1.0, abs=0.03)
    assert abs(np.mean([autocorrelation(one, 1) for one in steps])) < 0.05
    slope = np.polyfit(np.arange(4000), trend.mean(axis=0), 1)[0]
    assert slope == pytest.approx(8.0 / 4000, rel=0.05)
    parts = shift.reshape(5, 8, 500).mean(axis=(0, 2))
    np.testing.assert_allclose(parts, [0.0] * 6 + [4.0] * 2, atol=0.15)
    for detrended in (trend - np.linspace(0.0, 8.0, 4000), shift - 4.0 * (np.arange(4000) >= 3000)):
        assert np.mean([autocorrelation(one, 1) for one in detrended]) == pytest.approx(0.5, abs=0.05)


def test_flags_and_warnings_of_the_second_half():
    class Model:
        def fit(self, table):
            self.fitted = len(table)
            warnings.warn("at training", DriftWarning, stacklevel=1)

        def predict(self, table):
            assert table["x0"].iloc[0] == self.fitted
            warnings.warn("moved", DriftWarning if len(table) > 5 else UserWarning, stacklevel=1)
            return np.where(table["x0"] % 5 == 0, -1, 1)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert streams.flag(Model(), pd.DataFrame({"x0": np.arange(20)})) == (0.2, True)
        assert streams.flag(Model(), pd.DataFrame({"x0": np.arange(10)})) == (0.2, False)


# --------------------------------------------------------------------------------------------------------------- groups
def test_machines_have_levels_of_their_own_and_planted_rows():
    frame, y = streams.machines(0)
    pd.testing.assert_frame_equal(frame, streams.machines(0)[0])
    assert (frame["machine"].value_counts() == 200).all()
    assert frame["machine"].nunique() == 20
    assert y.sum() == 40
    groups = frame.groupby("machine")
    middle, scale = (groups.transform(what) for what in ("median", lambda x: 1.4826 * (x - x.median()).abs().median()))
    own = ((frame.drop(columns="machine") - middle) / scale).to_numpy()
    levels, scales = groups.median(), groups.std()
    assert levels.stack().std() / scales.stack().median() == pytest.approx(100.0, rel=0.35)
    assert np.log(scales.stack()).std() == pytest.approx(1.0, abs=0.25)
    far = np.abs(own) > 3.9
    assert far[y == 0].any(axis=1).mean() < 0.01
    assert np.isin(far[y == 1].sum(axis=1), [1, 2]).mean() > 0.9
    assert np.abs(own[y == 1]).max(axis=1).mean() == pytest.approx(6.3, abs=0.7)
    assert {-1.0, 1.0} == set(np.sign(own[far & (y == 1)[:, None]]))


# --------------------------------------------------------------------------------------------------------------- output
def test_tables_are_rendered():
    cell = {"auroc": 0.75, "ap": 0.5}
    results = {
        "pump": {
            "sets": 4,
            "anomalies": 0.25,
            "figures": {"k-NN, rows": cell | {"error": "ValueError: no"}, "TableDetector": {"auroc": 0.9, "ap": 0.8}},
            "left out": {"KMeansAD (aeon)": "not there"},
        },
        "normal": {
            "figures": {
                "AR(1), 0.5, 1,000 rows": {"TableDetector": {"mean": 0.01, "largest": 0.025, "warned": 1, "runs": 5}}
            }
        },
        "speed": {"figures": {"TableDetector": 10.0, "TableDetector, time, window=24": 25.0}},
    }
    text = streams.render(results)
    assert text.index("| **TableDetector** | 0.900 | 0.800 |") < text.index("| k-NN, rows | 0.750 | 0.500 |")
    assert "| (random order) | 0.500 | 0.250 |" in text
    assert "Failed, counted as random: k-NN, rows: ValueError: no" in text
    assert "Left out: KMeansAD (aeon): not there." in text
    assert "| AR(1), 0.5, 1,000 rows | 1.00 % | 2.50 % | 1 of 5 |" in text
    assert "| TableDetector, time, window=24 | 25.0 | 2.50 |" in text
    assert "means of 4 files" in text
    assert "Groups" not in text


def test_absent_files_leave_their_parts_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ODDATOM_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr(streams, "FILE", tmp_path / "streams.json")
    monkeypatch.setattr(streams, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr("sys.argv", ["streams", "--only", "pump", "--only", "groups"])
    monkeypatch.setattr(streams, "measure", lambda part, paths, seeds: {"sets": seeds, "anomalies": 0.1, "figures": {}})
    streams.main()
    out = capsys.readouterr().out
    assert "No files for pump" in out
    assert "means of 5 seeds" in out
    assert '"groups"' in streams.FILE.read_text()
    assert "rows of 20 machines" in streams.PAGE.read_text()
    streams.FILE.unlink()
    monkeypatch.setattr("sys.argv", ["streams", "--only", "groups", "--dry-run"])
    streams.main()
    assert not streams.FILE.exists()
