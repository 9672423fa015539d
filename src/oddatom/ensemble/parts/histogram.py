"""How rare the values of a row are by the histograms of `ensemble/histogram.py`: Σ_f −log p_f(x_f)."""

from __future__ import annotations

from typing import Any

from oddatom.arrays.namespaces import namespace
from oddatom.ensemble.coded import CodedRows
from oddatom.ensemble.histogram import entropy, nats
from oddatom.ensemble.parts.part import Part


def terms(rows: CodedRows) -> Any:
    """Return −log p_f(x_f) less the column's entropy, which a usual value has."""
    return nats(rows.units, rows.histogram) - entropy(rows.histogram)


def rest(rows: CodedRows) -> Any:
    """Return the sum of the entropies."""
    return namespace(rows.units).sum(entropy(rows.histogram))


def held_out(rows: CodedRows) -> Any:
    """Return the terms by histograms that do not count the row."""
    return nats(rows.units, rows.histogram, held_out=True) - entropy(rows.histogram)


NOISE = 0.27  # half a nat a column: the bins of a flat column differ by chance alone
HISTOGRAM = Part(
    "histogram", terms, rest, of_members=False, weight=0.06, of_units=True, held_out=held_out, least_noise=NOISE
)
