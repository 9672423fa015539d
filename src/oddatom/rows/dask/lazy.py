"""Scores of the rows of Dask collections: lazy, chunk by chunk, and as long as the collection."""

from __future__ import annotations

import copy
from typing import Any

import dask
import numpy as np

from oddatom.exceptions import OddAtomError
from oddatom.rows.checks import check_columns
from oddatom.rows.dask.holder import as_rows

# Attributes of a detector that scoring does without; most have an entry for every training row.
_LEFT_OUT = frozenset(
    {
        "train_codes_", "train_decision_", "train_scores_", "dual_coef_", "dictionary_coefficients_", "fold_models_",
        "fold_rows_", "conformal_", "history_", "feature_names_in_",
    }
)  # fmt: skip


def for_workers(value: Any) -> Any:
    """Return a detector as workers need it to score rows, on one thread; other values as they are."""
    if not hasattr(value, "_block_scores"):
        return value
    twin = copy.copy(value)
    parameters = value.get_params(deep=False)
    for name in list(vars(twin)):
        if name not in parameters and (name in _LEFT_OUT or not name.endswith("_")):
            delattr(twin, name)
    twin.n_jobs, twin.device = 1, "cpu"
    return twin


def lazy_scores(detector: Any, X: Any) -> Any:
    """Return what `score_samples` gives for a Dask array (with its row chunks) or frame (with its index), not computed.

    An error in a chunk, such as NaN, is raised when it is computed.
    """
    scorer = for_workers(detector)
    if hasattr(X, "columns"):
        check_columns(detector, len(X.columns), list(X.columns))
        import pandas as pd

        return X.map_partitions(score_frame, scorer, meta=pd.Series(dtype=np.float64))
    check_dimensions(X)
    check_columns(detector, X.shape[1], None)
    sent = dask.delayed(scorer, pure=True, traverse=False)  # once, not in every task
    return one_column_chunk(X).map_blocks(score_block, sent, drop_axis=1, dtype=np.float64, meta=np.empty(0))


def check_dimensions(X: Any) -> None:
    """Refuse a Dask array that is not rows × features."""
    n = getattr(X, "ndim", 1)
    if n != 2:
        problem = f"Expected a Dask array of two dimensions, rows × features. Got {n} instead"
        raise OddAtomError(problem, parameter="X", advice="reshape it.")


def one_column_chunk(X: Any) -> Any:
    """Return a Dask array whose rows are whole in every chunk; chunks of rows stay."""
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def score_block(rows: Any, detector: Any) -> np.ndarray:
    """Return the scores of a chunk of rows."""
    if not len(rows):
        return np.empty(0)
    return detector._checked_scores(as_rows(rows))


def score_frame(frame: Any, detector: Any) -> Any:
    """Return the scores of a part of a frame, with its index."""
    import pandas as pd

    return pd.Series(score_block(frame, detector), index=frame.index, dtype=np.float64)
