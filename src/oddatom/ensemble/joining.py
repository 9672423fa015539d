"""From parts to one score: calibrate each, and join them by a weighted log-mean-exp."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

from oddatom.arrays.namespaces import largest, namespace
from oddatom.arrays.threads import split
from oddatom.arrays.twins import fastest, twin_of
from oddatom.ensemble.row_parts import RowParts

LIFT = 1e-3  # of the median, added before the logarithm
SHARPNESS = 1.4  # the larger, the more a part that stands out counts beside the others
LEAST_LIFT = 1e-9  # parts are in units of the noise: what is below is rounding
LEAST_SPREAD = 0.02  # of a logarithm: a part that hardly varies must not drown the others
NARROW = 0.25  # of the spread of the upper half: where values repeat, quartiles closer than that are those of one kind
_QUARTILES, _TENTH = 1.3489795003921634, 1.2815515655446004  # a normal distribution's q75 − q25 and q90 − q50


class Calibration(NamedTuple):
    """z = (log(v + lift) − center) / spread for every part: a robust z-score times SHARPNESS.

    Attributes
    ----------
    lift, center, spread : (M, p) for the members' parts and (q,) for those of the row alone, in one array (pM + q,)
    """

    lift: np.ndarray
    center: np.ndarray
    spread: np.ndarray


def fit_calibration(parts: RowParts) -> Calibration:
    """Fit to the parts of training rows; the order of the rows does not matter."""
    N = parts.rows.shape[0]
    values = np.concatenate([parts.members.reshape(N, -1).T, parts.rows.T])
    lift = LIFT * np.median(values, axis=1)
    for k in np.flatnonzero(lift <= 0.0):  # most rows are explained to the last digit
        some = np.sort(values[k, values[k] > 0.0])
        lift[k] = LIFT * some.mean() if some.size else 1.0
    lift = np.maximum(lift, LEAST_LIFT)
    logs = np.log(values + lift[:, None])
    low, center, high, far = np.quantile(logs, [0.25, 0.5, 0.75, 0.9], axis=1)
    spread = (high - low) / _QUARTILES
    tail = (far - center) / _TENTH
    for k in np.flatnonzero((spread <= LEAST_SPREAD) | (spread < NARROW * tail)):
        if spread[k] > LEAST_SPREAD and np.unique(values[k]).size > N // 2:
            continue
        widest = max(spread[k], tail[k], np.sort(logs[k]).std())
        spread[k] = max(widest, LEAST_SPREAD) if widest > LEAST_LIFT else 1.0  # 1 where all rows are alike
    return Calibration(lift, center, spread / SHARPNESS)


def z_scores(parts: RowParts, calibration: Calibration, members: slice = slice(None)) -> Any:
    """Return the calibrated parts of every row, (N, p + q), the members' averaged.

    Parameters
    ----------
    parts : RowParts
    calibration : Calibration
    members : slice
        Members to average over.
    """
    return fastest(z_formula, parts.rows)(parts, calibration, members)


def z_formula(parts: RowParts, calibration: Calibration, members: slice = slice(None)) -> Any:
    """z = (log(v + lift) − center) / spread, and its mean over the members."""
    found, first = [], calibration.lift.shape[0] - (0 if parts.rows is None else parts.rows.shape[1])
    if parts.members is not None:
        xp, p = namespace(parts.members), parts.members.shape[2]
        by_member = Calibration(*(xp.reshape(each[:first], (-1, p))[members, :] for each in calibration))
        found.append(xp.mean(_calibrated(parts.members[:, members, :], by_member), axis=1))
    if parts.rows is not None:
        xp = namespace(parts.rows)
        found.append(_calibrated(parts.rows, Calibration(*(each[first:] for each in calibration))))
    return xp.concat(found, axis=1)


def _calibrated(values: Any, calibration: Calibration) -> Any:
    return (namespace(values).log(values + calibration.lift) - calibration.center) / calibration.spread


@twin_of(z_formula)
def z_twin(parts: RowParts, calibration: Calibration, members: slice = slice(None)) -> np.ndarray:
    """Three quarters of the time of `z_formula` on one thread, and it has more."""
    N, M, n_parts = parts.members.shape
    out = np.empty((N, n_parts + parts.rows.shape[1]))
    lo, hi, _ = members.indices(M)
    values = (parts.members.reshape(N, M * n_parts), np.ascontiguousarray(parts.rows))
    split(N, 9.0 * (n_parts * (hi - lo) + 2)).run(_z_scores, values, calibration, lo, hi, out)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _z_rows(values, calibration, lo, hi, out, first, last_row):
    V, rows = values
    n_parts = out.shape[1] - rows.shape[1]
    lift, center, spread = calibration
    base = lift.size - rows.shape[1]
    for j in range(first, last_row):
        for p in range(n_parts):
            t = 0.0
            for b in range(lo, hi):
                k = b * n_parts + p
                t += (np.log(V[j, k] + lift[k]) - center[k]) / spread[k]
            out[j, p] = t / (hi - lo)
        for r in range(rows.shape[1]):
            k = base + r
            out[j, n_parts + r] = (np.log(rows[j, r] + lift[k]) - center[k]) / spread[k]


@njit(cache=True, nogil=True, parallel=True)
def _z_scores(values, calibration, lo, hi, out, k, parallel):
    N = out.shape[0]
    if parallel:
        for c in prange(k):
            _z_rows(values, calibration, lo, hi, out, N * c // k, N * (c + 1) // k)
    else:
        _z_rows(values, calibration, lo, hi, out, 0, N)


def join(Z: Any, weights: Any) -> Any:
    """Return log Σ_p weight_p exp(z_p) for every row: near the largest part where one stands out, their mean elsewhere.

    Parameters
    ----------
    Z : (N, n_parts)
    weights : (n_parts,)
    """
    return fastest(join_formula, Z)(Z, weights)


def join_formula(Z: Any, weights: Any) -> Any:
    """log Σ_p weight_p exp(z_p), from the largest z_p on."""
    xp = namespace(Z)
    top, sizes = join_terms(Z, weights)
    return xp.squeeze(top, axis=-1) + xp.log(xp.sum(sizes, axis=-1))


def join_terms(Z: Any, weights: Any) -> tuple[Any, Any]:
    """Return the largest z_p that counts, (N, 1), and weight_p exp(z_p) in units of its exponential, (N, n_parts)."""
    xp = namespace(Z)
    counted = xp.where(weights > 0.0, Z, xp.full_like(Z, -xp.inf))
    top = largest(counted)
    return top, weights * xp.exp(counted - top)


@twin_of(join_formula)
def join_twin(Z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Half the time of `join_formula`."""
    out = np.empty(Z.shape[0])
    _join(Z, weights, out)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _join(Z, weights, out):
    for j in range(Z.shape[0]):
        top = -np.inf
        for p in range(weights.size):
            if weights[p] > 0.0:
                top = max(top, Z[j, p])
        t = 0.0
        for p in range(weights.size):
            if weights[p] > 0.0:
                t += weights[p] * np.exp(Z[j, p] - top)
        out[j] = top + np.log(t)
