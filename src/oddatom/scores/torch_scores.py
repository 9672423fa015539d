"""Scores of rows on a torch device: scaled, coded and scored a block at a time; only scores come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from oddatom.arrays.torch_rows import DeviceRows, from_host, to_host
from oddatom.coding.torch_omp import CODINGS, TorchCodes
from oddatom.kernels.coordinates import KernelMap
from oddatom.rows.device.torch_features import RowKernelMap, RowScaling
from oddatom.rows.device.torch_slots import dense
from oddatom.scaling.linear import Scaling
from oddatom.scores.statistics import CodeStatistics, statistics_of

# Sizes of a scaled row, as for the detectors: squares overflow above the first (by dtype), sums above the second.
HUGE = {torch.float64: 1e100, torch.float32: 1e15}
LARGEST = 1e300
_LOWEST = -torch.finfo(torch.float64).max
_SMALL = 2.0**-500  # an exact factor


class RowStatistics(NamedTuple):
    """What description lengths take from `CodeStatistics`, on a device."""

    cost: torch.Tensor  # (n + 1,) log((1 − π_i)/π_i) + ½ log⁺(s_i²/s_e²), 0 for no atom
    deviation: torch.Tensor  # (n + 1,) s_i, 1 for no atom
    nothing: float  # −Σ log(1 − π_k)
    noise: float  # s_e²


def row_statistics(statistics: CodeStatistics, device: torch.device) -> RowStatistics:
    """Prepare training statistics for rows on a device."""
    usage, variance, noise = statistics
    rest = np.log1p(-usage)
    cost = rest - np.log(usage) + 0.5 * np.maximum(np.log(variance) - np.log(noise), 0.0)
    deviation = np.append(np.sqrt(variance), 1.0)
    return RowStatistics(
        from_host(np.append(cost, 0.0), device), from_host(deviation, device), -float(rest.sum()), float(noise)
    )


# A score is a function of codes, w (n + 1 entries, the last 0, for slots without an atom) and the statistics.


def margin(codes: TorchCodes, w: torch.Tensor, statistics: RowStatistics) -> torch.Tensor:
    """Return w·x_j for every row j of codes."""
    return (codes.values * _of_atoms(w, codes.indices)).sum(dim=1)


def residual(codes: TorchCodes, w: torch.Tensor, statistics: RowStatistics) -> torch.Tensor:
    """Return −‖y_j − x_j D‖² for every row j of codes."""
    return (-codes.sq_residual.to(torch.float64)).clamp_(min=_LOWEST)


def description_length(codes: TorchCodes, w: torch.Tensor, statistics: RowStatistics) -> torch.Tensor:
    """Return −L for every row of codes, see `oddatom.scores.description_length`."""
    cost, deviation, nothing, noise = statistics
    c = codes.values / _of_atoms(deviation, codes.indices)
    length = _of_atoms(cost, codes.indices).addcmul_(c, c, value=0.5).sum(dim=1).add_(nothing)
    length += 0.5 * codes.sq_residual.to(torch.float64) / noise
    return length.neg_().clamp_(min=_LOWEST)


def _of_atoms(numbers: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """The numbers of the atoms in the slots of codes, (N, s); those of no atom come last in `numbers`."""
    where = torch.where(indices < 0, numbers.numel() - 1, indices)
    return numbers.index_select(0, where.reshape(-1)).view(indices.shape)


TORCH_SCORES: dict[str, Callable[[TorchCodes, torch.Tensor, RowStatistics], torch.Tensor]] = {
    "margin": margin,
    "residual": residual,
    "description_length": description_length,
}


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
        self._scaling = RowScaling(scaling, device)
        center = None if scaling.center is None else _SMALL * scaling.center
        self._reduced = RowScaling(scaling._replace(center=center), device)
        self._map = None if kernel_map is None else RowKernelMap(kernel_map, device)
        self._atoms = from_host(components, device)
        self._s = min(n_nonzero, components.shape[0])
        self._coding = CODINGS[coding]
        self._huge = HUGE[source.dtype]

    @property
    def slots(self) -> int:
        """Non-zeros of a code, at most."""
        return self._s

    def blocks(self) -> Iterator[tuple[int, int, torch.Tensor]]:
        """Yield (lo, hi, rows in float64 to be scaled in place), as many as there is room for."""
        room = 24 * self.source.shape[1] + 16 * self._atoms.shape[1] + 64 * self._s
        for lo, hi, rows in self.source.blocks(room + (0 if self._map is None else self._map.bytes_per_row)):
            yield lo, hi, rows.to(torch.float64, copy=True, memory_format=torch.contiguous_format)

    def in_blocks(self, n: int, some: Callable[[torch.Tensor, bool], list[torch.Tensor]]) -> list[torch.Tensor]:
        """Return n numbers for every row, those that `some` makes of raw rows, which it scales in place.

        It is called with `careful` False, and once more with True where a scaled row was HUGE: one wait for the device.
        """
        N, device = self.source.shape[0], self.source.device
        out = [torch.empty(N, dtype=torch.float64, device=device) for _ in range(n)]
        top = torch.zeros((), dtype=torch.float64, device=device)
        for careful in (False, True):
            for lo, hi, rows in self.blocks():
                parts = some(rows, careful)
                top = torch.maximum(top, torch.linalg.vector_norm(rows, float("inf")))
                for whole, part in zip(out, parts, strict=True):
                    whole[lo:hi] = part
            if float(to_host(top)[0]) <= self._huge:
                break
        return out

    def scaled(self, X: torch.Tensor, careful: bool) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Scale float64 rows in place. If `careful`, return them divided by their size, and that, a column.

        The size is 1 for rows whose entries are up to HUGE. Rows above LARGEST have that size.
        """
        if not careful:
            return self._scaling.apply_(X), None
        small = self._reduced.apply_(_SMALL * X).clamp_(min=_LOWEST, max=-_LOWEST)
        small /= small.abs().amax(dim=1, keepdim=True)
        Y = self._scaling.apply_(X)
        size = Y.abs().amax(dim=1, keepdim=True)
        Y = torch.where(size > LARGEST, LARGEST * small, Y)
        size = torch.where(size > self._huge, size.clamp(max=LARGEST), 1.0)
        return Y / size, size

    def _kernel_rows(self, X: torch.Tensor, careful: bool) -> torch.Tensor:
        """Return float64 rows as the kernel takes them."""
        assert self._map is not None
        if self._map.kernel is None:
            return X
        Z, size = self.scaled(X, careful)
        return self._map.within_reach(Z if size is None else Z * size)

    def codes(self, X: torch.Tensor, careful: bool) -> TorchCodes:
        """Return the codes of float64 rows, which are scaled in place."""
        if self._map is not None:
            Y = self._kernel_rows(X, careful)
            Phi = self._map.coordinates(Y)
            codes = self._code(Phi)
            return codes._replace(sq_residual=codes.sq_residual.to(torch.float64) + self._map.outside(Y, Phi))
        Z, size = self.scaled(X, careful)
        codes = self._code(Z)
        if size is None:
            return codes
        square = codes.sq_residual.to(torch.float64) * size[:, 0] * size[:, 0]  # not by size²: 0 · inf is no number
        return TorchCodes(codes.indices, codes.values.to(torch.float64) * size, square)

    def _code(self, Z: torch.Tensor) -> TorchCodes:
        if self._s == 0:
            nothing = torch.full((Z.shape[0], 1), -1, dtype=torch.int32, device=Z.device)
            return TorchCodes(nothing, torch.zeros_like(nothing, dtype=torch.float64), Z.square().sum(dim=1))
        # A kernel's coordinates stay in float64: rounding counts for much in directions where the kernel is small.
        return self._coding(Z if self._map is not None else Z.to(self.source.dtype), self._atoms, self._s)

    def margins(self, X: torch.Tensor, v: torch.Tensor, careful: bool) -> torch.Tensor:
        """Return v·y of float64 rows, which are scaled in place; y are their coordinates where there is a kernel."""
        if self._map is not None:
            return self._map.margin(self._kernel_rows(X, careful), v)
        again = self._scaling.huge_margin(X, v) if careful else None
        t = self._scaling.apply_(X) @ v
        return t if again is None else torch.where(t.isfinite(), t, again)


