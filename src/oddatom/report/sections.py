"""What the sections of a report show that is not in its content as it stands: counts, means, drawings, their labels."""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

import numpy as np

from oddatom.report import figures
from oddatom.report.limits import Limits
from oddatom.report.numbers import score_writer, whole
from oddatom.report.records import ReportContent, RowMap
from oddatom.report.text import cut

LEVELS_OF_P = (0.001, 0.01, 0.05)
COLUMNS_LISTED = 8


class Scores(NamedTuple):
    """The histogram, its label, where scores are cut; rows by p-value: the level, how many, how many by chance."""

    drawing: figures.InlineSvg
    label: str
    where: str
    p_values: list[tuple[float, int, int]]


def scores(content: ReportContent) -> Scores:
    """Draw how the scores are spread, and count small p-values."""
    write = score_writer(content.scores)
    where = "" if content.offset is None else f" The threshold is {write(content.offset)}."
    finite = content.scores[np.isfinite(content.scores)]
    label = (
        f"Histogram of the scores of {whole(content.scores.size)} rows, from {write(finite.min())} to "
        f"{write(finite.max())}; {whole(content.n_anomalies)} are flagged.{where}"
        if finite.size
        else "Histogram without finite scores."
    )
    p = np.empty(0) if content.p_values is None else content.p_values
    counts = [(level, int((p <= level).sum()), round(level * p.size)) for level in LEVELS_OF_P] if p.size else []
    return Scores(figures.histogram(content.scores, content.offset), label, where, counts)


def odd_columns(content: ReportContent) -> list[tuple[str, float]]:
    """Return the columns that make the top rows odd, and the mean share of each, from the largest on."""
    if content.contributions is None or not content.contributions.size:
        return []
    mean = content.contributions.mean(axis=0)
    order = np.argsort(-mean, kind="stable")[:COLUMNS_LISTED]
    return [(content.contribution_columns[c], float(mean[c])) for c in order if mean[c] > 0.0]


class Map(NamedTuple):
    """The map.

    Attributes
    ----------
    dots : dict of str to str
        Paths of the rows that are no top rows, by their kind.
    top : list of (int, int)
        Places of the top rows, the oddest last and so above the others.
    points : list of (int, int, int, str, int, int)
        Of every row: x, y, number, score, rank, whether it is flagged.
    """

    dots: dict[str, str]
    top: list[tuple[int, int]]
    points: list[tuple[int, int, int, str, int, int]]


def row_map(content: ReportContent, limits: Limits) -> Map | None:
    """Draw where the rows lie: all top rows and the first of the others; None where the content has no map."""
    if content.row_map is None or not content.row_map.rows.size:
        return None
    order = np.argsort(content.row_map.ranks == 0, kind="stable")[: limits.points]
    rows = RowMap(*(getattr(content.row_map, field.name)[order] for field in fields(RowMap)))
    places, dots = figures.row_map(rows)
    write = score_writer(content.scores)
    points = [
        (*place, int(row), write(float(score)), int(rank), int(flagged))
        for place, row, score, rank, flagged in zip(
            places, rows.rows, rows.scores, rows.ranks, rows.flagged, strict=True
        )
    ]
    return Map(dots, [places[k] for k in np.flatnonzero(rows.ranks)[::-1]], points)


def curves(content: ReportContent, limits: Limits) -> tuple[figures.InlineSvg, str] | None:
    """Draw how the fit converged and say it in words; None where the content has no curves."""
    if not content.curves:
        return None
    lines = content.curves[: limits.warnings]
    first, last = (float(np.median([line.values[k] for line in lines])) for k in (0, -1))
    x, y = (cut(axis, limits.name) for axis in content.curve_axes)
    label = f"{y} by {x}, {len(lines)} curves: their median goes from {first:.3g} to {last:.3g}."
    return figures.curves(lines, content.curve_axes), label
