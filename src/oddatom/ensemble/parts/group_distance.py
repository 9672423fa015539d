"""How far the group of a row lies from the bulk of the rows: the squared Mahalanobis distance of its centroid.

A small group of rows that are nearly alike has a centroid of its own, and every row of it lies close to that. By the
group's distance they are odd all the same. Distances are measured by the robust covariance of all rows, around the
medians, and centroids are rescaled by √(z/y) as in `max_residual.py`.
"""

from __future__ import annotations

from typing import Any

from oddatom.arrays.namespaces import chosen
from oddatom.ensemble.coded import CodedRows
from oddatom.ensemble.parts.part import Part


def terms(rows: CodedRows) -> Any:
    """Return c_f (Σ⁻¹ c)_f of the centroid c."""
    assert rows.packed.group_terms is not None  # an old model without them has no such part
    return chosen(rows.packed.group_terms, rows.centroid)


GROUP = Part("group", terms, weight=0.05)
