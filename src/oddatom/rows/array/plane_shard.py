"""A shard's answers to the one-class SVM: margins, exact order statistics, the rows near the margin."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from oddatom.arrays.block import Block, rmatvec
from oddatom.arrays.threads import split
from oddatom.passes.protocol import MARGIN
from oddatom.rows.array import _plane_kernels as k


class OneClassShard:
    """Rows of codes (dense or CSR), their margins f and multipliers a in [0, 1].

    The driver sends planes and thresholds; the shard returns counts, sums and, of the rows near the margin, the
    rows themselves, in units of `scale`. `multipliers` is the only result a shard keeps.
    """

    _norms: np.ndarray
    multipliers: np.ndarray

    def __init__(self, rows: Block) -> None:
        self._set_rows(rows)

    def _set_rows(self, rows: Block) -> None:
        """Take other rows; arrays over as many rows as before are used again (fresh memory costs page faults)."""
        n = rows.n_rows
        if not hasattr(self, "_norms") or self._norms.size != n:
            self._norms, self._f, self._g, self._dist = (np.zeros(n) for _ in range(4))
            self._below, self._nearest = np.empty(n), np.empty(n, np.int64)
        self._rows = rows
        self._scale, self._curvature = 1.0, 0.0
        self._cost = 5.0 + 2.0 * (rows.n if rows.X.size else rows.data.size / max(1, n))  # ns a row and pass
        k.row_norms(*rows[:4], self._norms)
        self._g[:] = 0.0  # read, times a step of 0, before the first direction is known
        self._sums: tuple[np.ndarray, np.ndarray] | None = None
        self._band = np.empty(0, np.int64)
        if not hasattr(self, "multipliers"):
            self.multipliers = np.zeros(n)

    def svm_summary(self) -> tuple[int, int, float]:
        """Return the number of rows, of zero rows, and the sum of squares."""
        return self._norms.size, int(np.sum(self._norms == 0.0)), float(self._norms @ self._norms)

    def svm_dual_coef(self, C: float) -> np.ndarray:
        """Return lam = a / C of the rows, C = nu N."""
        return self.multipliers / C

    def svm_scale(self, scale: float, curvature: float = 0.0) -> None:
        """Speak of rows divided by `scale` from now on, and of a boundary with this curvature."""
        self._scale, self._curvature = scale, curvature

    def svm_zero_rows(self, value: float) -> None:
        """Put the whole weight on the zero rows (the origin is then the optimum)."""
        self.multipliers[:] = np.where(self._norms == 0.0, value, 0.0)

    def svm_total(self) -> tuple[np.ndarray]:
        """Return Σ x."""
        total = np.empty(self._rows.n)
        rmatvec(*self._rows, np.ones(self._f.size), total)
        return (total / self._scale,)

    def svm_margins(self, w: np.ndarray) -> None:
        """Compute and keep f = x·w − h/2 ‖x‖²."""
        if w.size != self._rows.n:
            raise ValueError(f"The plane must have one entry per column, {self._rows.n}. Got {w.size} instead.")
        self._multiply(w, self._f)
        if self._curvature != 0.0:
            k.bend(self._f, self._norms, self._scale, self._curvature)

    def _multiply(self, w: np.ndarray, out: np.ndarray) -> None:
        split(out.size, self._cost).run(k.margins, *self._rows[:4], w / self._scale, out)

    @property
    def margins(self) -> np.ndarray:
        """The margins last computed."""
        return self._f

    def svm_smooth(self, rho: float, eps: float, step: float) -> tuple[np.ndarray, np.ndarray]:
        """Take a step along the direction last tried, then return the sums of the smoothed objective.

        With a = clip(½ + (rho − f)/eps, 0, 1) they are Σ a [x, 1] and, over 0 < a < 1, Σ [x, −1]ᵀ[x, −1] (its lower
        triangle).
        """
        if step != 0.0:
            k.move(self._f, self._g, step)
        n = self._rows.n
        plan = split(self._f.size, 2 * self._cost, rows_per_chunk=2 * n)
        if self._sums is None or self._sums[0].shape[0] < plan.k:
            self._sums = np.empty((plan.k, n + 1)), np.empty((plan.k, n + 1, n + 1))
        grad, H = self._sums[0][: plan.k], self._sums[1][: plan.k]
        plan.run(k.smooth, *self._rows, self._f, rho, eps, self._scale, grad, H)
        return grad.sum(axis=0), H.sum(axis=0)

    def svm_try(self, dw: np.ndarray, rho: float, drho: float, eps: float) -> tuple[float]:
        """Compute and keep g = X dw, how the margins move; return Σ ψ(rho − f) after the whole step."""
        self._multiply(dw, self._g)
        return (k.smooth_value(self._f, self._g, rho, drho, 1.0, eps),)

    def svm_smooth_values(self, rho: float, drho: float, eps: float, steps: np.ndarray) -> tuple[np.ndarray]:
        """Return Σ ψ(rho − f) after each of the steps along (dw, drho)."""
        values = [k.smooth_value(self._f, self._g, rho, drho, t, eps) for t in steps]
        return (np.array(values),)

    def svm_distances(self, rho: float, by_norm: bool) -> None:
        """Compute and keep |f − rho|, divided by the row's norm if asked."""
        k.distances(self._f, self._norms, self._scale, rho, by_norm, self._dist)

    def svm_range(self) -> tuple[float, float]:
        """Return the lowest and the highest margin (of no rows: inf, −inf)."""
        return float(self._f.min(initial=np.inf)), float(self._f.max(initial=-np.inf))

    def _numbers(self, which: int) -> np.ndarray:
        return self._f if which == MARGIN else self._dist

    def svm_histogram(self, which: int, prefix: int, shift: int, bits: int) -> tuple[np.ndarray]:
        """Return the counts of the next key bits among rows whose key starts with `prefix`."""
        counts = np.zeros(1 << bits, np.int64)
        k.key_histogram(self._numbers(which), np.uint64(prefix), shift, bits, counts)
        return (counts,)

    def svm_values(self, which: int, prefix: int, shift: int) -> np.ndarray:
        """Return the numbers whose key starts with `prefix`."""
        values = self._numbers(which)
        out = np.empty(values.size)
        return out[: k.values_with_prefix(values, np.uint64(prefix), shift, out)].copy()

    def svm_band(self, rho: float, threshold: float) -> tuple[Block, np.ndarray, int]:
        """Return the rows within `threshold` of the margin; fix the others; return Σx and count of those at one."""
        below, band = self._below, self._nearest
        n_band, n_below = k.split_band(self._f, self._dist, rho, threshold, band, below)
        self._band = band[:n_band].copy()
        self.multipliers[:] = below
        total = np.empty(self._rows.n)
        rmatvec(*self._rows, below, total)
        return self._take(self._band), total / self._scale, n_below

    def svm_set_band(self, a: np.ndarray) -> None:
        """Set the multipliers of the rows in the band."""
        self.multipliers[self._band] = a

    def svm_all_rows(self) -> scipy.sparse.csr_array:
        """Return every row, unscaled (for solvers that need them in one place)."""
        X, indptr, indices, data, n = self._rows
        if X.size:
            return scipy.sparse.csr_array(X)
        return scipy.sparse.csr_array((data, indices, indptr), shape=(indptr.size - 1, n))

    def svm_set_all(self, a: np.ndarray) -> None:
        """Set the multipliers of every row."""
        self.multipliers[:] = a

    def svm_slack(self, rho: float) -> tuple[float, float]:
        """Return Σ (rho − f)₊, and Σ a (f − rho)₊ + (1 − a)(rho − f)₊: nu N times the duality gap of w = w(a)."""
        return k.slack(self._f, rho, self.multipliers)

    def svm_residual(self, rho: float) -> float:
        """Return the largest violation of the optimality conditions."""
        return k.natural_residual(self._f, rho, self.multipliers)

    def _take(self, rows: np.ndarray) -> Block:
        X, indptr, indices, data, n = self._rows
        if X.size:
            return Block.dense(X[rows] / self._scale)
        lengths = np.diff(indptr)[rows]
        total = int(lengths.sum())
        out = Block.csr(np.empty(rows.size + 1, np.int64), np.empty(total, np.int32), np.empty(total), n)
        k.take_csr(indptr, indices, data, rows, self._scale, *out[1:4])
        return out
