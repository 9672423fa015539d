"""Whether the first line of a text table is a row rather than names."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?")


def like_a_row(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first of the rows looks like the others.

    It has numbers, and every cell that is none stands in its column again below; and what it has are no labels such as
    years or 1, 2, 3: a number has a point, a comma or a sign, a number comes twice, or there is a cell that stands in
    its column again and is no number.

    Parameters
    ----------
    rows : sequence of rows of cells
        The first ones of a table.
    """
    first = [cell.strip() for cell in rows[0]]
    numbers = [cell for cell in first if _NUMBER.fullmatch(cell)]
    others = [(i, cell) for i, cell in enumerate(first) if not _NUMBER.fullmatch(cell)]
    if not numbers or not all(
        cell and any(i < len(row) and row[i].strip() == cell for row in rows[1:]) for i, cell in others
    ):
        return False
    return bool(others) or len(set(numbers)) < len(numbers) or not all(cell.isdigit() for cell in numbers)
