"""Drawings over time, by hand: lines in a box that stretches with the page, text and marks at shares of its size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from oddatom.report.figures import score_limits
from oddatom.report.records import OddMoment, OverTime, RowsAround, TimeBins
from oddatom.report.ticks import date_ticks, number_ticks, parts

WIDTH, HEIGHT = 2000, 400  # units of the box that lines are drawn in
MARGIN = 0.06  # of the height, above and below
WIDE, NARROW, TALL = 900, 300, 208  # pixels of the large picture on a screen and on a phone, and its height
LETTER, LINE, AWAY = 8, 14, 8  # pixels of a digit, of a line of text, and from a mark to its number
OUTSIDE = 20  # pixels that a number may be beside the picture


class Place(NamedTuple):
    """Where an odd row is: its time or its share of the width, its value or height, whether it is flagged, its rank."""

    x: float
    y: float
    flagged: bool
    rank: int


class AxisTick(NamedTuple):
    """A tick: where it is, in percent, what it says, the day below, and whether it is hidden where room is short."""

    at: str
    text: str
    day: str = ""
    spare: bool = False


class Mark(NamedTuple):
    """A numbered mark: its place in percent, whether its row is flagged, and where its number is from it in pixels.

    `room` is "" where the number is always shown, "wide" where it needs a wide screen, "none" where it has no room.
    """

    x: str
    y: str
    flagged: bool
    number: int
    dx: int
    dy: int
    anchor: str
    room: str


class TimePlot(NamedTuple):
    """What a picture over time shows.

    Attributes
    ----------
    line, flagged : str
        Paths.
    level : str
        Height of the threshold or of the usual level in percent, "" where there is none.
    level_end : str
        Where its line ends, in percent.
    marks : list of Mark
    here : str
        Where the row is that the picture is about, in percent; "" where there is none.
    x_ticks, y_ticks : list of AxisTick
    low : float or None
        Values below are drawn at the lower edge; None where there are none.
    """

    line: str
    flagged: str
    level: str
    level_end: str
    marks: list[Mark]
    here: str
    x_ticks: list[AxisTick]
    y_ticks: list[AxisTick]
    low: float | None


def score_plot(over: OverTime, scores: np.ndarray, offset: float | None, most: int) -> TimePlot:
    """Draw scores over time, with the threshold and the first of the oddest rows.

    Parameters
    ----------
    over : OverTime
    scores : (N,)
        Of all rows; the axis is as long as that of their histogram.
    offset : float or None
        The threshold.
    most : int
        Rows to number.
    """
    bins = over.bins
    moments = over.moments[:most]
    low, high = score_limits(scores[np.isfinite(scores)], offset)
    ends = _ends(bins, [moment.time for moment in moments])
    places = [Place(one.time, one.row.score, one.row.is_anomaly, one.row.rank) for one in moments]
    cut = offset if offset is not None and low <= offset <= high else np.nan
    plot = _plot(bins, over.dates, ends, (low, high), cut, places, (6, 5), spare=True)
    return plot._replace(low=low if (bins.lowest < low).any() else None)


def rows_plot(around: RowsAround, odd: OddMoment, dates: bool) -> TimePlot:
    """Draw a column over the rows around an odd one, with its usual level."""
    time = odd.time
    bins = around.bins
    values = np.concatenate([bins.lowest, bins.highest, [around.level, around.value]])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    ends = _ends(bins, [time])
    place = [] if np.isnan(around.value) else [Place(time, around.value, odd.row.is_anomaly, odd.row.rank)]
    plot = _plot(bins, dates, ends, (low, high), around.level, place, (3, 3), spare=False)
    here = _percent(float(parts(np.array(time), *ends)))
    return plot._replace(here=here, level_end=here)


def _plot(
    bins: TimeBins,
    dates: bool,
    ends: tuple[float, float],
    limits: tuple[float, float],
    level: float,
    places: Sequence[Place],
    most: tuple[int, int],
    spare: bool,
) -> TimePlot:
    """Draw bins between ends of time and limits of values, with a level, marks, and at most so many ticks.

    With `spare` every second tick of the times is hidden where room is short.
    """

    def height(values: np.ndarray | float) -> np.ndarray:
        return 1.0 - MARGIN - (1.0 - 2 * MARGIN) * parts(np.asarray(values, float), *limits)

    x = np.rint(WIDTH * parts(bins.times, *ends)).astype(int)
    x_ticks = date_ticks(*ends, most[0], spare) if dates else number_ticks(*ends, most[0])
    y_ticks = number_ticks(*limits, most[1])
    at = [one._replace(x=float(parts(np.array(one.x), *ends)), y=float(height(one.y))) for one in places]
    return TimePlot(
        line=_line(x, height(bins.lowest), height(bins.highest), bins.starts),
        flagged=_dots(x, height(bins.marked)),
        level="" if np.isnan(level) else _percent(float(height(level))),
        level_end="100%",
        marks=_number(at),
        here="",
        x_ticks=[
            AxisTick(_percent(float(parts(np.array(t.value), *ends))), t.text, t.day, spare and k % 2 == 1)
            for k, t in enumerate(x_ticks)
        ],
        y_ticks=[AxisTick(_percent(float(height(t.value))), t.text) for t in y_ticks],
        low=None,
    )


def _ends(bins: TimeBins, others: Sequence[float]) -> tuple[float, float]:
    """Return the first and the last time; that of the rows in the last bin may be later than its own."""
    return float(bins.times[0]), float(max([bins.times[-1], *others]))


def _line(x: np.ndarray, low: np.ndarray, high: np.ndarray, starts: np.ndarray) -> str:
    """Return the path through the lowest and the highest value of every bin, with gaps where there is none."""
    out: list[str] = []
    pen = False  # whether a line is open
    y_low, y_high = (np.rint(HEIGHT * np.nan_to_num(y, nan=-1.0)).astype(int) for y in (low, high))
    for k in range(x.size):
        if np.isnan(low[k]):
            pen = False
            continue
        alone = (not pen or starts[k]) and (k + 1 == x.size or starts[k + 1] or np.isnan(low[k + 1]))
        out.append(f"{'L' if pen and not starts[k] else 'M'}{x[k]} {y_low[k]}")
        if y_high[k] != y_low[k]:
            out.append(f"V{y_high[k]}")
        elif alone:
            out.append("h0")  # round ends make a dot of it
        pen = True
    return "".join(out)


def _dots(x: np.ndarray, y: np.ndarray) -> str:
    """Return lines of no length, which round ends make dots of."""
    return "".join(f"M{x[k]} {round(HEIGHT * float(y[k]))}h0" for k in np.flatnonzero(~np.isnan(y)))


def _number(places: Sequence[Place]) -> list[Mark]:
    """Number marks beside, below or above them, the first ones first, where no other mark or number is."""
    offsets = ((AWAY, 4, "start"), (-AWAY, 4, "end"), (0, AWAY + LINE - 3, "middle"), (0, -AWAY - 2, "middle"))
    taken: dict[int, list[tuple[float, float, float, float]]] = {
        width: [(x * width - 5, y * TALL - 5, x * width + 5, y * TALL + 5) for x, y, _, _ in places]
        for width in (WIDE, NARROW)
    }
    out = []
    for k, (x, y, flagged, number) in enumerate(places):
        fits = {
            width: [
                offset
                for offset in offsets
                if _free(_box(x * width, y * TALL, offset, number), taken[width], width, apart_from=k)
            ]
            for width in (WIDE, NARROW)
        }
        both = [offset for offset in fits[WIDE] if offset in fits[NARROW]]
        chosen = (both or fits[WIDE] or [offsets[0]])[0]
        room = "" if both else "wide" if fits[WIDE] else "none"
        for width in (WIDE, NARROW) if both else (WIDE,) if fits[WIDE] else ():
            taken[width].append(_box(x * width, y * TALL, chosen, number))
        out.append(Mark(_percent(x), _percent(y), flagged, number, *chosen, room))
    return out


def _box(x: float, y: float, offset: tuple[int, int, str], number: int) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of a number."""
    dx, dy, anchor = offset
    width = LETTER * len(str(number))
    left = x + dx - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * width
    return left, y + dy - LINE + 3, left + width, y + dy + 3


def _free(
    box: tuple[float, float, float, float],
    taken: Sequence[tuple[float, float, float, float]],
    width: float,
    apart_from: int,
) -> bool:
    """Return whether a box is in the picture and overlaps none of the others but that of its own mark."""
    left, top, right, bottom = box
    inside = left >= 0 and right <= width + OUTSIDE and top >= 0 and bottom <= TALL
    return inside and all(
        right <= one[0] or left >= one[2] or bottom <= one[1] or top >= one[3]
        for k, one in enumerate(taken)
        if k != apart_from
    )


def _percent(part: float) -> str:
    return f"{100 * part:.2f}%"
