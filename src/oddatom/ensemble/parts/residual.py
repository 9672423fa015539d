"""Squared residual of a row under a member, as `scores/residual.py` of a dictionary; not joined, to count once."""

from __future__ import annotations

from typing import Any

from oddatom.ensemble.coded import CodedRows
from oddatom.ensemble.parts.part import Part


def terms(rows: CodedRows) -> Any:
    """Return e_f²."""
    return rows.residual**2


RESIDUAL = Part("residual", terms, weight=0.0, by_cell=True)
