"""The shard on a torch device: rows, codes, residual and multipliers as tensors, small answers as NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
import torch

from oddatom.arrays.torch_rows import DeviceRows, cross, find_device, from_host, gram, rows_per_block, spans, to_host
from oddatom.boundary.hinge_codes import hinge_codes, slack
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
        self._hinge: tuple[np.ndarray, float, float] | None = None  # a boundary that is fixed: w, kappa, curvature

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
        self._hinge = None
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

    def _with_targets(
        self, i: int, d: np.ndarray, kappa: float, bend: float, a: torch.Tensor
    ) -> Iterator[torch.Tensor]:
        """Yield [R, c] of atom i by blocks: R = E_Ω + x dᵀ its residual without its part, c = a (kappa − bend x)."""
        m, atom = self.E.shape[1], from_host(d, self.device)
        for _, rows, x in self._positions(i, 24 * (m + 1)):
            Z = torch.empty((rows.numel(), m + 1), dtype=torch.float64, device=self.device)
            Z[:, :m] = self.E.index_select(0, rows)
            Z[:, :m].addcmul_(x[:, None], atom)
            Z[:, m] = (float(kappa) - float(bend) * x) * a.index_select(0, rows)
            yield Z

    def moments(self, i: int, d: np.ndarray, kappa: float, bend: float = 0.0) -> tuple[np.ndarray, np.ndarray, float]:
        """Return A = RᵀR, g = Rᵀc and ‖c‖² of atom i, R its residual without its own part."""
        return self._moments(i, d, kappa, bend, self._a)

    def _moments(
        self, i: int, d: np.ndarray, kappa: float, bend: float, a: torch.Tensor
    ) -> tuple[np.ndarray, np.ndarray, float]:
        m = self.E.shape[1]
        total = torch.zeros((m + 1, m + 1), dtype=torch.float64, device=self.device)
        for Z in self._with_targets(i, d, kappa, bend, a):
            total += gram(Z)
        (M,) = to_host(total)
        M = np.tril(M) + np.tril(M, -1).T  # a product's two triangles may differ in their last bits
        return M[:m, :m].copy(), M[:m, m].copy(), float(M[m, m])

    def rows(self, i: int, d: np.ndarray, kappa: float, bend: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return R and c of atom i themselves."""
        m = self.E.shape[1]
        blocks = [Z.cpu().numpy() for Z in self._with_targets(i, d, kappa, bend, self._a)]
        Z = np.concatenate([np.empty((0, m + 1)), *blocks])
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

    def _zeros(self, *shape: int) -> torch.Tensor:
        return torch.zeros(shape, dtype=torch.float64, device=self.device)

    def direction(self, i: int, d: np.ndarray) -> tuple[np.ndarray]:
        """Return Rᵀx, the direction of the best atom for the codes as they are."""
        total, square = self._zeros(1, d.size), self._zeros(1, 1)
        for _, rows, x in self._positions(i, 24 * d.size):
            total += cross(x[:, None], self.E.index_select(0, rows).to(torch.float64))
            square += cross(x[:, None], x[:, None])
        u, xx = to_host(total, square)
        return (u[0] + float(xx[0, 0]) * d,)

    def hinge_start(self, w: np.ndarray, rho: float, curvature: float, kappa: float) -> None:
        """Fix the boundary, with the weight `kappa` of a row outside it; compute and keep how far outside rows lie."""
        self._hinge = w, float(kappa), float(curvature)
        padded = from_host(np.append(w, 0.0), self.device)
        weights = padded[torch.where(self.indices < 0, w.size, self.indices).long()]
        x = torch.where(self.indices < 0, 0.0, self.values.to(torch.float64))
        self._slack = float(rho) - (weights * x).sum(dim=1) + (0.5 * float(curvature)) * x.square().sum(dim=1)
        self._target = torch.empty(0, dtype=torch.float64, device=self.device)

    @property
    def _boundary(self) -> tuple[np.ndarray, float, float]:
        assert self._hinge is not None, "hinge_start fixes the boundary"
        return self._hinge

    def _without(self, i: int, rows: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return how far outside rows lie without their code x of atom i, and w_i for each of them."""
        w, _, curvature = self._boundary
        weight = torch.full_like(x, float(w[i]))
        return self._slack.index_select(0, rows) + weight * x - (0.5 * curvature) * x * x, weight

    def hinge_zero_moments(self, i: int, d: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the moments of atom i with c = kappa·w_i on the rows that lie outside where x = 0."""
        return self._moments(i, d, self._pull(i), 0.0, self._outside(i))

    def _pull(self, i: int) -> float:
        """kappa·w_i."""
        w, kappa, _ = self._boundary
        return kappa * float(w[i])

    def _outside(self, i: int) -> torch.Tensor:
        """1 on the rows of atom i that lie outside the boundary where x = 0; of other rows 0."""
        outside = torch.zeros_like(self._slack)
        for _, rows, x in self._positions(i, 64):
            outside.index_copy_(0, rows, (self._without(i, rows, x)[0] > 0.0).to(torch.float64))
        return outside

    def hinge_try(self, i: int, old: np.ndarray, new: np.ndarray, p: float) -> tuple[float, ...]:
        """Compute and keep r = R·new; return Σ x², Σ x r and Σ hinge of the codes for p, then of the old ones.

        Last come Σ hinge at x = 0, and ‖r + kappa w‖² with w on the rows that lie outside there.
        """
        both = from_host(np.stack([old, new], axis=1), self.device)
        kappa, overlap = self._boundary[1], float(np.dot(old, new))
        parts, sums = [], torch.zeros(5, dtype=torch.float64, device=self.device)
        for _, rows, x in self._positions(i, 24 * self.E.shape[1]):
            products = self.E.index_select(0, rows).to(torch.float64) @ both
            r = products[:, 1] + x * overlap
            q, weight = self._without(i, rows, x)
            most = r + torch.where(q > 0.0, kappa * weight, 0.0)
            before = self._slack.index_select(0, rows).clamp(min=0.0)
            sums += torch.stack([x @ x, x @ (products[:, 0] + x), before.sum(), q.clamp(min=0.0).sum(), most @ most])
            parts.append(r)
        self._target = torch.cat(parts) if parts else self._target[:0]
        return (*self.hinge_values(i, p), *to_host(sums)[0].tolist())

    def _codes_for(self, i: int, p: float, bytes_per_row: int) -> Iterator[tuple[torch.Tensor, ...]]:
        """Yield positions, rows, old codes, new codes for p, r, and slack with the new codes, block by block."""
        _, kappa, curvature = self._boundary
        start = 0
        for part, rows, x in self._positions(i, bytes_per_row):
            r = self._target[start : start + rows.numel()]
            start += rows.numel()
            q, weight = self._without(i, rows, x)
            # As it is kept: the slack is that of the rounded code.
            t = hinge_codes(r, q, weight, kappa, curvature, p).to(self.values.dtype).to(torch.float64)
            yield part, rows, x, t, r, slack(t, q, weight, curvature)

    def hinge_values(self, i: int, p: float) -> tuple[float, float, float]:
        """Return Σ x², Σ x r and Σ hinge of the codes for another p."""
        sums = torch.zeros(3, dtype=torch.float64, device=self.device)
        for _, _, _, t, r, outside in self._codes_for(i, p, 96):
            sums += torch.stack([t @ t, t @ r, outside.clamp(min=0.0).sum()])
        xx, xr, hinge = to_host(sums)[0].tolist()
        return xx, xr, hinge

    def hinge_commit(self, i: int, old: np.ndarray, new: np.ndarray, p: float) -> None:
        """Replace atom i and its codes by those for p (inf trims the row)."""
        before, after = from_host(np.stack([old, new]), self.device)
        for part, rows, x, t, _, outside in self._codes_for(i, p, 24 * self.E.shape[1]):
            E = self.E.index_select(0, rows).to(torch.float64)
            E.addcmul_(x[:, None], before).addcmul_(t[:, None], after, value=-1)
            self.E.index_copy_(0, rows, E.to(self.E.dtype))
            self.values.view(-1).index_copy_(0, part, t.to(self.values.dtype))
            self._slack.index_copy_(0, rows, outside)

    def hinge_commit_and_moments(
        self, done: tuple[int, np.ndarray, np.ndarray, float], ahead: tuple[int, np.ndarray, float, float]
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Commit one atom and return the moments of the next, in one message."""
        self.hinge_commit(*done)
        return self.moments(*ahead)

    def hinge_total(self) -> tuple[float]:
        """Return Σ (rho − f)₊ of the codes as they are."""
        return (float(to_host(self._slack.clamp(min=0.0).sum())[0]),)

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
