"""How far out a value lies in its column: −log of the share of rows that lie as far out, growing beyond all of them.

Between the points beyond which 2 % of the rows lie, on either side of the median, the cost is that share's −log,
interpolated between quantiles. Beyond such a point u it grows with the logarithm of the distance d from the median,

    cost(x) = cost(u) + 3 log(d / u) ,

and where a column is positive and spans more than a factor of four, also with d and u measured on a logarithmic scale,
whichever is more: a value ten times too small is far out there, and one of the wrong sign further still, because below
0 that scale is a hundred times finer. A value that a share p of the rows has costs −log p, and log 50 at most: by
itself, to be rare is no error. A missing value costs nothing where one in fifty is missing, and −log p − log 50 where
fewer are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

from oddatom.arrays.namespaces import asinh, namespace
from oddatom.arrays.threads import split
from oddatom.arrays.twins import fastest, twin_of

SHARES = (0.35, 0.25, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02)  # of the rows that lie further out than a knot
CAP = -float(np.log(SHARES[-1]))  # nats of a value that is rare but not far out, as those of a rare level
GROWTH = 3.0  # a tail of this power: between those of amounts and of measurements
SPAN = 4.0  # largest over smallest usual value, above which a positive column is looked at on a logarithmic scale too
ROUNDING = 1e-12  # of the median: a value nearer to it is the median
BELOW_ZERO = 0.01  # the root of the logarithmic scale below 0, in units of that above
LEAST = 1e-100  # of the largest value: below it there is no logarithmic scale
TINY = float(np.finfo(np.float64).tiny)


class Tails(NamedTuple):
    """The tails of m columns, in the scaling's units. The last axis of pairs is (below, above) the median.

    Attributes
    ----------
    knots, cost : (m, K)
        Values in rising order, and their costs; the last ones repeat where a column has fewer.
    center : (m, 2)
        The median: as it is, and on the logarithmic scale.
    edge, next_edge : (m, 2, 2)
        Distances u from the median: first as they are, then on the logarithmic scale (infinite where there is none).
        `next_edge` is that of the other rows, for a row that lies at the edge or beyond it.
    reach : (m, 2, 2)
        Added to d and u: 0, or the size of the column on a side of the median where there is no row.
    edge_cost : (m, 2)
        cost(u).
    root, root_below : (m,)
        The logarithmic scale is asinh(x / root), below 0 with another root.
    missing : (m,)
        Cost of a missing value.

    The last two are None in models that were saved before there were any: the root is the same then, and the cost 0.
    """

    knots: np.ndarray
    cost: np.ndarray
    center: np.ndarray
    edge: np.ndarray
    next_edge: np.ndarray
    reach: np.ndarray
    edge_cost: np.ndarray
    root: np.ndarray
    root_below: np.ndarray | None = None
    missing: np.ndarray | None = None


def tail_nats(U: Any, tails: Tails, *, held_out: bool = False) -> Any:
    """Return the cost of every value of rows U (N×m), in the scaling's units.

    With `held_out` each row is left out of the rows that tell how far out the edges are.
    """
    if tails.root_below is None:
        tails = tails._replace(root_below=tails.root)
    if tails.missing is None:
        tails = tails._replace(missing=0.0 * tails.root)
    return fastest(tail_formula, U)(U, tails._replace(edge=tails.next_edge) if held_out else tails)


def tail_formula(U: Any, tails: Tails) -> Any:
    """Return the cost by knots, or that of the edge and what is beyond it."""
    xp = namespace(U)
    total = xp.zeros_like(U) + tails.cost[:, 0]
    for k in range(tails.knots.shape[1] - 1):
        width = tails.knots[:, k + 1] - tails.knots[:, k]
        share = (U - tails.knots[:, k]) / xp.where(width > 0.0, width, xp.ones_like(width))
        total = total + (tails.cost[:, k + 1] - tails.cost[:, k]) * xp.clip(share, 0.0, 1.0)
    scales = (U, asinh(U / xp.where(U < 0.0, tails.root_below, tails.root)))
    for side, sign in ((0, -1.0), (1, 1.0)):
        beyond = xp.zeros_like(U)
        for scale, T in enumerate(scales):
            d = sign * (T - tails.center[:, scale])
            edge, reach = tails.edge[:, side, scale], tails.reach[:, side, scale]
            d = xp.where(d > edge, d, edge)  # also where there is no such scale: the edge is infinite
            ratio = xp.where(edge < xp.inf, (d + reach) / (xp.where(edge < xp.inf, edge, 1.0) + reach), 1.0)
            growth = GROWTH * xp.log(ratio)
            beyond = xp.where(growth > beyond, growth, beyond)
        total = xp.where(beyond > 0.0, tails.edge_cost[:, side] + beyond, total)
    return xp.where(xp.isnan(U), tails.missing, total)


@twin_of(tail_formula)
def tail_twin(U: np.ndarray, tails: Tails) -> np.ndarray:
    """Return the cost in one pass, with logarithms only beyond the edges."""
    out = np.empty(U.shape)
    split(U.shape[0], 15.0 * U.shape[1]).run(_tails, np.ascontiguousarray(U), tails, out)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _tail_rows(U, tails, lo, hi, out):
    m, K = tails.knots.shape
    for j in range(lo, hi):
        for f in range(m):
            u = U[j, f]
            if np.isnan(u):
                out[j, f] = tails.missing[f]
                continue
            first, last = 0, K - 1  # the knots around u
            while last - first > 1:
                middle = (first + last) // 2
                if tails.knots[f, middle] <= u:
                    first = middle
                else:
                    last = middle
            a, b = tails.knots[f, first], tails.knots[f, last]
            t = min(max((u - a) / (b - a), 0.0), 1.0) if b > a else (0.0 if u <= a else 1.0)
            cost = tails.cost[f, first] + t * (tails.cost[f, last] - tails.cost[f, first])
            side = 1 if u > tails.center[f, 0] else 0
            sign = 1.0 if side == 1 else -1.0
            beyond = 0.0
            d, edge, reach = sign * (u - tails.center[f, 0]), tails.edge[f, side, 0], tails.reach[f, side, 0]
            if d > edge:
                beyond = GROWTH * np.log((d + reach) / (edge + reach))
            edge, reach = tails.edge[f, side, 1], tails.reach[f, side, 1]
            if edge < np.inf:
                root = tails.root_below[f] if u < 0.0 else tails.root[f]
                d = sign * (np.arcsinh(u / root) - tails.center[f, 1])
                if d > edge:
                    beyond = max(beyond, GROWTH * np.log((d + reach) / (edge + reach)))
            out[j, f] = tails.edge_cost[f, side] + beyond if beyond > 0.0 else cost


@njit(cache=True, nogil=True, parallel=True)
def _tails(U, tails, out, k, parallel):
    N = U.shape[0]
    if parallel:
        for c in prange(k):
            _tail_rows(U, tails, N * c // k, N * (c + 1) // k, out)
    else:
        for c in range(k):
            _tail_rows(U, tails, N * c // k, N * (c + 1) // k, out)


def fit_tails(U: np.ndarray, code_steps: np.ndarray | None = None, shifted: np.ndarray | None = None) -> Tails:
    """Fit to rows U (N×m), in the scaling's units.

    Parameters
    ----------
    U : (N, m)
        NaN is a missing value.
    code_steps : (m,), optional
        See `fit_histogram`.
    shifted : (m,) of bool, optional
        Columns whose numbers have no zero of their own, so that they have no logarithmic scale.
    """
    N, m = U.shape
    steps = np.zeros(m) if code_steps is None else code_steps
    differences = np.zeros(m, bool) if shifted is None else shifted
    columns, missing = [], np.empty(m)
    for f, v in enumerate(U.T):
        values = v[~np.isnan(v)]
        missing[f] = max(-np.log((N - values.size + 0.5) / (N + 1.0)) - CAP, 0.0)
        if not values.size:
            columns.append(_fit_nothing())
        elif steps[f] > 0.0:
            columns.append(_fit_codes(values, steps[f]))
        else:
            columns.append(_fit_column(np.sort(values), differences[f]))
    K = max(len(points) for points, *_ in columns)
    knots, cost = np.empty((m, K)), np.empty((m, K))
    for f, (points, *_) in enumerate(columns):
        ordered = sorted(points)
        knots[f], cost[f] = ordered[-1], points[ordered[-1]]
        knots[f, : len(ordered)], cost[f, : len(ordered)] = ordered, [points[value] for value in ordered]
    rest = [np.stack(some) for some in zip(*(rest for _, *rest in columns), strict=True)]
    center, edge, next_edge, reach, edge_cost, root = rest
    return Tails(knots, cost, center, edge, next_edge, reach, edge_cost, root, BELOW_ZERO * root, missing)


def rarities(counts: np.ndarray) -> np.ndarray:
    """Return −log of the share of rows whose level is as rare, by level; 0 for the commonest, −log p of the rarest."""
    order = np.argsort(counts, kind="stable")
    at_most = np.cumsum(counts[order])[np.searchsorted(counts[order], counts, "right") - 1]
    return -np.log(np.maximum(at_most, 1) / counts.sum())


def _fit_nothing() -> tuple[Any, ...]:
    """Fit to a column without a value: whatever comes costs nothing."""
    none, pairs = np.zeros(2), np.full((2, 2), np.inf)
    return {0.0: 0.0, 1.0: 0.0}, none, pairs, pairs, np.zeros((2, 2)), none, 1.0


def _fit_codes(v: np.ndarray, step: float) -> tuple[Any, ...]:
    """Fit to a column of codes. A missing one, -1, costs nothing; one not in training log(n + 1) + 3."""
    codes = np.round(v / step).astype(np.int64)
    counts = np.bincount(codes[codes >= 0], minlength=1)
    unseen = np.log(v.size + 1.0) + GROWTH
    costs = np.where(counts > 0, rarities(counts), unseen) if counts.any() else np.array([unseen])
    points = {code * step: float(cost) for code, cost in enumerate(costs)}
    none, pairs = np.zeros(2), np.full((2, 2), np.inf)
    return {-step: 0.0, **points, counts.size * step: unseen}, none, pairs, pairs, np.zeros((2, 2)), none, 1.0


def _fit_column(v: np.ndarray, shifted: bool = False) -> tuple[Any, ...]:
    """Fit to the sorted values of a column."""
    n = v.size
    median = float(v[(n - 1) // 2])
    low, high = (float(v[int(share * (n - 1))]) for share in (SHARES[-1], 1.0 - SHARES[-1]))
    logarithmic = not shifted and low > LEAST and high > SPAN * low
    root = 0.5 * low if logarithmic else 1.0
    center = np.array([median, np.arcsinh(median / root)])
    edge, next_edge, reach = np.full((2, 2), np.inf), np.full((2, 2), np.inf), np.zeros((2, 2))
    edge_cost = np.empty(2)
    points = {median: 0.0}
    for side, sign in ((0, -1.0), (1, 1.0)):
        w = sign * v if side else sign * v[::-1]  # rising, outwards from the median of this side
        further = n - int(np.searchsorted(w, sign * median, "right"))
        k = max(1, min(int(SHARES[-1] * n), (further + 1) // 2))
        at = [sign * w[n - k], sign * w[max(n - k - 1, 0)]] if further else [median, median]
        count = n - int(np.searchsorted(w, sign * at[0], "left")) if further else 0
        edge_cost[side] = min(-np.log(count / n), CAP) if further else np.log(n + 1.0)
        for share in SHARES if further else ():
            value = sign * min(w[n - max(1, round(share * n))], sign * at[0])
            if sign * value > sign * median:
                points[value] = -np.log((n - int(np.searchsorted(w, sign * value, "left"))) / n)
        if further:
            points[at[0]] = edge_cost[side]
        for scale in range(2 if logarithmic else 1):
            places = np.array([*at, v[-1] if side == 0 else v[0]])
            roots = np.where(places < 0.0, BELOW_ZERO * root, root)
            distances = np.abs((np.arcsinh(places / roots) if scale else places) - center[scale])
            size = max(ROUNDING * abs(center[scale]), TINY)
            edge[side, scale], next_edge[side, scale] = np.maximum(distances[:2], size)
            if not further:  # in units of the other side, or of the value itself
                reach[side, scale] = distances[2] or 0.1 * abs(center[scale]) or 1.0
            elif next_edge[side, scale] <= size:  # there is no other row on this side
                next_edge[side, scale] = edge[side, scale]
    if v[0] < v[-1] and ((v == v[0]) | (v == v[-1])).all():  # two values are levels
        ends = np.array([np.count_nonzero(v == v[0]), np.count_nonzero(v == v[-1])])
        points = dict(zip((float(v[0]), float(v[-1])), rarities(ends), strict=True))
        edge_cost = np.maximum(edge_cost, CAP)
    return points, center, edge, next_edge, reach, edge_cost, root
