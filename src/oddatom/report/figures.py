"""Drawings for inline SVG that takes its colours from the page: histogram, curves and the map of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from oddatom.report.records import Curve, RowMap
from oddatom.report.text import cut
from oddatom.report.ticks import number_ticks

BINS = 60
MOST_STEPS = 500  # of a curve
FAR = 12.0  # scores further out than so many widths of the middle four fifths count in the last bar
MANY = 4  # curves from which they are drawn thin, with their median
MAP_WIDTH, MAP_HEIGHT, MARGIN = 720, 440, 18
WIDTH, HEIGHT = 560, 250
LEFT, RIGHT, BOTTOM, TOP = 76, 20, 46, 26  # room around a figure's axes
TICK = 4  # length of one
FEWEST, ROOM = 0.7, 3.0  # of the logarithmic axis: its lower end, and its upper end over the largest count
PAD = 0.05  # room above and below curves, as a share of their height
INK, MUTED, ACCENT, RULE, DOT = "var(--ink)", "var(--muted)", "var(--accent)", "var(--rule)", "var(--dot)"
LINES = ((ACCENT, ""), (INK, "9 5"), (MUTED, "2 4"))  # of a few curves: colour and dashes


class InlineSvg(NamedTuple):
    """The inside of an svg element.

    Attributes
    ----------
    name : str
        What its ids begin with.
    view : str
        Its viewBox.
    body : str
        Its elements, whose text is escaped.
    """

    name: str
    view: str
    body: str


def histogram(scores: np.ndarray, offset: float | None) -> InlineSvg:
    """Draw how many rows have which score, on a logarithmic scale, those below the offset in the accent colour.

    Parameters
    ----------
    scores : (N,)
    offset : float or None
    """
    finite = scores[np.isfinite(scores)]
    low, high = score_limits(finite, offset)
    edges = _edges(low, high, offset)
    counts, _ = np.histogram(np.clip(finite, low, high), edges)
    odd = edges[1:] <= (-np.inf if offset is None else offset + 1e-9 * (high - low))
    largest = max(2.0, ROOM * counts.max())
    x = _across(edges, edges[0], edges[-1])
    y = _up(np.log(np.maximum(counts, FEWEST)), np.log(FEWEST), np.log(largest))
    parts = []
    for which, colour in ((odd, ACCENT), (~odd, DOT)):
        bars = [
            f"M{x[k]:.1f} {_floor()}V{y[k]:.1f}H{x[k + 1]:.1f}V{_floor()}Z"
            for k in np.flatnonzero(which & (counts > 0))
        ]
        if bars:
            parts.append(f'<path d="{"".join(bars)}" fill="{colour}" stroke="none"/>')
    if offset is not None and low <= offset <= high:
        at = float(_across(np.array([offset]), edges[0], edges[-1])[0])
        left = (offset - low) / (high - low) < 0.6
        parts.append(f'<path d="M{at:.1f} {_floor()}V{TOP}" stroke="{INK}" stroke-width="1.2" stroke-dasharray="4 3"/>')
        parts.append(_text("threshold", at + (5 if left else -5), TOP + 12, INK, "start" if left else "end"))
    powers = np.arange(int(np.log10(largest)) + 1)
    heights = _up(np.log(10.0) * powers, np.log(FEWEST), np.log(largest))
    y_ticks = [(float(height), f"{10**power:,}") for power, height in zip(powers.tolist(), heights, strict=True)]
    parts += _axes(_ticks(edges[0], edges[-1]), y_ticks, ("score (odd rows to the left)", "rows, logarithmic scale"))
    return _drawing("histogram", parts)


def curves(lines: Sequence[Curve], labels: tuple[str, str]) -> InlineSvg:
    """Draw curves: a few with a legend, many thin with their median in the accent colour."""
    values = [np.asarray(line.values[:MOST_STEPS], float) for line in lines]
    many = len(lines) >= MANY
    if many:
        shortest = min(one.size for one in values)
        values = [one[:shortest] for one in values]
    start, most = int(many), max(one.size for one in values)
    found = np.concatenate(values)
    found = found[np.isfinite(found)]
    low, high = (float(found.min()), float(found.max())) if found.size else (0.0, 1.0)
    if not high > low:
        low, high = low - 0.5 * max(abs(low), 1.0), high + 0.5 * max(abs(high), 1.0)
    room = PAD * (high - low)
    low, high = 0.0 if many and low >= 0.0 else low - room, high + room
    ends = (float(start), float(max(start + most - 1, start + 1)))
    parts = []
    if many:
        parts += [_path(one, ends, low, high, MUTED, 0.9, opacity=0.7) for one in values]
        parts.append(_path(np.median(values, axis=0), ends, low, high, ACCENT, 2.2))
    else:
        for k, (line, one, (colour, dashes)) in enumerate(zip(lines, values, LINES, strict=False)):
            parts.append(_path(one, ends, low, high, colour, 1.8, dashes))
            if len(lines) > 1:
                parts += _legend(k, line.name, colour, dashes)
    x_ticks = [(place, text) for place, text, value in _places(*ends) if value == round(value)]
    y_ticks = [(float(_up(np.array([t.value]), low, high)[0]), t.text) for t in number_ticks(low, high, 6)]
    return _drawing("curves", [*parts, *_axes(x_ticks, y_ticks, labels)])


def row_map(rows: RowMap) -> tuple[list[tuple[int, int]], dict[str, str]]:
    """Return where on the map each row is, and the paths that draw those that are no top rows, by their kind."""
    low, high = rows.points.min(axis=0), rows.points.max(axis=0)
    part = (rows.points - low) / np.where(high > low, high - low, np.inf)
    x = MARGIN + part[:, 0] * (MAP_WIDTH - 2 * MARGIN)
    y = MAP_HEIGHT - MARGIN - part[:, 1] * (MAP_HEIGHT - 2 * MARGIN)
    places = [(round(float(a)), round(float(b))) for a, b in zip(x, y, strict=True)]
    groups = {"usual": ~rows.flagged & (rows.ranks == 0), "flagged": rows.flagged & (rows.ranks == 0)}
    # A line of no length with round ends is a dot: a tenth of what a circle takes.
    dots = {
        name: "".join(f"M{places[k][0]} {places[k][1]}h0" for k in np.flatnonzero(members))
        for name, members in groups.items()
        if members.any()
    }
    return places, dots


def score_limits(finite: np.ndarray, offset: float | None) -> tuple[float, float]:
    """Return where an axis of scores begins and ends: at the least and the largest one, unless they are very far."""
    if not finite.size:
        return 0.0, 1.0
    inner, outer = np.quantile(finite, [0.1, 0.9])
    width = FAR * (outer - inner) or np.inf
    low, high = max(finite.min(), inner - width), min(finite.max(), outer + width)
    if offset is not None and np.isfinite(offset) and high - low > 0.0:
        low, high = min(low, max(offset, low - (high - low))), max(high, min(offset, high + (high - low)))
    if not high - low > 1e-12 * max(abs(low), abs(high)):
        half = max(abs(low), 1.0) * 0.5
        low, high = low - half, high + half
    return float(low), float(high)


def _edges(low: float, high: float, offset: float | None) -> np.ndarray:
    """Return edges of bars of one width, one of them at the offset."""
    width = (high - low) / BINS
    if offset is None or not low < offset < high:
        return low + width * np.arange(BINS + 1)
    below, above = int(np.ceil((offset - low) / width)), int(np.ceil((high - offset) / width))
    return offset + width * np.arange(-below, above + 1)


def _across(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return where values are from left to right."""
    return LEFT + (WIDTH - LEFT - RIGHT) * (values - low) / (high - low)


