"""Which of many rows to report, given a p-value for each: Benjamini and Hochberg's procedure."""

from __future__ import annotations

import numpy as np


def benjamini_hochberg(p: np.ndarray, q: float) -> np.ndarray:
    """Return which rows to report: those with p ≤ q·k/n, k the largest with k p-values at or below q·k/n.

    Of the rows reported a share of at most q is normal, in expectation, where p-values are independent or positively
    dependent. The answer is a property of the n rows together: a row may be reported in one set and not in another.

    Parameters
    ----------
    p : (n,)
        p-values, in any order.
    q : float
        The false discovery rate allowed, in (0, 1).

    Returns
    -------
    reported : bool array (n,)
    """
    n = p.shape[0]
    order = np.sort(p)
    below = np.flatnonzero(order <= q * np.arange(1, n + 1) / n)
    return p <= order[below[-1]] if below.size else np.zeros(n, bool)
