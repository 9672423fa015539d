"""`oddatom detect`: files, list, JSON, options; the same scores as Python's."""

import json

import numpy as np
import pyarrow.parquet
import pytest
from cli_tables import N_ROWS, ODD_ROW, csv_rows, write_csv

from oddatom import OddAtomDetector, load, make_detector
from oddatom.cli.learning import in_words
from oddatom.cli.listing import flagged_words
from oddatom.table import open_table

RESULTS = ["row", "score", "p_value", "is_anomaly", "rank", "top_features"]


def test_detect_does_the_whole_job(run, table, tmp_path, columns):
    ended = run("detect", table, "--all")
    assert ended.code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.anomalies.csv", "data.csv", "data.report.html"]
    rows = csv_rows(tmp_path / "data.anomalies.csv")
    assert list(rows[0]) == [*columns, *RESULTS]
    for name, cells in columns.items():  # the original rows in the original order
        assert [row[name] for row in rows] == cells
    scores = np.array([float(row["score"]) for row in rows])
    assert [int(row["row"]) for row in rows] == list(range(1, N_ROWS + 1))
    assert sorted(int(row["rank"]) for row in rows) == list(range(1, N_ROWS + 1))
    assert np.array_equal(np.argsort(scores, kind="stable"), np.argsort([int(row["rank"]) for row in rows]))
    odd = rows[ODD_ROW - 1]
    assert (odd["rank"], odd["is_anomaly"]) == ("1", "true")
    assert odd["top_features"].startswith("weight ")
    assert {row["is_anomaly"] for row in rows} == {"true", "false"}
    assert all(0 < float(row["p_value"]) <= 1 for row in rows)


def test_detect_says_columns_on_stderr_and_ten_rows_on_stdout(run, table):
    ended = run("detect", table, "--no-report")
    assert f"{N_ROWS} rows, 6 columns:" in ended.err
    assert "  id: left out, every value is different" in ended.err
    assert "  noise: number, 6 missing values" in ended.err
    assert "  colour: text, 3 values (blue, green, red)" in ended.err
    lines = ended.out.splitlines()
    assert len(lines) == 11
    assert lines[0].split() == ["rank", "row", "score", "p-value", "what", "makes", "it", "odd"]
    assert lines[1].split()[:2] == ["1", str(ODD_ROW)]
    assert " flagged weight " in lines[1]
    assert "\x1b" not in ended.out + ended.err


def test_scores_are_those_of_score_and_of_python(run, table, tmp_path):
    run("detect", table, "-m", tmp_path / "m.oddatom", "--no-report", "--all")
    run("score", tmp_path / "m.oddatom", table)
    found, scored = csv_rows(tmp_path / "data.anomalies.csv"), csv_rows(tmp_path / "data.scores.csv")
    whole = open_table(table).read()
    model = make_detector(OddAtomDetector(random_state=0)).fit(whole)
    for name, values in {
        "score": model.score_samples(whole),
        "p_value": model.p_values(whole),
        "is_anomaly": model.predict(whole) == -1,
    }.items():
        expected = [json.dumps(value) if name == "is_anomaly" else float(value) for value in values.tolist()]
        for rows in (found, scored):
            assert [row[name] if name == "is_anomaly" else float(row[name]) for row in rows] == expected
    assert np.array_equal(load(tmp_path / "m.oddatom").score_samples(whole), model.score_samples(whole))


def test_threads_do_not_matter(run, table, tmp_path):
    for n in (1, 2):
        run("detect", table, "--no-report", "--threads", n, "-o", tmp_path / f"{n}.csv")
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()


def test_seed_matters(run, table, tmp_path):
    for n in (0, 1):
        run("detect", table, "--no-report", "--seed", n, "-o", tmp_path / f"{n}.csv")
    assert (tmp_path / "0.csv").read_bytes() != (tmp_path / "1.csv").read_bytes()


def test_top_writes_the_oddest_alone_oddest_first(run, table, tmp_path):
    run("detect", table, "--no-report", "--explain-all")
    whole = sorted(csv_rows(tmp_path / "data.anomalies.csv"), key=lambda row: int(row["rank"]))
    run("detect", table, "--no-report", "--top", 7)
    assert csv_rows(tmp_path / "data.anomalies.csv") == whole[:7]
    run("detect", table, "--no-report", "--top", 10_000)
    assert csv_rows(tmp_path / "data.anomalies.csv") == whole


def test_flagged_and_listed_rows_are_written_oddest_first(run, table, tmp_path):
    run("detect", table, "--no-report", "--explain-all")
    whole = csv_rows(tmp_path / "data.anomalies.csv")
    for words in ([], ["--threshold", "10%"]):
        ended = run("detect", table, "--no-report", *words)
        rows = csv_rows(tmp_path / "data.anomalies.csv")
        n = max(sum(row["is_anomaly"] == "true" for row in rows), 10)
        assert [int(row["rank"]) for row in rows] == list(range(1, n + 1))
        assert f"({n} of them; --all writes every row)" in ended.err
        for row in rows:
            one = whole[int(row["row"]) - 1]
            assert [row[name] for name in ("id", "score", "rank", "top_features")] == [
                one[name] for name in ("id", "score", "rank", "top_features")
            ]
            assert row["top_features"]