def _up(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return where values are from top to bottom."""
    return _floor() - (_floor() - TOP) * (values - low) / (high - low)


def _floor() -> int:
    return HEIGHT - BOTTOM


def _places(low: float, high: float) -> list[tuple[float, str, float]]:
    """Return where ticks of the lower axis are, what they say, and their values."""
    ticks = number_ticks(low, high, 6)
    return [(float(_across(np.array([tick.value]), low, high)[0]), tick.text, tick.value) for tick in ticks]


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    return [(place, text) for place, text, _ in _places(low, high)]


def _axes(
    x_ticks: Sequence[tuple[float, str]], y_ticks: Sequence[tuple[float, str]], labels: tuple[str, str]
) -> list[str]:
    """Draw axes with ticks and names, the upright one's above its end: no text is turned, none collides on a phone."""
    floor = _floor()
    marks = "".join(f"M{x:.1f} {floor}v{TICK}" for x, _ in x_ticks)
    marks += "".join(f"M{LEFT} {y:.1f}h-{TICK}" for y, _ in y_ticks)
    return [
        f'<path d="M{LEFT} {TOP}V{floor}H{WIDTH - RIGHT}{marks}" stroke="{RULE}" fill="none"/>',
        *(_text(text, x, floor + 18, MUTED, "middle") for x, text in x_ticks),
        *(_text(text, LEFT - TICK - 4, y + 4, MUTED, "end") for y, text in y_ticks),
        _text(labels[0], 0.5 * (LEFT + WIDTH - RIGHT), HEIGHT - 8, INK, "middle"),
        _text(labels[1], LEFT, TOP - 12, INK, "start"),
    ]


def _text(text: str, x: float, y: float, colour: str, anchor: str) -> str:
    look = f'fill="{colour}" font-size="12" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(cut(text, 60))}</text>'


def _path(
    values: np.ndarray,
    ends: tuple[float, float],
    low: float,
    high: float,
    colour: str,
    width: float,
    dashes: str = "",
    opacity: float = 1.0,
) -> str:
    """Draw a curve, with gaps where it is not finite."""
    x, y = _across(ends[0] + np.arange(values.size), *ends), _up(values, low, high)
    d, pen = [], "M"
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if np.isfinite(b):
            d.append(f"{pen}{a:.1f} {b:.1f}")
        pen = "L" if np.isfinite(b) else "M"
    look = f' stroke-dasharray="{dashes}"' if dashes else ""
    look += f' opacity="{opacity:g}"' if opacity < 1.0 else ""
    return f'<path d="{"".join(d)}" stroke="{colour}" stroke-width="{width:g}" fill="none"{look}/>'


def _legend(k: int, name: str, colour: str, dashes: str) -> list[str]:
    """Draw the k-th line of the legend, at the upper right, where curves that fall are not."""
    y, end = TOP + 12 + 18 * k, WIDTH - RIGHT
    look = f' stroke-dasharray="{dashes}"' if dashes else ""
    return [
        f'<path d="M{end - 28} {y - 4}H{end}" stroke="{colour}" stroke-width="1.8" fill="none"{look}/>',
        _text(name, end - 34, y, INK, "end"),
    ]


def _drawing(name: str, parts: Iterable[str]) -> InlineSvg:
    return InlineSvg(name, f"0 0 {WIDTH} {HEIGHT}", "".join(parts))
