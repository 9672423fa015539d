"""The columns of a table from any library, by name or position."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.utils import check_array

from oddatom.arrays.arrow import pa
from oddatom.table.forms import Values, from_arrow, numbers
from oddatom.table.objects import from_objects

DELIMITER = b"oddatom.delimiter"  # in the metadata of a table from a text file


class Columns(NamedTuple):
    """The columns of a table, turned into `Values` one by one.

    Attributes
    ----------
    names : list of str
        All different. Those of an array are x0, x1, …
    named : bool
        Whether the table has names, so that columns may come in any order.
    n_rows : int
    get : callable
        The values of the column at a position.
    delimiter : str
        What stood between the cells of the text file it came from, "" where that is not known.
    """

    names: list[str]
    named: bool
    n_rows: int
    get: Callable[[int], Values]
    delimiter: str = ""


def unique_names(names: Iterable[Any]) -> list[str]:
    """Return names that are all different: "a", "a (2)"; "column 3" for one without a name."""
    out: list[str] = []
    taken: set[str] = set()
    for position, given in enumerate(names, 1):
        name = str(given) if str(given).strip() else f"column {position}"
        base, number = name, 2
        while name in taken:
            name, number = f"{base} ({number})", number + 1
        taken.add(name)
        out.append(name)
    return out


def as_columns(X: Any) -> Columns:
    """Return the columns of a pyarrow table or batch, a pandas or polars frame, or an array.

    Parameters
    ----------
    X : pyarrow.Table or RecordBatch, frame, or array-like of shape (n_rows, n_columns)
    """
    if isinstance(X, (pa.Table, pa.RecordBatch)):
        delimiter = (X.schema.metadata or {}).get(DELIMITER, b"").decode()
        return Columns(unique_names(X.schema.names), True, X.num_rows, lambda i: from_arrow(X.column(i)), delimiter)
    if _is_frame("pandas", X):
        return _named(X.columns, X.shape[0], lambda i: _from_pandas(X.iloc[:, i]))
    if _is_frame("polars", X):
        return _named(X.columns, X.shape[0], lambda i: _from_polars(X.to_series(i)))
    if advice := _no_table(X):
        raise TypeError(advice)
    array = check_array(
        X, dtype=None, ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0, input_name="X"
    )
    return Columns([f"x{i}" for i in range(array.shape[1])], False, array.shape[0], lambda i: _from_array(array[:, i]))


def _is_frame(library: str, X: Any, kind: str = "DataFrame") -> bool:
    """Return whether X is a frame of a library; then that has been imported."""
    module = sys.modules.get(library)
    return module is not None and isinstance(X, getattr(module, kind))


def _no_table(X: Any) -> str:
    """Return what to do with what holds a table and is none, "" for others."""
    if scipy.sparse.issparse(X):
        return "Sparse data was passed for X, but dense data is required: pass X.toarray()."
    if isinstance(X, str | os.PathLike):
        return (
            f"The path {os.fspath(X)!r} was passed for X, but a table in memory is required: read it with "
            "oddatom.table.open_table(path).read() or pandas.read_csv(path)."
        )
    if _is_frame("polars", X, "LazyFrame"):
        return "A polars LazyFrame was passed for X, but its rows are required: pass X.collect()."
    if isinstance(X, Mapping) or (isinstance(X, list | tuple) and X and all(isinstance(row, Mapping) for row in X)):
        what = "mapping" if isinstance(X, Mapping) else f"{type(X).__name__} of mappings"
        return f"A {what} was passed for X, but a table is required: make one of it, pandas.DataFrame(X)."
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        return "Masks of arrays are not read, and X has one: fill it in first, X.astype(float).filled(numpy.nan)."
    return ""


def _named(names: Any, n_rows: int, get: Callable[[int], Values]) -> Columns:
    return Columns(unique_names(names), all(isinstance(name, str) for name in names), n_rows, get)


def _from_array(values: np.ndarray) -> Values:
    if values.dtype.kind == "O":
        return from_objects(values)
    if values.dtype.kind == "f":
        return numbers(values)
    if values.dtype.kind == "U":
        return from_arrow(pa.array(values.astype(object), pa.large_string()))
    if values.dtype.kind in "SV":
        return from_objects(values.astype(object))
    if values.dtype.kind in "mM":
        values = values.astype(f"{values.dtype.kind}8[us]")
    return from_arrow(pa.array(np.ascontiguousarray(values)))


def _from_pandas(series: Any) -> Values:
    if series.dtype != object:
        try:
            return from_arrow(pa.array(series, from_pandas=True))
        except (pa.ArrowException, TypeError, UnicodeError):
            pass  # a type that pyarrow does not know
    return from_objects(np.asarray(series, dtype=object))


def _from_polars(series: Any) -> Values:
    if str(series.dtype) == "Object":
        values = np.empty(len(series), dtype=object)
        values[:] = series.to_list()
        return from_objects(values)
    return from_arrow(series.to_arrow())
