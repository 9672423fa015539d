"""A torch shard's answers to the one-class SVM: those of `OneClassShard`, from rows of codes on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import torch

from oddatom.arrays.block import Block
from oddatom.arrays.torch_rows import from_host, to_host
from oddatom.passes.protocol import MARGIN
from oddatom.rows.array._plane_kernels import KAPPA
from oddatom.rows.device.torch_slots import Slots

_SIGN = -(2**63)  # the top bit of an int64


class TorchOneClassShard:
    """Rows of codes, their margins f and multipliers a in [0, 1], in float64 whatever the dtype of the codes."""

    _rows: Slots
    _norms: torch.Tensor

    def __init__(self, n_rows: int, device: torch.device) -> None:
        self.device = device
        self._f, self._g, self._dist, self._a = (
            torch.zeros(n_rows, dtype=torch.float64, device=device) for _ in range(4)
        )
        self._band = torch.empty(0, dtype=torch.int64, device=device)

    def _set_rows(self, rows: Slots) -> None:
        """Take other rows of codes; the multipliers stay."""
        self._rows, self._scale, self._curvature = rows, 1.0, 0.0
        self._norms = rows.norms()
        self._g.zero_()  # read, times a step of 0, before the first direction is known
        self._band = self._band[:0]
        n_zero, square = to_host((self._norms == 0.0).sum(), self._norms @ self._norms)
        self._summary = rows.n_rows, int(n_zero), float(square)

    @property
    def multipliers(self) -> np.ndarray:
        """The multipliers a = nu N lam, a copy on the host."""
        return self._a.cpu().numpy().copy()

    @multipliers.setter
    def multipliers(self, a: Any) -> None:
        self.svm_set_all(a)

    @property
    def margins(self) -> np.ndarray:
        """The margins last computed, a copy on the host."""
        return self._f.cpu().numpy().copy()

    def svm_dual_coef(self, C: float) -> np.ndarray:
        """Return lam = a / C of the rows, C = nu N, on the host."""
        return self.multipliers / C

    def svm_summary(self) -> tuple[int, int, float]:
        """Return the number of rows, of zero rows, and the sum of squares."""
        return self._summary

    def svm_scale(self, scale: float, curvature: float = 0.0) -> None:
        """Speak of rows divided by `scale` from now on, and of a boundary with this curvature."""
        self._scale, self._curvature = float(scale), float(curvature)

    def svm_zero_rows(self, value: float) -> None:
        """Put the whole weight on the zero rows (the origin is then the optimum)."""
        self._a = (self._norms == 0.0).to(torch.float64) * float(value)

    def svm_total(self) -> tuple[np.ndarray]:
        """Return Σ x."""
        return (to_host(self._rows.weighted_sum())[0] / self._scale,)

    def svm_margins(self, w: np.ndarray) -> None:
        """Compute and keep f = x·w − h/2 ‖x‖²."""
        if w.size != self._rows.n:
            raise ValueError(f"The plane must have one entry per column, {self._rows.n}. Got {w.size} instead.")
        self._multiply(w, self._f)
        if self._curvature != 0.0:
            self._f -= (0.5 * self._curvature) * (self._norms / self._scale) ** 2

    def _multiply(self, w: np.ndarray, out: torch.Tensor) -> None:
        self._rows.multiply(from_host(w / self._scale, self.device), out)

    def svm_smooth(self, rho: float, eps: float, step: float) -> tuple[np.ndarray, np.ndarray]:
        """Take a step along the direction last tried, then return the sums of the smoothed objective.

        With a = clip(½ + (rho − f)/eps, 0, 1) they are Σ a [x, 1] and, over 0 < a < 1, Σ [x, −1]ᵀ[x, −1].
        """
        if step != 0.0:
            self._f += float(step) * self._g
        a = 0.5 + (float(rho) - self._f) * (1.0 / float(eps))
        carried = torch.nonzero(a > 0.0).flatten()
        free = carried[a.index_select(0, carried) < 1.0]
        a = a.index_select(0, carried).clamp_(max=1.0)
        sums = self._rows.weighted_sum(a, carried)
        H = self._rows.augmented_gram(free, self._scale)
        total, count, square = to_host(sums, a.sum(), H)
        return np.append(total / self._scale, count), square

    def svm_try(self, dw: np.ndarray, rho: float, drho: float, eps: float) -> tuple[float]:
        """Compute and keep g = X dw, how the margins move; return Σ ψ(rho − f) after the whole step."""
        self._multiply(dw, self._g)
        return (float(to_host(self._smooth_value(rho, drho, 1.0, eps))[0]),)

    def svm_smooth_values(self, rho: float, drho: float, eps: float, steps: np.ndarray) -> tuple[np.ndarray]:
        """Return Σ ψ(rho − f) after each of the steps along (dw, drho)."""
        return (to_host(torch.stack([self._smooth_value(rho, drho, float(t), eps) for t in steps]))[0],)

    def _smooth_value(self, rho: float, drho: float, step: float, eps: float) -> torch.Tensor:
        """Σ ψ, ψ the hinge rounded over a width eps."""
        eps = float(eps)
        u = (float(rho) + step * float(drho) + 0.5 * eps - self._f - step * self._g).clamp_(min=0.0)
        v = u.clamp(max=eps)
        return (v * v * (0.5 / eps) + (u - v)).sum()

    def svm_distances(self, rho: float, by_norm: bool) -> None:
        """Compute and keep |f − rho|, divided by the row's norm if asked."""
        self._dist = (self._f - float(rho)).abs_()
        if by_norm:
            self._dist /= self._norms / self._scale + KAPPA

    def svm_range(self) -> tuple[float, float]:
        """Return the lowest and the highest margin (of no rows: inf, −inf)."""
        if not self._f.numel():
            return float("inf"), float("-inf")
        low, high = to_host(*torch.aminmax(self._f))
        return float(low), float(high)

    def _keys(self, which: int) -> torch.Tensor:
        """Bits of an unsigned integer in the order of the numbers, held in an int64."""
        bits = (self._f if which == MARGIN else self._dist).view(torch.int64)
        return torch.where(bits < 0, ~bits, bits ^ _SIGN)

    def _with_prefix(self, keys: torch.Tensor, prefix: int, shift: int) -> torch.Tensor:
        """Whether the key bits from `shift` up are `prefix`."""
        prefix = int(prefix)
        if shift == 0:
            return keys == (prefix - 2**64 if prefix >= 2**63 else prefix)
        return (keys >> shift) & ((1 << (64 - shift)) - 1) == prefix

    def svm_histogram(self, which: int, prefix: int, shift: int, bits: int) -> tuple[np.ndarray]:
        """Return the counts of the next key bits among rows whose key starts with `prefix`."""
        size, keys = 1 << bits, self._keys(which)
        bins = (keys >> shift) & (size - 1)
        if shift + bits < 64:
            bins = torch.where(self._with_prefix(keys, prefix, shift + bits), bins, size)
        return (torch.bincount(bins, minlength=size + 1)[:size].cpu().numpy(),)

    def svm_values(self, which: int, prefix: int, shift: int) -> np.ndarray:
        """Return the numbers whose key starts with `prefix`."""
        chosen = self._with_prefix(self._keys(which), prefix, shift)
        return (self._f if which == MARGIN else self._dist)[chosen].cpu().numpy()

    def svm_band(self, rho: float, threshold: float) -> tuple[Block, np.ndarray, int]:
        """Return the rows within `threshold` of the margin; fix the others; return Σx and count of those at one."""
        inside = self._dist <= float(threshold)
        low = ~inside & (self._f < float(rho))
        self._a = low.to(torch.float64)
        self._band = torch.nonzero(inside).flatten()
        below = torch.nonzero(low).flatten()
        total = to_host(self._rows.weighted_sum(rows=below))[0]
        return self._rows.take(self._band, self._scale), total / self._scale, below.numel()

    def svm_set_band(self, a: np.ndarray) -> None:
        """Set the multipliers of the rows in the band."""
        self._a[self._band] = from_host(a, self.device)

    def svm_all_rows(self) -> scipy.sparse.csr_array:
        """Return every row, unscaled (for solvers that need them in one place)."""
        return self._rows.csr_array()

    def svm_set_all(self, a: Any) -> None:
        """Set the multipliers of every row."""
        self._a.copy_(from_host(a, self.device))

    def svm_slack(self, rho: float) -> tuple[float, float]:
        """Return Σ (rho − f)₊, and Σ a (f − rho)₊ + (1 − a)(rho − f)₊: nu N times the duality gap of w = w(a)."""
        below, above = (float(rho) - self._f).clamp_(min=0.0), (self._f - float(rho)).clamp_(min=0.0)
        slack, gap = to_host(below.sum(), (self._a * above + (1.0 - self._a) * below).sum())
        return float(slack), float(gap)

    def svm_residual(self, rho: float) -> float:
        """Return the largest violation of the optimality conditions."""
        if not self._f.numel():
            return 0.0
        moved = (self._a - (self._f - float(rho))).clamp_(0.0, 1.0)
        return float(to_host((self._a - moved).abs_().max())[0])
