"""Code length of a row under a member (`scores/description_length.py` has it of a dictionary): atom, gain, residual.

L = cost_i + g²/2s_i² + ‖e‖²/2s_e²
"""

from __future__ import annotations

from typing import Any

from oddatom.arrays.namespaces import chosen, namespace
from oddatom.ensemble.coded import CodedRows
from oddatom.ensemble.parts.part import Part


def terms(rows: CodedRows) -> Any:
    """Return g² d_if²/2s_i² + e_f²/2s_e²; atoms are unit rows."""
    xp = namespace(rows.taken)
    of_gain = xp.expand_dims(chosen(rows.packed.gain_precision, rows.atom), axis=-1) * rows.taken**2
    return of_gain + xp.reshape(rows.packed.precision, (-1, 1, 1)) * rows.residual**2


def rest(rows: CodedRows) -> Any:
    """Return the cost of the atom's name."""
    return chosen(rows.packed.cost, rows.atom)


DESCRIPTION_LENGTH = Part("description_length", terms, rest, weight=0.25, by_cell=True)
