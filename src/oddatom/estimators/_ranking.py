"""Whether the score of a fit can rank: looked at on some of the training rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import rankdata

from oddatom.exceptions import RankingWarning
from oddatom.rows import Source

SAMPLE = 2000  # rows looked at
WORST, FEWEST = 0.05, 10  # the share of them that the atoms describe worst, and the least number
UPSIDE_DOWN = 0.4  # a score that finds these rows less often than this; ½ is chance


def ranking_findings(detector: Any, source: Source) -> Iterator[tuple[str, type[Warning]]]:
    """Say where the boundary's score is higher for the rows that the atoms describe worst."""
    if detector.scoring != "margin" or not detector.components_.shape[0]:
        return
    N = source.shape[0]
    rows = source.take(np.unique(np.linspace(0, N - 1, min(N, SAMPLE)).astype(np.int64)))
    scores = detector._scores(rows, [detector.scoring_, "residual"])
    own, residual = scores[detector.scoring_], scores["residual"]
    if np.ptp(own) == 0.0:  # it has a warning of its own
        return
    found = found_share(own, residual)
    if found < UPSIDE_DOWN:
        advice = "" if detector.boundary == "ball" else "boundary='ball', another scaling, or "
        yield (
            f"The {detector.scoring_} of {type(detector).__name__} is upside down: it puts a row that the atoms "
            f"describe worst before another in {100 * found:.0f} % of all pairs. Set {advice}"
            "scoring='description_length'.",
            RankingWarning,
        )


def found_share(own: np.ndarray, residual: np.ndarray) -> float:
    """Return how often a row of the worst residuals has a lower score than another row: ½ is chance."""
    n = max(FEWEST, round(WORST * own.size))
    if own.size < 2 * n or np.ptp(residual) == 0.0:
        return 0.5
    worst = np.argsort(residual, kind="stable")[:n]
    ranks = rankdata(own)[worst]
    return 1.0 - float((ranks.sum() - n * (n + 1) / 2) / (n * (own.size - n)))
