"""How badly a category goes with its row: max_f p_f / p_f(x_f | other columns), see `ensemble/naive_bayes.py`."""

from __future__ import annotations

from typing import Any

from oddatom.arrays.namespaces import namespace
from oddatom.ensemble.coded import CodedRows
from oddatom.ensemble.naive_bayes import context_nats
from oddatom.ensemble.parts.part import Part


def terms(rows: CodedRows) -> Any:
    """Return p_f / p_f(x_f | other columns)."""
    xp = namespace(rows.units)
    if rows.histogram.context is None:
        return xp.ones_like(rows.units)
    return xp.exp(context_nats(rows.units, rows.histogram.context))


def held_out(rows: CodedRows) -> Any:
    """Return the terms by counts that leave the row out."""
    xp = namespace(rows.units)
    if rows.histogram.context is None:
        return xp.ones_like(rows.units)
    return xp.exp(context_nats(rows.units, rows.histogram.context, held_out=True))


CONTEXT = Part(
    "context",
    terms,
    of_members=False,
    largest=True,
    weight=0.2,
    of_units=True,
    held_out=held_out,
    least_spread=1.0,
    needs="context",
)