def score_rows(
    X: torch.Tensor,
    scaling: Scaling,
    components: np.ndarray,
    coef: np.ndarray,
    n_nonzero: int,
    statistics: CodeStatistics,
    names: Sequence[str] = ("margin",),
    coding: str = "omp",
    *,
    kernel_map: KernelMap | None = None,
    analysis: np.ndarray | None = None,
    device: torch.device | None = None,
) -> dict[str, torch.Tensor]:
    """Return scores of raw rows by name, float64 tensors on the device: higher = more normal.

    Parameters
    ----------
    X : (N, m) tensor, float64 or float32
        Finite rows in the units of the training rows. The pursuit works in their dtype.
    scaling, components, coef, n_nonzero, statistics : the detector's
    names : sequence of TORCH_SCORES
    coding : {"omp", "correlation"}
    kernel_map : KernelMap or None
    analysis : (n, m) or None
        P, where the margin is that of linear codes, w·Py.
    device : torch.device or None
        None takes that of X; rows that are elsewhere are copied in blocks.
    """
    coder = RowCoder(_rows(X, device), scaling, components, n_nonzero, coding, kernel_map)
    device = coder.source.device
    w, prepared = from_host(np.append(coef, 0.0), device), row_statistics(statistics, device)
    plane = None if analysis is None or "margin" not in names else from_host(analysis.T @ coef, device)
    sparse = [name for name in names if name != "margin" or plane is None]

    def some(rows: torch.Tensor, careful: bool) -> list[torch.Tensor]:
        found = {}
        if plane is not None:
            found["margin"] = coder.margins(rows.clone() if sparse else rows, plane, careful)
        if sparse:
            codes = coder.codes(rows, careful)
            found.update({name: TORCH_SCORES[name](codes, w, prepared) for name in sparse})
        return [found[name] for name in names]

    return dict(zip(names, coder.in_blocks(len(names), some), strict=True))


