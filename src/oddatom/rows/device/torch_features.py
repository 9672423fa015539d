"""Scaling and kernel coordinates of rows on a torch device: those of `scaling` and `kernel_map`, in blocks of rows.

The arithmetic is in float64; a result has the dtype of the rows unless another is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import torch

from oddatom.arrays.namespaces import like
from oddatom.arrays.torch_rows import from_host, rows_per_block, spans, to_host
from oddatom.exceptions import OddAtomError
from oddatom.kernels.coordinates import KernelMap
from oddatom.kernels.formulas import KERNELS, exponential
from oddatom.kernels.functions import LARGEST, Kernel
from oddatom.kernels.pairs import ABSOLUTE_DISTANCES, SQUARED_DISTANCES, Pairs
from oddatom.scaling.column_statistics import Columns
from oddatom.scaling.linear import Scaling

_MAX = torch.finfo(torch.float64).max
# ‖y − z‖² = ‖y‖² + ‖z‖² − 2 y·z is a matrix product, wrong by a rounding of its terms: gamma times that is nothing
# while gamma ‖z‖² of the landmarks, around their mean, is below this, for exp(−gamma t). (Where only y is far it is 0.)
_NEAR = 1e3


def _blocks(X: torch.Tensor, bytes_per_row: int = 0) -> Iterator[tuple[int, int, torch.Tensor]]:
    """Yield (lo, hi, X[lo:hi] as float64, a tensor of its own)."""
    for lo, hi in _spans(X, bytes_per_row):
        yield lo, hi, X[lo:hi].to(torch.float64, copy=True, memory_format=torch.contiguous_format)


def _spans(X: torch.Tensor, bytes_per_row: int = 0) -> Iterator[tuple[int, int]]:
    return spans(X.shape[0], rows_per_block(X.device, 32 * X.shape[1] + bytes_per_row))


# Scaling


def scale_rows(scaling: Scaling, X: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Return rows X (N×m) scaled, y = ((x − center) / spread) / scale, a new tensor."""
    out = torch.empty(X.shape, dtype=dtype or X.dtype, device=X.device)
    there = like(scaling, X)
    for lo, hi in _spans(X):
        out[lo:hi] = there.apply(X[lo:hi])
    return out


def frobenius_norm(X: torch.Tensor) -> float:
    """Return √(Σ x²), in units of the largest |x|: neither squares nor their sum overflow or vanish."""
    return _scaled_norm(X, Scaling(None, None, 1.0))


def _scaled_norm(X: torch.Tensor, scaling: Scaling) -> float:
    there = like(scaling, X)
    top = torch.zeros((), dtype=torch.float64, device=X.device)
    for lo, hi in _spans(X):
        top = torch.maximum(top, there.apply(X[lo:hi]).abs_().max())
    total = torch.zeros((), dtype=torch.float64, device=X.device)
    for lo, hi in _spans(X):
        total += there.apply(X[lo:hi]).div_(top).square_().sum()
    size, square = (float(t) for t in to_host(top, total))
    return size * float(np.sqrt(square)) if size != 0.0 else 0.0


class TensorColumns(Columns):
    """The columns of a tensor X (N×m)."""

    def __init__(self, X: torch.Tensor) -> None:
        ends = torch.stack([torch.stack(torch.aminmax(block, dim=0)) for _, _, block in _blocks(X)])
        super().__init__(*to_host(ends[:, 0].amin(dim=0), ends[:, 1].amax(dim=0)))
        self._X, self._unit = X, from_host(self.unit, X.device)

    def _mean(self) -> torch.Tensor:
        total = torch.zeros(self._X.shape[1], dtype=torch.float64, device=self._X.device)
        for _, _, block in _blocks(self._X):
            total += block.div_(self._unit).sum(dim=0)
        return total / self._X.shape[0]

    def mean(self) -> np.ndarray:
        """Return the means."""
        return to_host(self._mean())[0]

    def deviation(self) -> np.ndarray:
        """Return the standard deviations."""
        mean = self._mean()
        total = torch.zeros_like(mean)
        for _, _, block in _blocks(self._X):
            total += block.div_(self._unit).sub_(mean).square_().sum(dim=0)
        return to_host((total / self._X.shape[0]).sqrt_())[0]

    def quantiles(self, shares: Sequence[float]) -> np.ndarray:
        """Return quantiles, (len(shares), m)."""
        X, place = self._X, np.array(shares) * (self._X.shape[0] - 1)
        below = np.floor(place).astype(np.int64)
        wanted = np.stack([below, np.minimum(below + 1, X.shape[0] - 1)])
        where = torch.tensor(wanted.ravel(), device=X.device)
        columns = [torch.sort(X[:, f]).values.index_select(0, where).to(torch.float64) for f in range(X.shape[1])]
        (found,) = to_host(torch.stack(columns, dim=1) / self._unit)
        low, high = found.reshape(2, len(shares), -1)
        part = (place - below)[:, None]
        return np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1.0 - part))

    def norm(self, scaling: Scaling) -> float:
        """Return the Frobenius norm of the rows scaled."""
        return _scaled_norm(self._X, scaling)


