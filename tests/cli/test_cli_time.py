"""`--time`, `--window`, `--by` and `score --remember`."""

import html
import json
import re
import shlex

import numpy as np
import pytest
from cli_tables import csv_rows, write_csv

from oddatom import load
from oddatom.cli.parser import make_parser

N_DAYS = 30
NIGHT = 24 * 20 + 3  # a row at three in the morning, from 0


def sensor(first_day=0, days=N_DAYS, seed=0):
    """Columns of an hourly sensor with a peak at noon; NIGHT has the value of a noon."""
    rng = np.random.RandomState(seed)
    stamps = np.datetime64("2024-01-01T00", "h") + np.arange(24 * first_day, 24 * (first_day + days))
    hour = np.arange(stamps.size) % 24
    flow = 10.0 + 8.0 * np.exp(-0.5 * ((hour - 12) / 2.0) ** 2) + 0.3 * rng.randn(stamps.size)
    if stamps.size > NIGHT:
        flow[NIGHT] = 18.0
    return {
        "stamp": [str(stamp.astype("M8[s]")).replace("T", " ") for stamp in stamps],
        "flow": [f"{value:.4f}" for value in flow],
        "pressure": [f"{value:.4f}" for value in 3.0 + 0.2 * rng.randn(stamps.size)],
    }


@pytest.fixture
def sensors(tmp_path):
    return write_csv(tmp_path / "sensors.csv", sensor())


def scores(path):
    return [(row["score"], row["p_value"], row["is_anomaly"]) for row in csv_rows(path)]


def test_a_bare_time_takes_the_column_that_rows_are_in_order_of(run, sensors):
    ended = run("detect", sensors, "--no-report", "--time")
    assert ended.code == 0
    assert "stamp: left out, it puts the rows in order" in ended.err
    assert "in the order of stamp: a row every 1 hour, each compared with a window of 24 rows before it" in ended.err
    assert "what is usual for the hour" in ended.err
    first = ended.out.splitlines()[1].split()
    assert first[1] == str(NIGHT + 1)
    assert "flow: unusual for the hour" in ended.out.splitlines()[1]


def test_lists_have_one_row_of_an_episode(run, sensors, tmp_path):
    said = json.loads(run("detect", sensors, "--no-report", "--time", "--json", "-q").out)
    rows = np.array([one["row"] for one in said["top"]])
    assert np.abs(np.subtract.outer(rows, rows))[~np.eye(rows.size, dtype=bool)].min() > 24
    run("detect", sensors, "--no-report", "--time", "--top", "5", "-q", "-o", tmp_path / "top.csv")
    assert next(row["stamp"] for row in csv_rows(tmp_path / "top.csv")) == "2024-01-21 03:00:00"


def test_without_time_the_list_says_what_it_would_do(run, sensors):
    said = run("detect", sensors, "--no-report").err
    assert "stamp: left out, it is the time of the rows, which come in its order; --time" in said


def test_window_is_taken_and_said(run, sensors):
    assert "a window of 12 rows" in run("detect", sensors, "--no-report", "--time", "stamp", "--window", "12").err


