"""`oddatom score --json`: a JSON object a line, for pipes."""

import json
import os
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from cli_tables import N_ROWS, ODD_ROW, csv_rows, write_csv

from oddatom.cli import main
from oddatom.cli.json_lines import row_lines
from oddatom.cli.learning import Results
from oddatom.table.row_context import Placed

GROWTH = 15_000  # kB; 100,000 lines alone take 17 MB, and were they kept it would be 27 MB
MEASURE = """
import json, re, sys
from oddatom.cli import main
peaks = []
for words in json.loads(sys.argv[1]):
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # forget the peak so far: imports take more
    assert main(words) == 0
    peaks.append(int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]))
print(json.dumps(peaks), file=sys.stderr)
"""


def lines(text):
    return [json.loads(line, parse_constant=pytest.fail) for line in text.splitlines()]


def program(*words):
    return [sys.executable, "-m", "oddatom", *map(str, words)]


def test_lines_say_what_the_table_says(run, table, tmp_path):
    model = tmp_path / "m.oddatom"
    assert run("fit", table, "-m", model, "--id", "id", "-q").code == 0
    before = set(os.listdir(tmp_path))
    ended = run("score", model, table, "--json", "--batch", 70)
    said = lines(ended.out)
    assert ended.err == f"{sum(one['is_anomaly'] for one in said)} of {N_ROWS} rows flagged.\n"
    assert set(os.listdir(tmp_path)) == before  # nothing but the lines
    run("score", model, table, "-q")
    for number, (one, row) in enumerate(zip(said, csv_rows(tmp_path / "data.scores.csv"), strict=True), 1):
        assert one == {
            "row": number,
            "id": {"id": row["id"]},
            "score": float(row["score"]),
            "p_value": float(row["p_value"]),
            "is_anomaly": row["is_anomaly"] == "true",
        }
    assert said[ODD_ROW - 1]["is_anomaly"]
    assert run("score", model, table, "--json", "-q", "--fail-on-anomaly") == (3, ended.out, "")


def test_lines_beside_a_file_with_explanations(run, table, model, tmp_path):
    out = tmp_path / "out.csv"
    ended = run("score", model, table, "--json", "--explain", "-o", out)
    assert ended.err.splitlines()[-1] == f"rows: {out}"
    assert [one["top_features"] for one in lines(ended.out)] == [row["top_features"] for row in csv_rows(out)]
    ended = run("score", model, table, "--json", "-o", "-")
    assert ended.code == 2
    assert ended.line().startswith("oddatom: --json and the rows both go to standard output. Pass -o FILE")


def test_a_model_without_p_values_and_a_table_without_ids(run, tmp_path, columns):
    few = {name: columns[name][:9] for name in ("size", "weight")}
    path = write_csv(tmp_path / "few.csv", few)
    assert run("fit", path, "-m", tmp_path / "m.oddatom", "--detector", "dl", "-q").code == 0
    said = lines(run("score", tmp_path / "m.oddatom", path, "--json").out)
    assert [list(one) for one in said] == [["row", "score", "p_value", "is_anomaly"]] * 9
    assert {one["p_value"] for one in said} == {None}


def test_numbers_that_are_none_and_cells_that_are_odd():
    rows = Placed(np.zeros((3, 1)), np.zeros((3, 1)))
    flagged = np.array([False, True, False])
    found = Results(np.array([1.5, np.inf, np.nan]), np.arange(3), np.array([0.5, np.nan, 0.25]), flagged, rows)
    ids = {"a": ["\x1b[2J\u202eé", b"\xff", None], "b": [2**60, np.datetime64("2024-01-01"), float("nan")]}
    text = "\n".join(row_lines(8, found, ids, ["x 9 %", "", "ü 1 %"]))
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    assert lines(text) == [
        {
            "row": 8,
            "id": {"a": "\x1b[2J\u202eé", "b": 2**60},
            "score": 1.5,
            "p_value": 0.5,
            "is_anomaly": False,
            "top_features": "x 9 %",
        },
        {
            "row": 9,
            "id": {"a": "b'\\xff'", "b": "2024-01-01"},
            "score": None,
            "p_value": None,
            "is_anomaly": True,
            "top_features": "",
        },
        {
            "row": 10,
            "id": {"a": None, "b": None},
            "score": None,
            "p_value": 0.25,
            "is_anomaly": False,
            "top_features": "ü 1 %",
        },
    ]


