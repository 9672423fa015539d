"""open_table: every format, messy files, errors in one line, constant memory."""

import csv
import gzip
import io
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddatom import TableError
from oddatom.table import TableEncoder, open_table

TABLE = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})


@pytest.fixture
def write(tmp_path):
    def write(name, data):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write


def columns(path, **options):
    return open_table(path, **options).read().to_pydict()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", "a,b\n1,x\n2,\n"),
        ("a.csv", "a;b\n1;x\n2;\n"),
        ("a.csv", "a\tb\n1\tx\n2\t\n"),
        ("a.txt", "a|b\n1|x\n2|\n"),
        ("a.TSV", "a\tb\n1\tx\n2\t\n"),
        ("a.csv", "\ufeffa,b\n1,x\n2,\n"),
        ("a.csv", "a,b\r\n1,x\r\n2,\r\n"),
        ("a.csv", "a,b\r1,x\r2,\r"),
        ("a.csv", "a,b\n1,x\n2,"),
        ("a.csv", "\n\r\na,b\n1,x\n\n\n2,\n\n"),
        ("a.csv", '"a","b"\n"1","x"\n"2",""\n'),
        ("a.csv.gz", gzip.compress(b"a,b\n1,x\n2,\n", mtime=0)),
        ("a.csv", gzip.compress(b"a,b\n1,x\n2,\n", mtime=0)),
    ],
)
def test_text_tables(write, name, data):
    assert columns(write(name, data)) == {"a": ["1", "2"], "b": ["x", None]}


def test_decimal_commas_do_not_look_like_delimiters(write):
    assert columns(write("a.csv", "a;b\n1,5;2,5\n2,5;3\n")) == {"a": ["1,5", "2,5"], "b": ["2,5", "3"]}
    assert columns(write("a.csv", "a,b,c;d\n1;2\n3;4\n")) == {"a,b,c": ["1", "3"], "d": ["2", "4"]}
    assert columns(write("a.csv", '"a, b";c\n"1, 2";3\n')) == {"a, b": ["1, 2"], "c": ["3"]}


def test_cells_with_quotes_delimiters_and_line_breaks(write):
    data = 'a,"b\nc"\n"1\n2","say ""x"", y"\n5" pipe,z\n'
    assert columns(write("a.csv", data)) == {"a": ["1\n2", '5" pipe'], "b\nc": ['say "x", y', "z"]}


def test_names_are_made_different(write):
    source = open_table(write("a.csv", "a,a,,a (2), \n1,2,3,4,5\n"))
    assert source.names == ["a", "a (2)", "column 3", "a (2) (2)", "column 5"]
    assert source.schema == pa.schema([(name, pa.string()) for name in source.names])


def test_one_column_has_rows_of_empty_lines(write):
    assert columns(write("a.csv", "a\n1\n\n3\n")) == {"a": ["1", None, "3"]}


def test_encodings(write):
    assert columns(write("a.csv", "a,é\n1,ü\n".encode("latin-1")), encoding="latin-1") == {"a": ["1"], "é": ["ü"]}
    assert columns(write("a.csv", "a,é\n1,ü\n".encode("utf-16")), encoding="utf-16") == {"a": ["1"], "é": ["ü"]}
    assert columns(write("a.csv", "a,é\n1,ü\n".encode("utf-16-be")), encoding="utf-16-be") == {"a": ["1"], "é": ["ü"]}
    assert columns(write("a.csv", "\ufeffa,é\n1,ü\n"), encoding="utf-8-sig") == {"a": ["1"], "é": ["ü"]}


def test_long_rows_and_headers(write):
    names = [f"column number {i}" for i in range(9000)]  # longer than what is looked at first
    data = ",".join(names) + "\n" + ",".join(["1"] * 9000) + "\n"
    assert open_table(write("a.csv", data)).read().to_pydict() == {name: ["1"] for name in names}
    assert columns(write("a.csv", f"a,b\n1,{'x' * 300_000}\n"))["b"] == ["x" * 300_000]