@pytest.mark.parametrize("batch", ["1", "7"])
def test_pieces_get_the_scores_of_the_whole(run, sensors, tmp_path, batch):
    model = tmp_path / "m.oddatom"
    run("fit", sensors, "--time", "-m", model, "-q")
    new = write_csv(tmp_path / "new.csv", sensor(N_DAYS, 4, seed=1))
    run("score", model, new, "-o", tmp_path / "whole.csv", "--explain", "-q")
    run("score", model, new, "-o", tmp_path / "pieces.csv", "--explain", "-q", "--batch", batch)
    assert (tmp_path / "pieces.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_a_model_that_remembers_goes_on_with_the_next_file(run, sensors, tmp_path):
    model, again = tmp_path / "m.oddatom", tmp_path / "again.oddatom"
    run("fit", sensors, "--time", "-m", model, "-q")
    again.write_bytes(model.read_bytes())
    new = sensor(N_DAYS, 6, seed=2)
    whole = write_csv(tmp_path / "new.csv", new)
    run("score", model, whole, "-o", tmp_path / "whole.csv", "-q")
    parts = [{name: cells[a:b] for name, cells in new.items()} for a, b in ((0, 50), (50, 144))]
    found = []
    for k, part in enumerate(parts):
        file = write_csv(tmp_path / f"part{k}.csv", part)
        assert (
            run("score", again, file, "-o", tmp_path / "part.out.csv", "--remember", "-q", "--threshold", "5%").code
            == 0
        )
        found += scores(tmp_path / "part.out.csv")
    assert [one[:2] for one in found] == [one[:2] for one in scores(tmp_path / "whole.csv")]
    assert load(again).threshold_.kind == "auto"  # the model's own


def test_remember_is_for_models_with_a_time(run, model, table):
    before = model.read_bytes()
    ended = run("score", model, table, "--remember")
    assert ended.code == 2
    assert "--remember is for models fitted with --time" in ended.line()
    assert model.read_bytes() == before


def test_rows_are_explained_by_the_row_that_is_odd(run, sensors, tmp_path):
    run("fit", sensors, "--time", "-m", tmp_path / "m.oddatom", "-q")
    said = run("explain", tmp_path / "m.oddatom", sensors, "--row", str(NIGHT + 1), "-q").out
    assert "flow: unusual for the hour" in said.splitlines()[1]
    after = json.loads(run("explain", tmp_path / "m.oddatom", sensors, "--row", str(NIGHT + 3), "--json", "-q").out)[0]
    assert after["rows_ago"] == 2
    assert next(iter(after["shares"])).startswith("flow: unusual for the hour")


def test_by_compares_rows_within_their_group(run, tmp_path):
    rng = np.random.RandomState(0)
    machine = np.repeat(np.arange(8), 60)
    heat = 100.0 * rng.randn(8)[machine] + rng.randn(480)
    heat[77] += 12.0
    columns = {"machine": [f"m{k}" for k in machine], "heat": [f"{x:.3f}" for x in heat]}
    columns["load"] = [f"{x:.3f}" for x in rng.randn(480)]
    data = write_csv(tmp_path / "data.csv", columns)
    ended = run("detect", data, "--no-report", "--by", "machine", "-m", tmp_path / "m.oddatom")
    assert "machine: left out, it groups the rows" in ended.err
    assert "by machine: 8 groups, each with a level of its own" in ended.err
    assert ended.out.splitlines()[1].split()[1] == "78"
    new = write_csv(tmp_path / "new.csv", {**columns, "machine": ["m99"] * 480})
    assert (
        "1 group is new since training ('m99'), and scored by all rows" in run("score", tmp_path / "m.oddatom", new).err
    )


@pytest.mark.parametrize(
    ("change", "words", "said"),
    [
        ({"stamp": ["soon"] * 720}, ["--time", "stamp"], "'soon', which is neither a date nor a number"),
        (
            {"stamp": ["", *["2024-01-01"] * 719]},
            ["--time", "stamp"],
            "a row has no time in column 'stamp' (row 1)",
        ),
        ({"stamp": ["2024-01-01"] * 720}, ["--time", "stamp"], "all values of column 'stamp' are equal"),
        ({}, ["--time", "--window", "720"], "--window must be shorter than the table, which has 720 rows"),
        ({}, ["--window", "12"], "--window needs a time column"),
        ({}, ["--by", "stamp"], "every row has a group of its own in 'stamp'"),
        ({}, ["--time", "when"], "--time must name columns of the table"),
        ({}, ["--time", "--window", "1"], "--window: must be a whole number from 2"),
        ({"stamp": [str(k) for k in np.random.RandomState(0).permutation(720)]}, ["--time"], "rows are in order of no"),
    ],
)
def test_bad_input_is_said_in_one_line_and_nothing_is_written(run, tmp_path, change, words, said):
    data = write_csv(tmp_path / "data.csv", {**sensor(), **change})
    ended = run("detect", data, "-m", tmp_path / "m.oddatom", *words)
    assert ended.code in (1, 2)
    assert said in ended.line()
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_the_word_after_time_is_a_column(run, sensors):
    ended = run("detect", "--time", sensors)
    assert ended.code == 2
    assert "--time takes the word after it as a column, so put it after DATA" in ended.line()


def test_time_goes_with_columns(run, sensors):
    ended = run("detect", sensors, "--time", "--columns", "flow", "--no-report")
    assert "in the order of stamp" in ended.err
    assert "pressure: left out" in ended.err


def test_a_file_in_no_order_is_said(run, sensors, tmp_path):
    run("fit", sensors, "--time", "-m", tmp_path / "m.oddatom", "-q")
    new = {name: cells[::-1] for name, cells in sensor(N_DAYS, 4, seed=3).items()}
    file = write_csv(tmp_path / "new.csv", new)
    said = run("score", tmp_path / "m.oddatom", file, "--batch", "20").err
    assert said.count("rows are not in the order of stamp") == 1
    assert "in the order" not in run("score", tmp_path / "m.oddatom", sensors, "--batch", "100").err  # trained on them
    assert "in the order" not in run("score", tmp_path / "m.oddatom", file).err


def test_p_values_of_other_detectors_are_those_of_score(run, sensors, tmp_path):
    model = tmp_path / "m.oddatom"
    run(
        "detect",
        sensors,
        "--time",
        "--detector",
        "dl",
        "--no-report",
        "-q",
        "-m",
        model,
        "-o",
        tmp_path / "a.csv",
        "--all",
    )
    run("score", model, sensors, "-q", "-o", tmp_path / "b.csv")
    assert scores(tmp_path / "a.csv") == scores(tmp_path / "b.csv")


def test_inspect_says_how_rows_are_placed(run, sensors, tmp_path):
    run("fit", sensors, "--time", "-m", tmp_path / "m.oddatom", "-q")
    said = run("inspect", tmp_path / "m.oddatom").out
    assert "in the order of stamp: a row every 1 hour" in said
    assert "rows kept: 720" in said


def test_what_needs_rows_by_themselves_is_refused(run, sensors, tmp_path):
    model = tmp_path / "m.oddatom"
    (tmp_path / "known.csv").write_text("row,label\n5,normal\n")
    said = run("fit", sensors, "--time", "--updatable", "-m", model).line()
    assert "--updatable is not for --time" in said
    run("fit", sensors, "--time", "-m", model, "-q")
    assert (
        "was fitted with --time, and so learns from all rows at once"
        in run("update", model, sensors, "--decay", "0", "-q").line()
    )
    assert "--known is not for --time" in run("detect", sensors, "--time", "--known", tmp_path / "known.csv").line()
    known = run("score", model, sensors, "--known", tmp_path / "known.csv", "-q").line()
    assert "takes no judged rows" in known


def test_a_row_without_a_time_is_named_by_its_place_in_the_file(run, sensors, tmp_path):
    run("fit", sensors, "--time", "-m", tmp_path / "m.oddatom", "-q")
    cells = sensor(N_DAYS, 4, seed=3)
    cells["stamp"] = [*cells["stamp"][:60], "", *cells["stamp"][61:]]
    new = write_csv(tmp_path / "new.csv", cells)
    ended = run("score", tmp_path / "m.oddatom", new, "--batch", "20", "-q")
    assert (ended.code, "(row 61)" in ended.line()) == (1, True)
    assert not (tmp_path / "new.scores.csv").exists()


def test_a_counter_puts_rows_in_order(run, tmp_path):
    data = write_csv(tmp_path / "data.csv", {**sensor(), "stamp": range(1, 721)})
    assert "stamp: left out, it runs with the rows" in run("detect", data, "--no-report").err
    assert "in the order of stamp" in run("detect", data, "--no-report", "--time").err


def test_the_report_says_how_to_fit_the_same(run, tmp_path):
    rng = np.random.RandomState(0)
    columns = {**sensor(), "pump, old": [f"p{k % 3}" for k in range(720)], "load": rng.randn(720)}
    data = write_csv(tmp_path / "data.csv", columns)
    run("detect", data, "--time", "stamp", "--by", '"pump, old"', "--window", 12, "--threshold", "2%", "-q")
    page = html.unescape((tmp_path / "data.report.html").read_text())
    words = re.search(r"oddatom (fit .*? -m model\.oddatom)", page).group(1)
    options = make_parser().parse_args(shlex.split(words))
    assert (options.time, options.by, options.window, options.threshold) == ("stamp", ["pump, old"], 12, "2%")


def test_dates_come_before_counters_and_what_begins_again_is_no_order(run, tmp_path):
    columns = sensor()
    seconds = [1_704_067_200 + 3600 * k for k in range(720)]
    epochs = write_csv(tmp_path / "a.csv", {"step": range(720), "ts": seconds, "flow": columns["flow"]})
    assert "in the order of ts: a row every 1 hour" in run("detect", epochs, "--no-report", "--time").err
    clock = [stamp[11:16] for stamp in columns["stamp"]]
    days = write_csv(tmp_path / "b.csv", {"time": clock, "flow": columns["flow"], "load": columns["pressure"]})
    ended = run("detect", days, "--no-report", "--time")
    assert (ended.code, "rows are in order of no column" in ended.err) == (2, True)


def test_the_list_of_episodes_comes_by_score_with_the_ranks_of_the_file(run, sensors, tmp_path):
    said = json.loads(run("detect", sensors, "--no-report", "--time", "--json", "-q", "--all").out)
    rows = csv_rows(tmp_path / "sensors.anomalies.csv")
    scores_listed = [one["score"] for one in said["top"]]
    assert scores_listed == sorted(scores_listed)
    for one in said["top"]:
        assert one["rank"] == int(rows[one["row"] - 1]["rank"])
    assert said["top"][0]["rank"] == 1
