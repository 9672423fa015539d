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
    joined : bool
        Whether the joined score counts it.
    """

    name: str
    terms: Callable[[CodedRows], Any]
    rest: Callable[[CodedRows], Any] | None = None
    of_members: bool = True
    largest: bool = False
    joined: bool = True


def value(part: Part, rows: CodedRows) -> Any:
    """Return the part of every row, (M, N) or (N,)."""
    terms = part.terms(rows)
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
