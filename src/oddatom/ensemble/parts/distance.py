"""Squared Mahalanobis distance of a row's deviation w from its centroid: wᵀ Σ⁻¹ w.

Σ⁻¹ = I/σ² + Σ_k (1/λ_k − 1/σ²) v_k v_kᵀ, of leading directions v_k and one variance for the rest.
"""

from __future__ import annotations

from typing import Any

from oddatom.arrays.namespaces import namespace
from oddatom.ensemble.coded import CodedRows
from oddatom.ensemble.parts.part import Part
from oddatom.ensemble.trimmed import mahalanobis_terms


def terms(rows: CodedRows) -> Any:
    """Return w_f (Σ⁻¹ w)_f."""
    xp, packed = namespace(rows.deviation), rows.packed
    gain, precision = xp.expand_dims(packed.direction_gain, axis=1), xp.reshape(packed.rest_precision, (-1, 1, 1))
    return mahalanobis_terms(rows.deviation, packed.directions, gain, precision)


DISTANCE = Part("distance", terms, weight=0.25, by_cell=True)
