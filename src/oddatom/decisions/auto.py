"""A cut found from the training scores alone: no labels, no share to guess."""

from __future__ import annotations

import numpy as np

_DEVIATIONS = 2.5
_HALF_WIDTH = 0.674489750196082  # half of a normal distribution lies within so many deviations of its centre
_EPS, _LARGEST = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).max)


def auto_offset(scores: np.ndarray, least: float = 0.0) -> float:
    """Return c − 2.5 σ, with c the centre and σ the spread of the shortest interval that holds most of the scores.

    That interval is where normal rows crowd, whatever lies in either tail: up to half of the rows may be anomalies.
    σ is the deviation of a normal distribution whose middle half has that length. Where that half of the scores is one
    value, σ is the standard deviation of all: constant scores are all normal. The cut moves with a shift and a positive
    scale of the scores (and of `least`) and does not depend on their order.

    Parameters
    ----------
    scores : (N,)
        Higher = more normal. Infinite ones are left out.
    least : float
        Least σ where scores repeat and have a unit: of rows of a few kinds most score nearly alike, which says nothing.
    """
    s = np.sort(scores[np.isfinite(scores)])
    N = s.size
    if N < 2:
        return float(s[0]) if N else -_LARGEST
    size = float(np.abs(s[[0, -1]]).max()) or 1.0  # in units of it nothing overflows
    s /= size
    h = N // 2 + 1
    widths = s[h - 1 :] - s[: N - h + 1]
    width = float(widths.min())
    shortest = np.flatnonzero(widths <= width * (1.0 + 1e-9) + 4.0 * _EPS)  # all that tie: rounding is no judge
    center = 0.5 * float((s[shortest] + s[shortest + h - 1]).mean())
    spread = 0.5 * width / _HALF_WIDTH if width > 4.0 * _EPS else float(s.std())
    if np.count_nonzero(s[1:] > s[:-1]) < N // 2:
        spread = max(spread, least / size)
    return max(size * (center - _DEVIATIONS * spread), -_LARGEST)
