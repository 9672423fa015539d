"""Text tables without a header: how they are read, and when a first line is said to look like a row."""

import warnings

import pytest

from oddatom import TableError, TableWarning
from oddatom.table import open_table

ROWS = {"column 1": ["-0.44", "1", None], "column 2": ["x", "y", "x"]}


def write(tmp_path, data, name="a.csv"):
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return tmp_path / name


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ("-0.44,x\n1,y\n,x\n", {}),
        ("-0.44;x\r\n1;y\r\n;x", {}),
        ("\ufeff-0.44,x\n1,y\n,x\n", {}),
        ('\n\n"-0.44","x"\n\n1,y\n,x\n', {}),
        ("-0.44!x\n1!y\n!x\n".encode("utf-16"), {"delimiter": "!", "encoding": "utf-16"}),
    ],
)
def test_a_table_without_a_header_keeps_its_first_row(tmp_path, data, options):
    path = write(tmp_path, data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source = open_table(path, header=False, **options)
    assert source.names == list(ROWS)
    assert source.read().to_pydict() == ROWS
    assert source.read().to_pydict() == ROWS


def test_one_row_and_one_column(tmp_path):
    assert open_table(write(tmp_path, "5"), header=False).read().to_pydict() == {"column 1": ["5"]}
    assert open_table(write(tmp_path, "5\n\n6\n"), header=False).read().to_pydict() == {"column 1": ["5", None, "6"]}
    with pytest.raises(TableError, match=r"has a header and no rows\. .* or header=False if it has none"):
        open_table(write(tmp_path, "5"))


def test_errors_count_lines_alike(tmp_path):
    with pytest.raises(TableError, match="has 3 cells instead of 2 in line 2"):
        open_table(write(tmp_path, "1,2\n1,2,3\n"), header=False).read()


@pytest.mark.parametrize("header", [None, 0, "no"])
def test_header_is_true_or_false(tmp_path, header):
    with pytest.raises(ValueError, match=r"The 'header' parameter of open_table must be True or False\. Got"):
        open_table(write(tmp_path, "a,b\n1,2\n"), header=header)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("-0.44,0.54", "1,2"),
        ("-1,5", "1,2"),
        ("1e-3,5", "1,2"),
        ("0,0,5", "1,2,3"),
        ("5.1,3.5,setosa", "4.9,3,setosa"),
        ("39,State-gov", "50,State-gov"),
        ('"0,5";"7,25"', "1;2"),
    ],
)
def test_a_first_line_like_a_row_is_named(tmp_path, first, second):
    path = write(tmp_path, f"{first}\n{second}\n")
    with pytest.warns(TableWarning, match=r"the first line of '.*a\.csv' looks like a row, .*: pass header=False"):
        source = open_table(path)
    assert source.read().num_rows == 1


@pytest.mark.parametrize(
    "first",
    ["a,b", "2019,2020", "1,2", "0,1", ",0", "name,0.5", "0.5,", "1,b"],
)
def test_labels_are_no_row(tmp_path, first):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_table(write(tmp_path, f"{first}\n1.5,-2\n3,4\n"))
