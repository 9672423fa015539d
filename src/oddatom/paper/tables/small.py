"""The largest balanced accuracy on the small sets, where the kernel methods can be run."""

from __future__ import annotations

import pandas as pd

from oddatom.paper.context import Context
from oddatom.paper.tables._maxima import maxima
from oddatom.paper.tables._table import Table

ORDER = 5


def build(runs: pd.DataFrame, context: Context) -> Table | None:
    """Return the paper's table of the small sets, beside the runs here."""
    return maxima(runs, context, "small", "Largest balanced accuracy, small sets", small=True)
