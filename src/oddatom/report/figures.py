"""Drawings for inline SVG that takes its colours from the page: histogram and curves by matplotlib, the map by hand."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from oddatom.report.records import Curve, RowMap
from oddatom.report.text import cut

BINS = 60
MOST_STEPS = 500  # of a curve
FAR = 12.0  # scores further out than so many widths of the middle four fifths count in the last bar
MANY = 4  # curves from which they are drawn thin, with their median
MAP_WIDTH, MAP_HEIGHT, MARGIN = 720, 440, 18
LEFT, RIGHT, BOTTOM, TOP = 76, 20, 46, 26  # room around a figure's axes; a layout engine costs a third of a second
# Text as text, ids the same in every run.
_LOOK: Any = {"svg.fonttype": "none", "svg.hashsalt": "oddatom", "font.size": 12}
# Stand-ins, replaced by the page's own colours, which differ by light and dark.
INK, MUTED, ACCENT, RULE, DOT = "#010203", "#040506", "#070809", "#0a0b0c", "#0d0e0f"
_COLOURS = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    ACCENT: "var(--accent)",
    RULE: "var(--rule)",
    DOT: "var(--dot)",
}


class InlineSvg(NamedTuple):
    """The inside of an svg element.

    Attributes
    ----------
    name : str
        What its ids begin with.
    view : str
        Its viewBox.
    body : str
        Its elements, made here or by matplotlib, which escapes text.
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
    with _style():
        figure, axes = _axes(560, 250)
        for which, colour in ((odd, ACCENT), (~odd, DOT)):
            axes.stairs(np.where(which, counts, 0), edges, baseline=0.5, fill=True, color=colour, lw=0)
        if offset is not None and low <= offset <= high:
            axes.axvline(offset, color=INK, lw=1.2, ls=(0, (4, 3)))
            left = (offset - low) / (high - low) < 0.6
            axes.annotate(
                "threshold",
                (offset, 1.0),
                (5 if left else -5, -2),
                xycoords=axes.get_xaxis_transform(),
                textcoords="offset points",
                ha="left" if left else "right",
                va="top",
                color=INK,
            )
        axes.set_ylim(0.7, max(2.0, 3.0 * counts.max()))
        axes.set_yscale("log")
        _label(axes, "score (odd rows to the left)", "rows, logarithmic scale")
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        return _inline_figure(figure, "histogram")


def curves(lines: Sequence[Curve], labels: tuple[str, str]) -> InlineSvg:
    """Draw curves: a few with a legend, many thin with their median in the accent colour."""
    lines = [Curve(line.name, line.values[:MOST_STEPS]) for line in lines]
    with _style():
        figure, axes = _axes(560, 250)
        if len(lines) < MANY:
            styles = [(ACCENT, "-"), (INK, (0, (5, 3))), (MUTED, (0, (1, 2)))]
            for line, (colour, dashes) in zip(lines, styles, strict=False):
                axes.plot(
                    range(len(line.values)), line.values, color=colour, ls=dashes, lw=1.8, label=_plain(line.name)
                )
            axes.legend(frameon=False, labelcolor=INK)
        else:
            shortest = min(len(line.values) for line in lines)
            steps = np.arange(1, shortest + 1)
            table = np.array([line.values[:shortest] for line in lines])
            for values in table:
                axes.plot(steps, values, color=MUTED, lw=0.9, alpha=0.7)
            axes.plot(steps, np.median(table, axis=0), color=ACCENT, lw=2.2)
            axes.set_ylim(0.0, None)
        axes.xaxis.get_major_locator().set_params(integer=True)
        _label(axes, labels[0], labels[1])
        return _inline_figure(figure, "curves")


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


def _style() -> AbstractContextManager[None]:
    """Matplotlib as it comes, whatever the user's settings."""
    try:
        from matplotlib import style
    except ImportError:
        raise ImportError("A report needs matplotlib: pip install 'oddatom[report]'.") from None
    return style.context(["default", _LOOK])


def _axes(width: int, height: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / 72, height / 72))
    room = {"left": LEFT / width, "right": 1 - RIGHT / width, "bottom": BOTTOM / height, "top": 1 - TOP / height}
    figure.subplots_adjust(**room)
    figure.patch.set_visible(False)
    axes = figure.add_subplot()
    axes.patch.set_visible(False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(RULE)
    axes.tick_params(colors=MUTED, which="both", color=RULE)
    axes.locator_params(axis="x", nbins=6)
    return figure, axes


def _label(axes: Any, x: str, y: str) -> None:
    """Name the axes, the upright one above its end: no text is turned, none collides on a small screen."""
    axes.set_xlabel(_plain(x), color=INK)
    axes.set_title(_plain(y), loc="left", color=INK, fontsize=12)


def _plain(text: str) -> str:
    """Return text that matplotlib does not take for mathematics."""
    return cut(text, 60).replace("$", r"\$")


def _inline_figure(figure: Any, name: str) -> InlineSvg:
    """Return what matplotlib draws, in the page's colours."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", stream.getvalue(), flags=re.DOTALL)
    for stand_in, colour in _COLOURS.items():
        text = text.replace(stand_in, colour)
    return inline(text, name)


def inline(svg: str, name: str) -> InlineSvg:
    """Return an SVG file's text for a page that has others: no ids but those it uses, and those begin with its name."""
    text = re.sub(r">\s+<", "><", svg[svg.index("<svg") :])
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', text))
    text = re.sub(r' id="([^"]*)"', lambda found: found.group() if found.group(1) in used else "", text)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text)
    head, body = text.split(">", 1)
    return InlineSvg(name, re.findall(r'viewBox="([^"]+)"', head)[0], body.strip().removesuffix("</svg>"))
