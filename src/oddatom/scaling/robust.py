"""Robust scaling: columns are centred at their medians and divided by their interquartile ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from oddatom.scaling.column_statistics import Columns


def robust(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Return medians and interquartile ranges; the standard deviation where the quartiles are one."""
    low, center, high = columns.quantiles((0.25, 0.5, 0.75))
    apart = high > low
    return center, high - low if apart.all() else np.where(apart, high - low, columns.deviation())
