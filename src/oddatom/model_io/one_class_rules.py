"""What the fitted attributes of LinearOneClassSVM must look like."""

from __future__ import annotations

from oddatom.model_io.rules import integer, number, numbers
from oddatom.model_io.schema import FEATURES, Schema

_SCHEMA = Schema(
    {
        **FEATURES,
        "coef_": numbers(1, "features"),
        "offset_": number(),
        "dual_coef_": numbers("rows"),
        "gap_": number(),
        "kkt_residual_": number(),
        "n_iter_": integer(),
    }
)


def one_class_schema(Class: type) -> Schema:
    """Return the schema of LinearOneClassSVM."""
    return _SCHEMA
