"""Squared residual of a row, ‖e‖². The description length has it already: the joined score does not count it twice."""

from __future__ import annotations

from typing import Any

from oddatom.ensemble.coded import CodedRows
from oddatom.ensemble.parts.base import Part


def terms(rows: CodedRows) -> Any:
    """Return e_f²."""
    return rows.residual**2


RESIDUAL = Part("residual", terms, joined=False)
