"""What the figures share: the look, the grid of panels, which data set they are of, and how they become SVG."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import matplotlib.style
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from oddatom.paper.base import DataSet, Method
from oddatom.paper.context import Context
from oddatom.paper.tables._select import n_draws, pairs

# Okabe and Ito's colours, which the colour-blind tell apart, and a few of Tol's; markers tell them apart, too.
COLOURS: tuple[str, ...] = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
COLOURS += ("#8C8C00", "#882255", "#999999", "#332288", "#44AA99")
MARKERS = "osD^vPXd*<>h"
VIEW_COLOURS = {"published": "#0072B2", "converged": "#D55E00"}
FORM_LOOKS = ((VIEW_COLOURS["converged"], "^"), *zip(COLOURS[2:], MARKERS[1:], strict=False))  # first the paper's form
VIEW_NAMES = {"published": "as published", "converged": "converged"}
MUTED, RULE = "#5c6570", "#d5d5d5"
WIDTH = 10.0  # inches
_LOOK: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "oddatom",
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#999999",
    "axes.labelcolor": "#20242a",
    "axes.axisbelow": True,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "legend.frameon": False,
}


def style() -> AbstractContextManager[None]:
    """Matplotlib as it comes, whatever the user's settings, with the look of these figures."""
    return matplotlib.style.context(["default", _LOOK])


def to_svg(figure: Figure) -> str:
    """Return the text of an SVG file, without the date and what else differs from day to day.

    Ids are numbered: matplotlib's are hashes of what may differ in the last digit or by where it is in memory.
    """
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    text = re.sub(r"<metadata>.*?</metadata>\s*|<!--.*?-->\s*", "", stream.getvalue(), flags=re.DOTALL)
    numbers: dict[str, int] = {}
    return re.sub(
        r'(\bid="|url\(#|href="#)([^")]+)',
        lambda found: f"{found.group(1)}i{numbers.setdefault(found.group(2), len(numbers))}",
        text,
    )


def n_columns(n: int) -> int:
    """Return how many panels stand in a row: so many that the fewest places stay empty."""
    return max(n, 2) if n <= 5 else min((5, 4), key=lambda columns: -n % columns)


def panels(n: int, *, columns: int, height: float = 1.95, **options: Any) -> tuple[Figure, list[Any]]:
    """Return a figure with room for a legend on top, and n axes in rows of `columns`."""
    rows = -(-n // columns)
    figure = Figure(
        figsize=(WIDTH, 0.7 + rows * height + 0.4 * (rows == 1)),
        layout=ConstrainedLayoutEngine(hspace=0.06, wspace=0.04),
    )
    grid = figure.subplots(rows, columns, squeeze=False, **options)
    for axes in grid.flat[n:]:
        axes.remove()
    for k in range(max(n - columns, 0), n):  # ticks under the last panel of a column, where others stand above it
        grid.flat[k].tick_params(labelbottom=True)
    return figure, list(grid.flat[:n])


def titled(found: Sequence[tuple[DataSet, Method, pd.DataFrame]]) -> list[str]:
    """Return the titles of panels: the data set, and the method where there is more than one."""
    several = len({method.name for _, method, _ in found}) > 1
    return [plain(f"{data.name} · {method.label}" if several else data.name) for data, method, _ in found]


def labels(found: Sequence[tuple[DataSet, Method, pd.DataFrame]]) -> str:
    """Return the labels of the methods, joined."""
    return ", ".join(dict.fromkeys(method.label for _, method, _ in found))


def one_set(runs: pd.DataFrame, context: Context, wanted: str) -> tuple[DataSet, Method, pd.DataFrame, str] | None:
    """Return the data set the paper's figure is of, with its runs, or the first other one; and a sentence if other."""
    found = list(pairs(runs, context))
    if not found:
        return None
    data, method, group = next((one for one in found if one[0].name == wanted), found[0])
    other = "" if data.name == wanted else f" The paper's figure is of {wanted}, of which there are no runs here."
    return data, method, group, other


def views_of(runs: pd.DataFrame) -> list[str]:
    """Return the views that have runs."""
    return [view for view in VIEW_NAMES if (runs["view"] == view).any()]


def draws(runs: pd.DataFrame) -> str:
    """Return such as "20 draws"."""
    number = n_draws(runs)
    return f"{number} draw{'' if number == '1' else 's'}"


def named(views: Sequence[str]) -> str:
    """Return what views are called, joined."""
    return " and ".join(VIEW_NAMES[view] for view in views)


def lightly(axes: Any, axis: str = "y") -> None:
    """Draw thin lines to read values by."""
    axes.grid(axis=axis, color=RULE, lw=0.6)


def legend(figure: Figure, handles: Sequence[Any], columns: int = 6) -> None:
    """Put one legend above all panels."""
    figure.legend(handles=list(handles), loc="outside upper center", ncols=min(len(handles), columns), fontsize=9.5)


def plain(text: str) -> str:
    """Return text that matplotlib does not take for mathematics."""
    return text.replace("$", r"\$")


def spread(n: int, width: float) -> np.ndarray:
    """Return n offsets within ± width, apart from their neighbours, the same every time."""
    golden = (np.sqrt(5.0) - 1.0) / 2.0
    return width * (2.0 * np.modf(0.5 + golden * np.arange(n))[0] - 1.0)
