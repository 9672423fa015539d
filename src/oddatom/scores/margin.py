"""The paper's score: the signed margin w·x of a row's code, higher for normal rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numba import njit, prange

from oddatom.arrays.namespaces import exceeds, largest, like, namespace
from oddatom.arrays.sums import dot
from oddatom.arrays.threads import split
from oddatom.arrays.twins import fastest, twin_of
from oddatom.coding import Codes
from oddatom.coding.statistics import CodeStatistics
from oddatom.scaling.linear import LIMIT, SMALL, Scaling
from oddatom.scores.terms import Terms, in_slots


def margin(codes: Codes, w: Any, statistics: CodeStatistics | None = None) -> Terms:
    """w·x_j of every row j of codes; w runs over the atoms. The statistics are not used."""
    return Terms(slots=codes.values * in_slots(w, codes))


@twin_of(margin)
def margin_twin(codes: Codes, w: np.ndarray, statistics: CodeStatistics | None = None) -> np.ndarray:
    """Return the scores themselves: summing rows of a few slots takes NumPy a quarter of the time of coding them."""
    out = np.empty(codes.indices.shape[0])
    _margin(codes.indices, codes.values, w, out)
    return out


def linear_margin(X: Any, scaling: Scaling, v: np.ndarray) -> Any:
    """Return v·y for every row x, scaled to y: the margin w·Py of linear codes, v = Pᵀw."""
    return fastest(linear_formula, X)(X, like(scaling, X), like(v, X))


def linear_formula(X: Any, scaling: Scaling, v: Any) -> Any:
    """v·y; where a term overflows, of rows in units of their largest entry."""
    xp = namespace(X)
    with np.errstate(over="ignore", invalid="ignore"):
        t = xp.sum(scaling.apply(X) * v, axis=-1)
        if exceeds(t, LIMIT):
            small = scaling._replace(scale=1.0).small(X)
            size = largest(xp.abs(small))
            again = xp.sum(small / size * v, axis=-1) * size[:, 0] / scaling.scale / SMALL
            t = xp.where(xp.isfinite(t), t, again)
    return xp.clip(t, -LIMIT, LIMIT)


def linear_terms(X: Any, scaling: Scaling, v: Any) -> Any:
    """Return v_f y_f, which sum to v·y; a row whose numbers would overflow is shown shorter."""
    xp = namespace(X)
    with np.errstate(over="ignore", invalid="ignore"):
        terms = scaling.apply(X) * v
        if exceeds(terms, LIMIT):
            Z, size = scaling.sized(X)
            finite = xp.all(xp.isfinite(terms), axis=-1, keepdims=True)
            terms = xp.where(finite, terms, (Z if size is None else Z * size) * v)
    return terms


@twin_of(linear_formula)
def linear_twin(X: np.ndarray, scaling: Scaling, v: np.ndarray) -> np.ndarray:
    """In one pass over X, divided by the scale once; rows that overflow by the formula."""
    out = np.empty(X.shape[0])
    zero, one = np.zeros(v.size), np.ones(v.size)
    center = zero if scaling.center is None else scaling.center
    spread = one if scaling.spread is None else scaling.spread
    split(X.shape[0], 2.0 * v.size).run(_linear, np.ascontiguousarray(X), center, spread, scaling.scale, v, out)
    endless = ~np.isfinite(out)
    if endless.any():
        out[endless] = linear_formula(X[endless], scaling, v)
    return out


def margin_terms(X: Any, w: np.ndarray) -> Any:
    """Return w_f x_f of dense or CSR rows, as they are stored: what each feature adds to w·x.

    Every term of a row is 2¹⁰⁰⁰ times smaller where one of them would overflow.
    """
    sparse = scipy.sparse.issparse(X)
    entries, w = (X.data, w[X.indices]) if sparse else (X, w)
    with np.errstate(over="ignore"):
        out = entries * w
    endless = ~np.isfinite(out)
    if endless.any():
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)) if sparse else np.arange(X.shape[0])[:, None]
        large = np.isin(rows, np.broadcast_to(rows, out.shape)[endless])
        out = np.where(large, np.clip((SMALL * entries) * (SMALL * w), -LIMIT, LIMIT), out)
    return scipy.sparse.csr_array((out, X.indices, X.indptr), shape=X.shape) if sparse else out


@njit(cache=True, nogil=True)
def _margin(indices, values, w, out):
    for j in range(indices.shape[0]):
        t = 0.0
        for k in range(indices.shape[1]):
            if indices[j, k] >= 0:
                t += values[j, k] * w[indices[j, k]]
        out[j] = t


@njit(cache=True, nogil=True, error_model="numpy")
def _linear_rows(X, center, spread, scale, v, lo, hi, out):
    y = np.empty(v.size)
    for j in range(lo, hi):
        for f in range(v.size):
            y[f] = (X[j, f] - center[f]) / spread[f]
        t = dot(y, v) / scale
        out[j] = t if np.isfinite(t) else np.nan


@njit(cache=True, nogil=True, parallel=True)
def _linear(X, center, spread, scale, v, out, k, parallel):
    N = X.shape[0]
    if parallel:
        for c in prange(k):
            _linear_rows(X, center, spread, scale, v, N * c // k, N * (c + 1) // k, out)
    else:
        for c in range(k):
            _linear_rows(X, center, spread, scale, v, N * c // k, N * (c + 1) // k, out)
