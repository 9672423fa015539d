"""Table of `figures/coupling.py`: how often a sweep raises F + eta G, by the form of the coupling."""

from __future__ import annotations

import numpy as np
import pandas as pd

from oddatom.paper.context import Context
from oddatom.paper.tables._curves import RISE, rises, with_curves
from oddatom.paper.tables._select import number, pairs
from oddatom.paper.tables._table import NONE, Table

ORDER = 11


def build(runs: pd.DataFrame, context: Context) -> Table | None:
    """Return a line for every data set, learner and form of the coupling."""
    chosen, notes = with_curves(runs, context)
    rows = []
    for data, method, group in pairs(chosen, context):
        curves = list(group["curve"])
        up = pd.concat([rises(curve) for curve in curves])
        rows.append(
            [
                *(data.name, method.label, f"{len(curves)}", f"{sum(len(curve) - 1 for curve in curves)}"),
                *(f"{len(up)}", f"{up.max():.1e}" if len(up) else NONE),
                number(float(np.mean([curve.iloc[-1] / curve.iloc[0] for curve in curves])), 3),
            ]
        )
    if not rows:
        return None
    columns = ["Data set", "Method", "Fits", "Sweeps", "Raised F + ηG", "Largest rise", "Last / first"]
    about = (
        f"Exact solvers at the paper's best settings. “Raised”: sweeps, each with the SVM after it, that raised F + ηG "
        f"by more than {RISE:g} of its size; “Largest rise” is in parts of that, too. “Last / first”: F + ηG "
        "after the last sweep over its first value, the mean over fits. “Hinge” and “ball” hold the boundary fixed in "
        "a sweep, which cannot raise it; the others hold the multipliers fixed."
    )
    return Table("coupling", "Sweeps that raise F + ηG", columns, rows, [about, *notes], n_heads=2)