def test_all_rows_are_written_and_the_flagged_and_listed_explained(run, table, tmp_path):
    assert "of them" not in run("detect", table, "--no-report", "--threshold", "10%", "--all").err
    for row in csv_rows(tmp_path / "data.anomalies.csv"):
        assert bool(row["top_features"]) == (row["is_anomaly"] == "true" or int(row["rank"]) <= 10)
    run("detect", table, "--no-report", "--explain-all")
    assert all(row["top_features"] for row in csv_rows(tmp_path / "data.anomalies.csv"))


def test_json(run, table, tmp_path):
    ended = run("detect", table, "--json", "-m", tmp_path / "m.oddatom")
    said = json.loads(ended.out)
    assert (said["table"], said["rows"], said["output"]) == (str(table), N_ROWS, str(tmp_path / "data.anomalies.csv"))
    assert (said["report"], said["model"]) == (str(tmp_path / "data.report.html"), str(tmp_path / "m.oddatom"))
    rows = csv_rows(tmp_path / "data.anomalies.csv")
    assert said["anomalies"] == sum(row["is_anomaly"] == "true" for row in rows) > 0
    assert [one["rank"] for one in said["top"]] == list(range(1, 11))
    for one in said["top"]:
        row = next(row for row in rows if int(row["row"]) == one["row"])
        assert (one["score"], one["top_features"]) == (float(row["score"]), row["top_features"])


def test_quiet(run, table):
    assert run("detect", table, "-q", "--no-report") == (0, "", "")
    ended = run("detect", table, "-q", "--json", "--no-report")
    assert ended.err == ""
    assert json.loads(ended.out)["rows"] == N_ROWS


def test_fail_on_anomaly(run, table, tmp_path):
    assert run("detect", table, "--no-report", "-q", "--fail-on-anomaly").code == 3
    same = write_csv(tmp_path / "same.csv", {"a": ["1"] * 20, "b": ["x"] * 20})
    assert run("detect", same, "--no-report", "-q", "--fail-on-anomaly").code == 0


def test_thresholds(run, table, tmp_path):
    def n_flagged(*words):
        run("detect", table, "--no-report", *words)
        return sum(row["is_anomaly"] == "true" for row in csv_rows(tmp_path / "data.anomalies.csv"))

    run("fit", table, "-m", tmp_path / "m.oddatom", "-q")
    scores = load(tmp_path / "m.oddatom").detector_.train_scores_
    held_out = np.concatenate(load(tmp_path / "m.oddatom").detector_.conformal_.held_out)
    assert n_flagged("--threshold", "0.02") == np.sum(scores < min(np.sort(held_out)[6], scores[6])) > 0
    assert n_flagged("--threshold", "2%") == n_flagged("--threshold", "0.02")
    assert n_flagged("--threshold", "top=4") == 4
    assert 1 <= n_flagged("--threshold", "p=0.01") <= 3
    assert 20 <= n_flagged("--threshold", "svm") <= 30
    assert "cautious" in run("detect", table, "--no-report", "--threshold", "fdr=0.0001").err


def test_columns_ignore_and_id(run, table):
    said = run("detect", table, "--no-report", "--columns", "size,noise").err
    assert "weight: left out, it is not among the columns to use" in said
    said = run("detect", table, "--no-report", "--ignore", "colour", "--id", "day").err
    assert "colour: left out, it is ignored" in said
    assert "day: left out, it names the rows" in said


def test_a_name_with_a_comma_stands_in_quotes(run, tmp_path):
    rng = np.random.RandomState(0)
    path = write_csv(tmp_path / "t.csv", {"a,b": rng.normal(size=30), "c": rng.normal(size=30)})
    assert "a,b: left out, it is ignored" in run("detect", path, "--no-report", "--ignore", '"a,b"').err


@pytest.mark.parametrize("names", [["score"], ["rank", "oddatom_score"], ["top_features", "p_value"]])
def test_names_that_clash_with_results(run, tmp_path, names):
    rng = np.random.RandomState(0)
    columns = {name: [repr(float(x)) for x in rng.normal(size=30)] for name in ["a", *names]}
    path = write_csv(tmp_path / "t.csv", columns)
    run("detect", path, "--no-report", "--all")
    rows = csv_rows(tmp_path / "t.anomalies.csv")
    prefix = "oddatom_oddatom_" if "oddatom_score" in names else "oddatom_"
    assert list(rows[0]) == ["a", *names, *(prefix + name for name in RESULTS)]
    for name, cells in columns.items():
        assert [row[name] for row in rows] == cells


