"""The shard on a torch device: rows, codes, residual and multipliers as tensors, small answers as NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
import torch

from oddatom.arrays.torch_rows import DeviceRows, find_device, from_host, gram, rows_per_block, spans, to_host
from oddatom.coding import Codes
from oddatom.coding.torch_omp import CODINGS, TorchCodes, empty_codes, residual
from oddatom.rows.array import _sparse_kernels as k
from oddatom.rows.device.torch_plane import TorchOneClassShard
from oddatom.rows.device.torch_slots import Slots, compressed, dense


class TorchShard(TorchOneClassShard):
    """Rows Y (N×m), their codes X (at most s non-zeros a row), residual E = Y − X D and SVM multipliers, on a device.

    It answers what `LocalShard` answers, in float64. Rows, codes and residual are held in `dtype`; with float32 that
    is where rounding to float32 happens, and the pursuit works in float32 too. All else (moments, sums, margins,
    new codes) is computed in float64, a block of rows at a time.

    Parameters
    ----------
    Y : (N, m) array or tensor
        Used as it is where device and dtype fit; never written to.
    device : "cpu", "cuda" or "cuda:k"
    dtype : torch.float64, torch.float32 or None
        None takes that of Y.
    stream : bool
        Leave Y where it is and copy blocks of it to the device when rows are coded.
    """

    def __init__(
        self, Y: Any, device: str | torch.device = "cpu", dtype: torch.dtype | None = None, *, stream: bool = False
    ) -> None:
        self._source = DeviceRows(Y, find_device(device), dtype, stream=stream)
        super().__init__(self._source.shape[0], self._source.device)
        self._E: torch.Tensor | None = None

    @property
    def Y(self) -> torch.Tensor:
        """The rows, where they are kept."""
        return self._source.tensor

    @property
    def E(self) -> torch.Tensor:
        """The residual, on the device."""
        assert self._E is not None, "start_sweeps makes the residual"
        return self._E

    def encode(self, D: np.ndarray, s: int, coding: str = "omp") -> tuple[np.ndarray, float]:
        """Code the rows with D; return how many rows use each atom, and the sum of squared residuals."""
        atoms = from_host(D, self.device)
        # Where the rows are on the device this is one call, which cuts them to its own measure.
        parts = [CODINGS[coding](rows, atoms, s) for _, _, rows in self._source.blocks()]
        codes = _joined(parts, s, self._source)
        self.indices, self.values, self._sq_residual = codes
        # Positions row · s + slot, atom by atom, rows ascending; unused slots come before those of atom 0.
        atom, self._pos = torch.sort(self.indices.reshape(-1), stable=True)
        edges = torch.arange(D.shape[0] + 1, dtype=torch.int32, device=self.device)
        ptr, square = to_host(torch.searchsorted(atom, edges), self._sq_residual.sum(dtype=torch.float64))
        self._ptr = ptr.astype(np.int64)
        return np.diff(self._ptr), float(square)

    def last_codes(self) -> Codes:
        """Return the codes that `encode` has just made, on the host and in float64."""
        values, square = (t.cpu().numpy().astype(np.float64) for t in (self.values, self._sq_residual))
        return Codes(self.indices.cpu().numpy().copy(), values, square)

    def start_sweeps(self, D: np.ndarray) -> None:
        """Compute E = Y − X D, which the sweeps keep up to date."""
        atoms = from_host(D, self.device)
        if self._E is None:
            self._E = torch.empty(self._source.shape, dtype=self._source.dtype, device=self.device)
        for lo, hi, rows in self._source.blocks(24 * D.shape[1]):
            self._E[lo:hi] = residual(rows, atoms, self.indices[lo:hi], self.values[lo:hi])

    def _positions(self, i: int, bytes_per_row: int) -> Iterator[tuple[torch.Tensor, ...]]:
        """Yield, block by block, positions of atom i's codes, their rows and the codes themselves."""
        pos, s = self._pos[self._ptr[i] : self._ptr[i + 1]], self.values.shape[1]
        for lo, hi in spans(pos.numel(), rows_per_block(self.device, bytes_per_row)):
            part = pos[lo:hi]
            yield part, part // s, self.values.view(-1).index_select(0, part).to(torch.float64)

    def _with_targets(self, i: int, d: np.ndarray, kappa: float) -> Iterator[torch.Tensor]:
        """Yield [R, c] of atom i block by block: R = E_Ω + x dᵀ its residual without its own part, c = kappa·a_Ω."""
        m, atom = self.E.shape[1], from_host(d, self.device)
        for _, rows, x in self._positions(i, 24 * (m + 1)):
            Z = torch.empty((rows.numel(), m + 1), dtype=torch.float64, device=self.device)
            Z[:, :m] = self.E.index_select(0, rows)
            Z[:, :m].addcmul_(x[:, None], atom)
            Z[:, m] = float(kappa) * self._a.index_select(0, rows)
            yield Z

    def moments(self, i: int, d: np.ndarray, kappa: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Return A = RᵀR, g = Rᵀc and ‖c‖² of atom i, R its residual without its own part."""
        m = self.E.shape[1]
        total = torch.zeros((m + 1, m + 1), dtype=torch.float64, device=self.device)
        for Z in self._with_targets(i, d, kappa):
            total += gram(Z)
        (M,) = to_host(total)
        M = np.tril(M) + np.tril(M, -1).T  # a product's two triangles may differ in their last bits
        return M[:m, :m].copy(), M[:m, m].copy(), float(M[m, m])

    def rows(self, i: int, d: np.ndarray, kappa: float) -> tuple[np.ndarray, np.ndarray]:
        """Return R and c of atom i themselves."""
        m = self.E.shape[1]
        Z = np.concatenate([np.empty((0, m + 1))] + [Z.cpu().numpy() for Z in self._with_targets(i, d, kappa)])
        return Z[:, :m].copy(), Z[:, m].copy()

    def commit(self, i: int, old: np.ndarray, new: np.ndarray, shrink: float, kappa: float) -> None:
        """Replace atom i: x ← shrink·(R new + c), E ← R − x newᵀ (shrink 0 trims the row)."""
        before, after = from_host(np.stack([old, new]), self.device)
        overlap, shrink, kappa = float(np.dot(old, new)), float(shrink), float(kappa)
        for part, rows, x in self._positions(i, 24 * self.E.shape[1]):
            E = self.E.index_select(0, rows).to(torch.float64)
            if shrink != 0.0:
                t = shrink * (E @ after + x * overlap + kappa * self._a.index_select(0, rows))
            else:
                t = torch.zeros_like(x)
            t = t.to(self.values.dtype)
            self.values.view(-1).index_copy_(0, part, t)
            E.addcmul_(x[:, None], before).addcmul_(t[:, None].to(torch.float64), after, value=-1)
            self.E.index_copy_(0, rows, E.to(self.E.dtype))

    def commit_and_moments(
        self, done: tuple[int, np.ndarray, np.ndarray, float, float], ahead: tuple[int, np.ndarray, float]
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Commit one atom and return the moments of the next, in one message."""
        self.commit(*done)
        return self.moments(*ahead)

    def sq_error(self) -> tuple[float]:
        """Return ‖E‖²."""
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        for lo, hi in spans(self.E.shape[0], rows_per_block(self.device, 16 * self.E.shape[1])):
            total += self.E[lo:hi].to(torch.float64).square().sum()
        return (float(to_host(total)[0]),)

    def code_sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Return Σ_j a_j x_j and Σ_j x_j² by atom."""
        (N, s), n = self.values.shape, self._ptr.size - 1
        total = torch.zeros((2, n + 1), dtype=torch.float64, device=self.device)
        for lo, hi in spans(N, rows_per_block(self.device, 16 * (n + 1) + 16 * s)):
            columns = self.indices[lo:hi]
            X = dense(torch.where(columns < 0, n, columns), self.values[lo:hi], n)
            total[0] += self._a[lo:hi] @ X
            total[1] += X.square_().sum(dim=0)
        weighted, squares = to_host(total)[0][:, :n]
        return weighted.copy(), squares.copy()

    def svm_open(self, active: np.ndarray) -> None:
        """Hand the codes on the active atoms to the one-class SVM."""
        self._set_rows(Slots(self.indices, self.values, np.asarray(active, dtype=bool)))

    def codes(self) -> scipy.sparse.csr_array:
        """Return the codes as they stand, N × number of atoms, on the host."""
        n = self._ptr.size - 1
        indptr, indices, data = compressed(self.indices, self.values, np.arange(n, dtype=np.int32))
        k.sort_rows(indptr, indices, data)
        if data.size < 2**31:  # SciPy would convert the column numbers to 64 bits otherwise
            indptr = indptr.astype(np.int32)
        return scipy.sparse.csr_array((data.copy(), indices.copy(), indptr), shape=(indptr.size - 1, n))


def _joined(parts: list[TorchCodes], s: int, source: DeviceRows) -> TorchCodes:
    """The codes of consecutive blocks as those of all rows."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return empty_codes(0, s, source.dtype, source.device)
    return TorchCodes(*(torch.cat(tensors) for tensors in zip(*parts, strict=True)))
