"""The ball's score: minus the squared distance of a row's code from the centre, −‖x − c‖², higher for normal rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from oddatom.arrays.namespaces import namespace
from oddatom.arrays.twins import twin_of
from oddatom.coding import Codes
from oddatom.coding.statistics import CodeStatistics
from oddatom.scaling.linear import LIMIT
from oddatom.scores.terms import Terms, in_slots


def distance(codes: Codes, w: Any, statistics: CodeStatistics | None = None) -> Terms:
    """−‖x_j − w‖² of every row j of codes; w, over the atoms, is the centre. The statistics are not used.

    An atom that a row does not use adds −w_i², one that it uses another −x_i (x_i − 2 w_i).
    """
    x = codes.values
    return Terms(slots=-x * (x - 2.0 * in_slots(w, codes)), atoms=-w * w)


@twin_of(distance)
def distance_twin(codes: Codes, w: np.ndarray, statistics: CodeStatistics | None = None) -> np.ndarray:
    """Return the scores themselves, see `margin_twin`."""
    out = np.empty(codes.indices.shape[0])
    _distance(codes.indices, codes.values, w, float(w @ w), out)
    return np.maximum(out, -LIMIT, out=out)


def row_distances(X: Any, center: Any) -> Any:
    """Return −‖x − c‖² of dense rows of any array library; the lowest number there is where it overflows."""
    xp = namespace(X)
    with np.errstate(over="ignore"):
        return xp.clip(xp.sum(distance_terms(X, center), axis=-1), -LIMIT, 0.0)


def sparse_distances(X: Any, center: np.ndarray) -> np.ndarray:
    """Return −‖x − c‖² of CSR rows; entries that are not stored add −c_f²."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    with np.errstate(over="ignore"):
        stored = np.maximum(-X.data * (X.data - 2.0 * center[X.indices]), -LIMIT)
        out = np.bincount(rows, stored, X.shape[0]) - float(center @ center)
    return np.clip(out, -LIMIT, 0.0)


def distance_terms(X: Any, center: Any) -> Any:
    """Return −(x_f − c_f)², what each feature adds to −‖x − c‖²."""
    xp = namespace(X)
    with np.errstate(over="ignore"):
        apart = X - center
        return xp.clip(-apart * apart, -LIMIT, 0.0)


@njit(cache=True, nogil=True)
def _distance(indices, values, w, square, out):
    for j in range(indices.shape[0]):
        t = square
        for k in range(indices.shape[1]):
            if indices[j, k] >= 0:
                t += values[j, k] * (values[j, k] - 2.0 * w[indices[j, k]])
        out[j] = -t