def test_types_of_parquet_results(run, table, tmp_path):
    run("detect", table, "--no-report", "-o", tmp_path / "out.parquet")
    schema = pyarrow.parquet.read_schema(tmp_path / "out.parquet")
    assert [str(schema.field(name).type) for name in RESULTS] == [
        "int64",
        "double",
        "double",
        "bool",
        "int64",
        "string",
    ]


@pytest.mark.parametrize("detector", ["dl", "dpl", "kdl", "kdpl"])
def test_detectors_of_the_paper(run, table, tmp_path, detector):
    ended = run("detect", table, "--detector", detector, "--json")
    assert ended.code == 0
    said = json.loads(ended.out)
    assert said["top"][0]["row"] == ODD_ROW or detector == "kdl" or detector == "kdpl"
    rows = csv_rows(tmp_path / "data.anomalies.csv")
    assert all(0 < float(row["p_value"]) <= 1 for row in rows)
    assert any(row["top_features"] for row in rows) == (detector in ("dl", "dpl"))
    assert (tmp_path / "data.report.html").stat().st_size > 10_000
    by_number = {int(row["row"]): row for row in rows}
    for one in said["top"]:  # the list and the file say the same
        assert one["top_features"] == by_number[one["row"]]["top_features"]


@pytest.mark.parametrize("detector", ["oddatom", "dl", "dpl", "kdl", "kdpl"])
@pytest.mark.parametrize("n", [2, 3, 12])
def test_very_small_tables(run, tmp_path, detector, n):
    path = write_csv(tmp_path / "t.csv", {"a": range(n), "b": [str(k * k) for k in range(n)]})
    ended = run("detect", path, "--all", "--detector", detector, *(["--no-report"] if n > 2 else []))
    assert ended.code == 0, ended.err
    rows = csv_rows(tmp_path / "t.anomalies.csv")
    assert len(rows) == n
    assert all((row["p_value"] == "") == (detector != "oddatom" and n < 10) for row in rows)


def test_columns_are_named_by_their_shares():
    shares = np.array([[0.5, 0.0, 0.26, 0.24], [0.0, 1.0, 0.0, 0.0], [0.04, 0.48, 0.48, 0.0], [0.0, 0.0, 0.0, 0.0]])
    assert in_words(("a", "b", "c", "d"), shares).to_pylist() == [
        "a 50 %, c 26 %, d 24 %",
        "b 100 %",
        "b 48 %, c 48 %",
        "",
    ]
    assert in_words(tuple("ab"), np.array([[0.04, 0.03]])).to_pylist() == ["a 4 %"]  # the first is named in any case
    assert in_words(("a",), np.array([[1.0], [0.0]])).to_pylist() == ["a 100 %", ""]


def test_many_columns_share_lines(run, tmp_path):
    rng = np.random.RandomState(0)
    columns = {f"x{k}": rng.normal(size=25) for k in range(100)}
    path = write_csv(tmp_path / "wide.csv", {**columns, "same": ["on"] * 25})
    ended = run("detect", path, "--no-report")
    assert "  x0, x1, x2, x3, x4, x5 and 94 more: number" in ended.err
    assert len(ended.err.splitlines()) < 12


def test_scores_that_overflow_are_null_in_json(run, tmp_path):
    values = [repr(float(x)) for x in np.random.RandomState(0).normal(size=40)]
    path = write_csv(tmp_path / "t.csv", {"a": [*values, "1e308"], "b": [*values[::-1], "-1e308"]})
    for detector in ("oddatom", "dl", "dpl"):
        ended = run("detect", path, "--json", "--detector", detector)
        assert ended.code == 0, ended.err
        assert json.loads(ended.out, parse_constant=lambda word: pytest.fail(word))["top"][0]["row"] == 41


@pytest.mark.parametrize(
    ("n", "n_rows", "words"),
    [
        (0, 1000, "No row is flagged: none of 1,000 lies beyond the threshold."),
        (1, 1000, "1 of 1,000 rows flagged."),
        (1, 1, "1 of 1 row flagged."),
        (1200, 20000, "1,200 of 20,000 rows flagged."),
    ],
)
def test_how_many_are_flagged_in_words(n, n_rows, words):
    assert flagged_words(n, n_rows) == words


def test_a_column_row_does_not_rename_what_score_writes(run, tmp_path):
    rng = np.random.RandomState(0)
    path = write_csv(
        tmp_path / "t.csv", {"row": rng.permutation(40), "a": rng.normal(size=40), "b": rng.normal(size=40)}
    )
    run("fit", path, "-m", tmp_path / "m.oddatom", "-q")
    run("score", tmp_path / "m.oddatom", path, "-q")
    assert list(csv_rows(tmp_path / "t.scores.csv")[0]) == ["row", "a", "b", "score", "p_value", "is_anomaly"]
    run("detect", path, "--no-report", "-q")
    assert "oddatom_row" in csv_rows(tmp_path / "t.anomalies.csv")[0]
