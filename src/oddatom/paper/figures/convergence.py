"""Figure of `experiments/convergence.py`: the objective after every inner step, its parts by outer iteration.

The paper's method in its views, and its variants with exact solvers.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from oddatom.paper.context import Context
from oddatom.paper.figures._style import (
    FORM_LOOKS,
    MUTED,
    VIEW_COLOURS,
    VIEW_NAMES,
    WIDTH,
    lightly,
    one_set,
    plain,
    views_of,
)
from oddatom.paper.tables._select import pairs, select

ORDER = 1
TITLE = "Convergence"
_PAPER = "shuttle"
_WIDE = 20.0  # a range of values that is drawn on a logarithmic scale
_MARKERS = {"published": "o", "converged": "^"}
_BOUND = "with the boundary fixed (hinge, ball) a bound on F + G, which an exact step never raises either; "
_PARTS = (("total", "L, total error"), ("F", "F, dictionary's error"), ("G", "G, SVM's error"), ("ba", "BA"))


class _Line(NamedTuple):
    """The curves of one run, and what they look like."""

    label: str
    colour: str
    marker: str
    held: dict[str, Any]


def draw(runs: pd.DataFrame, context: Context) -> tuple[Figure, str] | None:
    """Return the curves of the first draw that has them in each view."""
    chosen = select(runs, context, ["convergence"]).runs
    chosen = chosen[chosen["extra"].map(_has_curves)] if len(chosen) else chosen
    found = one_set(chosen, context, _PAPER)
    if found is None:
        return None
    data, method, group, other = found
    lines = [_Line(VIEW_NAMES[v], VIEW_COLOURS[v], _MARKERS[v], _first(group, v)) for v in views_of(group)]
    exact = chosen[chosen["view"] == "converged"]
    variants = [one for one in pairs(exact, context) if one[0] is data and one[1].of == method.name]
    for (_, variant, held), (colour, marker) in zip(variants, FORM_LOOKS[1:], strict=False):
        lines.append(_Line(variant.form, colour, marker, _first(held, "converged")))
    names = [line.label for line in lines]
    figure, places = _places()
    _inner(places["inner"], lines)
    for name, title in _PARTS:
        _outer(places[name], lines, name, title)
    for name in ("G", "ba"):
        places[name].set_xlabel("outer iteration")
    return figure, (
        f"{method.label} on {data.name}, one draw of the initial dictionary: the total error after every inner step "
        "(left; as published L = F + G with the SVM fixed, converged the Lagrangian, which an exact step never raises; "
        f"{_BOUND if variants else ''}dotted: outer iterations of the first), and L, F, G and balanced accuracy after "
        f"every outer iteration (right), {' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}.{other}"
    )


def _first(runs: pd.DataFrame, view: str) -> dict[str, Any]:
    """Return what the first draw of a view holds."""
    first = runs[runs["view"] == view].sort_values(["draw", "setting"], kind="stable").iloc[0]
    held: dict[str, Any] = json.loads(first["extra"])
    return held


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


def _inner(axes: Any, lines: list[_Line]) -> None:
    for label, colour, marker, held in lines:
        values = held["inner"]
        axes.plot(range(len(values)), values, color=colour, lw=1, marker=marker, ms=2.4, label=plain(label))
    for end in lines[0].held["sweep_ends"]:
        axes.axvline(end - 0.5, color=MUTED, lw=0.8, ls=(0, (1, 2)), zorder=0)
    values = [value for line in lines for value in line.held["inner"]]
    if min(values) > 0 and max(values) > _WIDE * min(values):
        axes.set_yscale("log")
    axes.set_title("L after every inner step")
    axes.set_xlabel("inner step (dotted: an outer iteration ends)")
    axes.legend(loc="upper right")
    lightly(axes)


def _outer(axes: Any, lines: list[_Line], name: str, title: str) -> None:
    for _, colour, marker, held in lines:
        values = held[name]
        axes.plot(range(1, len(values) + 1), values, color=colour, lw=1.4, marker=marker, ms=4)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7))
    axes.set_title(title)
    lightly(axes)
