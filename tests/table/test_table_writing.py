"""TableWriter: what is written reads back, all or nothing, and formulas are no formulas."""

import contextlib
import csv
import errno
import gzip
import io
import os
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddatom import TableError
from oddatom.table import TableWriter, open_table

NAMES = ["t.csv", "t.tsv", "t.txt", "t.csv.gz", "t.parquet", "t.pq", "t.arrow", "t.feather", "t.ipc"]
TABLE = pa.table({"a": ["x", 'say "y", z', None, "two\nlines"], "b": ["1", "-2", " 3", "\t4"]})


def write(path, *batches, **options):
    with TableWriter(path, **options) as writer:
        for batch in batches:
            writer.write(batch)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_reads_back(tmp_path, name):
    write(tmp_path / name, TABLE, *TABLE.to_batches(), safe=False)
    assert open_table(tmp_path / name).read() == pa.concat_tables([TABLE, TABLE]).combine_chunks()
    assert os.listdir(tmp_path) == [name]
    assert ((tmp_path / name).read_bytes()[:2] == b"\x1f\x8b") == name.endswith("gz")


def test_csv_of_every_type_against_pandas(tmp_path):
    table = pa.table(
        {
            "int": pa.array([1, None, -3]),
            "float": [0.1, None, 1e-300],
            "half": pa.array(np.array([1.5, 0, 2.5], np.float16), mask=np.array([False, True, False])),
            "bool": [True, None, False],
            "date": pa.array([0, None, 20_000], pa.date32()),
            "stamp": pa.array([0, None, 1_700_000_000_123_456], pa.timestamp("us")),
            "text": ["a,b", None, '"'],
            "category": pa.array(["u", None, "v"]).dictionary_encode(),
            "decimal": pa.array([None, None, 5]).cast(pa.decimal128(21, 2)),
            "list": [[1, 2], None, []],
            "bytes": [b"\xff", None, b"ab"],
            "nothing": pa.nulls(3),
        }
    )
    write(tmp_path / "t.csv", table)
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines[1] == '1,0.1,"1.5",true,1970-01-01,1970-01-01 00:00:00.000000,"a,b","u",,"[1, 2]","b\'\\xff\'",'
    assert lines[2] == "," * 11
    frame = pd.read_csv(tmp_path / "t.csv", parse_dates=["date", "stamp"])
    want = table.drop_columns(["list", "bytes", "nothing", "date", "decimal", "category"]).to_pandas()
    assert (frame[want.columns].isna() == want.isna()).all(axis=None)
    for name in ("int", "float", "half", "bool", "text", "stamp"):
        assert frame[name].dropna().tolist() == want[name].dropna().tolist(), name
    assert frame["date"].dropna().dt.strftime("%Y-%m-%d").tolist() == ["1970-01-01", "2024-10-04"]
    assert frame["category"].dropna().tolist() == ["u", "v"]
    assert frame["list"].dropna().tolist() == ["[1, 2]", "[]"]
    assert frame["decimal"].dropna().tolist() == [5.0]


CELLS = st.one_of(st.none(), st.text(st.sampled_from("ab1,;\"' \t\n\ré=+-@"), max_size=5))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6), st.sampled_from([",", "\t"]))
def test_any_text_is_read_back_by_python(rows, delimiter):
    table = pa.table({"a": pa.array([row[0] for row in rows], pa.string()), "b\n": pa.array([row[1] for row in rows])})
    sink = io.BytesIO()
    with contextlib.redirect_stdout(SimpleNamespace(buffer=sink)):
        write("-", table, format="csv" if delimiter == "," else "tsv", safe=False)
    read = list(csv.reader(io.StringIO(sink.getvalue().decode(), newline=""), delimiter=delimiter))
    assert read == [["a", "b\n"], *([cell or "" for cell in row] for row in rows)]


FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\tx", "\rx", "=cmd|' /C calc'!A0", "-", "+a", "=\n1", "+49 123"]
HARMLESS = ["-5", "+5", "-1.5e3", "-1,5", "-1.234,5 %", "a=1", "'=1", "", " =1", "5"]


