"""Squared norm of a scaled row, ‖y‖²: how far it is from the medians."""

from __future__ import annotations

from typing import Any

from oddatom.ensemble.coded import CodedRows
from oddatom.ensemble.parts.part import Part


def terms(rows: CodedRows) -> Any:
    """Return y_f²."""
    return rows.scaled**2


NORM = Part("norm", terms, of_members=False, weight=0.25, by_cell=True)
