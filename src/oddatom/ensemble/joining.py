"""From parts to one score: calibrate each, weigh it by its agreement with the others, and join by log-mean-exp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit, prange

from oddatom.arrays.threads import split
from oddatom.ensemble.parts import MEMBER_PARTS, RowParts

PARTS = (*MEMBER_PARTS, "histogram", "norm")
JOINED = ("description_length", "distance", "max_residual", "histogram", "norm")  # residual: see description_length
LIFT = 1e-3  # of the median, added before the logarithm
LEAST_AGREEMENT = 0.01
LEAST_LIFT = 1e-9  # parts are in units of the noise: what is below is rounding
LEAST_SPREAD = 0.02  # of a logarithm: a part that hardly varies must not drown the others
NARROW = 0.25  # of the spread of the upper half: where values repeat, quartiles closer than that are those of one kind
_QUARTILES, _TENTH = 1.3489795003921634, 1.2815515655446004  # a normal distribution's q75 − q25 and q90 − q50


class Calibration(NamedTuple):
    """z = (log(v + lift) − center) / spread, a robust z-score, for every part.

    Attributes
    ----------
    lift, center, spread : (M, 4) for the members' parts and (2,) for histogram and magnitude, in one array (4M + 2,)
    """

    lift: np.ndarray
    center: np.ndarray
    spread: np.ndarray


def fit_calibration(parts: RowParts) -> Calibration:
    """Fit to the parts of training rows; the order of the rows does not matter."""
    N = parts.rarity.size
    values = np.concatenate([parts.members.reshape(N, -1).T, parts.rarity[None], parts.magnitude[None]])
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
    return Calibration(lift, center, spread)


def z_scores(parts: RowParts, calibration: Calibration, members: slice = slice(None)) -> np.ndarray:
    """Return the calibrated parts of every row, (N, 6) in the order of PARTS, the members' averaged.

    Parameters
    ----------
    parts : RowParts
    calibration : Calibration
    members : slice
        Members to average over.
    """
    N, M, n_parts = parts.members.shape
    out = np.empty((N, len(PARTS)))
    lo, hi, _ = members.indices(M)
    values = (parts.members.reshape(N, M * n_parts), parts.rarity, parts.magnitude)
    split(N, 9.0 * (n_parts * (hi - lo) + 2)).run(_z_scores, values, calibration, lo, hi, out)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _z_rows(values, calibration, lo, hi, out, first, last_row):
    V, rarity, magnitude = values
    n_parts = out.shape[1] - 2
    lift, center, spread = calibration
    last = lift.size - 2
    for j in range(first, last_row):
        for p in range(n_parts):
            t = 0.0
            for b in range(lo, hi):
                k = b * n_parts + p
                t += (np.log(V[j, k] + lift[k]) - center[k]) / spread[k]
            out[j, p] = t / (hi - lo)
        out[j, n_parts] = (np.log(rarity[j] + lift[last]) - center[last]) / spread[last]
        out[j, n_parts + 1] = (np.log(magnitude[j] + lift[last + 1]) - center[last + 1]) / spread[last + 1]


@njit(cache=True, nogil=True, parallel=True)
def _z_scores(values, calibration, lo, hi, out, k, parallel):
    N = out.shape[0]
    if parallel:
        for c in prange(k):
            _z_rows(values, calibration, lo, hi, out, N * c // k, N * (c + 1) // k)
    else:
        _z_rows(values, calibration, lo, hi, out, 0, N)


def agreement_weights(Z: np.ndarray, power: float, names: Sequence[str] = JOINED) -> np.ndarray:
    """Return a weight for each of PARTS, summing to 1: (mean correlation with the other parts)^power; 0 if not joined.

    A part that ranks rows unlike all others is more likely wrong than they are.

    Parameters
    ----------
    Z : (N, 6)
        Calibrated parts of training rows.
    power : float
        0 weighs all alike.
    names : sequence of str
        Parts to join, at least two.
    """
    joined = np.array([PARTS.index(name) for name in names])
    centred = Z[:, joined] - Z[:, joined].mean(axis=0)
    norms = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    unit = centred / np.where(norms > 0.0, norms, 1.0)
    agreement = ((unit.T @ unit).sum(axis=1) - (norms > 0.0)) / (joined.size - 1)
    weights = np.zeros(len(PARTS))
    agreement = np.maximum(agreement, LEAST_AGREEMENT)
    weights[joined] = (agreement / agreement.max()) ** power  # in units of the largest, which no power makes 0
    return weights / weights.sum()


def join(Z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return log Σ_p weight_p exp(z_p) for every row: near the largest part where one stands out, their mean elsewhere.

    Parameters
    ----------
    Z : (N, 6)
    weights : (6,)
    """
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
