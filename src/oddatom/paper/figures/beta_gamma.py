"""Figure of `experiments/beta_gamma.py`: balanced accuracy over β × γ."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from oddatom.paper.context import Context
from oddatom.paper.figures._style import VIEW_NAMES, WIDTH, draws, one_set, views_of
from oddatom.paper.tables._select import select

ORDER = 3
TITLE = "Balanced accuracy over β × γ"
_PAPER = "lympho"
_TICKS = 8  # at most, on an axis


def draw(runs: pd.DataFrame, context: Context) -> tuple[Figure, str] | None:
    """Return heat maps of the mean and the maximum over draws, a row for each view."""
    chosen = select(runs, context, ["beta_gamma"]).runs.dropna(subset=["ba"])
    found = one_set(chosen, context, _PAPER)
    if found is None:
        return None
    data, method, group, other = found
    settings = group["setting"].map(json.loads)
    group = group.assign(beta=[float(one["beta"]) for one in settings], gamma=[float(one["gamma"]) for one in settings])
    views = views_of(group)
    figure = Figure(figsize=(WIDTH, 0.3 + 3.9 * len(views)), layout="constrained")
    grid = figure.subplots(len(views), 2, squeeze=False)
    for row, view in zip(grid, views, strict=True):
        for axes, measure in zip(row, ("mean", "max"), strict=True):
            here = group[group["view"] == view]
            table = here.pivot_table(index="gamma", columns="beta", values="ba", aggfunc=measure)
            _heat_map(figure, axes, table, f"{measure}, {VIEW_NAMES[view]}")
    return figure, (
        f"Balanced accuracy of {method.label} on {data.name} over β × γ: mean (left) and maximum (right) over "
        f"{draws(group)} of the initial dictionary. The ring is at the largest value; each map has its own "
        f"scale.{other}"
    )


def _heat_map(figure: Figure, axes: Any, table: pd.DataFrame, title: str) -> None:
    values = np.ma.masked_invalid(table.to_numpy(dtype=float))
    image = axes.imshow(values, origin="lower", aspect="auto", interpolation="none", cmap="viridis")
    for name, axis, at in (("β", axes.xaxis, table.columns), ("γ", axes.yaxis, table.index)):
        step = -(-len(at) // _TICKS)
        axis.set_ticks(range(0, len(at), step), [f"{value:.2g}" for value in at[::step]])
        axis.set_label_text(name)
    row, column = np.unravel_index(int(values.argmax()), values.shape)
    axes.plot(column, row, "o", ms=11, mfc="none", mec="white", mew=3.0, clip_on=False)
    axes.plot(column, row, "o", ms=11, mfc="none", mec="black", mew=1.4, clip_on=False)
    axes.spines[:].set_visible(False)
    axes.set_title(f"{title}: largest {values.max():.3f}")
    bar = figure.colorbar(image, ax=axes, label="balanced accuracy", pad=0.02)
    bar.outline.set_visible(False)
