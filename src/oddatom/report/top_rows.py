"""The table of the oddest rows: what makes each of them odd, and which of its cells stand out."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from oddatom.report.limits import Limits
from oddatom.report.numbers import score_writer
from oddatom.report.records import ReportContent, TopRow

BARS = 5  # shown at once; the others when asked for
LEAST_SHARE = 0.005
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


class Share(NamedTuple):
    """What makes a row odd: its share, the length of its bar in percent, its column, and the row's value in that."""

    name: str
    share: float
    length: float
    column: str
    value: str


class TableRow(NamedTuple):
    """A row of the table: its score as text, its largest shares, the sums of the bars shown at once by column."""

    row: TopRow
    score: str
    shares: list[Share]
    hot: dict[str, float]


class Table(NamedTuple):
    """Rows of the table, and the columns it shows with the class of their cells: n for numbers, t for text."""

    rows: list[TableRow]
    columns: list[tuple[str, str]]


def top_rows(content: ReportContent, limits: Limits) -> Table:
    """Return what the table of the oddest rows shows."""
    write = score_writer(content.scores)
    rows = []
    for k, row in enumerate(content.top[: limits.rows]):
        shares = _shares(content, k, limits)
        hot: dict[str, float] = {}
        for one in shares[:BARS]:
            hot[one.column] = hot.get(one.column, 0.0) + one.share
        rows.append(TableRow(row, write(row.score), shares, hot))
    columns = [
        (name, "n" if all(not one.row.cells[c] or _NUMBER.fullmatch(one.row.cells[c]) for one in rows) else "t")
        for c, name in enumerate(content.columns[: limits.columns])
    ]
    return Table(rows, columns)


def _shares(content: ReportContent, k: int, limits: Limits) -> list[Share]:
    """Return the largest shares of a top row; bars are in units of the largest share of all rows."""
    if content.contributions is None:
        return []
    own, largest = content.contributions[k], float(content.contributions.max())
    values = dict(zip(content.columns, content.top[k].cells, strict=False))
    order = [c for c in np.argsort(-own, kind="stable")[: limits.shares] if own[c] >= LEAST_SHARE]
    columns = content.contribution_sources or content.contribution_columns
    return [
        Share(
            content.contribution_columns[c],
            float(own[c]),
            100 * float(own[c]) / largest,
            columns[c],
            values.get(columns[c], ""),
        )
        for c in order
    ]