@pytest.mark.parametrize("name", ["t.parquet", "t.pq", "t.arrow", "t.feather", "t.ipc"])
def test_binary_tables(tmp_path, name):
    path = tmp_path / name
    if name.endswith(("parquet", "pq")):
        pa.parquet.write_table(TABLE, path)
    elif name.endswith("feather"):
        pa.feather.write_feather(TABLE, path)
    else:
        with (pa.ipc.new_file if name.endswith("ipc") else pa.ipc.new_stream)(path, TABLE.schema) as sink:
            sink.write_table(TABLE)
    source = open_table(path, batch_rows=2)
    assert source.read() == TABLE
    assert source.read() == TABLE  # once more
    assert [batch.num_rows for batch in source] == [2, 1]
    assert open_table(path, columns=["b", "a"]).read() == TABLE.select(["b", "a"])


def test_binary_tables_with_names_used_twice(tmp_path):
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    assert columns(tmp_path / "t.parquet") == {"a": [1], "a (2)": [2]}
    assert columns(tmp_path / "t.parquet", columns=["a (2)"]) == {"a (2)": [2]}


def test_some_columns_of_a_text_table(write):
    path = write("a.csv", "a,b,c\n1,2,3\n")
    assert list(columns(path, columns=["c", "a"]).items()) == [("c", ["3"]), ("a", ["1"])]
    with pytest.raises(TableError, match=r"a\.csv' has no column 'd'\. It has 'a', 'b', 'c'\."):
        open_table(path, columns=["d"])


