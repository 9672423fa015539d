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
from oddatom.scores.center_distance import distance
from oddatom.scores.description_length import description_length
from oddatom.scores.loda import loda
from oddatom.scores.margin import margin
from oddatom.scores.residual import residual
from oddatom.scores.terms import Terms, total

SCORES: dict[str, Callable[[Codes, Any, CodeStatistics], Terms]] = {
    "margin": margin,
    "residual": residual,
    "description_length": description_length,
    "loda": loda,
}


# What a ball has in the place of the plane's margin: `scoring="margin"` stands for it, too.
OF_BOUNDARY = {"plane": "margin", "ball": "distance"}
# Scores of linear codes P y, where a detector has those; the others are of sparse codes.
OF_LINEAR_CODES = (*OF_BOUNDARY.values(), "loda")


def formula_of(name: str) -> Callable[[Codes, Any, CodeStatistics], Terms]:
    """Return the formula of a score: one of SCORES, or the ball's own."""
    return distance if name == "distance" else SCORES[name]


def score(name: str, codes: Codes, w: Any, statistics: CodeStatistics) -> Any:
    """Return the scores of N coded rows, (N,)."""
    formula = formula_of(name)
    with np.errstate(over="ignore"):
        if formula in TWINS and is_numpy(codes.values):
            return TWINS[formula](codes, w, statistics)
        return total(formula(codes, w, statistics), codes)


__all__ = [
    "OF_BOUNDARY",
    "OF_LINEAR_CODES",
    "SCORES",
    "CodeStatistics",
    "Terms",
    "code_statistics",
    "description_length",
    "distance",
    "formula_of",
    "loda",
    "margin",
    "residual",
    "score",
]
