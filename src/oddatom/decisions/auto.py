"""How many rows are odder than a table without anomalies would have? `threshold="auto"`, and an estimate of it.

Scores are compared with what is expected of rows that are not anomalies, in two ways:

- by their own tail. Odd rows get rarer as t = −score grows, at least exponentially: between the quarter and the tenth
  of the rows with the largest t their share falls by 1/b a unit, and beyond that no more slowly than by 1/(decay·b).
  Where more than a tenth of the rows are anomalies the same is tried between half and a quarter, and asked to be surer;
- by a reference: the scores that a model gives to a table without anomalies, where the caller has one.

With n₀(t) rows expected beyond t and k there, k − n₀ are more than expected. Rows are flagged up to the k that makes
k − cost·n₀(t_k) largest, if k exceeds n₀ by more than chance and by a factor. Anything less flags no row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oddatom.decisions.bump import count_apart

BODY, EDGE = 0.25, 0.1  # shares of the rows between which the tail is measured
MIDDLE = 0.5  # the same between it and BODY, for many anomalies
WIDEST = np.array([0.5, 0.25, 0.1, 0.05, 0.02])  # and where its widest part is looked for
GROUP = 0.09  # share of the rows, above which rows that stand apart are a group and no anomalies
ALIKE = 0.5  # how fast t falls among rows that are alike, compared with the middle of the table
INTERVAL = 1.645  # deviations: nine of ten intervals hold the number
_LARGEST = float(np.finfo(np.float64).max)


class Criterion(NamedTuple):
    """When a comparison flags rows.

    Attributes
    ----------
    cost : float
        c in k − c·n₀, which is made largest: how many anomalies a false alarm is worth.
    share : float
        Largest n₀/k: the share of false alarms among the rows flagged, in expectation.
    deviations : float
        Least (k − n₀) in standard deviations of k.
    """

    cost: float
    share: float
    deviations: float


class Rule(NamedTuple):
    """The constants; `python -m benchmarks.flags --choose` tries others, on tables that do not choose them."""

    decay: float = 0.8
    tail: Criterion = Criterion(3.0, 0.5, 2.0)
    deep_tail: Criterion = Criterion(1000.0, 0.001, 5.0)
    reference: Criterion = Criterion(2.0, 0.1, 3.0)


RULE = Rule()


class AnomalyCount(NamedTuple):
    """How many rows are odder than chance explains: an estimate, and the ends of a 90 % interval."""

    estimate: int
    low: int
    high: int

    def words(self) -> str:
        """Return it as the beginning of a sentence: "between 4 and 15 rows are"."""
        low, high = max(self.low, 1), max(self.high, 1)
        if low == high:
            return f"{low:,} row{'s are' if low != 1 else ' is'}"
        return f"between {low:,} and {high:,} rows are"


class AutoDecision(NamedTuple):
    """The cut of `threshold="auto"`: rows that score below the offset are flagged."""

    offset: float
    n_anomalies: AnomalyCount


class _Expected(NamedTuple):
    """n₀ for every row, oddest first, and what its variance is in units of n₀."""

    n: np.ndarray
    noise: float
    criterion: Criterion


def auto_offset(scores: np.ndarray, least: float = 0.0) -> float:
    """Return the cut by the tail of the scores alone.

    It moves with a shift and a positive scale of the scores (and of `least`) and does not depend on their order.

    Parameters
    ----------
    scores : (N,)
        Higher = more normal. Infinite ones are left out.
    least : float
        Least b, where scores have a unit: of rows of a few kinds many score alike, which says nothing.
    """
    return decide(scores, least=least).offset


def decide(
    scores: np.ndarray,
    reference: np.ndarray | None = None,
    *,
    least: float = 0.0,
    distances: np.ndarray | None = None,
    rule: Rule = RULE,
) -> AutoDecision:
    """Return where to cut, and how many rows are odder than chance explains.

    Parameters
    ----------
    scores : (N,)
        Higher = more normal. Infinite ones are left out.
    reference : (n,), optional
        Scores of rows without anomalies, in the same units.
    least : float
        Least b, where scores have a unit.
    distances : (n,), optional
        Where one column alone varies: of its values from its middle. Its tail may be any, and is taken to go on as its
        widest part does, as is that of scores that repeat; but values that lie apart count (`decisions/bump.py`).
    rule : Rule
    """
    s = np.sort(scores[np.isfinite(scores)])
    t, N = -s, s.size
    if N < 2:
        return AutoDecision(-float(t[0]) if N else -_LARGEST, AnomalyCount(0, 0, 0))
    size = float(np.abs(t[[0, -1]]).max()) or 1.0  # in units of it nothing overflows
    t, least = t / size, least / size
    coarse = distances is not None or bool(np.count_nonzero(t[1:] < t[:-1]) < N // 2)
    comparisons = [_by_tail(t, (BODY, EDGE), rule.tail, least, coarse, rule.decay)]
    if not coarse:
        comparisons.append(_by_tail(t, (MIDDLE, BODY), rule.deep_tail, least, coarse, rule.decay))
    if reference is not None:
        comparisons.append(_by_reference(t, reference / size, rule))
    cuts = [_cut(t, one) for one in comparisons]
    best = max(range(len(cuts)), key=lambda i: (cuts[i], i))
    k = cuts[best]
    count = _count(comparisons[best], k)
    apart = 0 if distances is None else round(count_apart(distances, GROUP) * N / max(distances.size, 1))
    if apart > k:
        k = min(int(np.searchsorted(-t, -t[apart - 1], side="right")), N - 1)  # rows that tie are flagged together
        count = AnomalyCount(apart, *_interval(apart))
    return AutoDecision(float(0.5 * s[k - 1] + 0.5 * s[k] if k else s[0]), count)


def tail_offset(scores: np.ndarray, share: float, least: float) -> float:
    """Return the score that a share of the rows lies beyond, if their tail goes on as it begins.

    Parameters
    ----------
    scores : (N,)
    share : float
        Less than EDGE.
    least : float
        Least b.
    """
    body, edge = np.quantile(scores, [BODY, EDGE])
    return float(edge - max((body - edge) / np.log(BODY / EDGE), least) * np.log(EDGE / share))


FARTHEST = 1e100  # multiples of the tail's scale beyond which none is told from another


def _by_tail(
    t: np.ndarray, shares: tuple[float, float], criterion: Criterion, least: float, coarse: bool, decay: float
) -> _Expected:
    """Expect what the tail between two shares of the rows leads to."""
    N = t.size
    body, edge = np.quantile(t, [1.0 - shares[0], 1.0 - shares[1]])
    if coarse:
        b = float((np.diff(np.quantile(t, 1.0 - WIDEST)) / np.log(WIDEST[:-1] / WIDEST[1:])).max())
    else:
        b = decay * _caution(N) * (edge - body) / np.log(shares[0] / shares[1])
    b = max(b, least) or float(t.std())
    with np.errstate(over="ignore"):
        beyond = np.minimum(np.maximum(t - edge, 0.0) / b, FARTHEST) if b > 0.0 else np.zeros(N)
    return _Expected(np.where(t > edge, shares[1] * N * np.exp(-beyond), np.inf), 1.0, criterion)


def _by_reference(t: np.ndarray, reference: np.ndarray, rule: Rule) -> _Expected:
    """Expect what the reference has, and half a row."""
    N, n = t.size, reference.size
    middle = np.median(t)
    beyond = np.searchsorted(np.sort(reference), -middle - (t - middle) / _caution(N), side="right") + 0.5
    return _Expected(beyond * (N / n), 1.0 + N / n, rule.reference)


def _caution(N: int) -> float:
    """Return by how much the scale of a tail may be wrong: it is that of EDGE·N rows."""
    return 1.0 + 1.0 / float(np.sqrt(EDGE * N))


def _cut(t: np.ndarray, expected: _Expected) -> int:
    """Return how many rows to flag; rows that tie are flagged together."""
    k, n, criterion = np.arange(1, t.size + 1), expected.n, expected.criterion
    sure = (n <= criterion.share * k) & (k - n >= criterion.deviations * np.sqrt(expected.noise * n))
    sure[:-1] &= t[:-1] > t[1:]
    sure[-1] = False
    if not sure.any():
        return 0
    with np.errstate(invalid="ignore"):
        best = int(np.argmax(np.where(sure, k - criterion.cost * n, -np.inf))) + 1
    return 0 if best > GROUP * t.size and _is_group(t, best) else best


def _is_group(t: np.ndarray, k: int) -> bool:
    """Return whether the k oddest rows are as odd as each other: their t falls less than that of all rows does."""
    apart = (t[k // 8] - t[k // 2]) / np.log(4.0)
    middle, body = np.quantile(t, [1.0 - MIDDLE, 1.0 - BODY])
    return bool(apart < ALIKE * (body - middle) / np.log(MIDDLE / BODY))


def _interval(n: int) -> tuple[int, int]:
    """Return the ends of an interval for the mean of a count."""
    deviation = INTERVAL * float(np.sqrt(n))
    return max(int(n - deviation), 0), int(np.ceil(n + deviation))


def _count(expected: _Expected, k: int) -> AnomalyCount:
    """Estimate the number of rows that nothing expected explains."""
    places = np.arange(1, expected.n.size + 1)
    inside = np.isfinite(expected.n) & (places <= max(EDGE * places.size, k, 1))
    if not inside.any():
        return AnomalyCount(0, 0, 0)
    more = (places - expected.n)[inside]
    deviation = INTERVAL * np.sqrt(expected.noise * expected.n[inside])
    estimate = max(round(float(more[k - 1])), 1) if k else 0
    low = max(int(np.floor((more - deviation).max())), 0) if k else 0
    high = min(max(int(np.ceil((more + deviation).max())), estimate), places.size)
    return AnomalyCount(estimate, min(low, estimate), high)
