"""Shards whose rows have weights: a row of weight 3 counts as three rows that are the same.

The codes of a row times √ω are √ω times its codes. So rows are kept as √ω y, with codes √ω x, and sums of squares over
them are the sums over repeated rows: Theorem 1 holds as it stands, with √ω a in the place of the multiplier a. The SVM
sees the codes x themselves, and multipliers 0 ≤ a ω ≤ ω.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from oddatom.arrays.block import Block, rmatvec
from oddatom.coding import CODINGS, Codes
from oddatom.rows.array._plane_kernels import natural_residual
from oddatom.rows.array.plane_shard import OneClassShard
from oddatom.rows.array.sparse_shard import LocalShard


class WeightedOneClassShard(OneClassShard):
    """Rows with weights, for `fit_weighted`. `shares` are the multipliers a in [0, 1]."""

    weights: np.ndarray
    shares: np.ndarray

    def __init__(self, rows: Block, weights: np.ndarray) -> None:
        super().__init__(rows)
        self._set_weights(weights)

    def _set_weights(self, weights: np.ndarray) -> None:
        self.weights = weights
        self.shares = np.zeros(weights.size)

    def svm_summary(self) -> tuple[float, float, float]:  # type: ignore[override]
        """Return the sum of the weights, that of zero rows, and the weighted sum of squares."""
        zero = float(self.weights[self._norms == 0.0].sum())
        return float(self.weights.sum()), zero, float(self.weights @ self._norms**2)

    def svm_zero_rows(self, value: float) -> None:
        """Put the whole weight on the zero rows (the origin is then the optimum)."""
        self._set_shares(np.where(self._norms == 0.0, value, 0.0))

    def svm_total(self) -> tuple[np.ndarray]:
        """Return Σ ω x."""
        total = np.empty(self._rows.n)
        rmatvec(*self._rows, self.weights, total)
        return (total / self._scale,)

    def svm_slack(self, rho: float) -> tuple[float, float]:
        """Return Σ ω (rho − f)₊, and Σ ω (a (f − rho)₊ + (1 − a)(rho − f)₊)."""
        below, above = np.maximum(rho - self._f, 0.0), np.maximum(self._f - rho, 0.0)
        gap = self.shares * above + (1.0 - self.shares) * below
        return float(self.weights @ below), float(self.weights @ gap)

    def svm_residual(self, rho: float) -> float:
        """Return the largest violation of the optimality conditions."""
        return natural_residual(self._f, rho, self.shares)

    def svm_quantile(self, C: float) -> float:
        """Return the lowest margin such that the weights of the rows up to it add up to C."""
        order = np.argsort(self._f, kind="stable")
        reached = np.cumsum(self.weights[order]) >= C * (1.0 - 1e-12)
        return float(self._f[order[np.argmax(reached)]]) if reached.any() else float(self._f.max())

    def svm_weighted_band(self, rho: float, size: int) -> tuple[Block, np.ndarray, np.ndarray, float, bool]:
        """Return the `size` rows nearest the margin, or more that are as near, and their weights; fix the others.

        Also the sum and the weight of those that are fixed at a = 1, and whether no row is fixed.
        """
        self.svm_distances(rho, True)
        near = np.ones(self._f.size, bool)
        if 1.4 * size < near.size:
            near = self._dist <= np.partition(self._dist, size - 1)[size - 1]
        self._band = np.flatnonzero(near)
        fixed = np.where(near | (self._f >= rho), 0.0, 1.0)
        self._set_shares(fixed)
        total = np.empty(self._rows.n)
        rmatvec(*self._rows, fixed * self.weights, total)
        weight = float(fixed @ self.weights)
        return self._take(self._band), self.weights[self._band], total / self._scale, weight, bool(near.all())

    def svm_set_band(self, a: np.ndarray) -> None:
        """Set the multipliers of the rows in the band, a ω."""
        shares = self.shares
        shares[self._band] = np.clip(a / self.weights[self._band], 0.0, 1.0)
        self._set_shares(shares)

    def _set_shares(self, shares: np.ndarray) -> None:
        self.shares = shares
        self.multipliers = shares

    def svm_dual_coef(self, C: float) -> np.ndarray:
        """Return lam = a ω / C, which sum to one where C = nu Σω."""
        return self.shares * self.weights / C


class WeightedShard(WeightedOneClassShard, LocalShard):
    """`LocalShard` of rows with weights; codes that it hands out are those of the rows themselves."""

    def __init__(self, Y: np.ndarray, weights: np.ndarray) -> None:
        self._root, self._plain = np.sqrt(weights), Y
        LocalShard.__init__(self, Y * self._root[:, None])
        self._roots = self._root
        self._set_weights(weights)

    def encode(self, D: np.ndarray, s: int, coding: str = "omp") -> tuple[np.ndarray, float]:
        """Code the rows with D; return how many rows use each atom, and the weighted sum of squared residuals."""
        self._coded = coding, D, s
        return super().encode(D, s, coding)

    def last_codes(self) -> Codes:
        """Return the codes that `encode` has just made, of the rows as they are: to the last bit those of new rows."""
        coding, D, s = self._coded
        return CODINGS[coding](self._plain, D, s)

    def svm_open(self, active: np.ndarray) -> None:
        """Hand the codes on the active atoms to the one-class SVM."""
        super().svm_open(active)
        indptr, data = self._rows.indptr, self._rows.data / np.repeat(self._root, np.diff(self._rows.indptr))
        self._set_rows(Block.csr(indptr, self._rows.indices, data, self._rows.n))

    def codes(self) -> scipy.sparse.csr_array:
        """Return the codes as they stand, N × number of atoms."""
        out = super().codes()
        out.data = out.data / np.repeat(self._root, np.diff(out.indptr))
        return out

    def _set_shares(self, shares: np.ndarray) -> None:
        self.shares = shares
        self.multipliers = shares * self._root