def linear_margin_rows(
    X: torch.Tensor,
    scaling: Scaling,
    v: np.ndarray,
    *,
    kernel_map: KernelMap | None = None,
    device: torch.device | None = None,
) -> torch.Tensor:
    """Return v·y for every row x, scaled to y (or its coordinates): the margin w·Py of linear codes, v = Pᵀw."""
    coder = RowCoder(_rows(X, device), scaling, np.empty((0, v.size)), 0, kernel_map=kernel_map)
    plane = from_host(v, coder.source.device)
    margins = coder.in_blocks(1, lambda rows, careful: [coder.margins(rows, plane, careful)])[0]
    largest = torch.finfo(margins.dtype).max
    return margins.clamp_(-largest, largest)


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

    Parameters are those of `score_rows`.
    """
    coder = RowCoder(_rows(X, device), scaling, components, n_nonzero, coding, kernel_map)
    n, m = components.shape
    sums = torch.zeros((2, n + 1), dtype=torch.float64, device=coder.source.device)
    squares = [np.empty(0)]
    for _, _, rows in coder.blocks():
        codes = coder.codes(rows, careful=False)
        columns = torch.where(codes.indices < 0, n, codes.indices)
        sums[0] += dense(columns, torch.ones_like(codes.values), n).sum(dim=0)
        sums[1] += dense(columns, codes.values, n).square_().sum(dim=0)
        squares.append(codes.sq_residual.to(torch.float64).cpu().numpy())
    counts, energies = to_host(sums)[0][:, :n]
    return statistics_of(counts.astype(np.int64), energies, np.concatenate(squares), max(coder.slots, 1), m)


def _rows(X: torch.Tensor, device: torch.device | None) -> DeviceRows:
    return DeviceRows(X, device or X.device, None, stream=True)
