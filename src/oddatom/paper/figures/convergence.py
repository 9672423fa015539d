"""Figure of `experiments/convergence.py`: the objective after every inner step, its parts by outer iteration."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from oddatom.paper.context import Context
from oddatom.paper.figures._style import MUTED, VIEW_COLOURS, VIEW_NAMES, WIDTH, lightly, named, one_set, views_of
from oddatom.paper.tables._select import select

ORDER = 1
TITLE = "Convergence"
_PAPER = "shuttle"
_WIDE = 20.0  # a range of values that is drawn on a logarithmic scale
_MARKERS = {"published": "o", "converged": "^"}
_PARTS = (("total", "L, total error"), ("F", "F, dictionary's error"), ("G", "G, SVM's error"), ("ba", "BA"))


def draw(runs: pd.DataFrame, context: Context) -> tuple[Figure, str] | None:
    """Return the curves of the first draw that has them in each view."""
    chosen = select(runs, context, ["convergence"]).runs
    found = one_set(chosen[chosen["extra"].map(_has_curves)] if len(chosen) else chosen, context, _PAPER)
    if found is None:
        return None
    data, method, group, other = found
    curves = {}
    for view in views_of(group):
        first = group[group["view"] == view].sort_values(["draw", "setting"], kind="stable").iloc[0]
        curves[view] = json.loads(first["extra"])
    figure, places = _places()
    _inner(places["inner"], curves)
    for name, title in _PARTS:
        _outer(places[name], {view: curve[name] for view, curve in curves.items()}, title)
    for name in ("G", "ba"):
        places[name].set_xlabel("outer iteration")
    return figure, (
        f"{method.label} on {data.name}, one draw of the initial dictionary: the total error after every inner step "
        "(left; as published L = F + G with the SVM fixed, converged the Lagrangian, which an exact step never raises; "
        "dotted: outer iterations of the first), and L, F, G and balanced accuracy after every outer iteration "
        f"(right), {named(list(curves))}.{other}"
    )


def _places() -> tuple[Figure, dict[str, Any]]:
    """Return a wide panel and four small ones. Placed by hand: a layout engine's last digits differ where one spans."""
    figure = Figure(figsize=(WIDTH, 4.6))
    left = figure.add_gridspec(1, 1, left=0.065, right=0.43, bottom=0.115, top=0.94)
    right = figure.add_gridspec(2, 2, left=0.505, right=0.99, bottom=0.115, top=0.94, hspace=0.34, wspace=0.3)
    places: dict[str, Any] = {"inner": figure.add_subplot(left[0, 0])}
    for k, (name, _) in enumerate(_PARTS):
        places[name] = figure.add_subplot(right[k // 2, k % 2])
    return figure, places


def _has_curves(extra: str) -> bool:
    held = json.loads(extra or "{}")
    return all(held.get(name) for name in ("inner", "sweep_ends", *(name for name, _ in _PARTS)))


def _inner(axes: Any, curves: dict[str, Any]) -> None:
    for view, curve in curves.items():
        values = curve["inner"]
        axes.plot(
            range(len(values)),
            values,
            color=VIEW_COLOURS[view],
            lw=1,
            marker=_MARKERS[view],
            ms=2.4,
            label=VIEW_NAMES[view],
        )
    ends = next(iter(curves.values()))["sweep_ends"]
    for end in ends:
        axes.axvline(end - 0.5, color=MUTED, lw=0.8, ls=(0, (1, 2)), zorder=0)
    values = [value for curve in curves.values() for value in curve["inner"]]
    if min(values) > 0 and max(values) > _WIDE * min(values):
        axes.set_yscale("log")
    axes.set_title("L after every inner step")
    axes.set_xlabel("inner step (dotted: an outer iteration ends)")
    axes.legend(loc="upper right")
    lightly(axes)


def _outer(axes: Any, lines: dict[str, list[float]], title: str) -> None:
    for view, values in lines.items():
        axes.plot(range(1, len(values) + 1), values, color=VIEW_COLOURS[view], lw=1.4, marker=_MARKERS[view], ms=4)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7))
    axes.set_title(title)
    lightly(axes)
