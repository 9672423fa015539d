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
FLAT = 1e-12  # a span below this share of a score's natural size is rounding


def ranking_findings(detector: Any, source: Source, no_margin: bool) -> Iterator[tuple[str, type[Warning]]]:
    """Say where a score is the same for all rows, and where the boundary's is higher for those described worst.

    `no_margin` says that the boundary's own score is known to be flat, which has a warning of its own.
    """
    N, by_boundary = source.shape[0], detector.scoring == "margin"
    if not detector.components_.shape[0] or N < 2 or (by_boundary and no_margin):
        return
    scores = detector.train_scores_
    size = natural_size(detector)
    if size < np.inf and float(scores[-1]) - float(scores[0]) <= FLAT * size:
        fewer = "a smaller n_nonzero or " if detector.scoring == "residual" else ""
        yield (
            f"The {detector.scoring_} of {type(detector).__name__} is the same for every row of the fit, to rounding: "
            f"it cannot rank. Set {fewer}another scoring, or pass rows that differ.",
            RankingWarning,
        )
        return
    if not by_boundary:
        return
    rows = source.take(np.unique(np.linspace(0, N - 1, min(N, SAMPLE)).astype(np.int64)))
    scores = detector._scores(rows, [detector.scoring_, "residual"])
    own, residual = scores[detector.scoring_], scores["residual"]
    if np.ptp(own) == 0.0:
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


def natural_size(detector: Any) -> float:
    """Return what a score is rounded at: ‖y‖², ‖w‖‖y‖ or its own size, of training rows in the mean."""
    largest = float(np.abs(detector.train_scores_[[0, -1]]).max())
    statistics = detector.code_statistics_
    square = float(statistics.usage @ statistics.variance) + statistics.noise  # about that of a row
    if detector.scoring_ in ("residual", "distance"):
        return max(largest, square)
    if detector.scoring_ == "margin":
        return max(largest, float(np.linalg.norm(detector.coef_)) * square**0.5)
    return largest


def found_share(own: np.ndarray, residual: np.ndarray) -> float:
    """Return how often a row of the worst residuals has a lower score than another row: ½ is chance."""
    n = max(FEWEST, round(WORST * own.size))
    if own.size < 2 * n or np.ptp(residual) == 0.0:
        return 0.5
    worst = np.argsort(residual, kind="stable")[:n]
    ranks = rankdata(own)[worst]
    return 1.0 - float((ranks.sum() - n * (n + 1) / 2) / (n * (own.size - n)))
