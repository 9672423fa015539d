"""From parts to one score: calibrate each, and join them by a weighted log-mean-exp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

from oddatom.arrays.namespaces import largest, namespace
from oddatom.arrays.threads import split
from oddatom.arrays.twins import fastest, twin_of
from oddatom.ensemble.parts import PARTS
from oddatom.ensemble.row_parts import RowParts, split_names

LIFT = 1e-3  # of the median, added before the logarithm
SHARPNESS = 1.4  # the larger, the more a part that stands out counts beside the others
LEAST_LIFT = 1e-9  # parts are in units of the noise: what is below is rounding
LEAST_SPREAD = 0.02  # of a logarithm: a part that hardly varies must not drown the others
NARROW = 0.25  # of the spread of the upper half: where values repeat, quartiles closer than that are those of one kind
SHARES, MEDIAN = (0.25, 0.5, 0.75, 0.9), 1  # quantiles of the logarithms, and which of them is the median
_QUARTILES, _TENTH = 1.3489795003921634, 1.2815515655446004  # a normal distribution's q75 − q25 and q90 − q50


class Calibration(NamedTuple):
    """z = (log(v + lift) − center) / spread for every part: a robust z-score times SHARPNESS.

    A row with missing cells gets v + missing · fill: a missing cell adds what a cell adds on the median, so that it
    makes the row neither odd nor normal.

    Attributes
    ----------
    lift, center, spread : (M, p) for the members' parts and (q,) for those of the row alone, in one array (pM + q,)
    fill : (pM + q,)
        What a whole row has on the median; 0 for parts that do not lack the missing cells. None: all are 0.
    """

    lift: np.ndarray
    center: np.ndarray
    spread: np.ndarray
    fill: np.ndarray | None = None

    def map(self, function: Callable[[Any], Any]) -> Calibration:
        """Return the calibration with a function of every array."""
        fill = None if self.fill is None else function(self.fill)
        return Calibration(function(self.lift), function(self.center), function(self.spread), fill)


def fit_calibration(parts: RowParts, names: Sequence[str] = ()) -> Calibration:
    """Fit to the parts of training rows; the order of the rows does not matter.

    Parameters
    ----------
    parts : RowParts
    names : sequence of str, optional
        Of the parts, by which missing cells are filled up and spreads have a least value.
    """
    N = parts.rows.shape[0]
    values = np.concatenate([parts.members.reshape(N, -1).T, parts.rows.T])
    of_members, of_rows = split_names(names)
    order = [PARTS[name] for name in (*of_members * parts.members.shape[1], *of_rows)]
    least = np.array([part.least_spread for part in order] or 0.0)
    by_cell = np.array([part.by_cell for part in order] or np.zeros(values.shape[0], bool))
    if parts.missing is not None and parts.missing.any():
        whole = 1.0 / np.maximum(1.0 - parts.missing, 1e-3)  # as if the cells that are there were all
        values = np.where(by_cell[:, None], values * whole, values)
    places, between = _places(N)
    ordered = np.partition(values, np.unique(places), axis=1)[:, places]  # logarithms do not change the order
    median = ordered[:, MEDIAN, 0] + between[MEDIAN] * (ordered[:, MEDIAN, 1] - ordered[:, MEDIAN, 0])
    lift = LIFT * median
    for k in np.flatnonzero(lift <= 0.0):  # most rows are explained to the last digit
        some = np.sort(values[k, values[k] > 0.0])
        lift[k] = LIFT * some.mean() if some.size else 1.0
    lift = np.maximum(lift, LEAST_LIFT)
    logs = np.log(ordered + lift[:, None, None])
    low, center, high, far = (logs[..., 0] + between * (logs[..., 1] - logs[..., 0])).T
    spread = (high - low) / _QUARTILES
    tail = (far - center) / _TENTH
    for k in np.flatnonzero((spread <= LEAST_SPREAD) | (spread < NARROW * tail)):
        if spread[k] > LEAST_SPREAD and np.unique(values[k]).size > N // 2:
            continue
        widest = max(spread[k], tail[k], np.sort(np.log(values[k] + lift[k])).std())
        spread[k] = max(widest, LEAST_SPREAD) if widest > LEAST_LIFT else 1.0  # 1 where all rows are alike
    noise = np.array([part.least_noise for part in order] or 0.0) / np.sqrt(np.maximum(median, 1.0))
    return Calibration(
        lift, center, np.maximum(spread, np.maximum(least, noise)) / SHARPNESS, np.where(by_cell, median, 0.0)
    )


def _places(N: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which of N sorted values the quantiles of a calibration lie between, (4, 2), and how far, (4,)."""
    exact = np.array(SHARES) * (N - 1)
    first = exact.astype(np.int64)
    return np.column_stack([first, np.minimum(first + 1, N - 1)]), exact - first


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
    """z = (log(v + missing · fill + lift) − center) / spread, and its mean over the members."""
    found, first = [], calibration.lift.shape[0] - (0 if parts.rows is None else parts.rows.shape[1])
    if parts.members is not None:
        xp, p = namespace(parts.members), parts.members.shape[2]
        by_member = calibration.map(lambda each: xp.reshape(each[:first], (-1, p))[members, :])
        found.append(xp.mean(_calibrated(parts.members[:, members, :], by_member, parts.missing), axis=1))
    if parts.rows is not None:
        xp = namespace(parts.rows)
        found.append(_calibrated(parts.rows, calibration.map(lambda each: each[first:]), parts.missing))
    return xp.concat(found, axis=1)


