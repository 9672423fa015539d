"""Codes of new rows on a torch device: scaled and coded a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from oddatom.arrays.namespaces import like
from oddatom.arrays.torch_rows import DeviceRows, from_host, to_host
from oddatom.coding import linear_codes, resize
from oddatom.coding.histograms import BINS, CodeHistograms, center_and_spread, code_bins, histograms_of
from oddatom.coding.statistics import CodeStatistics, statistics_of
from oddatom.coding.torch_omp import CODINGS, TorchCodes
from oddatom.kernels.coordinates import KernelMap
from oddatom.rows.device.torch_features import RowKernelMap
from oddatom.rows.device.torch_slots import dense
from oddatom.scaling.linear import HUGE, Scaling

_HUGE = {torch.float64: HUGE, torch.float32: 1e15}  # sizes above which squares overflow


class RowCoder:
    """Scales and codes new rows on a device, a block at a time, as the detectors do: see `DictionaryDetector._chunks`.

    Parameters
    ----------
    source : DeviceRows
        The rows. The pursuit works in their dtype.
    scaling : Scaling
    components : (n, m)
        Active atoms; n may be 0.
    n_nonzero : int
    coding : {"omp", "correlation"}
    kernel_map : KernelMap or None
        Where given, rows are coded in its coordinates.
    """

    def __init__(
        self,
        source: DeviceRows,
        scaling: Scaling,
        components: np.ndarray,
        n_nonzero: int,
        coding: str = "omp",
        kernel_map: KernelMap | None = None,
    ) -> None:
        self.source, device = source, source.device
        self._atoms = from_host(components, device)
        self.scaling = like(scaling, self._atoms)
        self.kernel_map = None if kernel_map is None else RowKernelMap(kernel_map, device)
        self._s = min(n_nonzero, components.shape[0])
        self._coding = CODINGS[coding]
        self._huge = _HUGE[source.dtype]

    @property
    def slots(self) -> int:
        """Non-zeros of a code, at most."""
        return self._s

    def blocks(self) -> Iterator[tuple[int, int, torch.Tensor]]:
        """Yield (lo, hi, raw rows on the device), as many as there is room for."""
        room = 40 * self.source.shape[1] + 16 * self._atoms.shape[1] + 64 * self._s
        yield from self.source.blocks(room + (0 if self.kernel_map is None else self.kernel_map.bytes_per_row))

    def kernel_rows(self, X: torch.Tensor) -> torch.Tensor:
        """Return float64 rows as the kernel takes them."""
        assert self.kernel_map is not None
        if self.kernel_map.kernel is None:
            return X.to(torch.float64)
        Z, size = self.scaling.sized(X.to(torch.float64), self._huge)
        return self.kernel_map.within_reach(Z if size is None else Z * size)

    def codes(self, X: torch.Tensor) -> TorchCodes:
        """Return the codes of raw rows."""
        if self.kernel_map is not None:
            Y = self.kernel_rows(X)
            Phi = self.kernel_map.coordinates(Y)
            codes = self._code(Phi)
            return codes._replace(sq_residual=codes.sq_residual.to(torch.float64) + self.kernel_map.outside(Y, Phi))
        Z, size = self.scaling.sized(X.to(torch.float64), self._huge)
        return resize(self._code(Z), size)  # sizes are float64, and so what is multiplied by them

    def linear_codes(self, X: torch.Tensor, P: torch.Tensor) -> TorchCodes:
        """Return the codes P y of raw rows, an atom in every slot; residuals are not worked out."""
        if self.kernel_map is not None:
            values = self.kernel_map.coordinates(self.kernel_rows(X)) @ P.T
        else:
            values = self.scaling.apply(X.to(torch.float64)) @ P.T
        codes: Any = linear_codes(values, P.shape[0])
        return TorchCodes(*codes)

    def _code(self, Z: torch.Tensor) -> TorchCodes:
        if self._s == 0:
            nothing = torch.full((Z.shape[0], 1), -1, dtype=torch.int32, device=Z.device)
            return TorchCodes(nothing, torch.zeros_like(nothing, dtype=torch.float64), Z.square().sum(dim=1))
        # A kernel's coordinates stay in float64: rounding counts for much in directions where the kernel is small.
        return self._coding(Z if self.kernel_map is not None else Z.to(self.source.dtype), self._atoms, self._s)


def row_code_statistics(
    X: torch.Tensor,
    scaling: Scaling,
    components: np.ndarray,
    n_nonzero: int,
    coding: str = "omp",
    *,
    kernel_map: KernelMap | None = None,
    device: torch.device | None = None,
) -> CodeStatistics:
    """Return `code_statistics` of the rows that the scaling was fitted to; of their codes, only sq_residual comes back.

    Parameters are those of `oddatom.scores.torch_scores.score_rows`.
    """
    coder = RowCoder(device_rows(X, device), scaling, components, n_nonzero, coding, kernel_map)
    n, m = components.shape
    sums = torch.zeros((2, n + 1), dtype=torch.float64, device=coder.source.device)
    squares = [np.empty(0)]
    for _, _, rows in coder.blocks():
        codes = coder.codes(rows)
        columns = torch.where(codes.indices < 0, n, codes.indices)
        sums[0] += dense(columns, torch.ones_like(codes.values), n).sum(dim=0)
        sums[1] += dense(columns, codes.values, n).square_().sum(dim=0)
        squares.append(codes.sq_residual.to(torch.float64).cpu().numpy())
    counts, energies = to_host(sums)[0][:, :n]
    return statistics_of(counts.astype(np.int64), energies, np.concatenate(squares), max(coder.slots, 1), m)


def row_code_histograms(
    X: torch.Tensor,
    scaling: Scaling,
    components: np.ndarray,
    n_nonzero: int,
    coding: str = "omp",
    *,
    kernel_map: KernelMap | None = None,
    analysis: np.ndarray | None = None,
    device: torch.device | None = None,
) -> CodeHistograms:
    """Return `code_histograms` of rows, in two passes; of linear codes where there are analysis atoms."""
    coder = RowCoder(device_rows(X, device), scaling, components, n_nonzero, coding, kernel_map)
    P = None if analysis is None else from_host(analysis, coder.source.device)
    n, there = components.shape[0], coder.source.device
    moments = torch.zeros((3, n + 1), dtype=torch.float64, device=there)  # the last is for slots without an atom
    counts = torch.zeros((n + 1) * BINS, dtype=torch.int64, device=there)

    def blocks() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for _, _, rows in coder.blocks():
            codes = coder.codes(rows) if P is None else coder.linear_codes(rows, P)
            yield torch.where(codes.indices < 0, n, codes.indices).ravel(), codes.values.to(torch.float64).ravel()

    for atoms, values in blocks():
        for k, numbers in enumerate((torch.ones_like(values), values, values * values)):
            moments[k] += torch.bincount(atoms, numbers, n + 1)
    sums = to_host(moments)[0][:, :n]
    center, spread = (from_host(np.append(part, 1.0), there) for part in center_and_spread(sums))
    for atoms, values in blocks():
        place = atoms * BINS + code_bins(values, center[atoms], spread[atoms])
        counts += torch.bincount(place, minlength=counts.numel())
    return histograms_of(sums, counts.cpu().numpy().reshape(n + 1, BINS)[:n], float(X.shape[0]))


def device_rows(X: torch.Tensor, device: torch.device | None) -> DeviceRows:
    """Return rows to be handed out in blocks on the device, by default that of X."""
    return DeviceRows(X, device or X.device, None, stream=True)
