"""Figure of `tables/coupling.py`: F + eta G by outer iteration on every set, by the form of the coupling."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from oddatom.paper.base import DataSet, Method
from oddatom.paper.context import Context
from oddatom.paper.figures._style import FORM_LOOKS, draws, labels, legend, lightly, n_columns, panels, titled
from oddatom.paper.tables._curves import rises, with_curves
from oddatom.paper.tables._select import pairs

ORDER = 6
TITLE = "F + ηG by outer iteration, by the form of the coupling"


def draw(runs: pd.DataFrame, context: Context) -> tuple[Figure, str] | None:
    """Return a panel for every data set and learner: a line for every draw and form, relative to its start."""
    chosen = with_curves(runs, context).runs
    found = list(pairs(chosen, context))
    if not found:
        return None
    shown: dict[tuple[str, str], list[tuple[DataSet, Method, pd.DataFrame]]] = {}
    for one in found:
        shown.setdefault((one[0].name, one[1].of or one[1].name), []).append(one)
    forms = list(dict.fromkeys(method.form for _, method, _ in found))
    looks = dict(zip(forms, FORM_LOOKS, strict=False))
    figure, places = panels(len(shown), columns=n_columns(len(shown)), sharex=True)
    firsts = [group[0] for group in shown.values()]
    for axes, title, group in zip(places, titled(firsts), shown.values(), strict=True):
        for _, method, held in group:
            colour, marker = looks[method.form]
            for curve in held["curve"]:
                _line(axes, curve, colour, marker)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7))
        axes.set_title(title)
        lightly(axes)
    figure.supxlabel("outer iteration", fontsize=10)
    figure.supylabel("F + ηG, change since the start in %", fontsize=10)
    handles = [Line2D([], [], color=c, marker=m, ms=4, label=form) for form, (c, m) in looks.items()]
    handles.append(Line2D([], [], color="black", ls="", marker="o", mfc="none", ms=9, label="raised by the sweep"))
    legend(figure, handles)
    return figure, (
        f"F + ηG of {labels(firsts)} with exact solvers at the paper's best settings, {draws(chosen)}: "
        f"{', '.join(forms)}. Rings: sweeps that raised it, which no sweep that holds the boundary fixed does."
    )


def _line(axes: Any, curve: pd.Series, colour: str, marker: str) -> None:
    change = 100.0 * (curve / curve.iloc[0] - 1.0)
    axes.plot(change.index, change, color=colour, lw=1.2, marker=marker, ms=3)
    up = change[rises(curve).index]
    axes.plot(up.index, up, ls="", color="black", marker="o", mfc="none", ms=8, zorder=5)
