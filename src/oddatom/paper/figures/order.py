"""Figure of `experiments/order.py`: what the order of the rows does."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from oddatom.paper.context import Context
from oddatom.paper.figures._style import (
    VIEW_COLOURS,
    VIEW_NAMES,
    draws,
    labels,
    legend,
    lightly,
    n_columns,
    panels,
    spread,
    titled,
    views_of,
)
from oddatom.paper.tables._select import pairs, select

ORDER = 5
TITLE = "The order of the rows"
_PARTS = {"as filed": "as\nfiled", "shuffled": "shuffled", "outliers first": "outliers\nfirst"}
_MEASURES = {"ba": "balanced accuracy", "auroc": "AUROC"}
_APART = 0.2  # from the middle of a group to the dots of a view


def draw(runs: pd.DataFrame, context: Context) -> tuple[Figure, str] | None:
    """Return a panel for every data set and measure: a dot for every draw, in each view, and the mean."""
    chosen = select(runs, context, ["order"]).runs
    chosen = chosen[chosen["part"].isin(list(_PARTS))]
    found = list(pairs(chosen, context))
    if not found:
        return None
    # A row of panels by BA, under it the same data sets by AUROC.
    columns = n_columns(len(found))
    rows = -(-len(found) // columns)
    figure, places = panels(2 * rows * columns, columns=columns, height=2.2, sharex=True, sharey="row")
    for k, (title, (_, _, group)) in enumerate(zip(titled(found), found, strict=True)):
        row, column = divmod(k, columns)
        for below, (measure, name) in enumerate(_MEASURES.items()):
            axes = places[(2 * row + below) * columns + column]
            _dots(axes, group, measure)
            if not below:
                axes.set_title(title)
            if not column:
                axes.set_ylabel(name)
    for k in range(len(found), rows * columns):
        row, column = divmod(k, columns)
        for below in (0, 1):
            places[(2 * row + below) * columns + column].remove()
            places[(2 * max(row - 1, 0) + 1) * columns + column].tick_params(labelbottom=True)
    handles = [
        Line2D([], [], color=VIEW_COLOURS[view], ls="", marker=_marker(view), ms=6, label=VIEW_NAMES[view])
        for view in views_of(chosen)
    ]
    handles.append(Line2D([], [], color="black", lw=2, label="mean"))
    legend(figure, handles)
    return figure, (
        f"What the order of the rows does to {labels(found)}: as the file has them, shuffled, and outliers first. "
        f"A dot is a draw of the initial dictionary, {draws(chosen)} in a group. Nothing but the order differs between "
        "the groups, and with it what a kernel method's initial dictionary is made of."
    )


def _marker(view: str) -> str:
    return "o" if view == "published" else "^"


def _dots(axes: Any, group: pd.DataFrame, measure: str) -> None:
    for view in views_of(group):
        side = -_APART if view == "published" else _APART
        for k, part in enumerate(_PARTS):
            values = group.loc[(group["view"] == view) & (group["part"] == part), measure].dropna().to_numpy()
            if len(values):
                x = k + side + spread(len(values), 0.11)
                axes.plot(x, values, _marker(view), color=VIEW_COLOURS[view], ms=3.5, mew=0, alpha=0.65)
                axes.plot([k + side - 0.15, k + side + 0.15], [values.mean()] * 2, color="black", lw=1.8)
    axes.set_xticks(range(len(_PARTS)), list(_PARTS.values()), fontsize=9)
    axes.set_xlim(-0.5, len(_PARTS) - 0.5)
    axes.tick_params(axis="x", length=0)
    lightly(axes)
