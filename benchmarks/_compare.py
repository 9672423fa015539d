"""Statistics of detectors over data sets: mean ranks, wins, ties and losses, signed-rank tests."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata, wilcoxon

# Two figures that differ by no more than this are a tie in the count of wins and losses.
TIE = 0.001


def mean_ranks(values: np.ndarray) -> np.ndarray:
    """Mean rank of each column (detector) over the rows (sets); 1 is the highest value, equal values share a rank."""
    return rankdata(-np.asarray(values), axis=1, method="average").mean(axis=0)


def win_tie_loss(ours: np.ndarray, theirs: np.ndarray, tie: float = TIE) -> tuple[int, int, int]:
    """Sets on which ours is higher, within `tie`, and lower."""
    difference = np.asarray(ours) - np.asarray(theirs)
    ties = np.abs(difference) <= tie + 1e-12
    wins = int(np.sum(~ties & (difference > 0)))
    return wins, int(ties.sum()), int(difference.size - ties.sum() - wins)


def signed_rank(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Two-sided p of Wilcoxon's signed-rank test; 1 where there is no difference at all."""
    difference = np.asarray(ours) - np.asarray(theirs)
    return float(wilcoxon(difference).pvalue) if np.any(difference) else 1.0


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's adjusted p: the i-th smallest of m times m − i + 1, made monotone, at most 1."""
    p = np.asarray(p, dtype=float)
    order = np.argsort(p)
    factors = np.arange(p.size, 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1.0)
    return adjusted


def compare(values: dict[str, list[float]], ours: str) -> dict[str, dict[str, object]]:
    """Mean and mean rank of every detector over the sets; wins, ties, losses and tests of `ours` against the others.

    `values` maps a detector to its figures, the sets in one order.
    """
    table = np.array(list(values.values())).T
    ranks = mean_ranks(table)
    out: dict[str, dict[str, object]] = {
        name: {"mean": float(np.mean(values[name])), "rank": float(rank)}
        for name, rank in zip(values, ranks, strict=True)
    }
    peers = [name for name in values if name != ours]
    if ours in values and peers:
        p = np.array([signed_rank(values[ours], values[name]) for name in peers])
        for name, raw, adjusted in zip(peers, p, holm(p), strict=True):
            wtl = win_tie_loss(values[ours], values[name])
            out[name] |= {"win_tie_loss": wtl, "p": float(raw), "p_holm": float(adjusted)}
    return out
