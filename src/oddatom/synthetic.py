"""Anomalies whose cause is known: normal rows in which one or two numbers have been corrupted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from oddatom.exceptions import OddAtomError, ParameterError

KINDS = ("shift", "swap")


class Corrupted(NamedTuple):
    """Rows, some of them corrupted.

    Attributes
    ----------
    X : (n_samples, n_features)
        A copy of the rows, the chosen ones changed.
    y : (n_samples,)
        1 for rows that were changed, 0 for others.
    mask : bool (n_samples, n_features)
        Which numbers were changed.
    """

    X: np.ndarray
    y: np.ndarray
    mask: np.ndarray


def corrupt_features(
    X: np.ndarray,
    share: float = 0.05,
    *,
    kind: str = "shift",
    most_features: int = 2,
    size: float = 3.0,
    random_state: Any = None,
) -> Corrupted:
    """Corrupt one to `most_features` numbers in a share of the rows.

    Parameters
    ----------
    X : (n_samples, n_features)
        Rows to take for normal; they are not changed in place.
    share : float, default=0.05
        Share of the rows to corrupt, at least one row.
    kind : {"shift", "swap"}, default="shift"
        "shift" moves a number up or down by `size` to twice `size` times the column's range q95 − q5 (its deviation
        where that is 0). "swap" puts the number of another row in its place, drawn from the half of the rows whose
        numbers in that column are farthest from it: usual by itself, unusual in this row.
    most_features : int, default=2
        Each corrupted row has 1 to that many corrupted features, with equal probability.
    size : float, default=3.0
        See "shift".
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    corrupted : Corrupted

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from oddatom.synthetic import corrupt_features
    >>> X, y, mask = corrupt_features(load_wine().data, random_state=0)
    >>> int(y.sum()), int(mask.any(axis=1).sum())
    (8, 8)
    """
    if kind not in KINDS:
        raise ParameterError("corrupt_features", "kind", f"must be one of {KINDS}. Got {kind!r} instead.", value=kind)
    if not 0 < share <= 1:
        problem = f"must be in the range (0, 1]. Got {share!r} instead."
        raise ParameterError("corrupt_features", "share", problem, value=share)
    if most_features < 1:
        problem = f"must be at least 1. Got {most_features!r} instead."
        raise ParameterError("corrupt_features", "most_features", problem, value=most_features)
    X = np.array(X, dtype=np.float64)
    N, m = X.shape
    rng = check_random_state(random_state)
    varied = np.flatnonzero(X.min(axis=0) < X.max(axis=0))
    if varied.size == 0:
        problem = "X holds only constant columns: there is nothing to corrupt."
        raise OddAtomError(problem, parameter="X", advice="Pass data that vary.")
    original = X.copy()
    low, high = np.quantile(X, [0.05, 0.95], axis=0)
    spread = np.where(high > low, high - low, X.std(axis=0))
    mask = np.zeros((N, m), bool)
    for row in rng.choice(N, max(1, int(share * N)), replace=False):
        n = min(rng.randint(1, most_features + 1), varied.size)
        for f in rng.choice(varied, n, replace=False):
            if kind == "shift":
                X[row, f] += rng.choice([-1.0, 1.0]) * rng.uniform(size, 2.0 * size) * spread[f]
            else:
                apart = np.abs(original[:, f] - original[row, f])
                farthest = np.argsort(apart, kind="stable")[N // 2 :]
                X[row, f] = original[rng.choice(farthest[apart[farthest] > 0.0]), f] if apart.any() else X[row, f]
            mask[row, f] = X[row, f] != original[row, f]
    return Corrupted(X, mask.any(axis=1).astype(int), mask)
