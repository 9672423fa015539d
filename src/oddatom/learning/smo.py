"""Sequential minimal optimisation for the linear one-class SVM, step for step as libsvm walks it.

    min ½ αᵀQα,  0 ≤ α ≤ 1,  Σα = νN,  Q_jk = x_j·x_k rounded to float32

An exact solver does not care for the path. This one exists for figures that were made by stopping libsvm early: which
rows it visits first, how they are shrunk away and put back, and where it is after so many steps. Codes have a few
non-zeros a row, so a row of Q costs N·s products here. The method: Fan, Chen and Lin, "Working set selection using
second order information", 2005.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LEAST = 1e-12  # curvature of a pair that has none
BLOCK = 1024  # rows that stay in the nearest cache
EVERY = 1000  # steps between two shrinkings
FREE, LOWER, UPPER = 0, 1, 2


def walk(
    index: np.ndarray, value: np.ndarray, n: int, nu: float, tol: float, max_iter: int
) -> tuple[np.ndarray, float, int]:
    """Return the multipliers α, the offset ρ and the number of steps.

    Parameters
    ----------
    index, value : (N, s) int32 and float64
        Codes; slots not in use have value 0.
    n : int
        Atoms.
    nu, tol : float
    max_iter : int
        Steps to stop after.
    """
    return _walk(index.copy(), value.copy(), n, nu, tol, max_iter)


@njit(cache=True, nogil=True)
def _row(index, value, columns, i, start, stop, total, out):
    """out[k] = x_i·x_k as libsvm keeps it, for k from start to stop: a sum of the columns that x_i uses."""
    first = start
    while first < stop:
        last = min(first + BLOCK, stop)
        n, part = last - first, out[first:last]
        for k in range(n):
            total[k] = 0.0
        for p in range(index.shape[1]):
            x = value[i, p]
            if x != 0.0:
                column = columns[index[i, p], first:last]
                for k in range(n):
                    total[k] += x * column[k]
        for k in range(n):
            part[k] = np.float32(total[k])
        first = last


@njit(cache=True, nogil=True)
def _status(a):
    return UPPER if a >= 1.0 else LOWER if a <= 0.0 else FREE


@njit(cache=True, nogil=True)
def _select(G, status, diagonal, index, value, columns, total, row, size, tol):
    """Return the pair that lowers the objective most, (−1, −1) at the optimum; `row` is left with Q of the first."""
    largest, i = -np.inf, -1
    for t in range(size):
        if status[t] != UPPER and -G[t] >= largest:
            largest, i = -G[t], t
    second, best, j = -np.inf, np.inf, -1
    if i >= 0:
        _row(index, value, columns, i, 0, size, total, row)
        for t in range(size):
            if status[t] != LOWER:
                difference = largest + G[t]
                second = max(second, G[t])
                if difference > 0.0:
                    curvature = diagonal[i] + diagonal[t] - 2.0 * row[t]
                    gain = -(difference * difference) / (curvature if curvature > 0.0 else LEAST)
                    if gain <= best:
                        best, j = gain, t
    if largest + second < tol or j < 0:
        return -1, -1
    return i, j


@njit(cache=True, nogil=True)
def _shrinkable(t, G, status, up, low):
    if status[t] == UPPER:
        return -G[t] > up
    if status[t] == LOWER:
        return G[t] > low
    return False


@njit(cache=True, nogil=True)
def _rebuild(G, G_bar, alpha, status, index, value, columns, total, row, size):
    """Bring the gradient of the rows that were shrunk away up to date."""
    N = G.size
    if size == N:
        return
    n_free = 0
    for t in range(size, N):
        G[t] = G_bar[t]
    for t in range(size):
        n_free += status[t] == FREE
    if n_free * N > 2 * size * (N - size):
        for t in range(size, N):
            _row(index, value, columns, t, 0, size, total, row)
            for k in range(size):
                if status[k] == FREE:
                    G[t] += alpha[k] * row[k]
    else:
        for t in range(size):
            if status[t] == FREE:
                _row(index, value, columns, t, size, N, total, row)
                for k in range(size, N):
                    G[k] += alpha[t] * row[k]


@njit(cache=True, nogil=True)
def _swap(a, b, index, value, columns, alpha, G, G_bar, status, diagonal, place):
    for p in range(index.shape[1]):
        index[a, p], index[b, p] = index[b, p], index[a, p]
        value[a, p], value[b, p] = value[b, p], value[a, p]
    for c in range(columns.shape[0]):
        columns[c, a], columns[c, b] = columns[c, b], columns[c, a]
    alpha[a], alpha[b] = alpha[b], alpha[a]
    G[a], G[b] = G[b], G[a]
    G_bar[a], G_bar[b] = G_bar[b], G_bar[a]
    status[a], status[b] = status[b], status[a]
    diagonal[a], diagonal[b] = diagonal[b], diagonal[a]
    place[a], place[b] = place[b], place[a]


@njit(cache=True, nogil=True)
def _walk(index, value, n, nu, tol, max_iter):
    N, s = index.shape
    alpha, G, G_bar, diagonal = np.zeros(N), np.zeros(N), np.zeros(N), np.zeros(N)
    status, place, total, columns = np.empty(N, np.int8), np.arange(N), np.zeros(BLOCK), np.zeros((n, N))
    row_i, row_j = np.zeros(N, np.float32), np.zeros(N, np.float32)
    left = 0.0
    for t in range(N):
        left += nu
        for p in range(s):
            diagonal[t] += value[t, p] * value[t, p]
            columns[index[t, p], t] += value[t, p]
    for t in range(N):  # the first rows start at their bound: the order of the rows matters
        alpha[t] = max(min(1.0, left), 0.0)
        left -= alpha[t]
        status[t] = _status(alpha[t])
    for t in range(N):
        if status[t] != LOWER:
            _row(index, value, columns, t, 0, N, total, row_i)
            for k in range(N):
                G[k] += alpha[t] * row_i[k]
            if status[t] == UPPER:
                for k in range(N):
                    G_bar[k] += row_i[k]
    size, step, unshrunk, countdown = N, 0, False, min(N, EVERY) + 1
    while step < max_iter:
        countdown -= 1
        if countdown == 0:
            countdown = min(N, EVERY)
            up, low = -np.inf, -np.inf
            for t in range(size):
                if status[t] != UPPER:
                    up = max(up, -G[t])
                if status[t] != LOWER:
                    low = max(low, G[t])
            if not unshrunk and up + low <= 10.0 * tol:
                unshrunk = True
                _rebuild(G, G_bar, alpha, status, index, value, columns, total, row_i, size)
                size = N
            t = 0
            while t < size:
                if _shrinkable(t, G, status, up, low):
                    size -= 1
                    while size > t:
                        if not _shrinkable(size, G, status, up, low):
                            _swap(t, size, index, value, columns, alpha, G, G_bar, status, diagonal, place)
                            break
                        size -= 1
                t += 1
        i, j = _select(G, status, diagonal, index, value, columns, total, row_i, size, tol)
        if i < 0:
            _rebuild(G, G_bar, alpha, status, index, value, columns, total, row_i, size)
            size = N
            i, j = _select(G, status, diagonal, index, value, columns, total, row_i, size, tol)
            if i < 0:
                break
            countdown = 1
        step += 1
        _row(index, value, columns, j, 0, size, total, row_j)
        curvature = diagonal[i] + diagonal[j] - 2.0 * row_i[j]
        old_i, old_j = alpha[i], alpha[j]
        change = (G[i] - G[j]) / (curvature if curvature > 0.0 else LEAST)
        both = old_i + old_j
        a, b = old_i - change, old_j + change
        if both > 1.0:
            if a > 1.0:
                a, b = 1.0, both - 1.0
        elif b < 0.0:
            a, b = both, 0.0
        if both > 1.0:
            if b > 1.0:
                a, b = both - 1.0, 1.0
        elif a < 0.0:
            a, b = 0.0, both
        alpha[i], alpha[j] = a, b
        move_i, move_j = a - old_i, b - old_j
        for k in range(size):
            G[k] += row_i[k] * move_i + row_j[k] * move_j
        was_i, was_j = status[i] == UPPER, status[j] == UPPER
        status[i], status[j] = _status(a), _status(b)
        if was_i != (status[i] == UPPER):
            _row(index, value, columns, i, 0, N, total, row_i)
            sign = -1.0 if was_i else 1.0
            for k in range(N):
                G_bar[k] += sign * row_i[k]
        if was_j != (status[j] == UPPER):
            _row(index, value, columns, j, 0, N, total, row_j)
            sign = -1.0 if was_j else 1.0
            for k in range(N):
                G_bar[k] += sign * row_j[k]
    n_free, of_free, above, below = 0, 0.0, np.inf, -np.inf
    for t in range(size):
        if status[t] == UPPER:
            below = max(below, G[t])
        elif status[t] == LOWER:
            above = min(above, G[t])
        else:
            n_free += 1
            of_free += G[t]
    out = np.empty(N)
    for t in range(N):
        out[place[t]] = alpha[t]
    if n_free == 0:  # ρ is anywhere between; with every α at one bound, libsvm has none
        n_free, of_free = 1, below if above == np.inf else above if below == -np.inf else 0.5 * (above + below)
    return out, of_free / n_free, step
