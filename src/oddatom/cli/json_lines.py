"""Rows as JSON lines, for pipes: one object a line, ASCII, what is not finite null."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from oddatom import TableDetector
from oddatom.cli.learning import Results


def id_columns(model: TableDetector, table: pa.Table) -> list[str]:
    """Return the columns of a table that name its rows, as --id said when the model was fitted."""
    ids = {decision.name for decision in model.columns_ if decision.kind == "id"}
    return [name for name in table.column_names if name in ids]


def row_lines(
    first: int, found: Results, ids: dict[str, list[Any]], features: list[str] | None = None
) -> Iterator[str]:
    """Yield a line for each row: {"row": 17, "id": {"bottle": "B-17"}, "score": −2.4, "p_value": …, "is_anomaly": …}.

    Parameters
    ----------
    first : int
        Number of the first row; that of a table is 1.
    found : Results
    ids : dict of str to list
        Cells of the columns that name rows; where there is none, lines have no "id".
    features : list of str, optional
        What makes the rows odd, as "top_features".
    """
    encode = json.JSONEncoder(allow_nan=False).encode
    scores, flagged = _numbers(found.scores), found.flagged.tolist()
    p_values = [None] * len(scores) if found.p_values is None else _numbers(found.p_values)
    for j, score in enumerate(scores):
        record: dict[str, Any] = {"row": first + j}
        if ids:
            record["id"] = {name: _plain(cells[j]) for name, cells in ids.items()}
        record.update(score=score, p_value=p_values[j], is_anomaly=flagged[j])
        if features is not None:
            record["top_features"] = features[j]
        yield encode(record)


def _numbers(values: np.ndarray) -> list[float | None]:
    numbers = values.tolist()
    return numbers if np.isfinite(values).all() else [one if math.isfinite(one) else None for one in numbers]


def _plain(cell: Any) -> Any:
    """Return a cell as JSON has it: text, whole numbers and booleans as they are, others as text."""
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None
    return cell if cell is None or isinstance(cell, str | int) else str(cell)
