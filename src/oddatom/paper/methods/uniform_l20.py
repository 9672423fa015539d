"""Uniform-support dictionary learning alone with φ(t) = 1 for t ≠ 0.

Rows of codes stay as they are, or vanish where ½t² ≤ beta.
"""

from __future__ import annotations

from oddatom.paper.uniform import Uniform


class UniformL20(Uniform):
    """Dictionary learning with the ℓ2,0 penalty and the set-inclusion rule."""

    label = "DL ℓ2,0"
    order = 21
    penalty = "l20"


METHOD = UniformL20()
