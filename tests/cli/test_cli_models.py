"""`fit`, `score`, `explain`, `report`, `inspect`, `demo`: what they do with a kept model."""

import itertools
import json
import re

import numpy as np
import pyarrow as pa
import pytest
from cli_tables import N_ROWS, ODD_ROW, csv_rows, write_csv
from sklearn.pipeline import Pipeline

from oddatom import load, save
from oddatom.cli.tables import full_batches
from oddatom.decisions import benjamini_hochberg
from oddatom.table import open_table


def test_fit_writes_a_model(run, table, tmp_path, model):
    ended = run("fit", table, "-m", tmp_path / "again.oddatom")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.splitlines()[-1] == f"model: {tmp_path / 'again.oddatom'}"
    assert (tmp_path / "again.oddatom").read_bytes() == model.read_bytes()
    said = json.loads(run("fit", table, "-m", tmp_path / "again.oddatom", "--json").out)
    assert said == {"table": str(table), "rows": N_ROWS, "model": str(tmp_path / "again.oddatom")}


def test_score_does_not_depend_on_batches_or_threads(run, table, tmp_path, model):
    for name, words in {"a": [], "b": ["--batch", 7], "c": ["--threads", 1], "d": ["--batch", 299]}.items():
        run("score", model, table, "--explain", "-o", tmp_path / f"{name}.csv", *words)
    whole = (tmp_path / "a.csv").read_bytes()
    assert all((tmp_path / f"{name}.csv").read_bytes() == whole for name in "bcd")
    rows = csv_rows(tmp_path / "a.csv")
    assert list(rows[0])[-4:] == ["score", "p_value", "is_anomaly", "top_features"]
    assert rows[ODD_ROW - 1]["top_features"].startswith("weight ")


def test_score_says_how_many(run, table, tmp_path, model):
    ended = run("score", model, table)
    n = sum(row["is_anomaly"] == "true" for row in csv_rows(tmp_path / "data.scores.csv"))
    assert ended.err.splitlines() == [
        f"{n} of {N_ROWS} rows flagged.",
        f"rows: {tmp_path / 'data.scores.csv'}",
    ]
    assert ended.out == ""
    assert run("score", model, table, "-q", "--fail-on-anomaly").code == 3
    assert run("score", model, table, "-q", "--threshold", "1e-9", "--fail-on-anomaly") == (0, "", "")


@pytest.mark.parametrize("sizes", [[3, 4, 1, 20, 2], [30], [1] * 30, [7, 7, 7, 9]])
def test_full_batches(sizes):
    whole = pa.table({"x": range(sum(sizes))})
    cuts = np.cumsum([0, *sizes])
    pieces = [whole.slice(a, b - a).to_batches()[0] for a, b in itertools.pairwise(cuts.tolist())]
    batches = list(full_batches(pieces, 7))
    assert [batch.num_rows for batch in batches] == [7, 7, 7, 7, 2]
    assert pa.concat_tables(batches) == whole


def test_fdr_judges_rows_in_full_batches(run, tmp_path, model, columns):
    times = 100  # csv of more than a MiB comes in several pieces, however many rows are asked for
    path = write_csv(tmp_path / "long.csv", {name: cells * times for name, cells in columns.items()})
    ended = run("score", model, path, "--threshold", "fdr=0.3", "--batch", 20_000)
    assert "false discoveries are controlled in every 20,000 rows" in ended.err
    rows = csv_rows(tmp_path / "long.scores.csv")
    p = np.array([float(row["p_value"]) for row in rows])
    expected = np.concatenate([benjamini_hochberg(p[:20_000], 0.3), benjamini_hochberg(p[20_000:], 0.3)])
    assert [row["is_anomaly"] == "true" for row in rows] == expected.tolist()


