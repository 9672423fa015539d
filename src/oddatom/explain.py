"""Where the score of a row comes from: its margin by atom or by feature, its residual by feature."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from oddatom.coding import Codes


class Explanation(NamedTuple):
    """w·x_j = Σ margin_j and ‖y_j − x_j D‖² = Σ residual_j: two tables, a row of each for every row explained.

    They are frames of the library of the input where that was a frame with column names, otherwise arrays.

    Attributes
    ----------
    margin : (n_samples, n_active_atoms)
        w_i x_ji, what each atom adds to the score, or takes from it where negative.
    residual : (n_samples, n_features)
        e_jf², where e_j = y_j − x_j D: what the atoms leave of each feature of the scaled row.
    """

    margin: Any
    residual: Any


def margin_by_feature(Y: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return v_f y_jf with v = Pᵀ w, for linear codes x = P y: a row sums to its margin w·x = v·y.

    Parameters
    ----------
    Y : (N, m)
        Scaled rows.
    v : (m,)
        The plane in the space of the rows.
    """
    return Y * v


def margin_by_atom(codes: Codes, w: np.ndarray) -> np.ndarray:
    """Return w_i x_ji, dense (N, n): a row sums to its margin w·x.

    Parameters
    ----------
    codes : Codes of N rows
    w : (n,)
        The plane.
    """
    out = np.zeros((codes.indices.shape[0], w.shape[0]))
    _margin_by_atom(codes.indices, codes.values, w, out)
    return out


def residual_by_feature(Y: np.ndarray, codes: Codes, D: np.ndarray) -> np.ndarray:
    """Return e_jf² with e_j = y_j − x_j D, (N, m): a row sums to ‖y − x D‖²; infinite where a square overflows.

    Parameters
    ----------
    Y : (N, m)
        Scaled rows.
    codes : Codes of those rows
    D : (n, m)
        Atoms.
    """
    out = np.empty(Y.shape)
    _residual_by_feature(Y, codes.indices, codes.values, D, out)
    return out


def as_frame_like(values: np.ndarray, X: Any, names: Sequence[str] | None = None) -> Any:
    """Return `values` as a frame of X's library, or as they are unless X is a frame whose columns all have text names.

    Parameters
    ----------
    values : (n_samples, n_columns)
        A row for every row of X.
    X : object
        What the user passed: a pandas or polars frame, or anything else.
    names : n_columns names, optional
        Names of the new columns. None means those of X.
    """
    pandas, polars = (_loaded_frame(library, X) for library in ("pandas", "polars"))
    if not (pandas or polars) or not all(isinstance(name, str) for name in X.columns):
        return values
    columns = [str(name) for name in (X.columns if names is None else names)]
    if pandas:
        return pandas.DataFrame(values, index=X.index, columns=columns, copy=False)
    return polars.DataFrame(values, schema=columns, orient="row")


def _loaded_frame(library: str, X: Any) -> Any:
    """Return the library when X is one of its frames: then it has been imported, and nothing is imported here."""
    module = sys.modules.get(library)
    return module if module is not None and isinstance(X, module.DataFrame) else None


# Sums run in the order of the code, one row at a time: a row of a table does not depend on the rows around it.


@njit(cache=True, nogil=True)
def _margin_by_atom(indices, values, w, out):
    for j in range(indices.shape[0]):
        for k in range(indices.shape[1]):
            i = indices[j, k]
            if i >= 0:
                out[j, i] += values[j, k] * w[i]


@njit(cache=True, nogil=True)
def _residual_by_feature(Y, indices, values, D, out):
    m = Y.shape[1]
    for j in range(Y.shape[0]):
        for f in range(m):
            out[j, f] = Y[j, f]
        for k in range(indices.shape[1]):
            i = indices[j, k]
            if i >= 0:
                for f in range(m):
                    out[j, f] -= values[j, k] * D[i, f]
        for f in range(m):
            out[j, f] *= out[j, f]
