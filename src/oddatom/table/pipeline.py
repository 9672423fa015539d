"""A detector that takes tables as they are."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from oddatom.estimators import OddAtomDetector
from oddatom.table.encoder import TableEncoder


def make_detector(detector: Any = None, **encoder_parameters: Any) -> Pipeline:
    """Find anomalies in tables as they are: a `TableEncoder`, then a detector.

    Parameters
    ----------
    detector : estimator, default=None
        Any scikit-learn outlier detector. None means `OddAtomDetector()`.
    **encoder_parameters
        Parameters of `TableEncoder`: columns, ignore, id, max_levels, dates, missing.

    Returns
    -------
    pipeline : sklearn.pipeline.Pipeline
        Its steps are "table" and "detector".

    Examples
    --------
    >>> import pandas as pd
    >>> from oddatom import OddAtomDetector, make_detector
    >>> table = pd.DataFrame({"size": [1.0, 1.2, 0.9, None] * 25, "colour": ["red", "blue", "red", "red"] * 25})
    >>> table.loc[7, "colour"] = "pink"
    >>> pipeline = make_detector(OddAtomDetector(random_state=0)).fit(table)
    >>> int(pipeline.score_samples(table).argmin())
    7
    """
    return Pipeline(
        [
            ("table", TableEncoder(**encoder_parameters)),
            ("detector", OddAtomDetector() if detector is None else detector),
        ]
    )
