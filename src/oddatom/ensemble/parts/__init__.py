"""Parts of the ensemble's score, each larger for odd rows. A part is one file with one function of coded rows.

`register` adds one: values, calibration, joining, `explain`, model files, torch and ONNX take it from there.
"""

from __future__ import annotations

from oddatom.ensemble.parts.category_fit import CONTEXT
from oddatom.ensemble.parts.cell import CELL
from oddatom.ensemble.parts.description_length import DESCRIPTION_LENGTH
from oddatom.ensemble.parts.distance import DISTANCE
from oddatom.ensemble.parts.group_distance import GROUP
from oddatom.ensemble.parts.histogram import HISTOGRAM
from oddatom.ensemble.parts.max_residual import MAX_RESIDUAL
from oddatom.ensemble.parts.norm import NORM
from oddatom.ensemble.parts.part import Part, attributed, value
from oddatom.ensemble.parts.residual import RESIDUAL
from oddatom.exceptions import OddAtomError

PARTS: dict[str, Part] = {}


def register(part: Part) -> Part:
    """Add a part, of a new name, to those that ensembles are learned with from now on."""
    if part.name in PARTS or part.name in ("joined", "margin"):
        problem = f"There is a score or part called {part.name!r} already."
        raise OddAtomError(problem, parameter="part", value=part, advice="Give the part another name.")
    if part.largest and part.rest is not None:
        problem = f"The part {part.name!r} is its largest term, which leaves no rest."
        raise OddAtomError(problem, parameter="part", value=part, advice="Leave `rest` or `largest` out.")
    PARTS[part.name] = part
    return part


# The parts that the fused kernel of `ensemble/fused.py`, their twin, computes, in its order; `group` comes after the
# others of members, in models that have it.
BUILT_IN = tuple(
    register(part).name for part in (DESCRIPTION_LENGTH, DISTANCE, MAX_RESIDUAL, RESIDUAL, HISTOGRAM, NORM)
)
FUSED = (*BUILT_IN, register(GROUP).name)
register(CELL)
register(CONTEXT)


def in_order() -> tuple[str, ...]:
    """Return the names of all parts: those of members first, then those of the row alone."""
    return tuple(sorted(PARTS, key=lambda name: not PARTS[name].of_members))


__all__ = ["BUILT_IN", "FUSED", "PARTS", "Part", "attributed", "in_order", "register", "value"]
