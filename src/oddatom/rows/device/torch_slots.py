"""Sparse codes on a torch device, as the one-class SVM sees them: a column and a value for each of s slots a row.

Sums over rows go through small dense blocks and matrix products, never through atomic additions, whose order varies:
the same rows give the same sums, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse
import torch

from oddatom.arrays.block import Block
from oddatom.arrays.torch_rows import gram, rows_per_block, spans
from oddatom.rows.array import _sparse_kernels as k


def dense(columns: torch.Tensor, values: torch.Tensor, n: int) -> torch.Tensor:
    """Return slots (B, s) as float64 rows of n + 1 columns; unused slots hold 0 in column n."""
    out = torch.zeros((columns.shape[0], n + 1), dtype=torch.float64, device=values.device)
    return out.scatter_(1, columns.to(torch.int64), values.to(torch.float64))


class Slots:
    """Rows x with at most s non-zeros in n columns: `columns` (int32; n where unused) and `values`, both (s, N).

    Slot by slot, products and sums over a row are taken in the order of its slots: equal rows get equal numbers.
    """

    def __init__(self, indices: torch.Tensor, values: torch.Tensor, active: np.ndarray) -> None:
        self.n = n = int(active.sum())
        column = np.append(n, np.where(active, np.cumsum(active) - 1, n))  # of atom i at i + 1: −1 is unused
        table = torch.tensor(column, dtype=torch.int32, device=values.device)
        self.columns = torch.empty(indices.shape[::-1], dtype=torch.int32, device=values.device)
        self.values = torch.empty(indices.shape[::-1], dtype=values.dtype, device=values.device)
        for slot in range(indices.shape[1]):
            self.columns[slot] = table.index_select(0, indices[:, slot] + 1)
            self.values[slot] = torch.where(self.columns[slot] < n, values[:, slot], 0.0)

    @property
    def device(self) -> torch.device:
        """Where the rows are."""
        return self.values.device

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.values.shape[1]

    def norms(self) -> torch.Tensor:
        """Return ‖x‖ of every row, in float64."""
        out = torch.zeros(self.n_rows, dtype=torch.float64, device=self.device)
        for slot in self.values:
            x = slot.to(torch.float64)
            out += x * x
        return out.sqrt_()

    def multiply(self, w: torch.Tensor, out: torch.Tensor) -> None:
        """out = X w, in float64."""
        padded = torch.cat([w, w.new_zeros(1)])
        out.zero_()
        for lo, hi in spans(self.n_rows, rows_per_block(self.device, 24)):
            for columns, values in zip(self.columns, self.values, strict=True):
                out[lo:hi] += values[lo:hi].to(torch.float64) * padded.index_select(0, columns[lo:hi])

    def _blocks(self, rows: torch.Tensor | None) -> Iterator[tuple[int, int, torch.Tensor]]:
        """Yield (lo, hi, dense block) over all rows or the rows listed."""
        n_rows = self.n_rows if rows is None else rows.numel()
        for lo, hi in spans(n_rows, rows_per_block(self.device, 8 * (self.n + 1) + 16 * self.values.shape[0])):
            if rows is None:
                yield lo, hi, dense(self.columns[:, lo:hi].T, self.values[:, lo:hi].T, self.n)
            else:
                part = rows[lo:hi]
                yield lo, hi, dense(self.columns.index_select(1, part).T, self.values.index_select(1, part).T, self.n)

    def weighted_sum(self, v: torch.Tensor | None = None, rows: torch.Tensor | None = None) -> torch.Tensor:
        """Return Σ_j v_j x_j over all rows, or over the rows listed (v belongs to those; all ones if left out)."""
        total = torch.zeros(self.n, dtype=torch.float64, device=self.device)
        for lo, hi, X in self._blocks(rows):
            weights = torch.ones(hi - lo, dtype=torch.float64, device=self.device) if v is None else v[lo:hi]
            total += (weights @ X)[: self.n]
        return total

    def augmented_gram(self, rows: torch.Tensor, scale: float) -> torch.Tensor:
        """Return Σ [x/scale, −1]ᵀ[x/scale, −1] over the rows listed."""
        total = torch.zeros((self.n + 1, self.n + 1), dtype=torch.float64, device=self.device)
        for _, _, X in self._blocks(rows):
            X /= scale
            X[:, self.n] = -1.0
            total += gram(X)
        return total

    def take(self, rows: torch.Tensor, scale: float) -> Block:
        """Return the rows listed, divided by `scale`, as CSR on the host."""
        csr = self._csr(self.columns.index_select(1, rows), self.values.index_select(1, rows))
        return Block.csr(csr[0], csr[1], csr[2] / scale, self.n)

    def csr_array(self) -> scipy.sparse.csr_array:
        """Return every row as CSR on the host."""
        indptr, indices, data = self._csr(self.columns, self.values)
        return scipy.sparse.csr_array((data, indices, indptr), shape=(self.n_rows, self.n))

    def _csr(self, columns: torch.Tensor, values: torch.Tensor) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        names = np.append(np.arange(self.n, dtype=np.int32), np.int32(-1))
        return compressed(columns.T, values.T, names)


def compressed(
    indices: torch.Tensor, values: torch.Tensor, column: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the non-zero codes (N, s) as CSR on the host, in the order of the slots, atom i in column[i]."""
    host_indices = indices.contiguous().cpu().numpy()
    host_values = values.contiguous().cpu().numpy().astype(np.float64, copy=False)
    indptr = np.zeros(host_indices.shape[0] + 1, np.int64)
    out_indices, out_data = np.empty(host_indices.size, np.int32), np.empty(host_indices.size)
    nnz = k.compress(host_indices, host_values, column, indptr, out_indices, out_data)
    return indptr, out_indices[:nnz], out_data[:nnz]
