"""Figure of `experiments/beta.py`: balanced accuracy against β."""

from __future__ import annotations

import json

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
    named,
    panels,
    titled,
    views_of,
)
from oddatom.paper.tables._select import pairs, select
from oddatom.paper.tables.cells import published_ba

ORDER = 2
TITLE = "Balanced accuracy against β"
_DASHES = {"max": "-", "mean": (0, (4, 2))}


def draw(runs: pd.DataFrame, context: Context) -> tuple[Figure, str] | None:
    """Return a panel for every data set: mean and maximum over draws, in each view."""
    chosen = select(runs, context, ["beta"]).runs.dropna(subset=["ba"])
    found = list(pairs(chosen, context))
    if not found:
        return None
    figure, places = panels(len(found), columns=n_columns(len(found)), sharex=True, sharey=True)
    marked = False
    for axes, title, (data, method, group) in zip(places, titled(found), found, strict=True):
        betas = group["setting"].map(lambda text: float(json.loads(text)["beta"]))
        for view in views_of(group):
            here = group["view"] == view
            by_beta = group[here].groupby(betas[here])["ba"].agg(["mean", "max"])
            marker = "." if len(by_beta) < 15 else None
            for measure, dashes in _DASHES.items():
                axes.plot(by_beta.index, by_beta[measure], color=VIEW_COLOURS[view], ls=dashes, lw=1.4, marker=marker)
        paper = published_ba(data, method.name)
        if paper is not None:
            axes.plot(data.settings[method.name]["beta"], paper, "x", color="black", ms=7, mew=1.8, zorder=5)
            marked = True
        axes.set_title(title)
        lightly(axes)
    figure.supxlabel("β", fontsize=10)
    figure.supylabel("balanced accuracy", fontsize=10)
    handles = [
        Line2D([], [], color=VIEW_COLOURS[view], ls=dashes, lw=1.6, label=f"{measure}, {VIEW_NAMES[view]}")
        for view in views_of(chosen)
        for measure, dashes in _DASHES.items()
    ]
    if marked:
        handles.append(Line2D([], [], color="black", ls="", marker="x", ms=7, mew=1.8, label="the paper's maximum"))
    legend(figure, handles)
    return figure, (
        f"Balanced accuracy of {labels(found)} against β: the mean and the maximum over "
        f"{draws(chosen)} of the initial dictionary, {named(views_of(chosen))}. Crosses: the largest figure in the "
        "paper, at the β it gives."
    )