CUT = b"a,b\n" + b"1,2\n" * 5000
ERRORS = {
    "empty": ("a.csv", b"", r"is empty\. Pass a table with a header"),
    "blank": ("a.csv", b"\n \n", r"is empty\. Pass a table with a header"),
    "empty parquet": ("a.parquet", b"", r"is empty\."),
    "header": ("a.csv", b"a,b\n", r"has a header and no rows\."),
    "one long cell": ("a.csv", b"x" * 200_000, r"has no header but a cell of more than 128 KiB"),
    "binary": ("a.csv", bytes(range(256)), r"is not a table: it holds binary data\. Pass a csv"),
    "latin": ("a.csv", "a,é\n1,2\n".encode("latin-1"), r"is not UTF-8\. Pass its encoding.*'latin-1'"),
    "latin, later": ("a.csv", CUT * 20 + b"1,\xe9\n", r"is not UTF-8\. Pass its encoding.*'latin-1'"),
    "utf-16": ("a.csv", "a,b\n".encode("utf-16"), r"but UTF-16\. Pass encoding='utf-16'"),
    "utf-16, no mark": ("a.csv", "a,b\n1,é\n".encode("utf-16-le"), r"looks like UTF-16\. Pass encoding='utf-16-le'"),
    "utf-16, turned": ("a.csv", "a,b\n1,é\n".encode("utf-16-be"), r"looks like UTF-16\. Pass encoding='utf-16-be'"),
    "unknown": ("a.xyz", b"a,b\n1,2\n", r"no extension that says what it is \(\.csv.*pass 'format'"),
    "spreadsheet": ("a.csv", b"PK\x03\x04...", r"is no csv table but a zip file or a spreadsheet.*save it as csv"),
    "parquet as csv": ("a.csv", b"PAR1....", r"Name it \.parquet, or pass format='parquet'"),
    "too few": ("a.csv", b'a,b\n"1\n1",2\n\n3\n', r"has 1 cell instead of 2 in line 5\. Mend it"),
    "too many": ("a.csv", b"a,b\n1,2\n1,2,3\n", r"has 3 cells instead of 2 in line 3\. Mend it"),
    "too many, later": (
        "a.csv.gz",
        gzip.compress(CUT * 60 + b"1,2,3\n", mtime=0),
        r"has 3 cells instead of 2 in line 300061\.",
    ),
    "open quote": ("a.csv", b'a,b\n1,"2\n3,4\n', r"has a quote that opens, in line 2, and never closes\."),
    "open quote, one cell": ("a.csv", b'a,b\n1,"x\ny"\n"3,4\n' + b"5,6\n" * 40, r"opens, in line 4, and never closes"),
    "open quote, later cell": ("a.csv", b'a,b,c\n"x\ny","3,4\n5,6\n', r"opens, in line 3, and never closes"),
    "open quote, last line": ("a.csv", b'a,b\n5" pipe,2\n"3,4', r"opens, in line 3, and never closes"),
    "open quote, long": ("a.csv", b'a,b\n1,2\n"3,4\n' + b"5,6\n" * 50_000, r"opens, in line 3, and never closes"),
    "quote closed too late": ("a.csv", b'a,b\n"3,4\n5,6\n7,"8"\n9,1\n', r"instead of 2 in lines 2 to 4\. Mend it"),
    "endless quote": ("a.csv", b'a,b\n1,"2\n' + b"3,4\n" * 600_000, r"a quote that opens, in line 2, and never"),
    "endless quote in a cut gzip": (
        "a.csv.gz",
        gzip.compress(b'a,b\n1,"2\n' + b"3,4\n" * 600_000, mtime=0)[:-9],
        r"a quote that opens|cut off",
    ),
    "cut gzip": ("a.csv.gz", gzip.compress(CUT, mtime=0)[:-9], r"cut off.*Get it once more"),
    "damaged gzip": ("a.csv.gz", b"\x1f\x8b" + b"x" * 50, r"cut off, damaged.*Get it once more"),
    "no parquet": ("a.parquet", b"hello, world", r"cannot be read as parquet: it is cut off, damaged"),
    "no arrow": ("a.arrow", b"hello, world", r"cannot be read as Arrow: it is cut off, damaged"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_one_line_that_says_what_to_do(write, case):
    name, data, message = ERRORS[case]
    path = write(name, data)
    with pytest.raises(TableError, match=message) as caught:
        open_table(path).read()
    assert str(caught.value).startswith(repr(str(path)))
    assert "\n" not in str(caught.value)


def test_errors_of_paths(tmp_path):
    with pytest.raises(TableError, match=r"no\.csv' does not exist\. Check the path"):
        open_table(tmp_path / "no.csv")
    with pytest.raises(TableError, match=r"is a folder\. Pass one file"):
        open_table(tmp_path)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
@pytest.mark.parametrize("left", [0.5, 0.97])
def test_files_that_are_cut_off(tmp_path, write, name, left):
    table = pa.table({"a": np.arange(5000), "b": [str(i) for i in range(5000)]})
    if name == "t.parquet":
        pa.parquet.write_table(table, tmp_path / name)
    else:
        with pa.ipc.new_file(tmp_path / name, table.schema) as sink:
            sink.write_table(table)
    data = (tmp_path / name).read_bytes()
    with pytest.raises(TableError, match="cut off, damaged"):
        open_table(write(name, data[: int(left * len(data))])).read()


def test_tables_without_rows(tmp_path):
    pa.parquet.write_table(TABLE.slice(0, 0), tmp_path / "t.parquet")
    with pytest.raises(TableError, match="has no rows"):
        open_table(tmp_path / "t.parquet")
    pa.feather.write_feather(TABLE.slice(0, 0), tmp_path / "t.feather")
    with pytest.raises(TableError, match="has no rows"):
        open_table(tmp_path / "t.feather").read()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_rows": 0}, "'batch_rows' parameter of open_table must be an int above 0. Got 0 instead"),
        ({"format": "xls"}, "'format' parameter .* Got 'xls' instead"),
        ({"delimiter": "::"}, "'delimiter' parameter .* Got '::' instead"),
        ({"encoding": "rot13"}, "'encoding' parameter .* must be a text encoding .* Got 'rot13' instead"),
        ({"encoding": "utf-9"}, "'encoding' parameter .* Got 'utf-9' instead.*latin-1"),
    ],
)
def test_parameters_are_checked(write, options, message):
    with pytest.raises(ValueError, match=message):
        open_table(write("a.csv", "a,b\n1,2\n"), **options)


def test_format_and_delimiter_can_be_given(write):
    assert columns(write("a.dat", "a,b\n1,2\n"), format="csv") == {"a": ["1"], "b": ["2"]}
    assert columns(write("a.dat", "a\tb\n1\t2,3\n"), format="tsv") == {"a": ["1"], "b": ["2,3"]}
    assert columns(write("a.csv", "a,b;c\n1,2;3\n"), delimiter=";") == {"a,b": ["1,2"], "c": ["3"]}


# Pipes


