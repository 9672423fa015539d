"""What the rows that a model remembers after `partial_fit` must look like."""

from __future__ import annotations

from typing import Any

import numpy as np

from oddatom.model_io.rules import Sizes, demand, integer, number, numbers, record
from oddatom.rows.remembered import Memory

_MEMORY = record(
    lambda: Memory,
    {
        "rows": numbers("remembered", "features", nan=True),
        "clocks": numbers("remembered", least=0.0, most=1.0),
        "limit": number(above=0.0, most=1.0),
        "n_batches": integer(least=1),
        "seed": integer(),
    },
)


def MEMORY(value: Any, path: str, sizes: Sizes) -> None:
    """Check the parts, and that no clock is beyond the limit."""
    _MEMORY(value, path, sizes)
    demand(not np.isinf(value.rows).any(), f"{path}.rows", "free of infinity", value.rows)
    demand(
        bool((value.clocks <= value.limit).all()), f"{path}.clocks", f"at most the limit, {value.limit}", value.clocks
    )
