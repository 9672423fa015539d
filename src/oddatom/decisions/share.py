"""Cut a given share of the training scores off."""

from __future__ import annotations

import numpy as np


def share_offset(scores: np.ndarray, share: float) -> float:
    """Return the largest score t with #{j: s_j < t} ≤ share·N: at most that share of the rows is flagged.

    Rows that tie with t are not flagged.

    Parameters
    ----------
    scores : (N,)
        Higher = more normal, in any order.
    share : float
        Between 0 and 1.
    """
    N = scores.shape[0]
    rank = min(int(share * N * (1.0 + 4.0 * np.finfo(np.float64).eps)), N - 1)  # 0.29 · 100 is a little below 29
    return float(np.partition(scores, rank)[rank])


def top_offset(scores: np.ndarray, n: int) -> float:
    """Return the largest score t with #{j: s_j < t} ≤ n: at most n rows are flagged, all where there are no more.

    Parameters
    ----------
    scores : (N,)
        Higher = more normal, sorted.
    n : int
    """
    return float(scores[n]) if n < scores.size else float(np.nextafter(scores[-1], np.inf))


def quantile_offset(scores: np.ndarray, nu: float) -> float:
    """Return the smallest maximiser t of t − Σ_j (t − s_j)₊ / (nu N): the one-class SVM of the scores themselves.

    It is their nu-quantile: fewer than nu N scores lie below.

    Parameters
    ----------
    scores : (N,)
        Higher = more normal, in any order.
    nu : float
        In (0, 1].
    """
    N = scores.shape[0]
    rank = min(max(int(np.ceil(nu * N * (1.0 - 4.0 * np.finfo(np.float64).eps))) - 1, 0), N - 1)
    return float(np.partition(scores, rank)[rank])
