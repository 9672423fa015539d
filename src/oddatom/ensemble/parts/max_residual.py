"""The largest squared residual of a feature, in units of its noise: max_f s_f² e_f²/noise_f."""

from __future__ import annotations

from typing import Any

from oddatom.arrays.namespaces import namespace
from oddatom.ensemble.coded import CodedRows
from oddatom.ensemble.parts.part import Part


def terms(rows: CodedRows) -> Any:
    """Return s_f² e_f²/noise_f, s² = z/y."""
    xp = namespace(rows.residual)
    return rows.stretch * rows.residual**2 * xp.expand_dims(rows.packed.feature_precision, axis=1)


MAX_RESIDUAL = Part("max_residual", terms, largest=True, weight=0.25)
