"""Columns that tell rows apart and say nothing about them. In doubt a column is no id: leaving one out loses more."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from oddatom.arrays.arrow import pc

FEW_ROWS = 20  # below it, different values are no wonder
NEARLY_ALL = 0.95  # distinct words among the values of a text column

_ID_WORD = re.compile(r"(^|[^a-z])(id|ids|uuid|guid|key|pk|rowid|hash)($|[^a-z])|[a-z0-9](Id|ID|Uuid|UUID|Key|Guid)$")
_ROW_NUMBER = re.compile(r"^(unnamed: ?\d+|index|idx|row|rows|row[ _.-]?(index|number|num|no|nr)|nr|#)$")


def looks_like_id(name: str) -> bool:
    """Return whether a column's name is that of an id: "id", "customer_id", "orderId", "uuid", "index"."""
    bare = name.strip()
    return bool(_ID_WORD.search(bare) or _ID_WORD.search(bare.lower()) or _ROW_NUMBER.match(bare.lower()))


def number_id(name: str, data: np.ndarray, exact: Any, whole: bool) -> str:
    """Return why a column of numbers is an id, "" where it is none.

    Parameters
    ----------
    name : str
    data : ndarray of float64, NaN where missing
    exact : pyarrow.Array or None
        The same before it became floats: large ids differ in digits that floats do not have.
    whole : bool
        Whether the table holds them as integers. Floats are ids by their name alone.
    """
    values = data[~np.isnan(data)]
    if values.size < 2 or not (np.all(values == np.floor(values))):
        return ""
    if looks_like_id(name):
        n_distinct = np.unique(values).size if exact is None else pc.count_distinct(exact, mode="only_valid").as_py()
        return "every value is different" if n_distinct == values.size else ""
    if not whole or values.size < FEW_ROWS:
        return ""
    with np.errstate(over="ignore"):
        if values.max() - values.min() != values.size - 1:
            return ""
    return "it counts the rows" if np.unique(values).size == values.size else ""


def text_id(name: str, n_distinct: int, n_values: int) -> str:
    """Return why a column of text is an id, "" where it is none."""
    if n_values < 2:
        return ""
    if n_distinct == n_values and (n_values >= FEW_ROWS or looks_like_id(name)):
        return "every value is different"
    if n_values >= FEW_ROWS and n_distinct >= NEARLY_ALL * n_values:
        return "nearly every value is different"
    return ""
