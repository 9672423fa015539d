"""A row is odd by itself, or because many of the rows before it are: a stretch.

    S_i = min(s_i, A_i - 2),    A_i = -log( Σ_j w_ij exp(-0.6 s_j) / Σ_j w_ij ) / 0.6,    w_ij = 2^(-(i - j)/window)

j goes from i back over the rows of a window; where there are fewer, the others count as usual rows, with s_j = 0. Of an
episode every row is odd, though some of them look usual by themselves; after a single odd row others count as odd for a
window at most, and less than the row itself.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit, prange

from oddatom.arrays.threads import split, threads_here


class StretchRule(NamedTuple):
    """The constants; `python -m benchmarks.streams_choice` tries others, on files that do not choose them.

    Attributes
    ----------
    power : float
        Of the mean over a stretch: 0 is the mean of the scores, and a large one their least.
    bonus : float
        What the mean over a stretch counts more than the score of a row, in units of the score.
    half_life : float
        Of a weight, in windows.
    """

    power: float = 0.6
    bonus: float = 2.0
    half_life: float = 1.0


RULE = StretchRule()


def with_stretches(
    scores: np.ndarray, start: np.ndarray, first: np.ndarray, window: int, rule: StretchRule = RULE
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of rows with the stretches that they end, and the row that each is mainly due to.

    Parameters
    ----------
    scores : (U,)
        Of rows in order, each by itself; the lower, the odder.
    start, first : (U,) int64
        Rows from start to first are before a row: see `ordered.Ordered`.
    window : int
    rule : StretchRule
    """
    weights = np.exp2(-np.arange(window + 1) / (rule.half_life * window))
    out, cause = np.empty(scores.size), np.empty(scores.size, np.int64)
    with threads_here():
        plan = split(scores.size, 5.0 * window)
        plan.run(_with_stretches, scores, start, first, weights, rule.power, rule.bonus, out, cause)
    return out, cause


@njit(cache=True, nogil=True, parallel=True)
def _with_stretches(scores, start, first, weights, power, bonus, out, cause, k, parallel):
    N = scores.size
    if parallel:
        for c in prange(k):
            _some_rows(scores, start, first, weights, power, bonus, N * c // k, N * (c + 1) // k, out, cause)
    else:
        for c in range(k):
            _some_rows(scores, start, first, weights, power, bonus, N * c // k, N * (c + 1) // k, out, cause)


@njit(cache=True, nogil=True)
def _some_rows(scores, start, first, weights, power, bonus, lo, hi, out, cause):
    window = weights.size - 1
    weight = weights.sum()
    for i in range(lo, hi):
        begin = max(start[i], first[i] - window)
        least = min(scores[i], 0.0)
        for j in range(begin, first[i]):
            least = min(least, scores[j])
        total = math.exp(power * (least - scores[i]))
        most, at = total, i
        for j in range(first[i] - 1, begin - 1, -1):
            term = weights[first[i] - j] * math.exp(power * (least - scores[j]))
            total += term
            if term > most:
                most, at = term, j
        usual = math.exp(power * least)
        for age in range(first[i] - begin + 1, window + 1):
            total += weights[age] * usual
        of_stretch = least - math.log(total / weight) / power - bonus
        if of_stretch < scores[i]:
            out[i], cause[i] = of_stretch, at
        else:
            out[i], cause[i] = scores[i], i
