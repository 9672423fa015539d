"""Weights of rows: `sample_weight` of a fit, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight

LEAST, MOST = 1e-100, 1e100


def check_weights(detector: Any, sample_weight: Any, X: Any, y: Any = None) -> tuple[Any, Any, np.ndarray | None]:
    """Return the rows that have weight, their labels and their weights; None where all have the weight one."""
    if sample_weight is None:
        return X, y, None
    name = type(detector).__name__
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, copy=True)
    if (weights < 0.0).any():
        worst = int(np.argmin(weights))
        raise ValueError(
            f"The 'sample_weight' of {name} must not be negative. Got {weights[worst]:g} for row {worst}; give rows "
            "that are not to count the weight 0."
        )
    kept = weights > 0.0
    if kept.sum() < 2:
        raise ValueError(
            f"The 'sample_weight' of {name} must be positive for at least two rows. Got {int(kept.sum())} such rows."
        )
    extreme = weights[kept & ((weights < LEAST) | (weights > MOST))]
    if extreme.size:
        raise ValueError(
            f"The 'sample_weight' of {name} must lie between {LEAST:g} and {MOST:g}, or be 0. Got {extreme[0]:g}; "
            "divide all weights by their mean."
        )
    if not kept.all():
        X, weights = X[kept], weights[kept]
        y = y if y is None else _safe_indexing(y, np.flatnonzero(kept))
    return X, y, None if (weights == 1.0).all() else weights


def refuse_weights(detector: Any, sample_weight: Any, where: str) -> None:
    """Say that weights are for rows in memory alone."""
    if sample_weight is not None:
        raise ValueError(
            f"{type(detector).__name__} takes 'sample_weight' of rows in memory. Got it with {where}; pass an array, "
            "or repeat rows."
        )
