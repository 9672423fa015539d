"""What a terminal gets: colours and bars where it wants them, and nothing from cells that could do harm."""

import io
import json
import re
import sys

import numpy as np
import pytest
from cli_tables import csv_rows, write_csv

from oddatom.cli.console import Console, printable
from oddatom.cli.listing import show_json
from oddatom.table import open_table

HOSTILE = [
    "\x1b[2J\x1b[31mboo",
    "two\nlines",
    "a\rb",
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "\u202eevil",
    "\x9b31m",
    "\x07",
]


@pytest.fixture
def hostile(tmp_path):
    """A table with harm in its names and cells; the cells are categories, so that they show everywhere."""
    rng = np.random.RandomState(0)
    columns = {name: rng.normal(size=80).round(3) for name in HOSTILE}
    columns["@kind\x1b[5m"] = [HOSTILE[k % len(HOSTILE)] for k in range(79)] + ["=new\x1b[0m"]
    return write_csv(tmp_path / "hostile.csv", columns)


def harmless(text):
    return not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)


def test_printable():
    assert printable("plain ünïcode 日本") == "plain ünïcode 日本"
    assert printable("a\tb\nc\x1b[0m\u202e\udc80") == r"a b\x0ac\x1b[0m\u202e\udc80"
    assert printable("x" * 50, 10) == "x" * 9 + "…"
    assert len(printable("\x1b" * 50, 10)) == 10
    assert printable(None) == "None"


def test_messages_are_escaped_and_errors_stay_one_line():
    err = io.StringIO()
    console = Console(err=err)
    for tell in (console.say, console.warn, console.error):
        tell("a\x1b[0m\nb")
    assert err.getvalue() == ("a\\x1b[0m\\x0ab\nwarning: a\\x1b[0m\\x0ab\noddatom: a\\x1b[0m\\x0ab\n")


def test_json_has_no_infinities():
    out = io.StringIO()
    show_json(Console(out=out), {"a": [1.5, float("inf"), {"b": float("nan")}], "c": 3})
    assert json.loads(out.getvalue()) == {"a": [1.5, None, {"b": None}], "c": 3}


def test_hostile_cells_and_names_do_no_harm(run, hostile, tmp_path):
    model = tmp_path / "m.oddatom"
    found = run("detect", hostile, "-m", model, "--explain-all")
    assert found.code == 0
    for ended in (
        found,
        run("explain", model, hostile, "--top", 80),
        run("inspect", model),
        run("explain", model, hostile, "--top", 80, "--json"),
        run("inspect", model, "--json"),
        run("detect", hostile, "--json"),
        run("detect", hostile, "--columns", "\x1b[31mno\nsuch"),
    ):
        assert ended.out + ended.err
        assert harmless(ended.out)
        assert harmless(ended.err)
    page = (tmp_path / "hostile.report.html").read_text()
    assert "<script>alert" not in page
    assert "\x1b" not in page
    for row in csv_rows(tmp_path / "hostile.anomalies.csv"):  # nothing in it is a formula
        assert all((cell or name)[0] not in "=@" for name, cell in row.items() if cell)
        assert not any(name.startswith(("=", "@")) for name in row)


def test_rows_on_a_terminal_are_escaped(on_terminal, hostile, tmp_path):
    code, got = on_terminal("detect", hostile, "-o", "-", "--no-report", "-q", "--all", streams=["stdout"])
    assert code == 0
    assert len(got.splitlines()) > 80
    assert harmless(got.replace("\r\n", "\n"))
    assert r"\x1b[2J\x1b[31mboo" in got


def test_rows_in_a_file_are_as_they_were(run, hostile, tmp_path):
    run("detect", hostile, "-o", tmp_path / "out.parquet", "--no-report", "--all")
    after = open_table(tmp_path / "out.parquet").read()
    assert after["@kind\x1b[5m"].to_pylist() == [row["@kind\x1b[5m"] for row in csv_rows(hostile)]


def test_colours_on_a_terminal_alone(on_terminal, table, monkeypatch, run):
    words = ["detect", table, "--no-report"]
    assert "\x1b[31mflagged\x1b[0m" in on_terminal(*words, streams=["stdout"])[1]
    assert "\x1b" not in run(*words).out
    monkeypatch.setenv("NO_COLOR", "1")
    got = on_terminal(*words, streams=["stdout"])[1]
    assert " flagged " in got
    assert "\x1b" not in got


def test_a_dumb_terminal_gets_no_colour(on_terminal, table, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in on_terminal("detect", table, "--no-report", streams=["stdout"])[1]


def test_progress_on_a_terminal_alone(on_terminal, table, model, tmp_path, run, monkeypatch):
    monkeypatch.setattr("oddatom.cli.console._BAR_EVERY", 0.0)
    words = ["score", model, table, "--batch", "100", "--explain"]
    code, got = on_terminal(*words, streams=["stderr"])
    assert code == 0
    assert "\r\x1b[K200 rows  " in got
    assert "[########################] 100 of 100 rows explained" in got
    shown = [line.rpartition("\x1b[K")[2] for line in got.replace("\r\n", "\n").splitlines()]
    assert shown[-1] == f"rows: {tmp_path / 'data.scores.csv'}"  # bars are gone when it ends
    assert "\r" not in run(*words).err
    assert on_terminal(*words, "-q", streams=["stderr"]) == (0, "")


def test_what_takes_a_while_is_said_on_a_terminal(on_terminal, table):
    got = on_terminal("detect", table, streams=["stderr"])[1]
    assert "\r\x1b[Kfitting" in got
    assert "\r\x1b[Kwriting the report" in got


def test_an_error_is_one_line_in_red(on_terminal):
    code, got = on_terminal("detect", "none.csv", streams=["stderr"])
    assert code == 1
    assert got.startswith("\x1b[31moddatom:\x1b[0m 'none.csv' does not exist.")
    assert len(got.splitlines()) == 1


def test_a_terminal_without_unicode(run, table, model, monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    assert run("explain", model, table, "--row", 3).code == 0
    out.flush()
    assert rb"\u2588" in out.buffer.getvalue()


def test_bars_without_a_total():
    console = Console(quiet=True)
    assert list(console.progress(range(3), "things")) == [0, 1, 2]


def test_json_is_ascii(run, tmp_path):
    path = write_csv(tmp_path / "t.csv", {"größe": [k * k % 7 for k in range(30)]})
    ended = run("detect", path, "--json", "--no-report")
    assert ended.out.isascii()
    assert any("größe" in one["top_features"] for one in json.loads(ended.out)["top"])
