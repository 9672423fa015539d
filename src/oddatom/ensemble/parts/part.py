"""What a part of the score is: terms by feature of coded rows, how they become its value, and each feature's share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from oddatom.arrays.namespaces import largest, namespace
from oddatom.ensemble.coded import CodedRows


class Part(NamedTuple):
    """A number for each row, at least 0 and larger for odd rows: Σ_f terms_f + rest, or max_f terms_f.

    Attributes
    ----------
    name : str
    terms : function of CodedRows
        Returns (M, N, m) of the members, or (N, m). Terms are larger for features that are odd.
    rest : function of CodedRows, optional
        What belongs to no feature: (M, N) or (N,), or what broadcasts to that.
    of_members : bool
        Whether each member has a value of its own.
    largest : bool
        Whether the value is the largest of the terms instead of their sum.
    weight : float
        In the joined score, beside those of the other parts; 0 leaves it out. `python -m benchmarks.untuned
        --learn-weights` chooses those of the built-in parts.
    of_units : bool
        Whether `units` and `histogram` of the rows are all it needs: then they are neither scaled nor coded for it.
    held_out : function of CodedRows, optional
        The terms of rows that took part in the statistics of the columns, each left out of them; of units alone.
    by_cell : bool
        Whether a missing cell adds nothing to it, so that what cells usually add has to be put in its place.
    least_spread : float
        What a deviation of its logarithm is at least, where that is known beforehand.
    least_noise : float
        What its deviation is at least, in units of √value: a sum over columns is not known better than its terms are.
    needs : str, optional
        The statistic of the columns, a field of Histogram, without which it says nothing and counts nothing.
    """

    name: str
    terms: Callable[[CodedRows], Any]
    rest: Callable[[CodedRows], Any] | None = None
    of_members: bool = True
    largest: bool = False
    weight: float = 0.1
    of_units: bool = False
    held_out: Callable[[CodedRows], Any] | None = None
    by_cell: bool = False
    least_spread: float = 0.0
    least_noise: float = 0.0
    needs: str | None = None

    @property
    def joined(self) -> bool:
        """Whether the joined score counts it."""
        return self.weight > 0.0


def value(part: Part, rows: CodedRows, *, held_out: bool = False) -> Any:
    """Return the part of every row, (M, N) or (N,)."""
    terms = part.held_out(rows) if held_out and part.held_out is not None else part.terms(rows)
    xp = namespace(terms)
    if part.largest:
        return xp.squeeze(largest(terms), axis=-1)
    total = xp.sum(terms, axis=-1)
    if part.rest is not None:
        total = total + part.rest(rows)
    return xp.where(total > 0.0, total, xp.zeros_like(total))


def attributed(part: Part, rows: CodedRows) -> Any:
    """Return the share of every feature in the part, (N, m), at least 0; rows sum to 1. Members are averaged."""
    terms = part.terms(rows)
    xp = namespace(terms)
    if part.largest:
        terms = xp.where(terms == largest(terms), terms, xp.zeros_like(terms))
    terms = xp.where(terms > 0.0, terms, xp.zeros_like(terms))
    total = xp.sum(terms, axis=-1, keepdims=True)
    ones = xp.ones_like(terms)
    shares = xp.where(total > 0.0, terms / xp.where(total > 0.0, total, xp.ones_like(total)), ones / terms.shape[-1])
    return xp.sum(shares, axis=0) / shares.shape[0] if part.of_members else shares
