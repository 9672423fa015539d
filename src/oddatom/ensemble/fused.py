"""The built-in parts of a row under all members in one pass: numba twin of the functions in `ensemble/parts`."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from oddatom.arrays.threads import split
from oddatom.ensemble.histogram import Histogram
from oddatom.ensemble.packed import Packed
from oddatom.ensemble.trimmed import ROUNDING
from oddatom.scaling.asinh import BEND, FARTHEST, TOP, AsinhScaling

BLOCK = 64  # rows computed side by side


def fused_parts(
    X: np.ndarray,
    scaling: AsinhScaling,
    histogram: Histogram,
    packed: Packed,
    members: np.ndarray,
    of_rows: np.ndarray,
) -> None:
    """Put the built-in parts of rows X (N×m) into the first four and two columns of `members` (N, M, ·) and `of_rows`.

    Those of a row do not depend on the rows around it.
    """
    N, m = X.shape
    M, K, v = packed.centroids.shape
    n, q = packed.atoms.shape[1], packed.directions.shape[1]
    plan = split(N, M * (v * (K + n + q) / 6 + 60) + 25 * m, rows_per_chunk=BLOCK)
    plan.run(
        _rows,
        np.ascontiguousarray(X),
        scaling,
        (histogram.low, histogram.high, histogram.steps, histogram.cost),
        packed,
        np.empty((plan.k, 3 * v + 6, BLOCK)),
        np.empty((plan.k, BLOCK), np.int64),
        (members, of_rows),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def scale_row(X, row, unit, center, spread, Y, S, j):
    """Scale a row into column j of Y, and put √(z/y) into that of S; return ‖y‖²."""
    total = 0.0
    for f in range(unit.size):
        z = (X[row, f] * unit[f] - center[f]) / spread[f] if spread[f] < np.inf else 0.0
        a = BEND * min(abs(z), TOP)
        y = np.copysign(np.log(a + np.sqrt(a * a + 1.0)) / BEND, z)  # asinh to an absolute 1e-16, thrice as fast
        Y[f, j] = y
        S[f, j] = np.sqrt(min(abs(z), FARTHEST) / abs(y)) if y != 0.0 else 1.0
        total += y * y
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _rarity(X, row, unit, low, high, steps, cost):
    last = cost.shape[1] - 1
    total = 0.0
    for f in range(X.shape[1]):
        u = X[row, f] * unit[f]
        if u < low[f]:
            b = 0
        elif u > high[f]:
            b = last
        else:
            b = 1 + min(int((u - low[f]) * steps[f]), last - 2)
        total += cost[f, b]
    return total


# Rows of a block are lanes: every loop runs over all of them, so that vectors hold different rows, and a row's sums
# run over its features in order. A last block is filled up: its rows are computed as any others.


@njit(inline="always")
def _product(T, i, Y, acc):
    """Add t_i·y_j to acc_j for the rows y_j of a block, the columns of Y: four features at a time, in order."""
    m = T.shape[1]
    fours = m - m % 4
    for f in range(0, fours, 4):
        a, b, c, d = T[i, f], T[i, f + 1], T[i, f + 2], T[i, f + 3]
        for j in range(BLOCK):
            acc[j] = acc[j] + a * Y[f, j] + b * Y[f + 1, j] + c * Y[f + 2, j] + d * Y[f + 3, j]
    for f in range(fours, m):
        a = T[i, f]
        for j in range(BLOCK):
            acc[j] += a * Y[f, j]


@njit(cache=True, nogil=True, fastmath={"contract", "nsz", "nnan"})
def deviations(Y, C, half, W, acc, best, chosen):
    """Put y − c of the nearest centroid c into W, 0 where that is rounding."""
    for j in range(BLOCK):
        best[j] = -np.inf
        chosen[j] = 0
    for k in range(C.shape[0]):
        for j in range(BLOCK):
            acc[j] = -half[k]
        _product(C, k, Y, acc)
        for j in range(BLOCK):
            if acc[j] > best[j]:
                best[j] = acc[j]
                chosen[j] = k
    for f in range(C.shape[1]):
        for j in range(BLOCK):
            w = Y[f, j] - C[chosen[j], f]
            W[f, j] = w if abs(w) > ROUNDING * (1.0 + abs(Y[f, j])) else 0.0


@njit(cache=True, nogil=True, fastmath={"contract", "nsz", "nnan"})
def _distances(W, V, gain, rest, acc, distance):
    """Put ‖w‖²/σ² + Σ_k (1/λ_k − 1/σ²)(v_k·w)² into distance."""
    for j in range(BLOCK):
        distance[j] = 0.0
    for f in range(W.shape[0]):
        for j in range(BLOCK):
            distance[j] += W[f, j] * W[f, j]
    for j in range(BLOCK):
        distance[j] *= rest
    for k in range(V.shape[0]):
        for j in range(BLOCK):
            acc[j] = 0.0
        _product(V, k, W, acc)
        for j in range(BLOCK):
            distance[j] += gain[k] * acc[j] * acc[j]


@njit(cache=True, nogil=True, fastmath={"contract", "nsz", "nnan"})
def gains(W, D, acc, best, chosen, c):
    """Choose the atom with the largest |d·w| for every row; put d·w into c."""
    for j in range(BLOCK):
        best[j] = -1.0
        chosen[j] = 0
    for i in range(D.shape[0]):
        for j in range(BLOCK):
            acc[j] = 0.0
        _product(D, i, W, acc)
        for j in range(BLOCK):
            a = abs(acc[j])
            if a > best[j]:
                best[j] = a
                chosen[j] = i
                c[j] = acc[j]


@njit(cache=True, nogil=True, fastmath={"contract", "nsz", "nnan"})
def _residuals(W, S, D, precision, chosen, c, residual, largest):
    """Put ‖e‖² and max_f (s_f e_f)²/noise_f of e = w − c d into residual and largest."""
    for j in range(BLOCK):
        residual[j] = 0.0
        largest[j] = 0.0
    for f in range(W.shape[0]):
        for j in range(BLOCK):
            e = W[f, j] - c[j] * D[chosen[j], f]
            residual[j] += e * e
            e *= S[f, j]
            largest[j] = max(largest[j], e * e * precision[f])


@njit(cache=True, nogil=True)
def _some_rows(X, scaling, histogram, packed, scratch, chosen, out, lo, hi):
    members, of_rows = out
    unit, center, spread = scaling
    low, high, steps, costs = histogram
    v = unit.size
    Y, W, S = scratch[:v], scratch[v : 2 * v], scratch[2 * v : 3 * v]
    # One by one: numba takes arrays that were unpacked for strided ones.
    acc, best, distance = scratch[3 * v], scratch[3 * v + 1], scratch[3 * v + 2]
    c, residual, largest = scratch[3 * v + 3], scratch[3 * v + 4], scratch[3 * v + 5]
    for start in range(lo, hi, BLOCK):
        size = min(BLOCK, hi - start)
        for j in range(BLOCK):
            row = start + min(j, size - 1)
            of_rows[row, 0] = _rarity(X, row, unit, low, high, steps, costs)
            of_rows[row, 1] = scale_row(X, row, unit, center, spread, Y, S, j)
        for b in range(members.shape[1]):
            deviations(Y, packed.centroids[b], packed.half_norms[b], W, acc, best, chosen)
            _distances(W, packed.directions[b], packed.direction_gain[b], packed.rest_precision[b], acc, distance)
            gains(W, packed.atoms[b], acc, best, chosen, c)
            _residuals(W, S, packed.atoms[b], packed.feature_precision[b], chosen, c, residual, largest)
            cost, gain_precision, precision = packed.cost[b], packed.gain_precision[b], packed.precision[b]
            for j in range(size):
                i = chosen[j]
                members[start + j, b, 0] = cost[i] + c[j] * c[j] * gain_precision[i] + residual[j] * precision
                members[start + j, b, 1] = max(distance[j], 0.0)
                members[start + j, b, 2] = largest[j]
                members[start + j, b, 3] = residual[j]


@njit(cache=True, nogil=True, parallel=True)
def _rows(X, scaling, histogram, packed, scratch, chosen, out, k, parallel):
    N = X.shape[0]
    if parallel:
        for c in prange(k):
            _some_rows(X, scaling, histogram, packed, scratch[c], chosen[c], out, N * c // k, N * (c + 1) // k)
    else:
        _some_rows(X, scaling, histogram, packed, scratch[0], chosen[0], out, 0, N)
