"""Every format in and out, standard input and output, and files that are whole or as they were."""

import gzip
import io
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from cli_tables import csv_rows

from oddatom.cli import main
from oddatom.table import TableWriter, open_table

FORMATS = ["t.csv", "t.csv.gz", "t.tsv", "t.tsv.gz", "t.parquet", "t.arrow", "t.feather"]


def scores_of(path):
    return [float(score) for score in open_table(path).read()["score"].to_pylist()]


@pytest.fixture(scope="module")
def expected(model, tmp_path_factory):
    out = tmp_path_factory.mktemp("expected") / "expected.csv"
    assert main(["score", str(model), str(model.with_name("data.csv")), "-o", str(out), "-q"]) == 0
    return scores_of(out)


@pytest.mark.parametrize("name", FORMATS)
def test_formats_in(run, table, tmp_path, model, expected, name):
    with TableWriter(tmp_path / name) as writer:
        writer.write(open_table(table).read())
    assert run("score", model, tmp_path / name).code == 0
    assert scores_of(tmp_path / "t.scores.csv") == expected  # t.tsv.gz makes t.scores.csv


@pytest.mark.parametrize("name", FORMATS)
def test_formats_out(run, table, tmp_path, model, expected, name):
    assert run("score", model, table, "-o", tmp_path / name).code == 0
    assert scores_of(tmp_path / name) == expected


def test_options_say_what_a_file_is(run, table, tmp_path, model, expected):
    text = table.read_text().replace(",", "!").encode("utf-16")
    (tmp_path / "odd.dat").write_bytes(text)
    words = ["--format", "csv", "--delimiter", "!", "--encoding", "utf-16", "-o", tmp_path / "out.csv"]
    assert run("score", model, tmp_path / "odd.dat", *words).code == 0
    assert scores_of(tmp_path / "out.csv") == expected


def test_a_table_without_a_header(run, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "bare.csv"
    path.write_text("".join(f"{a:.2f},{b:.2f}\n" for a, b in rng.normal(-5, 1, size=(60, 2))))
    model, out = tmp_path / "m.oddatom", tmp_path / "out.csv"
    ended = run("fit", path, "-m", model)
    assert "59 rows, 2 columns" in ended.err
    assert "warning: the first line of" in ended.err
    assert "pass --no-header if it is one" in ended.err
    ended = run("fit", path, "-m", model, "--no-header")
    assert "60 rows, 2 columns:\n  column 1: number\n  column 2: number\n" in ended.err
    assert "warning" not in ended.err
    assert run("score", model, path, "--no-header", "-o", out).code == 0
    rows = csv_rows(out)
    assert len(rows) == 60
    assert list(rows[0])[:3] == ["column 1", "column 2", "score"]
    ended = run("score", model, path, "-o", out)
    assert ended.code == 1
    assert "('column 1', 'column 2'). It has '-" in ended.err


def test_standard_input_and_output(run, table, model, stdin, expected):
    stdin(table.read_bytes())
    ended = run("score", model, "-")
    assert [float(row["score"]) for row in csv_rows(ended.out)] == expected
    assert ended.line().endswith("rows flagged.")
    stdin(gzip.compress(table.read_bytes()))
    assert run("score", model, "-", "-q") == (0, ended.out, "")
    sink = io.BytesIO()
    whole = open_table(table).read()
    with pa.ipc.new_stream(sink, whole.schema) as writer:
        writer.write_table(whole)
    stdin(sink.getvalue())
    assert run("score", model, "-", "-q") == (0, ended.out, "")


def test_detect_from_standard_input_writes_rows_to_standard_output_alone(run, table, tmp_path, stdin, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stdin(table.read_bytes())
    ended = run("detect", "-", "--top", 3)
    assert [row["rank"] for row in csv_rows(ended.out)] == ["1", "2", "3"]
    assert "rank  row" not in ended.out
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]
    stdin(table.read_bytes())
    run("detect", "-", "--report", "r.html", "-o", "o.parquet", "--json", "-m", "m.oddatom")
    assert {path.name for path in tmp_path.iterdir()} == {"data.csv", "r.html", "o.parquet", "m.oddatom"}


def test_a_pipe_or_device_as_output_gets_csv(run, table, model):
    assert run("score", model, table, "-o", os.devnull).code == 0
    assert run("detect", table, "-o", os.devnull, "--no-report").code == 0


@pytest.mark.parametrize("command", ["detect", "score"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_what_stops_in_the_middle_leaves_the_old_file(run, table, tmp_path, model, monkeypatch, command, error):
    old = tmp_path / "out.csv"
    old.write_text("old")
    write, n_writes = TableWriter.write, 0

    def fails_later(self, batch):
        nonlocal n_writes
        write(self, batch)
        n_writes += 1
        if command == "detect" or n_writes == 3:
            self._file.file.flush()
            raise error

    monkeypatch.setattr(TableWriter, "write", fails_later)
    words = ["detect", table] if command == "detect" else ["score", model, table, "--batch", 50]
    ended = run(*words, "-o", old, "-q")
    assert n_writes == (1 if command == "detect" else 3)
    assert ended.code == (130 if error is KeyboardInterrupt else 1)
    assert ("interrupted" if error is KeyboardInterrupt else "the disk is full") in ended.line()
    assert old.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"data.csv", "out.csv"}


@pytest.mark.parametrize("what", ["report", "model"])
def test_reports_and_models_are_whole_or_as_they_were(run, table, tmp_path, monkeypatch, what):
    old = tmp_path / f"old.{what}"
    old.write_text("old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    ended = run(
        "detect", table, f"--{what}", old, "-o", os.devnull, *(["--no-report"] if what == "model" else []), "-q"
    )
    assert ended.code == 1
    assert "the disk is full" in ended.line()
    assert {path.name for path in tmp_path.iterdir()} == {"data.csv", f"old.{what}"}
    assert old.read_text() == "old"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_behind_standard_output(table, model):
    words = [sys.executable, "-m", "oddatom.cli", "score", model, table, "-o", "-", "-q"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "No space left on device" in done.stderr


def test_a_closed_pipe_says_nothing(table, model):
    words = [sys.executable, "-m", "oddatom.cli", "score", model, table, "-o", "-", "-q", "--batch", "10"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 1
    process.stderr.close()
