"""The shard of this process: rows in NumPy arrays, passes in numba."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from oddatom.arrays.blas import DSYRK
from oddatom.arrays.block import Block
from oddatom.arrays.threads import split
from oddatom.coding import CODINGS, Codes
from oddatom.rows.array import _hinge_kernels as h
from oddatom.rows.array import _sparse_kernels as k
from oddatom.rows.array.plane_shard import OneClassShard


class LocalShard(OneClassShard):
    """Rows Y (N×m), their codes X (at most s non-zeros a row), residual E = Y − X D and SVM multipliers.

    Every method that returns a tuple returns sums over the rows, which a `ShardGroup` adds up.
    `kappa` stands for eta·w_i/(nu N): with it, c = kappa·a on the rows of atom i.
    """

    def __init__(self, Y: np.ndarray) -> None:
        self.Y = Y
        self.E = np.empty_like(Y)
        self.multipliers = np.zeros(Y.shape[0])
        self._work: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self._csr: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self._hinge: tuple[np.ndarray, float, float] | None = None  # a boundary that is fixed: w, kappa, curvature
        self._roots = np.empty(0)  # of the rows' weights, where they have some

    def encode(self, D: np.ndarray, s: int, coding: str = "omp") -> tuple[np.ndarray, float]:
        """Code the rows with D; return how many rows use each atom, and the sum of squared residuals."""
        codes = CODINGS[coding](self.Y, D, s)
        self.indices, self.values, self._sq_residual = codes
        self._ptr = np.zeros(D.shape[0] + 1, np.int64)
        self._pos = np.empty(self.indices.size, np.int64)
        k.csc_positions(self.indices, D.shape[0], self._ptr, self._pos)
        return np.diff(self._ptr), float(codes.sq_residual.sum())

    def last_codes(self) -> Codes:
        """Return the codes that `encode` has just made."""
        return Codes(self.indices, self.values, self._sq_residual)

    def start_sweeps(self, D: np.ndarray) -> None:
        """Compute E = Y − X D, which the sweeps keep up to date."""
        (N, m), s = self.E.shape, self.values.shape[1]
        split(N, s * m / 2).run(k.residual, self.Y, D, self.indices, self.values, self.E)
        self._hinge = None

    def _rows_of(self, i: int) -> np.ndarray:
        return self._pos[self._ptr[i] : self._ptr[i + 1]]

    def moments(self, i: int, d: np.ndarray, kappa: float, bend: float = 0.0) -> tuple[np.ndarray, np.ndarray, float]:
        """Return A = RᵀR, g = Rᵀc and ‖c‖² of atom i, R its residual without its own part.

        The arrays are the shard's and hold until the next call.
        """
        return self._moments(i, d, kappa, bend, self.multipliers)

    def _moments(
        self, i: int, d: np.ndarray, kappa: float, bend: float, a: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        pos, m, s = self._rows_of(i), self.E.shape[1], self.values.shape[1]
        plan = split(pos.size, 5 + m + m * m / 25, rows_per_chunk=2 * m)
        if self._work is None or self._work[2].size < plan.k:
            self._work = np.empty((plan.k, m, m)), np.empty((plan.k, m)), np.empty(plan.k)
        A, g, cc = self._work
        plan.run(k.moments, DSYRK, self.E, self.values, a, self._roots, pos, s, d, kappa, bend, A, g, cc)
        return A[0], g[0], float(cc[0])

    def rows(self, i: int, d: np.ndarray, kappa: float, bend: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return R and c of atom i themselves."""
        pos = self._rows_of(i)
        R, c = np.empty((pos.size, self.E.shape[1])), np.empty(pos.size)
        codes = self.values, self.multipliers, self._roots, pos, self.values.shape[1]
        k.gather_rows(self.E, *codes, d, kappa, bend, R, c)
        return R, c

    def commit(self, i: int, old: np.ndarray, new: np.ndarray, shrink: float, kappa: float) -> None:
        """Replace atom i: x ← shrink·(R new + c), E ← R − x newᵀ (shrink 0 trims the row)."""
        pos, s = self._rows_of(i), self.values.shape[1]
        plan = split(pos.size, 10 + self.E.shape[1])
        plan.run(k.commit, self.E, self.values, self.multipliers, pos, s, old, new, shrink, kappa)

    def commit_and_moments(
        self, done: tuple[int, np.ndarray, np.ndarray, float, float], ahead: tuple[int, np.ndarray, float]
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Commit one atom and return the moments of the next, in one message."""
        self.commit(*done)
        return self.moments(*ahead)

    def direction(self, i: int, d: np.ndarray) -> tuple[np.ndarray]:
        """Return Rᵀx, the direction of the best atom for the codes as they are."""
        pos, m = self._rows_of(i), d.size
        plan = split(pos.size, 5 + m / 2, rows_per_chunk=m)
        u, xx = np.empty((plan.k, m)), np.empty(plan.k)
        plan.run(k.direction, self.E, self.values.ravel(), pos, self.values.shape[1], d, u, xx)
        return (u[0],)

    def hinge_start(self, w: np.ndarray, rho: float, curvature: float, kappa: float) -> None:
        """Fix the boundary, with the weight `kappa` of a row outside it; compute and keep how far outside rows lie."""
        self._hinge = w, kappa, curvature
        self._slack = np.empty(self.Y.shape[0])
        self._target_room = np.empty(int(np.diff(self._ptr).max(initial=0)))
        h.start(self.indices, self.values, w, rho, curvature, self._roots, self._slack)

    def _hinge_of(self, i: int) -> tuple[Any, ...]:
        """What the kernels need of the boundary: w_i, kappa, curvature, √ω and slack of the rows."""
        assert self._hinge is not None, "hinge_start fixes the boundary"
        w, kappa, curvature = self._hinge
        return w[i], kappa, curvature, self._roots, self._slack

    def _codes_of(self, i: int) -> tuple[Any, ...]:
        return self.values.ravel(), self._rows_of(i), self.values.shape[1]

    def hinge_zero_moments(self, i: int, d: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the moments of atom i with c = kappa·w_i on the rows that lie outside where x = 0."""
        return self._moments(i, d, self._pull(i), 0.0, self._outside(i))

    def _pull(self, i: int) -> float:
        """kappa·w_i."""
        w, kappa, *_ = self._hinge_of(i)
        return float(kappa * w)

    def _outside(self, i: int) -> np.ndarray:
        """√ω on the rows of atom i that lie outside the boundary where x = 0; of other rows 0."""
        w, _, curvature, *rest = self._hinge_of(i)
        outside = np.zeros(self.Y.shape[0])
        h.rows_outside(*self._codes_of(i), w, curvature, *rest, outside)
        return outside

    def hinge_try(self, i: int, old: np.ndarray, new: np.ndarray, p: float) -> tuple[float, ...]:
        """Compute and keep r = R·new; return Σ x², Σ x r and Σ hinge of the codes for p, then of the old ones.

        Last come Σ hinge at x = 0, and ‖r + kappa w‖² with w on the rows that lie outside there.
        """
        codes = self._codes_of(i)
        n = codes[1].size
        self._target = self._target_room[:n]
        plan = split(n, 20 + self.E.shape[1])
        sums = np.empty((plan.k, 8))
        plan.run(h.attempt, self.E, *codes, old, new, *self._hinge_of(i), p, self._target, sums)
        return tuple(sums.sum(axis=0).tolist())

    def hinge_values(self, i: int, p: float) -> tuple[float, float, float]:
        """Return Σ x², Σ x r and Σ hinge of the codes for another p."""
        codes = self._codes_of(i)
        plan = split(codes[1].size, 10.0)
        sums = np.empty((plan.k, 3))
        plan.run(h.values, *codes, *self._hinge_of(i), p, self._target, sums)
        return tuple(sums.sum(axis=0).tolist())

    def hinge_commit(self, i: int, old: np.ndarray, new: np.ndarray, p: float) -> None:
        """Replace atom i and its codes by those for p (inf trims the row)."""
        codes = self._codes_of(i)
        plan = split(codes[1].size, 15 + self.E.shape[1])
        plan.run(h.commit, self.E, *codes, old, new, *self._hinge_of(i), p, self._target)

    def hinge_commit_and_moments(
        self, done: tuple[int, np.ndarray, np.ndarray, float], ahead: tuple[int, np.ndarray, float, float]
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Commit one atom and return the moments of the next, in one message."""
        self.hinge_commit(*done)
        return self.moments(*ahead)

    def hinge_total(self) -> tuple[float]:
        """Return Σ (rho − f)₊ of the codes as they are."""
        return (h.total(self._slack),)

    def sq_error(self) -> tuple[float]:
        """Return ‖E‖²."""
        flat = self.E.ravel()
        return (float(flat @ flat),)

    def code_sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Return Σ_j a_j x_j and Σ_j x_j² by atom."""
        n = self._ptr.size - 1
        weighted, squares = np.zeros(n), np.zeros(n)
        k.code_sums(self.indices, self.values, self.multipliers, weighted, squares)
        return weighted, squares

    def svm_open(self, active: np.ndarray) -> None:
        """Hand the codes on the active atoms to the one-class SVM."""
        column = np.where(active, np.cumsum(active) - 1, -1).astype(np.int32)
        if self._csr is None or self._csr[1].size != self.indices.size:
            self._csr = self._empty_csr()
        indptr, out_indices, out_data = self._csr
        nnz = k.compress(self.indices, self.values, column, indptr, out_indices, out_data)
        self._set_rows(Block.csr(indptr, out_indices[:nnz], out_data[:nnz], int(active.sum())))

    def _empty_csr(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        size = self.indices.size
        return np.zeros(self.indices.shape[0] + 1, np.int64), np.empty(size, np.int32), np.empty(size)

    def codes(self) -> scipy.sparse.csr_array:
        """Return the codes as they stand, N × number of atoms."""
        n = self._ptr.size - 1
        indptr, out_indices, out_data = self._empty_csr()
        nnz = k.compress(self.indices, self.values, np.arange(n, dtype=np.int32), indptr, out_indices, out_data)
        k.sort_rows(indptr, out_indices, out_data)
        out_indices, out_data = out_indices[:nnz], out_data[:nnz]
        if 2 * nnz < self.indices.size:  # trimmed atoms left much of the room empty: do not hold on to it
            out_indices, out_data = out_indices.copy(), out_data.copy()
        if nnz < 2**31:  # SciPy would convert the column numbers to 64 bits otherwise
            indptr = indptr.astype(np.int32)
        return scipy.sparse.csr_array((out_data, out_indices, indptr), shape=(indptr.size - 1, n))
