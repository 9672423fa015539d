"""Minus the squared residual of a row, −‖y − x D‖², higher for normal rows (`parts/residual.py`: under a member)."""

from __future__ import annotations

from typing import Any

from oddatom.coding import Codes
from oddatom.coding.statistics import CodeStatistics
from oddatom.scores.terms import Terms


def residual(codes: Codes, w: Any, statistics: CodeStatistics | None = None) -> Terms:
    """−‖y_j − x_j D‖² of every row j of codes; w and the statistics are not used."""
    return Terms(residual=-1.0)
