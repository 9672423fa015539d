"""Robust scaling: columns are centred at their medians and divided by their interquartile ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from oddatom.arrays.namespaces import namespace

if TYPE_CHECKING:
    from oddatom.scaling.column_statistics import Columns


def robust(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Return medians and interquartile ranges; the standard deviation where the quartiles are one."""
    low, center, high = columns.quantiles((0.25, 0.5, 0.75))
    apart = high > low
    return center, high - low if apart.all() else np.where(apart, high - low, columns.deviation())


def robust_but_flags(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Return what `robust` does, and an infinite spread for columns of two values, which then count nothing."""
    center, spread = robust(columns)
    return center, np.where(columns.two_valued(), np.inf, spread)


def distance_from_medians(Y: Any) -> Any:
    """Return Σ_f asinh(2 y_f)² of robustly scaled rows Y, (N,): a squared distance that compresses far values."""
    xp = namespace(Y)
    with np.errstate(over="ignore"):
        return xp.sum(xp.square(xp.asinh(2.0 * Y)), axis=-1)