def test_unseen_categories_missing_columns_another_order(run, tmp_path, model, columns):
    other = {name: list(columns[name]) for name in ("day", "colour", "weight", "size")}  # no "noise", no "id"
    other["colour"][4] = "ultraviolet"
    other["extra"] = ["?"] * N_ROWS
    ended = run("score", model, write_csv(tmp_path / "other.csv", other), "--explain")
    assert ended.code == 0
    assert "warning: not in the table, so all missing: 'noise'" in ended.err
    rows = csv_rows(tmp_path / "other.scores.csv")
    assert list(rows[0])[:5] == list(other)
    assert rows[4]["top_features"].startswith("colour ")
    assert rows[4]["is_anomaly"] == "true"
    frame = open_table(tmp_path / "other.csv").read()
    with pytest.warns(UserWarning, match="not in the table"):
        expected = load(model).score_samples(frame)
    assert [float(row["score"]) for row in rows] == expected.tolist()


def test_warnings_are_said_once_however_many_batches(run, tmp_path, model, columns):
    holes = {**columns, "size": ["oops" if k % 3 else value for k, value in enumerate(columns["size"])]}
    ended = run("score", model, write_csv(tmp_path / "holes.csv", holes), "--batch", 10)
    warned = [line for line in ended.err.splitlines() if line.startswith("warning:")]
    assert len(warned) == 1
    assert "'size' has 6 values that are not numbers" in warned[0]
    assert "there were more" in ended.err


def test_explain_rows_and_top(run, table, model):
    ended = run("explain", model, table, "--row", ODD_ROW, "--row", 3)
    assert re.findall(r"^row (\d+)  score", ended.out, re.MULTILINE) == ["3", str(ODD_ROW)]
    odd = ended.out[ended.out.index(f"row {ODD_ROW}") :].splitlines()
    assert odd[0].endswith("  flagged")
    assert odd[1].split()[0] == "weight"
    assert odd[1].split()[-1] == "9.00000"  # the cell itself
    top = json.loads(run("explain", model, table, "--top", 3, "--json").out)
    assert len(top) == 3
    assert top[0]["row"] == ODD_ROW
    assert next(iter(top[0]["shares"])) == "weight"
    assert sum(top[0]["shares"].values()) == pytest.approx(1)
    assert top[0]["score"] < top[1]["score"] < top[2]["score"]
    assert len(run("explain", model, table, "--json", "-q").out.split('"row"')) == 11


def test_explain_agrees_with_score_under_fdr(run, table, tmp_path, model):
    fdr = load(model).set_threshold(("fdr", 0.9))
    save(fdr, tmp_path / "fdr.oddatom")
    run("score", tmp_path / "fdr.oddatom", table)
    flagged = [row["is_anomaly"] == "true" for row in csv_rows(tmp_path / "data.scores.csv")]
    top = json.loads(run("explain", tmp_path / "fdr.oddatom", table, "--top", N_ROWS, "--json").out)
    assert {one["row"]: one["is_anomaly"] for one in top} == dict(enumerate(flagged, 1))


def test_explain_says_where_a_kernel_has_nothing_to_say(run, table, tmp_path):
    run("fit", table, "-m", tmp_path / "k.oddatom", "--detector", "kdl", "-q")
    ended = run("explain", tmp_path / "k.oddatom", table, "--row", 5)
    assert ended.line() == "A kernel does not split over columns: there is nothing to say of each."
    assert len(ended.out.splitlines()) == 1


def test_report(run, table, tmp_path, model):
    ended = run("report", model, table)
    assert ended.line() == f"report: {tmp_path / 'data.report.html'}"
    assert "Odd rows of data.csv" in (tmp_path / "data.report.html").read_text()
    said = json.loads(run("report", model, table, "--json", "-q", "-o", tmp_path / "other.html").out)
    assert said["report"] == str(tmp_path / "other.html")
    assert said["rows"] == N_ROWS
    assert said["anomalies"] > 0


@pytest.mark.parametrize("command", ["detect", "report"])
def test_ids_and_ignored_columns_stay_out_of_the_report(run, tmp_path, model, columns, command):
    private = [f"PRIVATE-{k % 7}" for k in range(N_ROWS)]
    path = write_csv(tmp_path / "data.csv", {**columns, "diagnosis": private})
    words = [command, path, "--ignore", "diagnosis"] if command == "detect" else [command, model, path]
    run(*words)
    page = (tmp_path / "data.report.html").read_text()
    assert "SECRET-" not in page
    assert "PRIVATE-" not in page
    run(*words, "--show-ids")
    page = (tmp_path / "data.report.html").read_text()
    assert "SECRET-" in page
    assert "PRIVATE-" in page


