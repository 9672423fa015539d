"""Scores of coded rows, higher = more normal. A score is one file with one function of (codes, w)."""

from collections.abc import Callable

import numpy as np

from oddatom.coding import Codes
from oddatom.scores.margin import margin
from oddatom.scores.residual import residual

SCORES: dict[str, Callable[[Codes, np.ndarray], np.ndarray]] = {"margin": margin, "residual": residual}

__all__ = ["SCORES", "margin", "residual"]
