"""Uniform-support dictionary learning alone with φ(t) = min(t, ε).

Short rows of codes shrink or vanish, long ones stay as they are.
"""

from __future__ import annotations

from oddatom.paper.uniform import Uniform


class UniformL2Eps(Uniform):
    """Dictionary learning with the ℓ2,ε penalty and the set-inclusion rule."""

    label = "DL ℓ2,ε"
    order = 22
    penalty = "l2eps"


METHOD = UniformL2Eps()
