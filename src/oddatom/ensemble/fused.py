"""The built-in parts of a row under all members in one pass: numba twin of the functions in `ensemble/parts`."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from oddatom.arrays.threads import split
from oddatom.ensemble.histogram import Histogram, missing_nats
from oddatom.ensemble.packed import Packed
from oddatom.ensemble.trimmed import HIDDEN, ROUNDING
from oddatom.scaling.asinh import BEND, FARTHEST, TOP, AsinhScaling

BLOCK = 64  # rows computed side by side
STRAIGHT = 1e-8  # |z| below it is y to the last digit


def fused_parts(
    X: np.ndarray,
    scaling: AsinhScaling,
    histogram: Histogram,
    packed: Packed,
    members: np.ndarray,
    of_rows: np.ndarray,
    missing: np.ndarray,
) -> None:
    """Put the built-in parts of rows X (N×m) into the first columns of `members` (N, M, ·) and `of_rows`.

    These are four, a fifth where `packed` has groups and `members` room for it, and two. `missing` (N,) gets the share
    of cells that a row lacks, of the columns that members look at. What a row gets does not depend on the rows around
    it.
    """
    N, m = X.shape
    M, K, v = packed.centroids.shape
    n, q = packed.atoms.shape[1], packed.directions.shape[1]
    groups = np.zeros((0, 0))
    if packed.group_terms is not None and members.shape[2] > 4:
        groups = np.maximum(packed.group_terms.sum(axis=-1), 0.0)
    plan = split(N, M * (v * (K + n + q) / 6 + 60) + 25 * m, rows_per_chunk=BLOCK)
    plan.run(
        _rows,
        np.ascontiguousarray(X),
        scaling,
        (histogram.low, histogram.high, histogram.steps, histogram.cost, missing_nats(histogram)),
        packed._replace(group_terms=None),
        groups,
        np.empty((plan.k, 4 * v + 7, BLOCK)),
        np.empty((plan.k, BLOCK), np.int64),
        (members, of_rows, missing),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def scale_row(X, row, unit, center, spread, Y, S, absent, j):
    """Scale a row into column j of Y, and put √(z/y) into that of S; return ‖y‖² and the share of missing cells.

    Missing cells are marked in `absent`, unless all are missing: such a row is coded as that of the medians.
    """
    total = 0.0
    n_absent, n_used = 0, 0
    for f in range(unit.size):
        x = X[row, f]
        absent[f, j] = 0.0
        used = spread[f] < np.inf
        n_used += 1 if used else 0
        if np.isnan(x):
            Y[f, j] = 0.0
            S[f, j] = 1.0
            if used:
                absent[f, j] = 1.0
                n_absent += 1
            continue
        z = (x * unit[f] - center[f]) / spread[f] if used else 0.0
        a = BEND * min(abs(z), TOP)
        y = np.copysign(np.log(a + np.sqrt(a * a + 1.0)) / BEND, z)  # asinh to an absolute 1e-16, thrice as fast
        Y[f, j] = y
        S[f, j] = np.sqrt(min(abs(z), FARTHEST) / abs(y)) if abs(z) > STRAIGHT else 1.0
        total += y * y
    if n_absent == n_used:
        for f in range(unit.size):
            absent[f, j] = 0.0
    return total, n_absent / n_used if n_absent > 0 else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _rarity(X, row, unit, low, high, steps, cost, missing):
    last = cost.shape[1] - 1
    total = 0.0
    for f in range(X.shape[1]):
        u = X[row, f] * unit[f]
        if np.isnan(u):
            total += missing[f]
            continue
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
def deviations(Y, C, half, W, acc, best, chosen, absent, some_missing):
    """Put y − c of the nearest centroid c into W, 0 where that is rounding or a cell is missing."""
    for j in range(BLOCK):
        best[j] = -np.inf
        chosen[j] = 0
    for k in range(C.shape[0]):
        for j in range(BLOCK):
            acc[j] = -half[k]
        _product(C, k, Y, acc)
        if some_missing:
            for f in range(C.shape[1]):
                a = 0.5 * C[k, f] * C[k, f]
                for j in range(BLOCK):
                    acc[j] += a * absent[f, j]
        for j in range(BLOCK):
            if acc[j] > best[j]:
                best[j] = acc[j]
                chosen[j] = k
    for f in range(C.shape[1]):
        for j in range(BLOCK):
            w = Y[f, j] - C[chosen[j], f]
            W[f, j] = w if abs(w) > ROUNDING * (1.0 + abs(Y[f, j])) and absent[f, j] == 0.0 else 0.0


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
def gains(W, D, acc, best, chosen, c, absent, square, some_missing):
    """Choose the atom that takes most of every row; put its gain into c, and what it takes into W's missing cells."""
    for j in range(BLOCK):
        best[j] = -1.0
        chosen[j] = 0
    for i in range(D.shape[0]):
        for j in range(BLOCK):
            acc[j] = 0.0
        _product(D, i, W, acc)
        if not some_missing:
            for j in range(BLOCK):
                a = abs(acc[j])
                if a > best[j]:
                    best[j] = a
                    chosen[j] = i
                    c[j] = acc[j]
            continue
        for j in range(BLOCK):
            square[j] = 1.0
        for f in range(D.shape[1]):
            a = (1.0 - HIDDEN) * D[i, f] * D[i, f]
            for j in range(BLOCK):
                square[j] -= a * absent[f, j]
        for j in range(BLOCK):
            a = abs(acc[j]) / np.sqrt(square[j])
            if a > best[j]:
                best[j] = a
                chosen[j] = i
                c[j] = acc[j] / square[j]
    if some_missing:
        for f in range(D.shape[1]):
            for j in range(BLOCK):
                if absent[f, j] > 0.0:
                    W[f, j] = c[j] * D[chosen[j], f]


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


