"""Check the parameter `categorical_features` and the codes in those columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from oddatom.exceptions import OddAtomError, ParameterError

MOST_CODES = 1000  # of a column


def categorical_columns(owner: str, given: Any, X: np.ndarray) -> np.ndarray:
    """Return which columns of X hold categories, (n_features,) of bool.

    Parameters
    ----------
    owner : str
        The estimator's class, for errors.
    given : sequence of int or None
        Positions of the columns.
    X : (n_samples, n_features)
        Rows whose codes are checked.
    """
    n_features = X.shape[1]
    places = np.asarray([] if given is None else given)
    whole = places.size == 0 or (places.ndim == 1 and places.dtype.kind in "iu")
    if not whole or (places.size and not (places.min() >= 0 and places.max() < n_features)):
        raise ParameterError(
            owner,
            "categorical_features",
            f"must hold positions of columns, 0 to {n_features - 1}. Got {given!r} instead.",
            value=given,
            advice="A frame with text columns goes into TableDetector.",
        )
    categorical = np.isin(np.arange(n_features), places)
    codes = X[:, categorical]
    codes = codes[~np.isnan(codes)]
    wrong = codes[(codes != np.floor(codes)) | (codes < -1) | (codes >= MOST_CODES)]
    if wrong.size:
        raise OddAtomError(
            f"Columns of {{owner}}'s categorical_features must hold whole numbers from -1 to {MOST_CODES - 1}. "
            f"Got {wrong[0]:g} instead.",
            parameter="X",
            value=float(wrong[0]),
            advice="Number the categories 0, 1, 2, …, or pass a frame with their names to TableDetector.",
            owner=owner,
        )
    return categorical
