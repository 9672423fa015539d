"""The figures of the evaluation: a file that defines `ORDER`, `TITLE` and `draw(runs, context)` is one more."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from oddatom.paper.context import Context
from oddatom.paper.figures._style import style, to_svg

__all__ = ["FIGURES", "TITLES", "Draw", "Drawing", "render"]

Draw = Callable[[Any, Context], tuple[Figure, str] | None]  # the figure and its caption; None: no runs for it

_modules = {
    info.name: import_module(f"{__name__}.{info.name}") for info in iter_modules(__path__) if info.name[0] != "_"
}

FIGURES: dict[str, Draw] = {
    name: module.draw for name, module in sorted(_modules.items(), key=lambda pair: (pair[1].ORDER, pair[0]))
}
TITLES: dict[str, str] = {name: getattr(_modules[name], "TITLE", name) for name in FIGURES}


class Drawing(NamedTuple):
    """A figure as SVG, and its caption."""

    svg: str
    caption: str


def render(draw: Draw, runs: Any, context: Context) -> Drawing | None:
    """Return a figure as an SVG file's text, the same for the same runs. Text in it is text."""
    with style():
        drawn = draw(runs, context)
        return None if drawn is None else Drawing(to_svg(drawn[0]), drawn[1])