def arrow_stream():
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("data", "format", "want"),
    [
        (b"a;b\n1;2\n", None, "csv {'a': ['1'], 'b': ['2']}"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), None, "csv {'a': ['1'], 'b': ['2']}"),
        (b"a\tb;c\n1\t2\n", "tsv", "csv {'a': ['1'], 'b;c': ['2']}"),
        (arrow_stream(), None, f"arrow {TABLE.to_pydict()}"),
    ],
)
def test_standard_input(monkeypatch, data, format, want):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(data))))
    source = open_table("-", format=format)
    assert f"{source.format} {source.read().to_pydict()}" == want
    assert source.label == "standard input"
    with pytest.raises(TableError, match=r"standard input can be read once"):
        source.read()


def test_standard_input_of_a_process():
    code = "from oddatom.table import open_table; print(open_table('-').read().to_pydict())"
    run = subprocess.run([sys.executable, "-c", code], input=b"a,b\n1,2\n", capture_output=True, check=True)
    assert run.stdout.decode().strip() == "{'a': ['1'], 'b': ['2']}"


def test_parquet_needs_a_file(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO()))
    with pytest.raises(TableError, match="standard input cannot be read as parquet, which needs a file"):
        open_table("-", format="parquet")


def test_a_pipe_is_read_once(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    thread = threading.Thread(target=path.write_bytes, args=[b"a,b\n1,2\n" * 3])
    thread.start()
    source = open_table(path)
    assert source.read().num_rows == 5
    thread.join()
    with pytest.raises(TableError, match=r"can be read once\. Save it in a file"):
        source.read()


# Streams


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.arrow"])
def test_batches_take_constant_memory_and_encode_alike(tmp_path, name):
    n = 200_000
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "x": rng.normal(size=n),
            "colour": np.array(["red", "green", "blue"])[rng.integers(0, 3, n)],
            "y": pa.array(rng.normal(size=n), mask=rng.random(n) < 0.1),
            "note": np.array(["a longer text, with a comma", "and another"])[rng.integers(0, 2, n)],
        }
    )
    path = tmp_path / name
    if name == "t.parquet":
        pa.parquet.write_table(table, path, row_group_size=20_000)
    elif name == "t.arrow":
        with pa.ipc.new_file(path, table.schema) as sink:
            sink.write_table(table, max_chunksize=20_000)
    else:
        data = io.BytesIO()
        pa.csv.write_csv(table, data)
        path.write_bytes(gzip.compress(data.getvalue(), 1) if name.endswith("gz") else data.getvalue())
    encoder = TableEncoder().fit(table)
    default = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(default)
    pa.set_memory_pool(pool)
    try:
        parts = [encoder.transform(batch) for batch in open_table(path, batch_rows=8_192)]
        most = pool.max_memory()
    finally:
        pa.set_memory_pool(default)
    assert max(map(len, parts)) <= 8_192
    assert most < 8e6  # blocks of a MiB, in a few forms
    assert name == "t.arrow" or open_table(path).read().nbytes > 8e6
    assert np.array_equal(np.concatenate(parts), encoder.transform(table))


CELLS = st.text(st.sampled_from('ab1,;" \t\n\ré=\x00'), max_size=5)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 3), st.data())
def test_any_csv_is_read_as_python_reads_it(width, data):
    rows = data.draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=6))
    lines = io.StringIO(newline="")
    csv.writer(lines, quoting=csv.QUOTE_ALL).writerows([[f"n{i}" for i in range(width)], *rows])
    code = lines.getvalue().encode()
    if b"\x00" in code:
        with pytest.raises(TableError, match="binary"):
            _from_bytes(code)
        return
    want = {f"n{i}": [row[i] or None for row in rows] for i in range(width)}
    assert _from_bytes(code).read().to_pydict() == want
    want = {f"column {i + 1}": [f"n{i}", *cells] for i, cells in enumerate(want.values())}
    assert _from_bytes(code, header=False).read().to_pydict() == want


def _from_bytes(data, header=True):
    """Open bytes as if they came through a pipe."""
    from oddatom.table.reading import TableSource, _open_pipe, _Text

    stream = io.BufferedReader(io.BytesIO(data))
    return TableSource(_open_pipe(stream, "a pipe", "csv", _Text(",", "utf-8", header)), 4, None)