def test_formulas_are_written_with_an_apostrophe(tmp_path):
    table = pa.table({"=a": FORMULAS + HARMLESS, "n": np.linspace(-1, 1, len(FORMULAS + HARMLESS))})
    write(tmp_path / "t.csv", table)
    read = list(csv.reader((tmp_path / "t.csv").open(newline="")))
    assert read[0] == ["'=a", "n"]
    assert [row[0] for row in read[1:]] == [word if word == "-" else f"'{word}" for word in FORMULAS] + HARMLESS
    assert read[1][1] == "-1"
    write(tmp_path / "t.csv", table, safe=False)
    read = list(csv.reader((tmp_path / "t.csv").open(newline="")))
    assert [row[0] for row in read[1:]] == FORMULAS + HARMLESS
    write(tmp_path / "t.parquet", table)
    assert open_table(tmp_path / "t.parquet").read() == table  # for text tables alone


@pytest.mark.parametrize(
    ("name", "cells", "want"),
    [
        (
            "t.csv",
            ["u;=cmd|x!A1", 'v|"@A1";-2', "two\n=1", "a\t +b"],
            ["u;'=cmd|x!A1", "v|\"'@A1\";'-2", "two\n'=1", "a\t '+b"],
        ),
        ("t.tsv", ["u,=cmd|x!A1", "u; -1"], ["u,'=cmd|x!A1", "u; '-1"]),
        ("t.csv", ["a, -5", "a;b", "a|b=c", "x-y"], ["a, -5", "a;b", "a|b=c", "x-y"]),
    ],
)
def test_formulas_for_those_who_split_lines_elsewhere(tmp_path, name, cells, want):
    write(tmp_path / name, pa.table({"n": range(len(cells)), "a": cells, "b;=c": cells}))
    read = open_table(tmp_path / name).read()
    assert read.column_names == ["n", "a", "b;'=c"]
    assert read["a"].to_pylist() == read["b;'=c"].to_pylist() == want
    text = (tmp_path / name).read_text()
    assert all(f'"{cell}"'.replace('"', '""')[1:-1] in text for cell in want if set(cell) & set(",;\t|"))
    write(tmp_path / name, pa.table({"n": range(len(cells)), "a": cells}), safe=False)
    assert open_table(tmp_path / name).read()["a"].to_pylist() == cells


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.arrow", "t.feather"])
def test_dictionaries_that_change_from_batch_to_batch(tmp_path, name):
    batches = [pa.table({"a": pa.array([f"l{k}", "z", None]).dictionary_encode()}) for k in range(3)]
    write(tmp_path / name, *batches, pa.concat_tables(batches))
    wanted = ["l0", "z", None, "l1", "z", None, "l2", "z", None] * 2
    assert open_table(tmp_path / name).read()["a"].to_pylist() == wanted
    lists = pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int8()), pa.array([[1], [2]]))
    write(tmp_path / name, pa.table({"a": lists}))
    assert open_table(tmp_path / name).read().num_rows == 3


def test_types_that_a_format_lacks(tmp_path):
    table = pa.table({"x": [1.0], "span": pa.array([pa.MonthDayNano([1, 2, 3])])})
    message = r"t\.parquet' cannot hold the columns 'span' \(month_day_nano_interval\)\. Name a \.csv file"
    with pytest.raises(TableError, match=message):
        write(tmp_path / "t.parquet", table)
    with pytest.raises(TableError, match=message):
        TableWriter(tmp_path / "t.parquet").check(table.schema)
    with pytest.raises(TableError, match=r"t\.csv' cannot be written as csv: .*Write batches of the same types"):
        write(tmp_path / "t.csv", pa.table({"a": ["x"]}), schema=pa.schema([("a", pa.int64())]))
    assert os.listdir(tmp_path) == []
    write(tmp_path / "t.arrow", table)
    write(tmp_path / "t.csv", table)


