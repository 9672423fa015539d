"""Variants of the paper's learners: the form of the coupling and the boundary apart, all settings are the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from oddatom.paper.learners import Learner


class Multipliers(Learner):
    """The paper's own plane and multipliers, at fixed settings: with labels that is the learner itself."""

    views = ("unlabelled",)


class Hinge(Learner):
    """A plane, which a sweep holds fixed: no sweep raises F + eta G."""

    views = ("converged", "unlabelled")
    form = "hinge"
    changed: ClassVar[Mapping[str, Any]] = {"coupling_form": "hinge"}


class Ball(Learner):
    """A ball in the place of the plane, which a sweep holds fixed."""

    views = ("converged", "unlabelled")
    form = "ball"
    changed: ClassVar[Mapping[str, Any]] = {"coupling_form": "hinge", "boundary": "ball"}
