"""`--known FILE` and `update`: rows that a person has judged, and models that learn from new rows."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest
from cli_tables import N_ROWS, ODD_ROW, csv_rows, write_csv

from oddatom import load


def known(tmp_path, text):
    (tmp_path / "known.csv").write_text(text)
    return tmp_path / "known.csv"


def flagged(path):
    rows = enumerate(csv_rows(path), 1)
    return [int(row.get("row", number)) for number, row in rows if row["is_anomaly"] == "true"]


def test_detect_says_how_many_rows_stand_out(run, table, tmp_path):
    ended = run("detect", table, "--no-report")
    found = flagged(tmp_path / "data.anomalies.csv")
    assert ODD_ROW in found
    said = next(line for line in ended.err.splitlines() if "flagged" in line)
    assert said.startswith(f"{len(found)} of {N_ROWS} rows flagged; ")
    assert said.endswith("odder than chance explains.")
    facts = json.loads(run("detect", table, "--no-report", "--json").out)["odder_than_chance"]
    assert facts["low"] <= facts["estimate"] <= facts["high"]
    assert facts["estimate"] >= 1


def test_a_row_called_normal_is_flagged_no_more(run, table, tmp_path, columns):
    judged = known(tmp_path, f"row,label\n{ODD_ROW},normal\n")
    run("detect", table, "--no-report", "--known", judged, "-m", tmp_path / "m.oddatom")
    assert ODD_ROW not in flagged(tmp_path / "data.anomalies.csv")
    said = run("inspect", tmp_path / "m.oddatom").out
    assert "judged: {'anomaly': 0, 'normal': 1" in said
    run("score", tmp_path / "m.oddatom", table)
    assert ODD_ROW not in flagged(tmp_path / "data.scores.csv")
    name = columns["id"][ODD_ROW - 1]
    judged = known(tmp_path, f"id,label\n{name},Normal\n")
    run("detect", table, "--no-report", "--known", judged, "--id", "id")
    assert ODD_ROW not in flagged(tmp_path / "data.anomalies.csv")


def test_score_takes_judged_rows_of_the_new_table(run, table, tmp_path, model):
    assert run("score", model, table, "-q").code == 0
    assert ODD_ROW in flagged(tmp_path / "data.scores.csv")
    before = model.read_bytes()
    run("score", model, table, "-q", "--batch", 50, "--known", known(tmp_path, f"row,label\n{ODD_ROW},normal\n"))
    assert ODD_ROW not in flagged(tmp_path / "data.scores.csv")
    assert model.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("row,label\n9999,normal\n", "has no row '9999', which was judged. Judge rows of this table."),
        ("row,label\n3,odd\n", "line 2 of .* says 'odd' where a label is anomaly or normal."),
        ("row,label\n0,normal\n", "line 2 of .* names row '0' where rows are numbered 1, 2, 3"),
        ("row,label\n7.0,normal\n", "names row '7.0' where rows are numbered 1, 2, 3"),
        ("row,label\n3,normal\n3,anomaly\n", "line 3 of .* says anomaly of '3', and an earlier line normal"),
        ("id,label\n,normal\n", "line 2 of .* names no row"),
        ("row,label\n", "has no judged row|no rows"),
        ("row\n3\n", "has 1 column where judged rows have two"),
        ("shop,label\n3,normal\n", "has no column 'shop' to find judged rows by"),
    ],
)
def test_wrong_files_of_judged_rows(run, table, tmp_path, model, text, said):
    for words in (["detect", table, "--no-report"], ["score", model, table]):
        ended = run(*words, "-o", tmp_path / "out.csv", "--known", known(tmp_path, text))
        assert ended.code == 1
        assert re.search(said, ended.err.splitlines()[-1])
        assert not (tmp_path / "out.csv").exists()


def test_update_joins_new_rows(run, table, tmp_path, columns):
    path = tmp_path / "u.oddatom"
    assert run("fit", table, "-m", path, "--updatable").code == 0
    first = load(path)
    assert len(first.detector_.memory_.rows) == N_ROWS
    halves = {name: cells[: N_ROWS // 2] for name, cells in columns.items()}
    new = write_csv(tmp_path / "new.csv", halves)
    ended = run("update", path, new, "--decay", 0.5)
    assert ended.code == 0
    kept = len(load(path).detector_.memory_.rows)
    assert ended.err.splitlines() == [f"learned from {N_ROWS // 2} new rows; the model keeps {kept}.", f"model: {path}"]
    assert 0.35 * N_ROWS + N_ROWS // 2 < kept < 0.65 * N_ROWS + N_ROWS // 2
    facts = json.loads(run("update", path, new, "--json", "-q", "-o", tmp_path / "other.oddatom").out)
    assert facts["rows"] == N_ROWS // 2
    assert (tmp_path / "other.oddatom").exists()
    assert len(load(path).detector_.memory_.rows) == kept
    assert "rows kept" in run("inspect", path).out


def test_update_with_judged_rows(run, table, tmp_path):
    path = tmp_path / "u.oddatom"
    run("fit", table, "-m", path, "--updatable", "-q")
    run("update", path, table, "--known", known(tmp_path, f"row,label\n{ODD_ROW},normal\n"))
    found = load(path)
    assert found.detector_.ensemble_.feedback.labels.tolist() == [1.0]
    assert "1 of them judged" in run("update", path, table, "--known", tmp_path / "known.csv").err
    run("score", path, table, "-q")
    assert ODD_ROW not in flagged(tmp_path / "data.scores.csv")


def test_the_file_of_judged_rows_is_not_written_over(run, table, tmp_path, model):
    path = known(tmp_path, "row,label\n3,normal\n")
    for words in (
        ["detect", table, "--no-report"],
        ["detect", table, "--no-report", "-m", path],
        ["score", model, table],
    ):
        ended = run(*words, *([] if path in words else ["-o", path]), "--known", path)
        assert ended.code == 2
        assert path.read_text().startswith("row,label")


def test_names_of_other_types(run, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    x = rng.normal(size=100)
    x[5] = 40.0
    columns = {"id": pa.array(np.arange(100.0)), "x": x, "y": rng.normal(size=100)}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    run("detect", tmp_path / "t.parquet", "--no-report", "--id", "id", "-o", tmp_path / "out.csv")
    assert 6 in flagged(tmp_path / "out.csv")
    words = ["--id", "id", "-o", tmp_path / "out.csv", "--known", known(tmp_path, "id,label\n5,normal\n")]
    assert run("detect", tmp_path / "t.parquet", "--no-report", *words).code == 0
    assert 6 not in flagged(tmp_path / "out.csv")
    pq.write_table(pa.table({**columns, "row": x}), tmp_path / "r.parquet")
    ended = run("detect", tmp_path / "r.parquet", "--no-report", "--known", known(tmp_path, "row,label\n5,normal\n"))
    assert "not clear whether the file has its values or row numbers" in ended.line()


def test_few_rows(run, tmp_path):
    (tmp_path / "few.csv").write_text("x,y\n" + "".join(f"{k % 7},{k % 5}\n" for k in range(29)) + "1000000,3\n")
    assert "Of fewer than 39 rows none can be flagged" in run("detect", tmp_path / "few.csv", "--no-report").err


def test_update_that_cannot_be_writes_nothing(run, table, tmp_path, model):
    before = model.read_bytes()
    ended = run("update", model, table)
    assert ended.code == 2
    assert ended.line().endswith("Fit it with --updatable, or pass --decay 0 to learn from the new rows alone.")
    assert model.read_bytes() == before
    path = tmp_path / "u.oddatom"
    run("fit", table, "-m", path, "--updatable", "-q")
    before = path.read_bytes()
    (tmp_path / "wrong.csv").write_text("a,b\n1,2\n")
    assert run("update", path, tmp_path / "wrong.csv").code == 1
    assert path.read_bytes() == before
    assert run("update", path, table, "--decay", "2").code == 2
    assert run("update", path, table, "-o", table).code == 2
    assert run("fit", table, "-m", tmp_path / "k.oddatom", "--updatable", "--detector", "dpl").code == 2
    assert run("update", model, table, "--decay", 0, "-o", tmp_path / "alone.oddatom").code == 0
    assert len(load(tmp_path / "alone.oddatom").detector_.memory_.rows) == N_ROWS


def test_update_of_a_detector_that_cannot(run, table, tmp_path):
    path = tmp_path / "dpl.oddatom"
    run("fit", table, "-m", path, "--detector", "dpl", "-q")
    assert "learns from all rows at once" in run("update", path, table).err
    assert (
        "--known is for the detector oddatom"
        in run("score", path, table, "--known", known(tmp_path, "row,label\n1,normal\n")).err
    )
