"""What a score is a sum of: terms of the atoms of a row's code, and of what the atoms leave of the row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.namespaces import like, namespace
from oddatom.coding import Codes
from oddatom.scaling.linear import LIMIT


class Terms(NamedTuple):
    """A score of N coded rows, higher for normal rows: Σ_k slots_k + Σ_i atoms_i + residual · ‖y − x D‖².

    Attributes
    ----------
    slots : (N, s) or None
        What the atom in each slot of a code adds; 0 in a slot without one.
    atoms : (n,) or None
        What each atom adds to every row, used or not.
    residual : float
        The factor of the squared residual.
    """

    slots: Any = None
    atoms: Any = None
    residual: float = 0.0


def total(terms: Terms, codes: Codes) -> Any:
    """Return the scores of rows from their terms; the largest or lowest number there is where a sum overflows."""
    xp = namespace(codes.values)
    out = xp.zeros_like(codes.sq_residual, dtype=xp.float64)
    if terms.residual:  # 0 · inf is no number
        out = out + terms.residual * codes.sq_residual
    if terms.slots is not None:
        out = out + xp.sum(terms.slots, axis=-1)
    if terms.atoms is not None:
        out = out + xp.sum(terms.atoms)
    return xp.clip(out, -LIMIT, LIMIT)


def in_slots(numbers: Any, codes: Codes) -> Any:
    """Return numbers by atom (n,) for the slots of codes, (N, s); 0 in a slot without an atom."""
    xp = namespace(codes.values)
    n, s = numbers.shape[0], codes.indices.shape[1]
    padded = xp.concat([numbers, like(np.zeros(1), numbers)])
    where = xp.where(codes.indices < 0, xp.zeros_like(codes.indices) + n, codes.indices)
    return xp.reshape(xp.take(padded, xp.reshape(where, (-1,)), axis=0), (-1, s))
