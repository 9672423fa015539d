"""Sequential minimal optimisation for the linear one-class SVM, step for step as libsvm walks it.

    min ½ αᵀQα,  0 ≤ α ≤ 1,  Σα = νN,  Q_jk = x_j·x_k rounded to float32

An exact solver does not care for the path. This one exists for figures that were made by stopping libsvm early: which
rows it visits first, how they are shrunk away and put back, and where it is after so many steps. Codes have a few
non-zeros a row, so a row of Q costs N·s products here, and is never kept: a step goes over all rows once, a block at a
time. The method: Fan, Chen and Lin, "Working set selection using second order information", 2005.
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
    N, s = index.shape
    slots, values = np.zeros((N, s + -s % 4), np.int32), np.zeros((N, s + -s % 4))
    slots[:, :s], values[:, :s] = index, value
    return _walk(slots, values, n, nu, tol, max_iter)


@njit(cache=True, nogil=True)
def _row(index, value, columns, i, first, last, out):
    """out[k] = x_i·x_k as libsvm keeps it, for a block of rows: a sum of the columns that x_i uses, four at a time."""
    n = last - first
    out[:n] = 0.0
    for p in range(0, index.shape[1], 4):
        a, b = columns[index[i, p], first:last], columns[index[i, p + 1], first:last]
        c, d = columns[index[i, p + 2], first:last], columns[index[i, p + 3], first:last]
        x, y, z, w = value[i, p], value[i, p + 1], value[i, p + 2], value[i, p + 3]
        for k in range(n):
            out[k] = out[k] + x * a[k] + y * b[k] + z * c[k] + w * d[k]
    for k in range(n):
        out[k] = np.float32(out[k])


@njit(cache=True, nogil=True)
def _status(a):
    return UPPER if a >= 1.0 else LOWER if a <= 0.0 else FREE


@njit(cache=True, nogil=True)
def _begin(index, value, columns, alpha, G, G_bar, row):
    """Set the gradient, and its part of the rows at their upper bound: the first ones, and after them one at most."""
    N, n_upper = G.size, 0
    while n_upper < N and alpha[n_upper] >= 1.0:
        n_upper += 1
    for first in range(0, N, BLOCK):
        last = min(first + BLOCK, N)
        part = G[first:last]
        for t in range(n_upper):
            _row(index, value, columns, t, first, last, row)
            for k in range(part.size):
                part[k] += row[k]
        G_bar[first:last] = part
        if n_upper < N and alpha[n_upper] > 0.0:
            _row(index, value, columns, n_upper, first, last, row)
            for k in range(part.size):
                part[k] += alpha[n_upper] * row[k]


@njit(cache=True, nogil=True)
def _steepest(G, wall, best):
    """Return the largest −G of rows without a wall before them, of eight lanes side by side."""
    best[:] = -np.inf
    for k in range(0, G.size - 7, 8):
        for lane in range(8):
            best[lane] = max(best[lane], wall[k + lane] - G[k + lane])
    for k in range(G.size - G.size % 8, G.size):
        best[0] = max(best[0], wall[k] - G[k])
    return best.max()


@njit(cache=True, nogil=True)
def _partner(i, largest, G, diagonal, index, value, of_used, used, n_used, row, tol):
    """Return the row whose α is to fall, the one that lowers the objective most, and its product with x_i.

    −1 at the optimum. Only rows in use can be it; `of_used` has their codes by column.
    """
    if i < 0:
        return -1, 0.0
    second, best, j, product = -np.inf, np.inf, -1, 0.0
    for first in range(0, n_used, BLOCK):
        last = min(first + BLOCK, n_used)
        _row(index, value, of_used, i, first, last, row)
        for k in range(last - first):
            t = used[first + k]
            difference = largest + G[t]
            second = max(second, G[t])
            if difference > 0.0:
                curvature = diagonal[i] + diagonal[t] - 2.0 * row[k]
                gain = -(difference * difference) / (curvature if curvature > 0.0 else LEAST)
                if gain < best or (gain == best and t > j):
                    best, j, product = gain, t, row[k]
    return (-1 if largest + second < tol else j), product


@njit(cache=True, nogil=True)
def _advance(index, value, columns, i, j, move_i, move_j, G, wall, size, row_i, row_j, lanes):
    """Bring the gradient up to date after a step; return the row whose α is to rise next, −1 if none, and its −G.

    The last one, where several have the largest.
    """
    largest, where = -np.inf, 0
    for first in range(0, size, BLOCK):
        last = min(first + BLOCK, size)
        _row(index, value, columns, i, first, last, row_i)
        _row(index, value, columns, j, first, last, row_j)
        part = G[first:last]
        for k in range(part.size):
            part[k] += row_i[k] * move_i + row_j[k] * move_j
        best = _steepest(part, wall[first:last], lanes)
        if best >= largest:
            largest, where = best, last
    if largest == -np.inf:
        return -1, largest
    t = where - 1
    while wall[t] - G[t] != largest:
        t -= 1
    return t, largest


@njit(cache=True, nogil=True)
def _use(t, columns, of_used, used, seat, n_used):
    """Take a row among those in use; return how many there are."""
    used[n_used], seat[t] = t, n_used
    for c in range(columns.shape[0]):
        of_used[c, n_used] = columns[c, t]
    return n_used + 1


@njit(cache=True, nogil=True)
def _leave(t, of_used, used, seat, n_used):
    """Take a row from those in use, the last of them into its seat; return how many there are."""
    n_used -= 1
    free, moved = seat[t], used[n_used]
    used[free], seat[moved], seat[t] = moved, free, -1
    for c in range(of_used.shape[0]):
        of_used[c, free] = of_used[c, n_used]
    return n_used


@njit(cache=True, nogil=True)
def _settle(G_bar, moves, n_moves, place, index, value, columns, row):
    """Carry out the moves that waited: rows by the places they had at first and ~row for one that left its bound."""
    N = G_bar.size
    now = np.empty(N, np.int64)
    for t in range(N):
        now[place[t]] = t
    for first in range(0, N, BLOCK):
        last = min(first + BLOCK, N)
        part = G_bar[first:last]
        for move in moves[:n_moves]:
            sign = 1.0 if move >= 0 else -1.0
            _row(index, value, columns, now[move if move >= 0 else ~move], first, last, row)
            for k in range(part.size):
                part[k] += sign * row[k]


@njit(cache=True, nogil=True)
def _rebuild(G, G_bar, alpha, status, moves, n_moves, place, index, value, columns, row, size):
    """Bring the gradient of the rows that were shrunk away up to date; return how many moves still wait."""
    N, n_free = G.size, 0
    if size == N:
        return n_moves
    _settle(G_bar, moves, n_moves, place, index, value, columns, row)
    for t in range(size, N):
        G[t] = G_bar[t]
    for t in range(size):
        n_free += status[t] == FREE
    if n_free * N > 2 * size * (N - size):
        for t in range(size, N):
            for first in range(0, size, BLOCK):
                last = min(first + BLOCK, size)
                _row(index, value, columns, t, first, last, row)
                for k in range(first, last):
                    if status[k] == FREE:
                        G[t] += alpha[k] * row[k - first]
    else:
        for t in range(size):
            if status[t] == FREE:
                for first in range(size, N, BLOCK):
                    last = min(first + BLOCK, N)
                    _row(index, value, columns, t, first, last, row)
                    for k in range(first, last):
                        G[k] += alpha[t] * row[k - first]
    return 0


@njit(cache=True, nogil=True)
def _shrinkable(t, G, status, up, low):
    if status[t] == UPPER:
        return -G[t] > up
    if status[t] == LOWER:
        return G[t] > low
    return False


@njit(cache=True, nogil=True)
def _swap(a, b, index, value, columns, alpha, G, G_bar, status, wall, diagonal, place):
    for p in range(index.shape[1]):
        index[a, p], index[b, p] = index[b, p], index[a, p]
        value[a, p], value[b, p] = value[b, p], value[a, p]
    for c in range(columns.shape[0]):
        columns[c, a], columns[c, b] = columns[c, b], columns[c, a]
    for each in (alpha, G, G_bar, wall, diagonal):
        each[a], each[b] = each[b], each[a]
    status[a], status[b] = status[b], status[a]
    place[a], place[b] = place[b], place[a]


@njit(cache=True, nogil=True)
def _pair_step(a, b, change):
    """Return α of a pair after a step, within bounds, their sum as it was."""
    both = a + b
    a, b = a - change, b + change
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
    return a, b


@njit(cache=True, nogil=True)
def _offset(G, status, size):
    """Return ρ: the mean of G over free rows; anywhere between the others without any; libsvm has none at one bound."""
    n_free, of_free, above, below = 0, 0.0, np.inf, -np.inf
    for t in range(size):
        if status[t] == UPPER:
            below = max(below, G[t])
        elif status[t] == LOWER:
            above = min(above, G[t])
        else:
            n_free += 1
            of_free += G[t]
    if n_free > 0:
        return of_free / n_free
    return below if above == np.inf else above if below == -np.inf else 0.5 * (above + below)


@njit(cache=True, nogil=True)
def _walk(index, value, n, nu, tol, max_iter):
    N, s = index.shape
    alpha, G, G_bar, diagonal, wall = np.zeros(N), np.zeros(N), np.zeros(N), np.zeros(N), np.zeros(N)
    status, place, columns = np.empty(N, np.int8), np.arange(N), np.zeros((n, N))
    row_i, row_j, lanes = np.zeros(BLOCK), np.zeros(BLOCK), np.zeros(8)
    used, seat, of_used, n_used = np.empty(N, np.int64), np.empty(N, np.int64), np.empty((n, N)), 0
    moves, n_moves = np.empty(64, np.int64), 0  # to and from the upper bound
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
        wall[t] = -np.inf if status[t] == UPPER else 0.0
    _begin(index, value, columns, alpha, G, G_bar, row_i)
    size, step, unshrunk, countdown = N, 0, False, min(N, EVERY) + 1
    i, j, largest, product, rearranged = -1, -1, -np.inf, 0.0, True
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
                n_moves = _rebuild(G, G_bar, alpha, status, moves, n_moves, place, index, value, columns, row_i, size)
                rearranged, size = rearranged or size < N, N
            t = 0
            while t < size:
                if _shrinkable(t, G, status, up, low):
                    rearranged = True
                    size -= 1
                    while size > t:
                        if not _shrinkable(size, G, status, up, low):
                            _swap(t, size, index, value, columns, alpha, G, G_bar, status, wall, diagonal, place)
                            break
                        size -= 1
                t += 1
        for shrunk in (True, False):  # where rows in play have no pair left, all are asked
            if rearranged:
                n_used, rearranged = 0, False
                for t in range(size):
                    if status[t] != LOWER:
                        n_used = _use(t, columns, of_used, used, seat, n_used)
                i, largest = _advance(index, value, columns, 0, 0, 0.0, 0.0, G, wall, size, row_i, row_j, lanes)
            j, product = _partner(i, largest, G, diagonal, index, value, of_used, used, n_used, row_i, tol)
            if j >= 0:
                break
            if shrunk:
                n_moves = _rebuild(G, G_bar, alpha, status, moves, n_moves, place, index, value, columns, row_i, size)
                size, countdown, rearranged = N, 1, True
        if j < 0:
            break
        step += 1
        curvature = diagonal[i] + diagonal[j] - 2.0 * product
        old_i, old_j = alpha[i], alpha[j]
        change = (G[i] - G[j]) / (curvature if curvature > 0.0 else LEAST)
        alpha[i], alpha[j] = _pair_step(old_i, old_j, change)
        if n_moves + 2 > moves.size:
            moves = np.concatenate((moves, np.empty_like(moves)))
        for t in (i, j):
            was, status[t] = status[t], _status(alpha[t])
            if (was == UPPER) != (status[t] == UPPER):
                moves[n_moves] = place[t] if status[t] == UPPER else ~place[t]
                n_moves += 1
                wall[t] = -np.inf if status[t] == UPPER else 0.0
            if was == LOWER and status[t] != LOWER:
                n_used = _use(t, columns, of_used, used, seat, n_used)
            elif was != LOWER and status[t] == LOWER:
                n_used = _leave(t, of_used, used, seat, n_used)
        move_i, move_j = alpha[i] - old_i, alpha[j] - old_j
        i, largest = _advance(index, value, columns, i, j, move_i, move_j, G, wall, size, row_i, row_j, lanes)
    rho, out = _offset(G, status, size), np.empty(N)
    for t in range(N):
        out[place[t]] = alpha[t]
    return out, rho, step
