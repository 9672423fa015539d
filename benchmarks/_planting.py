"""Everyday tables with planted errors: one wrong cell in 1 % of the rows, and empty cells that are no errors.

The random numbers are drawn in a fixed order (empty cells column by column, rows, then one error after another), so
that a seed gives the same errors everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

# What a number is multiplied by.
FACTORS = {"x10": 10.0, "x100": 100.0, "/10": 0.1, "sign": -1.0}
KINDS = (*FACTORS, "swap", "category")
MIN_ERRORS = 10
# Numbers with fewer distinct values are codes or counts, in which a factor means little.
MIN_NUMBERS = 11
# A text column with more levels than this, and than one per 20 rows, is free text or a name.
MAX_LEVELS = 50


@dataclass(frozen=True)
class Planted:
    """A table with errors: its labels (1: wrong), and the wrong columns of each wrong row."""

    frame: pd.DataFrame
    y: np.ndarray
    wrong: dict[int, tuple[str, ...]]


def find_tables(folder: Path) -> dict[str, Path]:
    """The csv files of a folder by name."""
    files = sorted([*folder.glob("*.csv"), *folder.glob("*.csv.gz")])
    if not files:
        raise SystemExit(f"No tables in {folder}: pass a folder with .csv or .csv.gz files.")
    return {path.name.split(".")[0]: path for path in files}


def read_table(path: Path, rows: int) -> pd.DataFrame:
    """The table, or a fixed sample of `rows`, without constant columns."""
    table = pd.read_csv(path, low_memory=False)
    if len(table) > rows:
        table = table.sample(rows, random_state=0)
    table = table.reset_index(drop=True)
    return table.loc[:, table.nunique() > 1]


def error_columns(table: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Columns in which errors are planted: numbers with many values, categories with few."""
    distinct = table.nunique()
    numbers = [c for c in table if is_numeric_dtype(table[c]) and distinct[c] >= MIN_NUMBERS]
    most = max(MAX_LEVELS, len(table) // 20)
    categories = [c for c in table if not is_numeric_dtype(table[c]) and 2 <= distinct[c] <= most]
    return numbers, categories


def plant(table: pd.DataFrame, kind: str, seed: int, missing: float) -> Planted | None:
    """Plant errors of one kind in 1 % of the rows (at least ten) after emptying a share of all cells.

    None where the table has no columns for this kind.
    """
    numbers, categories = error_columns(table)
    columns = categories if kind == "category" else numbers
    if len(columns) < (2 if kind == "swap" else 1):
        return None
    rng = np.random.RandomState(seed)
    frame = _empty_cells(table, rng, missing)
    rows = rng.choice(len(frame), max(MIN_ERRORS, len(frame) // 100), replace=False)
    y = np.zeros(len(frame), dtype=int)
    y[rows] = 1
    return Planted(frame, y, {int(row): _one_error(frame, table, int(row), kind, columns, rng) for row in rows})


def _empty_cells(table: pd.DataFrame, rng: np.random.RandomState, share: float) -> pd.DataFrame:
    """A copy with floats for numbers and objects for the rest, of whose cells a share is missing."""
    out = {}
    for name, column in table.items():
        number = is_numeric_dtype(column) and not is_bool_dtype(column)
        out[name] = column.astype(float if number else object).mask(rng.rand(len(table)) < share, np.nan)
    return pd.DataFrame(out)


def _one_error(
    frame: pd.DataFrame, table: pd.DataFrame, row: int, kind: str, columns: list[str], rng: np.random.RandomState
) -> tuple[str, ...]:
    """Make a row wrong, in place; `table` has the cells before any was emptied. Return the columns changed."""
    if kind == "swap":
        pair = rng.choice(columns, 2, replace=False)
        i, j = (frame.columns.get_loc(name) for name in pair)
        frame.iat[row, i], frame.iat[row, j] = frame.iat[row, j], frame.iat[row, i]
        return tuple(map(str, pair))
    name = columns[rng.randint(len(columns))]
    at = frame.columns.get_loc(name)
    value = frame.iat[row, at]
    if kind == "category":
        others = table[name].dropna().to_numpy()
        others = others[others != value]
        frame.iat[row, at] = others[rng.randint(len(others))]
    else:
        if pd.isna(value) or value == 0:  # a factor would change nothing
            value = table[name].median() or 1.0
        frame.iat[row, at] = value * FACTORS[kind]
    return (name,)
