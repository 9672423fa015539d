"""The groups of a table, those with the largest share of flagged rows first."""

from __future__ import annotations

import numpy as np

from oddatom.report.records import GroupRow, GroupTable, RowGroups

MOST_GROUPS = 50


def gather_groups(groups: RowGroups, scores: np.ndarray, flagged: np.ndarray) -> GroupTable | None:
    """Return the table of groups; None where no row has one.

    Groups with the same share are in the order of their lowest scores.

    Parameters
    ----------
    groups : RowGroups
    scores : (N,)
    flagged : (N,) bool
    """
    there = groups.groups >= 0
    if not there.any():
        return None
    g, n = groups.groups[there], len(groups.names)
    n_rows = np.bincount(g, minlength=n)
    n_flagged = np.bincount(g, flagged[there], minlength=n).astype(np.int64)
    lowest = np.full(n, np.inf)
    np.fmin.at(lowest, g, scores[there])
    order = np.lexsort((lowest, -n_flagged / np.maximum(n_rows, 1)))
    order = order[n_rows[order] > 0]
    new = set(groups.new)
    rows = [
        GroupRow(name, int(n_rows[k]), int(n_flagged[k]), float(lowest[k]), name in new)
        for k, name in ((k, str(groups.names[k])) for k in order[:MOST_GROUPS])
    ]
    return GroupTable(groups.by, tuple(rows), order.size)
