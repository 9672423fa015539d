"""Which columns make a row odd: what a detector's explanation says, as shares of the row's oddity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oddatom.estimators import OddAtomDetector
from oddatom.explanations import sum_by_name

OF_SCORE = "The share of the row's oddity that each column has; the shares of a row sum to 100 %."
OF_SUM = "How much each column pulls the score below that of the usual row, as a share of all that do."
OF_KERNEL = "A kernel does not split over columns: there is nothing to say of each."


def oddity_shares(detector: Any, X: np.ndarray, usual: np.ndarray) -> tuple[np.ndarray | None, str]:
    """Return the share of every feature in the oddity of each row, (n, m), at least 0, and how to read it.

    Parameters
    ----------
    detector : a fitted detector
    X : (n, m)
        The rows to explain.
    usual : (n_usual, m)
        Rows to compare with, where the explanation is not of oddity itself.
    """
    if isinstance(detector, OddAtomDetector):
        return detector._feature_shares(X), OF_SCORE
    contributions = detector.explain(X).contributions
    if contributions is None:
        return None, OF_KERNEL
    center = np.median(np.asarray(detector.explain(usual).contributions), axis=0)
    return np.maximum(center - np.asarray(contributions), 0.0), OF_SUM


def by_source(shares: np.ndarray, sources: Sequence[str]) -> tuple[tuple[str, ...], np.ndarray]:
    """Sum shares of encoded features over the columns they came from, and divide every row by its sum.

    Parameters
    ----------
    shares : (n, m)
        At least 0. Infinite ones share a row among themselves.
    sources : m names

    Returns
    -------
    columns : names, in the order they first appear
    shares : (n, n_columns)
        Rows sum to 1, or to 0 where there is nothing to share.
    """
    endless = np.isinf(shares)
    shares = np.where(endless.any(axis=1, keepdims=True), endless.astype(float), shares)
    top = shares.max(axis=1, keepdims=True)
    shares = shares / np.where(top > 0.0, top, 1.0)  # sums of the largest numbers overflow
    columns, out = sum_by_name(shares, sources)
    total = out.sum(axis=1, keepdims=True)
    return columns, out / np.where(total > 0.0, total, 1.0)
