"""How well a category goes with the rest of its row: log p(l) − log p(l | x), in nats.

p(l) is the share of level l in its column. p(l | x) is naive Bayes by the three columns that tell most about it,

    log p(l | x) = log p(l) + Σ_r log p(l | bin_r(x)) / p(l) − log Σ_l' … ,

with shares counted over the training rows and smoothed towards p(l) by one row. A level that is rare by itself costs
nothing; a common one where the other columns speak for another level costs much. Columns of codes, and of two values,
are judged in this way. Other columns are cut into eight bins of equal counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

from oddatom.arrays.namespaces import like, namespace
from oddatom.arrays.threads import split
from oddatom.arrays.twins import fastest, twin_of
from oddatom.scaling.asinh import column_ends, column_quantiles

N_PREDICTORS = 3
N_BINS = 8  # of a column of numbers
MOST_LEVELS = 32  # a column of more is neither judged nor used
MOST_PAIRS = 16_384  # of columns that are compared; categories beyond are not judged
PAIR_ROWS = 2000  # by which columns are compared
SMOOTHING = 1.0  # rows, added to every bin with the levels' shares
NEVER = -1e9  # log share of a level that a column does not have


class Context(NamedTuple):
    """What P columns of categories are judged by. A last bin, after those between the edges, is for missing values.

    Attributes
    ----------
    targets : tuple of P ints
        Columns that are judged.
    predictors : tuple of P tuples of ints
        The columns that tell most about each, at least one.
    edges : (m, E)
        Between the bins of every column, in rising order, infinite where it has fewer.
    n_levels : tuple of P ints
        A target's bins beyond these are levels that training did not have; they cost nothing here.
    share, held_out_share : (P, L)
        log p(l), as it is and for a row of that level that is left out of the count.
    ratio, held_out : (P, R, E + 2, L)
        log p(l | bin)/p(l), likewise; 0 where there is no further predictor.
    """

    targets: tuple[int, ...]
    predictors: tuple[tuple[int, ...], ...]
    edges: np.ndarray
    n_levels: tuple[int, ...]
    share: np.ndarray
    held_out_share: np.ndarray
    ratio: np.ndarray
    held_out: np.ndarray


def context_nats(U: Any, context: Context, *, held_out: bool = False) -> Any:
    """Return log p(l) − log p(l | x) of every cell of rows U (N×m), in the scaling's units; 0 where none is judged.

    With `held_out` each row is left out of the counts.
    """
    return fastest(context_formula, U)(U, context, held_out)


def context_formula(U: Any, context: Context, held_out: bool = False) -> Any:
    """Return the costs, one target after the other."""
    xp = namespace(U)
    m, L = U.shape[1], context.share.shape[1]
    levels = like(np.arange(L)[None, :], U)
    out = xp.zeros_like(U)
    for p, f in enumerate(context.targets):
        place = _bins(U[:, f], context.edges[f, :])
        own = xp.expand_dims(place, axis=1) == levels
        total = xp.zeros_like(U[:, :1]) + context.share[p, :]
        mine = xp.zeros_like(U[:, :1]) + (context.held_out_share if held_out else context.share)[p, :]
        known = mine
        for r, g in enumerate(context.predictors[p]):
            at = _bins(U[:, g], context.edges[g, :])
            total = total + xp.take(context.ratio[p, r, :, :], at, axis=0)
            mine = mine + xp.take((context.held_out if held_out else context.ratio)[p, r, :, :], at, axis=0)
        total = xp.where(own, mine, total)
        top = xp.max(total, axis=1, keepdims=True)
        whole = xp.squeeze(top, axis=1) + xp.log(xp.sum(xp.exp(total - top), axis=1))
        gone = xp.sum(xp.where(own, known - total, xp.zeros_like(total)), axis=1)
        cost = xp.where(place < context.n_levels[p], gone + whole, xp.zeros_like(whole))
        out = out + xp.expand_dims(cost, axis=1) * like(np.eye(1, m, f), U)
    return out


def _bins(u: Any, edges: Any) -> Any:
    """Return the bin of every value: how many edges are below it; the last where it is missing."""
    xp = namespace(u)
    below = xp.sum(xp.astype(xp.expand_dims(u, axis=1) > edges, xp.int64), axis=1)
    return xp.where(xp.isnan(u), xp.zeros_like(below) + edges.shape[0] + 1, below)


@twin_of(context_formula)
def context_twin(U: np.ndarray, context: Context, held_out: bool = False) -> np.ndarray:
    """Return the costs row by row, without an array of all levels."""
    out = np.zeros(U.shape)
    R = context.ratio.shape[1]
    predictors = np.array([[*some, *(-1 for _ in range(R - len(some)))] for some in context.predictors], np.int64)
    columns = np.array(context.targets, np.int64), predictors, np.array(context.n_levels, np.int64)
    own = (context.held_out_share, context.held_out) if held_out else (context.share, context.ratio)
    P, L = context.share.shape
    plan = split(U.shape[0], P * (10.0 * L + 100.0))
    scratch = np.empty((plan.k, L))
    plan.run(
        _contexts, np.ascontiguousarray(U), columns, context.edges, (context.share, context.ratio), own, scratch, out
    )
    return out


@njit(cache=True, nogil=True)
def _bin(u, edges):
    if np.isnan(u):
        return edges.size + 1
    b = 0
    while b < edges.size and u > edges[b]:
        b += 1
    return b


@njit(cache=True, nogil=True, error_model="numpy")
def _context_rows(U, columns, edges, tables, own, total, lo, hi, out):
    targets, predictors, n_levels = columns
    share, ratio = tables
    own_share, own_ratio = own
    for j in range(lo, hi):
        for p in range(targets.size):
            f = targets[p]
            level = _bin(U[j, f], edges[f])
            if level >= n_levels[p]:
                continue
            for l in range(total.size):
                total[l] = share[p, l]
            total[level] = own_share[p, level]
            for r in range(predictors.shape[1]):
                g = predictors[p, r]
                if g < 0:
                    break
                b = _bin(U[j, g], edges[g])
                for l in range(total.size):
                    total[l] += own_ratio[p, r, b, l] if l == level else ratio[p, r, b, l]
            top = total.max()
            whole = 0.0
            for l in range(total.size):
                whole += np.exp(total[l] - top)
            out[j, f] = own_share[p, level] - total[level] + top + np.log(whole)


@njit(cache=True, nogil=True, parallel=True)
def _contexts(U, columns, edges, tables, own, scratch, out, k, parallel):
    N = U.shape[0]
    if parallel:
        for c in prange(k):
            _context_rows(U, columns, edges, tables, own, scratch[c], N * c // k, N * (c + 1) // k, out)
    else:
        for c in range(k):
            _context_rows(U, columns, edges, tables, own, scratch[c], N * c // k, N * (c + 1) // k, out)


def fit_context(U: np.ndarray, code_steps: np.ndarray, two_valued: np.ndarray) -> Context | None:
    """Fit to rows U (N×m) in random order; None where there is no category, or nothing tells about any.

    Parameters
    ----------
    U : (N, m)
        In the scaling's units.
    code_steps : (m,)
        The distance of two codes in columns of categories, 0 in others.
    two_valued : (m,) of bool
    """
    m = U.shape[1]
    if not (two_valued.any() or (code_steps > 0.0).any()):
        return None
    cuts = _cuts(U, code_steps, two_valued)
    judged = [f for f in range(m) if (code_steps[f] > 0.0 or two_valued[f]) and cuts[f].size]
    judged = judged[: MOST_PAIRS // m]
    if not judged:
        return None
    edges = np.full((m, max(cut.size for cut in cuts)), np.inf)
    for f, cut in enumerate(cuts):
        edges[f, : cut.size] = cut
    n_bins = edges.shape[1] + 2
    B = np.stack([np.where(np.isnan(v), n_bins - 1, np.searchsorted(cut, v)) for v, cut in zip(U.T, cuts, strict=True)])
    found = []
    for f in judged:
        n_levels = cuts[f].size + (1 if two_valued[f] else 0)
        worth = _mutual_information(B[:, :PAIR_ROWS], f, n_levels, n_bins)
        best = [int(g) for g in np.argsort(-worth, kind="stable")[:N_PREDICTORS] if worth[g] > 0.0]
        if best:
            found.append((f, n_levels, best))
    if not found:
        return None
    P, L = len(found), max(n for _, n, _ in found)
    share, own_share = np.full((P, L), NEVER), np.full((P, L), NEVER)
    ratio, own_ratio = np.zeros((P, N_PREDICTORS, n_bins, L)), np.zeros((P, N_PREDICTORS, n_bins, L))
    for p, (f, n, best) in enumerate(found):
        counts = np.bincount(B[f], minlength=n)[:n]
        whole = counts.sum() + 0.5 * n
        shares, left = (counts + 0.5) / whole, (np.maximum(counts - 1, 0) + 0.5) / (whole - 1.0)
        share[p, :n], own_share[p, :n] = np.log(shares), np.log(left)
        for r, g in enumerate(best):
            pairs = np.zeros((n_bins, n_bins))
            np.add.at(pairs, (B[g], B[f]), 1.0)
            pairs, rows = pairs[:, :n], pairs[:, :n].sum(axis=1, keepdims=True)
            ratio[p, r, :, :n] = np.log((pairs + SMOOTHING * shares) / ((rows + SMOOTHING) * shares))
            fewer = np.maximum(pairs - 1.0, 0.0) + SMOOTHING * left
            own_ratio[p, r, :, :n] = np.log(fewer / ((np.maximum(rows - 1.0, 0.0) + SMOOTHING) * left))
            ratio[p, r, -1], own_ratio[p, r, -1] = 0.0, 0.0  # a missing value tells nothing
    targets, levels, predictors = zip(*found, strict=True)
    return Context(
        targets, tuple(tuple(some) for some in predictors), edges, levels, share, own_share, ratio, own_ratio
    )


def _cuts(U: np.ndarray, code_steps: np.ndarray, two_valued: np.ndarray) -> list[np.ndarray]:
    """Return the edges between the bins of every column; none where it has too many levels, or one value."""
    low, high = column_ends(U)
    inner = column_quantiles(U, [k / N_BINS for k in range(1, N_BINS)])
    cuts = []
    for f, step in enumerate(code_steps):
        if step > 0.0:
            n = int(np.round(high[f] / step)) + 1
            cuts.append((np.arange(n) + 0.5) * step if 2 <= n <= MOST_LEVELS else np.empty(0))
        elif two_valued[f]:
            cuts.append(np.array([0.5 * (low[f] + high[f])]))
        else:
            cut = np.unique(inner[:, f])
            cuts.append(cut[cut < high[f]])
    return cuts


def _mutual_information(B: np.ndarray, target: int, n_levels: int, n_bins: int) -> np.ndarray:
    """Return what every column tells about the target's level, in nats; 0 of itself.

    Less the Bayesian information criterion's penalty for counts: the best of many columns must not be chosen by chance.
    """
    worth = np.zeros(B.shape[0])
    some = B[:, B[target] < n_levels]
    for g in range(B.shape[0]):
        if g == target:
            continue
        rows = some[:, some[g] < n_bins - 1]  # where it is not missing
        n = rows.shape[1]
        T = np.bincount(rows[g] * n_bins + rows[target], minlength=n_bins * n_bins).reshape(n_bins, n_bins)
        across, down = T.sum(axis=1), T.sum(axis=0)
        there = T > 0
        if there.any():
            product = np.outer(across, down)[there]
            gain = float((T[there] * np.log(T[there] * (n / product))).sum()) / n
            cells = (np.count_nonzero(across) - 1) * (np.count_nonzero(down) - 1)
            worth[g] = gain - 0.5 * np.log(n) * cells / n
    return worth
