"""What commands do with tables: open them, name files after them, and put results beside their rows."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oddatom.cli.console import Console, printable
from oddatom.table import open_table

RESULTS = ("score", "p_value", "is_anomaly", "rank", "top_features")
_TABLES = (".gz", ".csv", ".tsv", ".txt", ".parquet", ".pq", ".arrow", ".feather", ".ipc")


def open_source(options: argparse.Namespace, **more: Any) -> Any:
    """Open the table that the options name."""
    return open_table(
        options.table, format=options.format, encoding=options.encoding, delimiter=options.delimiter, **more
    )


def beside(table: str, ending: str) -> str:
    """Return a file name beside a table: data.csv.gz and ".report.html" make data.report.html."""
    if table == "-":
        return f"stdin{ending}"
    path = Path(table)
    name = path.name
    while Path(name).suffix.lower() in _TABLES:
        name = Path(name).stem
    return str(path.with_name(name + ending))


def result_names(taken: list[str]) -> dict[str, str]:
    """Return the names of the result columns, with "oddatom_" before all of them where the table has one of them."""
    prefix = "" if not set(RESULTS) & set(taken) else "oddatom_"
    while any(prefix + name in taken for name in RESULTS):
        prefix += "oddatom_"
    return {name: prefix + name for name in RESULTS}


def with_results(batch: Any, results: dict[str, Any]) -> Any:
    """Return a pyarrow table with result columns after its own."""
    import pyarrow as pa

    table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
    names = result_names(table.column_names)
    for name, values in results.items():
        table = table.append_column(names[name], pa.array(values))
    return table


@contextmanager
def told(console: Console) -> Iterator[list[str]]:
    """Say warnings as lines, each once; yield the list of what was said."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", message="X does not have valid feature names|X has feature names")
        try:
            yield said
        finally:
            for warning in caught:
                text = printable(" ".join(str(warning.message).split()))
                if text not in said and not issubclass(warning.category, DeprecationWarning | FutureWarning):
                    said.append(text)
                    console.warn(text)
