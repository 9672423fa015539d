"""Uniform-support dictionary learning alone with φ(t) = t.

Rows of codes shrink by beta; shorter ones vanish.
"""

from __future__ import annotations

from oddatom.paper.uniform import Uniform


class UniformL21(Uniform):
    """Dictionary learning with the ℓ2,1 penalty and the set-inclusion rule."""

    label = "DL ℓ2,1"
    order = 20
    penalty = "l21"


METHOD = UniformL21()