@njit(cache=True, nogil=True, error_model="numpy")
def _some_rows(X, scaling, histogram, packed, groups, scratch, chosen, out, lo, hi):
    members, of_rows, missing = out
    unit, center, spread = scaling
    low, high, steps, costs, missing_costs = histogram
    v = unit.size
    Y, W, S, absent = scratch[:v], scratch[v : 2 * v], scratch[2 * v : 3 * v], scratch[3 * v : 4 * v]
    # One by one: numba takes arrays that were unpacked for strided ones.
    acc, best, distance = scratch[4 * v], scratch[4 * v + 1], scratch[4 * v + 2]
    c, residual, largest, square = scratch[4 * v + 3], scratch[4 * v + 4], scratch[4 * v + 5], scratch[4 * v + 6]
    for start in range(lo, hi, BLOCK):
        size = min(BLOCK, hi - start)
        some_missing = False
        for j in range(BLOCK):
            row = start + min(j, size - 1)
            of_rows[row, 0] = _rarity(X, row, unit, low, high, steps, costs, missing_costs)
            of_rows[row, 1], missing[row] = scale_row(X, row, unit, center, spread, Y, S, absent, j)
            some_missing |= missing[row] > 0.0
        for b in range(members.shape[1]):
            deviations(Y, packed.centroids[b], packed.half_norms[b], W, acc, best, chosen, absent, some_missing)
            if groups.size > 0:
                for j in range(size):
                    members[start + j, b, 4] = groups[b, chosen[j]]
            gains(W, packed.atoms[b], acc, best, chosen, c, absent, square, some_missing)
            _distances(W, packed.directions[b], packed.direction_gain[b], packed.rest_precision[b], acc, distance)
            _residuals(W, S, packed.atoms[b], packed.feature_precision[b], chosen, c, residual, largest)
            cost, gain_precision, precision = packed.cost[b], packed.gain_precision[b], packed.precision[b]
            for j in range(size):
                i = chosen[j]
                members[start + j, b, 0] = cost[i] + c[j] * c[j] * gain_precision[i] + residual[j] * precision
                members[start + j, b, 1] = max(distance[j], 0.0)
                members[start + j, b, 2] = largest[j]
                members[start + j, b, 3] = residual[j]


@njit(cache=True, nogil=True, parallel=True)
def _rows(X, scaling, histogram, packed, groups, scratch, chosen, out, k, parallel):
    N = X.shape[0]
    if parallel:
        for c in prange(k):
            _some_rows(X, scaling, histogram, packed, groups, scratch[c], chosen[c], out, N * c // k, N * (c + 1) // k)
    else:
        for c in range(k):
            _some_rows(X, scaling, histogram, packed, groups, scratch[c], chosen[c], out, N * c // k, N * (c + 1) // k)
