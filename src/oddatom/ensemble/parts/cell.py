"""The most surprising value of a row: max_f 1/p_f, "one in so many rows", p_f by the tails of `ensemble/tails.py`."""

from __future__ import annotations

from typing import Any

from oddatom.arrays.namespaces import namespace
from oddatom.ensemble.coded import CodedRows
from oddatom.ensemble.parts.part import Part
from oddatom.ensemble.tails import Tails, tail_nats

MOST = 600.0  # nats: the exponential stays finite


def terms(rows: CodedRows) -> Any:
    """Return 1/p_f."""
    return _exponential(tail_nats(rows.units, _tails(rows)))


def held_out(rows: CodedRows) -> Any:
    """Return the terms by tails of the other rows."""
    return _exponential(tail_nats(rows.units, _tails(rows), held_out=True))


def _tails(rows: CodedRows) -> Tails:
    assert rows.histogram.tails is not None  # an old model without tails has no such part
    return rows.histogram.tails


def _exponential(nats: Any) -> Any:
    xp = namespace(nats)
    return xp.exp(xp.clip(nats, None, MOST))


CELL = Part("cell", terms, of_members=False, largest=True, weight=0.04, of_units=True, held_out=held_out)
