"""The largest balanced accuracy on the large sets."""

from __future__ import annotations

import pandas as pd

from oddatom.paper.context import Context
from oddatom.paper.tables._maxima import maxima
from oddatom.paper.tables._table import Table

ORDER = 2


def build(runs: pd.DataFrame, context: Context) -> Table | None:
    """Return the paper's table of the largest BA, beside the runs here."""
    return maxima(runs, context, "max_ba", "Largest balanced accuracy, large sets", small=False)
