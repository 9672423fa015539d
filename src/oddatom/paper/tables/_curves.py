"""F + eta G by outer iteration: the runs that have it, its values, and where it rises."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from oddatom.paper.context import Context
from oddatom.paper.tables._select import Selection, select

RISE = 1e-8  # of the largest value; a smaller rise may be the one-class SVM's duality gap


def with_curves(runs: pd.DataFrame, context: Context) -> Selection:
    """Return the runs with exact solvers that have F + eta G by outer iteration, in a column "curve"."""
    chosen, notes = select(runs, context, ["convergence"], views=["converged"])
    curves = [curve(text) for text in chosen["extra"]]
    chosen = chosen.assign(curve=pd.Series(curves, index=chosen.index, dtype=object), part="")
    return Selection(chosen[np.array([len(one) > 1 for one in curves], dtype=bool)], notes)


def curve(extra: str) -> pd.Series:
    """Return F + eta G by outer iteration; 0 is before the first, of runs that recorded it."""
    held = json.loads(extra or "{}")
    values = [held[name] for name in ("start",) if name in held] + list(held.get("total", []))
    return pd.Series(values, index=range(0 if "start" in held else 1, len(held.get("total", [])) + 1), dtype=float)


def rises(curve: pd.Series) -> pd.Series:
    """Return by how much the outer iterations that raised it did, in parts of its size."""
    change = curve.diff() / curve.abs().max()
    return change[change > RISE]