def test_commands_in_the_report_are_quoted(run, tmp_path, columns):
    path = write_csv(tmp_path / "my data;rm.csv", columns)
    run("detect", path)
    page = (tmp_path / "my data;rm.report.html").read_text()
    assert f"oddatom fit &#39;{path}&#39; -m model.oddatom" in page


def test_inspect(run, model):
    ended = run("inspect", model)
    assert ended.err == ""
    assert "table: TableEncoder" in ended.out
    assert "  id: left out, every value is different" in ended.out
    assert "detector: OddAtomDetector" in ended.out
    assert "training rows: 300" in ended.out
    said = json.loads(run("inspect", model, "--json").out)
    assert said["file"] == str(model)
    assert said["detector"]["parameters"]["random_state"] == 0
    assert len(said["table"]["columns"]) == 6


def test_inspect_a_detector_alone(run, model, tmp_path):
    save(load(model).detector_, tmp_path / "alone.oddatom")
    assert run("inspect", tmp_path / "alone.oddatom").out.startswith("detector: OddAtomDetector\n")


def test_models_of_older_files(run, table, model, tmp_path):
    """A Pipeline of encoder and detector, which the command line once wrote, does what a TableDetector does."""
    kept, old = load(model), tmp_path / "old.oddatom"
    save(Pipeline([("table", kept.encoder_), ("detector", kept.detector_)]), old)
    assert type(load(old)) is Pipeline
    said = {}
    for path in (model, old):
        run("score", path, table, "--explain", "-o", tmp_path / "scores.csv", "--threshold", 0.05)
        found = [(tmp_path / "scores.csv").read_bytes(), run("explain", path, table, "--row", ODD_ROW).out]
        run("report", path, table, "-o", tmp_path / "report.html")
        report = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "", (tmp_path / "report.html").read_text())
        said[path] = [*found, run("inspect", path).out, report.replace(str(path), "")]
    assert said[model] == said[old]


def test_demo_finds_what_was_corrupted(run, tmp_path):
    ended = run("demo", "-o", tmp_path / "demo", "--json")
    assert ended.code == 0
    files = sorted(path.name for path in (tmp_path / "demo").iterdir())
    assert files == ["wine.anomalies.csv", "wine.csv", "wine.oddatom", "wine.report.html"]
    said = json.loads(ended.out)
    top = said["top"]
    assert {one["row"] for one in top[:3]} == {18, 75, 133}
    assert [one["is_anomaly"] for one in top] == [True] * 3 + [False] * 7
    assert said["anomalies"] == 3
    assert said["odder_than_chance"]["low"] <= 3 <= said["odder_than_chance"]["high"]
    first = {one["row"]: one["top_features"].split()[0] for one in top[:3]}
    assert first == {18: "alcohol", 75: "proline", 133: "color_intensity"}
    shown = re.search(r"^oddatom (detect .*)$", ended.err, re.MULTILINE)[1].split()
    before = (tmp_path / "demo" / "wine.anomalies.csv").read_bytes()
    assert run(*shown, "--no-report").code == 0  # the command it shows is the one it runs
    assert (tmp_path / "demo" / "wine.anomalies.csv").read_bytes() == before


def test_columns_that_moved_are_said_once(run, tmp_path, model, columns):
    later = {**columns, "weight": [str(float(weight) + 500.0) for weight in columns["weight"]]}
    path = write_csv(tmp_path / "later.csv", later)
    ended = run("score", model, path, "--batch", 100)
    assert ended.code == 0
    assert ended.err.count("moved since training (weight: median") == 1
    ended = run("report", model, path)
    assert ended.err.count("1 column has moved since training (weight: median") == 1
    page = (tmp_path / "later.report.html").read_text()
    assert "moved since training" in page
    assert "since training" not in run("score", model, write_csv(tmp_path / "same.csv", columns)).err