def test_from_pipe_to_pipe(table, model, run):
    expected = run("score", model, table, "--json").out
    done = subprocess.run(program("score", model, "-", "--json", "-q"), input=table.read_bytes(), capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == expected


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_lines_come_while_rows_come_and_a_reader_may_leave(table, model, tmp_path):
    """Rows are fed without end: the first lines come all the same, and nobody complains when their reader leaves."""
    header, rows = table.read_bytes().split(b"\n", 1)
    words = program("score", model, "-", "--json", "--batch", "500", "-o", tmp_path / "out.csv")
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    fed_all = threading.Event()

    def feed():
        try:
            process.stdin.write(header + b"\n")
            for _ in range(100_000):
                process.stdin.write(rows)
            fed_all.set()
        except BrokenPipeError:
            pass

    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    first = json.loads(process.stdout.readline())
    assert first["row"] == 1
    assert not fed_all.is_set()
    process.stdout.close()
    said = process.stderr.read().decode()
    assert (process.wait(), said) == (1, "")
    feeder.join(10)
    process.stderr.close()
    assert not fed_all.is_set()
    assert {path.name for path in tmp_path.iterdir()} == {"data.csv"}  # no half of out.csv


def test_errors_go_to_standard_error(run, table, model, tmp_path, monkeypatch):
    """Lines that were written before a damaged row are whole."""
    good = table.read_bytes().rstrip(b"\n")
    head, rows = good.split(b"\n", 1)
    long = head + b"\n" + (rows + b"\n") * 200 + b"one,cell,too,many,for,this,table\n"
    (tmp_path / "damaged.csv").write_bytes(long)
    ended = run("score", model, tmp_path / "damaged.csv", "--json", "--batch", 1000, "-q")
    assert ended.code == 1
    assert "60" in ended.line()  # the line
    said = lines(ended.out)
    assert [one["row"] for one in said] == list(range(1, len(said) + 1))
    assert len(said) >= 1000
    assert run("score", model, tmp_path / "none.csv", "--json")[:2] == (1, "")
    monkeypatch.setattr(sys, "stdout", None)
    said = "oddatom: standard output is closed, and the answer goes there. Open it."
    assert run("score", model, table, "--json").line() == said


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="no peak of memory to measure here")
def test_peak_memory_does_not_grow_with_the_table(tmp_path):
    rng = np.random.RandomState(0)
    files = {n: tmp_path / f"{n}.parquet" for n in (1_000, 20_000, 120_000)}
    for n, path in files.items():
        table = pa.table({**{f"x{k}": rng.normal(size=n) for k in range(3)}, "id": [f"row {j}" for j in range(n)]})
        pa.parquet.write_table(table, path, row_group_size=10_000)
    model = tmp_path / "m.oddatom"
    assert main(["fit", str(files[1_000]), "-m", str(model), "-q"]) == 0
    sizes = (20_000, 20_000, 120_000)  # the first warms up
    runs = [["score", str(model), str(files[n]), "--json", "-q", "--batch", "4096"] for n in sizes]
    with open(tmp_path / "lines", "wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, json.dumps(runs)], stdout=out, stderr=subprocess.PIPE, check=True
        )
    _, small, large = json.loads(done.stderr)
    assert large - small < GROWTH, (small, large)
    assert (tmp_path / "lines").stat().st_size > 10e6  # more than may be kept, as objects many times that