def _calibrated(values: Any, calibration: Calibration, missing: Any) -> Any:
    xp = namespace(values)
    if missing is not None and calibration.fill is not None:
        values = values + xp.reshape(missing, (-1, *(1 for _ in values.shape[1:]))) * calibration.fill
    return (xp.log(values + calibration.lift) - calibration.center) / calibration.spread


@twin_of(z_formula)
def z_twin(parts: RowParts, calibration: Calibration, members: slice = slice(None)) -> np.ndarray:
    """Three quarters of the time of `z_formula` on one thread, and it has more."""
    N, M, n_parts = parts.members.shape
    out = np.empty((N, n_parts + parts.rows.shape[1]))
    lo, hi, _ = members.indices(M)
    missing = np.zeros(N) if parts.missing is None else parts.missing
    values = (parts.members.reshape(N, M * n_parts), np.ascontiguousarray(parts.rows), missing)
    if calibration.fill is None:
        calibration = calibration._replace(fill=np.zeros(calibration.lift.size))
    split(N, 9.0 * (n_parts * (hi - lo) + 2)).run(_z_scores, values, calibration, lo, hi, out)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _z_rows(values, calibration, lo, hi, out, first, last_row):
    V, rows, missing = values
    n_parts = out.shape[1] - rows.shape[1]
    lift, center, spread, fill = calibration
    base = lift.size - rows.shape[1]
    for j in range(first, last_row):
        for p in range(n_parts):
            t = 0.0
            for b in range(lo, hi):
                k = b * n_parts + p
                t += (np.log(V[j, k] + missing[j] * fill[k] + lift[k]) - center[k]) / spread[k]
            out[j, p] = t / (hi - lo)
        for r in range(rows.shape[1]):
            k = base + r
            out[j, n_parts + r] = (np.log(rows[j, r] + missing[j] * fill[k] + lift[k]) - center[k]) / spread[k]


@njit(cache=True, nogil=True, parallel=True)
def _z_scores(values, calibration, lo, hi, out, k, parallel):
    N = out.shape[0]
    if parallel:
        for c in prange(k):
            _z_rows(values, calibration, lo, hi, out, N * c // k, N * (c + 1) // k)
    else:
        for c in range(k):
            _z_rows(values, calibration, lo, hi, out, N * c // k, N * (c + 1) // k)


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
