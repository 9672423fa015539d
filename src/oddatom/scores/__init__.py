"""Scores of coded rows, higher = more normal. A score is one file with one function of (codes, w, statistics).

The function returns `Terms`, on arrays of any library; `SCORES[name] = function` adds one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from oddatom.arrays.namespaces import is_numpy
from oddatom.arrays.twins import TWINS
from oddatom.coding import Codes
from oddatom.coding.statistics import CodeStatistics, code_statistics
from oddatom.scores.description_length import description_length
from oddatom.scores.margin import margin
from oddatom.scores.residual import residual
from oddatom.scores.terms import Terms, total

SCORES: dict[str, Callable[[Codes, Any, CodeStatistics], Terms]] = {
    "margin": margin,
    "residual": residual,
    "description_length": description_length,
}


def score(name: str, codes: Codes, w: Any, statistics: CodeStatistics) -> Any:
    """Return the scores of N coded rows, (N,)."""
    formula = SCORES[name]
    with np.errstate(over="ignore"):
        if formula in TWINS and is_numpy(codes.values):
            return TWINS[formula](codes, w, statistics)
        return total(formula(codes, w, statistics), codes)


__all__ = ["SCORES", "CodeStatistics", "Terms", "code_statistics", "description_length", "margin", "residual", "score"]
