"""What the fitted attributes of LinearOneClassSVM and SVDD must look like."""

from __future__ import annotations

from oddatom.model_io.rules import integer, number, numbers
from oddatom.model_io.schema import FEATURES, Schema

_BOTH = {
    **FEATURES,
    "offset_": number(),
    "dual_coef_": numbers("rows"),
    "gap_": number(),
    "kkt_residual_": number(),
    "n_iter_": integer(),
}


def one_class_schema(Class: type) -> Schema:
    """Return the schema of LinearOneClassSVM."""
    return Schema({**_BOTH, "coef_": numbers(1, "features")})


def ball_schema(Class: type) -> Schema:
    """Return the schema of SVDD."""
    return Schema({**_BOTH, "center_": numbers("features"), "radius_": number()})
