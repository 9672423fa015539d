"""Rows of one column that lie apart from the others: away from its middle a column gets emptier, and not full again."""

from __future__ import annotations

import numpy as np

BINS = (10, 14, 20, 28)
BODY = 0.75  # quantile of the distances, beyond which bins lie
DEVIATIONS = 4.5  # by which an outer bin is fuller than an inner one


def count_apart(distances: np.ndarray, most: float) -> int:
    """Return how many values lie beyond a gap that is too empty to be chance; 0 where there is none.

    A gap is a bin that has fewer values than one further out, c_i < c_j − 4.5 √(c_i + c_j): of a tail that falls, of
    whatever family, no two bins differ so.

    Parameters
    ----------
    distances : (n,)
        Of the values of a column from its middle.
    most : float
        Largest share of the values that may lie apart: more are a group.
    """
    d = np.sort(distances)
    if d.size < 2 or np.count_nonzero(d[1:] > d[:-1]) < d.size // 2:  # values that repeat leave gaps by themselves
        return 0
    low, high = np.quantile(d, BODY), d[-1]
    best, apart = DEVIATIONS, 0
    for n_bins in BINS if high > low else ():
        edges = np.linspace(low, high, n_bins + 1)
        counts = np.histogram(d, edges)[0]
        further = np.maximum.accumulate(counts[::-1])[::-1][1:]  # the fullest bin beyond each
        z = (further - counts[:-1]) / np.sqrt(np.maximum(further + counts[:-1], 1))
        for i in np.flatnonzero(z >= best):
            k = d.size - int(np.searchsorted(d, 0.5 * (edges[i] + edges[i + 1])))
            if k <= most * d.size and z[i] >= best:
                best, apart = float(z[i]), k
    return apart
