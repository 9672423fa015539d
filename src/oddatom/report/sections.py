"""What the sections of a report show that is not in its content as it stands: counts, means, drawings, their labels."""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

import numpy as np

from oddatom.report import figures
from oddatom.report.limits import Limits
from oddatom.report.numbers import score_writer, whole
from oddatom.report.records import OddMoment, ReportContent, RowMap
from oddatom.report.text import cut
from oddatom.report.ticks import time_text
from oddatom.report.time_figures import TimePlot, rows_plot, score_plot

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


class Moment(NamedTuple):
    """One of the oddest rows in time: its time as text, the drawing of the rows around it or None, and its label."""

    odd: OddMoment
    time: str
    plot: TimePlot | None
    label: str


class Time(NamedTuple):
    """Scores over time: the drawing, its label, how to read it, and the oddest rows."""

    plot: TimePlot
    label: str
    reading: list[str]
    moments: list[Moment]


def over_time(content: ReportContent, limits: Limits) -> Time | None:
    """Draw the scores over time and the rows around the oddest ones; None where rows have no times."""
    over = content.over_time
    if over is None:
        return None
    write = score_writer(content.scores)
    plot = score_plot(over, content.scores, content.offset, limits.moments)
    first, last = (time_text(float(over.bins.times[k]), over.dates) for k in (0, -1))
    marked = int((~np.isnan(over.bins.marked)).sum())
    where = "" if content.offset is None else f" The threshold is {write(content.offset)}."
    label = (
        f"Scores of {whole(over.n_rows)} rows over {cut(over.name, limits.name)}, from {first} to {last}; flagged rows "
        f"at {whole(marked)} place{'s' if marked != 1 else ''}.{where}"
    )
    reading = []
    if over.n_series > 1:
        reading.append(f"The line is the lowest score of the {whole(over.n_series)} groups at a time.")
    elif not over.each:
        reading.append(
            f"{whole(over.n_rows)} rows are more than a picture can show: the line joins the lowest and the highest "
            f"score of each of {whole(over.bins.times.size)} stretches of time."
        )
    if plot.low is not None:
        reading.append(f"Scores below {write(plot.low)} are drawn at the lower edge.")
    moments = [_moment(one, over.dates, limits) for one in over.moments[: limits.moments]]
    return Time(plot, label, reading, moments)


def _moment(odd: OddMoment, dates: bool, limits: Limits) -> Moment:
    around, time = odd.around, time_text(odd.time, dates)
    if around is None:
        return Moment(odd, time, None, "")
    usual = "" if np.isnan(around.level) else f", usually {around.level:.6g}"
    value = "missing" if np.isnan(around.value) else f"{around.value:.6g}"
    label = f"{cut(around.column, limits.name)} around row {odd.row.row}: {value} at {time}{usual}."
    return Moment(odd, time, rows_plot(around, odd, dates), label)
