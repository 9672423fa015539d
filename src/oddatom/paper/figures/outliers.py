"""Figure of `experiments/outliers.py`: balanced accuracy against the share of the outliers that are kept."""

from __future__ import annotations

from itertools import cycle

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from oddatom.paper.context import Context
from oddatom.paper.figures._style import (
    COLOURS,
    MARKERS,
    MUTED,
    VIEW_NAMES,
    draws,
    legend,
    lightly,
    n_columns,
    panels,
    plain,
    views_of,
)
from oddatom.paper.tables._select import pairs, select

ORDER = 4
TITLE = "Balanced accuracy against the share of outliers"
_SHADED = 4  # methods, up to which the range of their draws is shaded
_DASHES = {"published": "-", "converged": (0, (3, 2))}


def draw(runs: pd.DataFrame, context: Context) -> tuple[Figure, str] | None:
    """Return a panel for every data set: the mean over draws of every method, and their range."""
    chosen = select(runs, context, ["outliers"]).runs.dropna(subset=["ba"])
    found = list(pairs(chosen, context))
    if not found:
        return None
    names = list(dict.fromkeys(data.name for data, _, _ in found))
    methods = [method for method in context.methods if (chosen["method"] == method.name).any()]
    looks = dict(zip((method.name for method in methods), zip(cycle(COLOURS), cycle(MARKERS)), strict=False))
    shaded = len(methods) <= _SHADED
    figure, places = panels(len(names), columns=n_columns(len(names)), sharex=True, sharey=True)
    by_name = dict(zip(names, places, strict=True))
    for data, method, group in found:
        colour, marker = looks[method.name]
        for view in views_of(group):
            here = group[group["view"] == view]
            by_share = here.groupby(here["part"].astype(float))["ba"].agg(["mean", "min", "max"])
            axes = by_name[data.name]
            axes.plot(by_share.index, by_share["mean"], color=colour, ls=_DASHES[view], lw=1.4, marker=marker, ms=3)
            if shaded and view == "published":
                axes.fill_between(by_share.index, by_share["min"], by_share["max"], color=colour, alpha=0.12, lw=0)
    for name, axes in by_name.items():
        axes.set_title(plain(name))
        axes.xaxis.set_major_formatter(PercentFormatter(1.0))
        lightly(axes)
    figure.supxlabel("share of the outliers kept", fontsize=10)
    figure.supylabel("balanced accuracy", fontsize=10)
    handles = []
    for method in methods:
        colour, marker = looks[method.name]
        handles.append(Line2D([], [], color=colour, marker=marker, ms=4, label=plain(method.label)))
    views = views_of(chosen)
    if len(views) > 1:
        handles += [Line2D([], [], color=MUTED, ls=_DASHES[view], label=VIEW_NAMES[view]) for view in views]
    legend(figure, handles)
    ranges = ", and from the least to the largest of them as published (shaded)" if shaded else ""
    return figure, (
        "Balanced accuracy against the share of the outliers that are kept, all inliers being kept: the mean over "
        f"{draws(chosen)}{ranges}. Every method has its best settings."
    )
