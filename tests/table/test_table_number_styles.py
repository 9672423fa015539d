"""Points and commas that may mark thousands or decimals are read as the rest of the table says."""

import warnings

import numpy as np
import pandas as pd
import pytest

from oddatom import TableWarning
from oddatom.table import TableEncoder, open_table

N = 30


def read(tmp_path, columns, delimiter=";"):
    """Write cells to a file; return what the encoder says of each column and makes of the first row."""
    rows = zip(*columns.values(), strict=True)
    lines = [columns, *rows]
    (tmp_path / "t.csv").write_text("\n".join(delimiter.join(cells) for cells in lines) + "\n")
    table = open_table(tmp_path / "t.csv", delimiter=delimiter).read()
    encoder = TableEncoder().fit(table)
    said = {decision.name: decision.reason for decision in encoder.columns_}
    return said, dict(zip(encoder.get_feature_names_out(), encoder.transform(table)[0], strict=True))


def cells(*values):
    return [values[k % len(values)] for k in range(N)]


def test_nothing_before_the_comma_means_decimals(tmp_path):
    said, row = read(tmp_path, {"a": cells("0,965", "1,004", "72,500")}, "\t")
    assert said["a"] == "number, written as 1.234,5"
    assert row["a"] == 0.965


@pytest.mark.parametrize(
    ("delimiter", "style", "value"), [(";", "1.234,5", 1.004), ("\t", "1,234.5", 1004), ("|", "1,234.5", 1004)]
)
def test_semicolons_mean_decimal_commas(tmp_path, delimiter, style, value):
    said, row = read(tmp_path, {"a": cells("1,004", "2,345"), "b": cells("3", "5")}, delimiter)
    assert said == {"a": f"number, written as {style}", "b": "number"}
    assert row == {"a": value, "b": 3}


def test_decimal_points_beside_them_mean_thousands(tmp_path):
    for other in ("0.5", "1234.567", "0.965", "1,234.5", "1,234,567", "1.5e3"):
        said, row = read(tmp_path, {"a": cells("1,004", "872"), "b": cells(other, "3")})
        assert said["a"] == "number, written as 1,234.5", other
        assert row["a"] == 1004


def test_a_column_with_decimal_commas_speaks_for_others():
    frame = pd.DataFrame(
        {
            "count": cells("4.155", "872", "€ 1.234.567", "n.a."),
            "weight": cells("1,004", "2,345"),
            "price": cells("0,5", "1.234,5"),
            "whole": cells("3", "8"),
            "share": cells("0.5", "3"),
        }
    )
    encoder = TableEncoder().fit(frame.drop(columns="share"))
    row = dict(zip(encoder.get_feature_names_out(), encoder.transform(frame)[0], strict=True))
    assert [row[name] for name in ("count", "weight", "price", "whole")] == [4155, 1.004, 0.5, 3]
    assert [decision.style for decision in encoder.columns_] == ["1.234,5"] * 3 + ["1234.5"]
    assert "written as 1.234,5" in encoder.describe()[0]
    encoder = TableEncoder().fit(frame.drop(columns="count").assign(count=cells("4.155", "872")))
    assert [decision.style for decision in encoder.columns_] == ["1.234,5", "1.234,5", "1234.5", "1234.5", "1234.5"]


@pytest.mark.parametrize("other", ["0.5", "4.15", "4.1555", "1234.567"])
def test_points_that_cannot_group_stay_decimals(other):
    frame = pd.DataFrame({"a": cells("4.155", "872", other), "b": cells("0,5", "7,25")})
    encoder = TableEncoder().fit(frame)
    assert [decision.style for decision in encoder.columns_] == ["1234.5", "1.234,5"]
    assert encoder.transform(frame)[0].tolist() == [4.155, 0.5]


def test_points_alone_stay_decimals(tmp_path):
    said, row = read(tmp_path, {"a": cells("4.155", "872"), "b": cells("3", "5")})
    assert said["a"] == "number"
    assert row["a"] == 4.155


def test_numbers_too_large_for_floats_are_said_to_be():
    frame = pd.DataFrame({"k": [str(10**400 + k) for k in range(N)], "x": np.arange(N) % 7 * 0.5})
    assert TableEncoder().fit(frame).describe()[0] == "k: left out, its values are too large for numbers"
    frame["k"] = ["inf", "nan"] * (N // 2)
    assert TableEncoder().fit(frame).describe()[0] == "k: left out, it has no values"
    frame.loc[0, "k"] = str(10**400)
    assert TableEncoder().fit(frame).describe()[0] == "k: left out, its values are too large for numbers"


@pytest.mark.parametrize("kind", ["int64", "uint64", "Int64", "text", "text with gaps", "objects"])
def test_large_whole_numbers_that_become_the_same_are_named(kind):
    whole = [2**60 + k % 20 for k in range(N)]
    if kind.startswith("text"):
        whole = ["n/a" if k == 3 and "gaps" in kind else str(value) for k, value in enumerate(whole)]
    elif kind == "Int64":
        whole = pd.array([None, *whole[1:]], dtype=kind)
    else:
        whole = pd.Series(whole, dtype=object if kind == "objects" else kind)
    frame = pd.DataFrame({"a": whole, "b": np.arange(N) % 7 * 0.5})
    encoder = TableEncoder()
    with pytest.warns(TableWarning, match=r"^column 'a' has whole numbers above 2\*\*53 .* \(subtract a base, .*\)\.$"):
        encoder.fit(frame)
    assert encoder.describe()[0].startswith("a: number, of which 15 digits are kept: 20 large values that differ")
    assert encoder.describe()[1] == "b: number"


@pytest.mark.parametrize("kind", [int, str])
@pytest.mark.parametrize("base", [2**53 - 4 * N, 1_700_000_000_000_000_000])
def test_large_whole_numbers_that_stay_different_are_not(kind, base):
    frame = pd.DataFrame({"a": [kind(base + (k * 7 % 50) * 1024 if base > 2**53 else base + k % 7) for k in range(N)]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert TableEncoder().fit(frame).describe() == ["a: number"]


@pytest.mark.filterwarnings("error")
def test_one_large_number_in_several_spellings():
    column = ["+9007199254740992", "9007199254740992", "009007199254740992", "5"] * 5
    assert "digits" not in TableEncoder().fit(pd.DataFrame({"a": column})).describe()[0]