def test_standard_output_that_is_closed(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(TableError, match=r"standard output is closed\. Name a file"):
        write("-", TABLE)
    write(tmp_path / "t.csv", TABLE)
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TableError, match=r"standard input is closed\. Pass a file"):
        open_table("-")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_nothing(tmp_path, name, error):
    def stop(n_files):
        with TableWriter(tmp_path / name) as writer:
            writer.write(TABLE)
            assert len(os.listdir(tmp_path)) == n_files  # something is there to leave
            raise error("stop")

    with pytest.raises(error, match="stop"):
        stop(1)
    assert os.listdir(tmp_path) == []
    (tmp_path / name).write_bytes(b"old")
    with pytest.raises(error, match="stop"):
        stop(2)
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).read_bytes() == b"old"


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.arrow"])
def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch, name):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    (tmp_path / name).write_bytes(b"old")
    with pytest.raises(TableError, match=rf"{name}' cannot be written: No space left on device\. Check the folder"):
        write(tmp_path / name, TABLE)
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).read_bytes() == b"old"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
def test_a_device_that_is_full(format):
    with pytest.raises(TableError, match="cannot be written"):
        write("/dev/full", *[TABLE] * 50, format=format)


def test_a_file_keeps_its_mode_and_a_link_its_target(tmp_path):
    (tmp_path / "t.csv").write_text("old")
    (tmp_path / "t.csv").chmod(0o640)
    (tmp_path / "link.csv").symlink_to(tmp_path / "t.csv")
    write(tmp_path / "link.csv", TABLE)
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "t.csv").stat().st_mode & 0o777 == 0o640
    assert open_table(tmp_path / "t.csv").read().num_rows == 4
    umask = os.umask(0o027)
    try:
        write(tmp_path / "new.csv", TABLE)
    finally:
        os.umask(umask)
    assert (tmp_path / "new.csv").stat().st_mode & 0o777 == 0o640


def test_standard_output(monkeypatch):
    for format, opened in (("csv", None), ("arrow", pa.ipc.open_stream)):
        sink = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=sink))
        write("-", TABLE, format=format)
        assert not sink.closed
        if opened:
            assert opened(sink.getvalue()).read_all() == TABLE
        else:
            assert sink.getvalue().startswith(b'"a","b"\n"x","1"\n"say ""y"", z","-2"\n')
    with pytest.raises(TableError, match=r"standard output cannot be written as parquet\. Pass a file"):
        TableWriter("-", format="parquet")


def test_a_schema_alone_gives_a_header(tmp_path):
    write(tmp_path / "t.csv", schema=TABLE.schema)
    assert (tmp_path / "t.csv").read_text() == '"a","b"\n'
    with pytest.raises(TableError, match=r"Nothing was written to '.*u\.csv'\. Write a batch, or pass 'schema'"):
        write(tmp_path / "u.csv")
    assert os.listdir(tmp_path) == ["t.csv"]


def test_errors(tmp_path):
    with pytest.raises(TableError, match=r"t\.xyz' has no extension that says how to write it \(\.csv"):
        TableWriter(tmp_path / "t.xyz")
    with pytest.raises(TableError, match=r"text also as \.gz"):
        TableWriter(tmp_path / "t.parquet.gz")
    with pytest.raises(ValueError, match=r"'format' parameter of TableWriter must be .* Got 'xls' instead"):
        TableWriter(tmp_path / "t.csv", format="xls")
    with pytest.raises(TableError, match=r"cannot be written: No such file or directory\. Check the folder"):
        write(tmp_path / "no" / "t.csv", TABLE)
    with pytest.raises(RuntimeError, match="inside a with block"):
        TableWriter(tmp_path / "t.csv").write(TABLE)
    with pytest.raises(TableError, match=r"has the columns \['b', 'a'\] instead of \['a', 'b'\]"):
        write(tmp_path / "t.csv", TABLE, TABLE.select(["b", "a"]))
    assert os.listdir(tmp_path) == []


def test_zipped_files_do_not_depend_on_the_time(tmp_path):
    write(tmp_path / "t.csv.gz", TABLE)
    first = (tmp_path / "t.csv.gz").read_bytes()
    write(tmp_path / "t.csv.gz", TABLE)
    assert (tmp_path / "t.csv.gz").read_bytes() == first
    assert gzip.decompress(first).startswith(b'"a","b"\n')
