"""What the rows that a model remembers after `partial_fit` must look like."""

from __future__ import annotations

from oddatom.model_io.rules import integer, number, numbers, record


def _memory() -> type:
    from oddatom.detectors._partial import Memory

    return Memory


MEMORY = record(
    _memory,
    {
        "rows": numbers("remembered", "features"),
        "clocks": numbers("remembered", least=0.0, most=1.0),
        "limit": number(least=0.0, most=1.0),
        "n_batches": integer(least=1),
        "seed": integer(),
    },
)
