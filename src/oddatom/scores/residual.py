"""What the atoms leave of a row: −‖y − x D‖², higher for normal rows."""

from __future__ import annotations

import numpy as np

from oddatom.coding import Codes
from oddatom.scores.statistics import CodeStatistics


def residual(codes: Codes, w: np.ndarray, statistics: CodeStatistics | None = None) -> np.ndarray:
    """Return −‖y_j − x_j D‖² for every row j of codes; w and the statistics are not used."""
    return np.maximum(-codes.sq_residual, -np.finfo(np.float64).max)