# Kernels


class RowKernelMap:
    """A `KernelMap` on a device: φ(y) = k(y, landmarks) T."""

    def __init__(self, kernel_map: KernelMap, device: torch.device) -> None:
        self.kernel = kernel_map.kernel
        if self.kernel is not None and callable(self.kernel.function):
            name = getattr(self.kernel.function, "__name__", repr(self.kernel.function))
            raise OddAtomError(
                f"A kernel that is a function of NumPy arrays cannot run on a device. Got {name} instead of a name",
                parameter="kernel",
                value=self.kernel.function,
                advice=f"pass one of {', '.join(map(repr, KERNELS))}, or device='cpu'.",
            )
        self._indices = torch.tensor(kernel_map.indices, dtype=torch.int64, device=device)
        self._T = from_host(kernel_map.T, device)
        if self.kernel is not None:
            prepare = PREPARED.get(self.kernel.formula.pairs, _any_pairs)
            self._pairs = prepare(from_host(kernel_map.landmarks, device), self.kernel)

    @property
    def width(self) -> int:
        """Coordinates of a row."""
        return self._T.shape[1]

    @property
    def bytes_per_row(self) -> int:
        """Room that a row takes while its coordinates are made."""
        return 24 * self._indices.numel() + 8 * self.width

    def entries(self, Y: torch.Tensor) -> torch.Tensor:
        """Return k(y, landmarks) of float64 rows; precomputed: the landmarks' columns of K(Y, training rows)."""
        if self.kernel is None:
            return _shorten(Y.index_select(1, self._indices))
        formula = self.kernel.formula
        K = formula.of(self._pairs(Y), self.kernel)
        return K if formula.bounded else _shorten(K)

    def coordinates(self, Y: torch.Tensor) -> torch.Tensor:
        """Return Φ of float64 rows."""
        return self.entries(Y) @ self._T

    def margin(self, Y: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Return Φ v of float64 rows, without Φ."""
        return self.entries(Y) @ (self._T @ v)

    def outside(self, Y: torch.Tensor, Phi: torch.Tensor) -> torch.Tensor:
        """Return k(y, y) − ‖Φ‖², what φ(y) has outside the landmarks' span; 0 for precomputed, which do not tell."""
        if self.kernel is None:
            return Y.new_zeros(Y.shape[0])
        formula = self.kernel.formula
        own = formula.of(formula.pairs.diagonal(Y), self.kernel)
        return (own - Phi.square().sum(dim=1)).clamp_(min=0.0)

    def within_reach(self, Y: torch.Tensor) -> torch.Tensor:
        """Return float64 rows as the kernel takes them: those that are too large for it shorter."""
        return Y if self.kernel is None else _shorten(Y, self.kernel.reach(Y.shape[1]))


def apply_kernel_map(kernel_map: KernelMap, Y: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Return the coordinates Φ of rows Y, N×r; for a precomputed kernel Y is K(Y, training rows)."""
    on_device = RowKernelMap(kernel_map, Y.device)
    out = torch.empty((Y.shape[0], on_device.width), dtype=dtype or Y.dtype, device=Y.device)
    for lo, hi, block in _blocks(Y, on_device.bytes_per_row):
        out[lo:hi] = on_device.coordinates(block)
    return out


OfRows: TypeAlias = Callable[[torch.Tensor], torch.Tensor]


def _any_pairs(Z: torch.Tensor, kernel: Kernel) -> OfRows:
    """The numbers of pairs as their formula says."""
    return lambda Y: kernel.formula.pairs.of(Y, Z)


def _squared_distances(Z: torch.Tensor, kernel: Kernel) -> OfRows:
    center = Z.mean(dim=0)
    Z = Z - center
    squares = Z.square().sum(dim=1)
    if kernel.formula.value is not exponential or kernel.gamma * float(squares.max()) > _NEAR:
        return lambda Y: torch.cdist(Y - center, Z, compute_mode="donot_use_mm_for_euclid_dist").square_()

    def by_products(Y: torch.Tensor) -> torch.Tensor:
        Y = Y - center
        distance = torch.addmm(squares, Y, Z.T, alpha=-2.0).add_(Y.square().sum(dim=1, keepdim=True))
        return distance.clamp_(min=0.0)

    return by_products


def _absolute_distances(Z: torch.Tensor, kernel: Kernel) -> OfRows:
    return lambda Y: torch.cdist(Y, Z, p=1.0)


# What torch has faster ways for than the formula: functions of landmarks that return one of rows.
PREPARED: dict[Pairs, Callable[[torch.Tensor, Kernel], OfRows]] = {
    SQUARED_DISTANCES: _squared_distances,
    ABSOLUTE_DISTANCES: _absolute_distances,
}


def _shorten(K: torch.Tensor, largest: float = LARGEST) -> torch.Tensor:
    """Return K with rows of larger entries divided so that their largest is that."""
    K = K.clamp(-_MAX, _MAX)
    size = K.abs().amax(dim=1, keepdim=True)
    return torch.where(size > largest, K / size * largest, K)
