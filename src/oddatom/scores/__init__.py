"""Scores of coded rows, higher = more normal. A score is one file with one function of (codes, w, statistics)."""

from collections.abc import Callable

import numpy as np

from oddatom.coding import Codes
from oddatom.scores.description_length import description_length
from oddatom.scores.margin import margin
from oddatom.scores.residual import residual
from oddatom.scores.statistics import CodeStatistics, code_statistics

SCORES: dict[str, Callable[[Codes, np.ndarray, CodeStatistics], np.ndarray]] = {
    "margin": margin,
    "residual": residual,
    "description_length": description_length,
}

__all__ = ["SCORES", "CodeStatistics", "code_statistics", "description_length", "margin", "residual"]
