"""Standard scaling: columns are centred at their means and divided by their standard deviations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from oddatom.scaling.column_statistics import Columns


def standard(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard deviations."""
    return columns.mean(), columns.deviation()
