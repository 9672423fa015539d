"""Whether the score of a fit can rank: looked at on some of the training rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from oddatom.exceptions import RankingWarning
from oddatom.rows import Source

SAMPLE = 2000  # rows looked at
AGAINST = -0.3  # a rank correlation with the residual's score below it is that of a score which is upside down


def ranking_findings(detector: Any, source: Source) -> Iterator[tuple[str, type[Warning]]]:
    """Say where the boundary's score is higher for rows that the atoms describe worse."""
    if detector.scoring != "margin" or not detector.components_.shape[0]:
        return
    N = source.shape[0]
    rows = source.take(np.unique(np.linspace(0, N - 1, min(N, SAMPLE)).astype(np.int64)))
    scores = detector._scores(rows, [detector.scoring_, "residual"])
    own, residual = scores[detector.scoring_], scores["residual"]
    if np.ptp(own) == 0.0 or np.ptp(residual) == 0.0:  # a score that is the same for all rows has a warning of its own
        return
    found = float(spearmanr(own, residual).statistic)
    if found < AGAINST:
        advice = "" if detector.boundary == "ball" else "boundary='ball', another scaling, or "
        yield (
            f"The {detector.scoring_} of {type(detector).__name__} is upside down: it is higher for rows that the "
            f"atoms describe worse (rank correlation with the residual's score {found:.2f}). Set {advice}"
            "scoring='description_length'.",
            RankingWarning,
        )
