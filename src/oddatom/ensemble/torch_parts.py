"""The ensemble on a torch device: parts, calibrated parts and scores of rows, those of `Ensemble`, in float64.

Rows are taken a block at a time, all members side by side; nothing waits for the device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from oddatom.arrays.torch_rows import DeviceRows, from_host
from oddatom.ensemble.joining import JOINED, PARTS
from oddatom.ensemble.model import Ensemble
from oddatom.ensemble.parts import MEMBER_PARTS, Packed
from oddatom.ensemble.trimmed import ROUNDING
from oddatom.scaling.asinh import BEND, FARTHEST, TOP


class TorchRowParts(NamedTuple):
    """`oddatom.ensemble.parts.RowParts` with float64 tensors."""

    members: torch.Tensor  # (N, M, 4)
    rarity: torch.Tensor  # (N,)
    magnitude: torch.Tensor  # (N,)


class TorchEnsemble:
    """An `Ensemble` whose numbers are on a device, for rows that are there or are copied there in blocks.

    Parameters
    ----------
    ensemble : Ensemble
        `OddAtomDetector.ensemble_`.
    device : torch.device
    """

    def __init__(self, ensemble: Ensemble, device: torch.device) -> None:
        self.device, self.n_groups, self._n_trims = device, ensemble.n_groups, ensemble.n_trims
        scaling, histogram = ensemble.scaling, ensemble.histogram
        self._unit, self._center, self._spread = (from_host(t, device) for t in scaling)
        self._low, self._high, self._steps = (from_host(t, device) for t in histogram[:3])
        self._costs = {held_out: from_host(t, device) for held_out, t in enumerate(histogram[3:])}
        columns, self._n_costs = histogram.cost.shape
        self._first_cost = torch.arange(columns, device=device) * self._n_costs
        self._packed: Any = Packed(*(from_host(t, device) for t in ensemble.packed))  # type: ignore[arg-type]
        self._calibration = tuple(from_host(t, device) for t in ensemble.calibration)
        used = np.flatnonzero(ensemble.weights > 0.0)
        self._weighted = torch.tensor(used, device=device)
        self._weights = from_host(ensemble.weights[used], device)
        self._joined = torch.tensor([PARTS.index(name) for name in JOINED], device=device)
        self._plane = from_host(ensemble.plane, device)

    def parts(self, X: Any) -> TorchRowParts:
        """Return the parts of rows X (N×m), in the units of the training rows. Members' take 32 M bytes a row."""
        source = self._rows(X)
        N, M = source.shape[0], self._packed.centroids.shape[0]
        shapes = (N, M, len(MEMBER_PARTS)), (N,), (N,)
        out = TorchRowParts(*(torch.empty(shape, dtype=torch.float64, device=self.device) for shape in shapes))
        for lo, hi, rows in self._blocks(source):
            for whole, part in zip(out, self._block_parts(rows), strict=True):
                whole[lo:hi] = part
        return out

    def rarity(self, X: Any, *, held_out: bool) -> torch.Tensor:
        """Return the histogram's part alone; `held_out`: of rows that it counts, each left out of its own counts."""
        source = self._rows(X)
        out = torch.empty(source.shape[0], dtype=torch.float64, device=self.device)
        for lo, hi, rows in source.blocks(64 * source.shape[1]):
            out[lo:hi] = self._rarity(rows.to(torch.float64).contiguous() * self._unit, held_out)
        return out

    def z_scores(self, parts: TorchRowParts, group: int | None = None) -> torch.Tensor:
        """Return calibrated parts (N, 6), larger = odder: by all members, or by those of one group."""
        M, n_parts = parts.members.shape[1:]
        first, last = (0, M) if group is None else (group * self._n_trims, (group + 1) * self._n_trims)
        lift, center, spread = (t[: M * n_parts].view(M, n_parts)[first:last] for t in self._calibration)
        members = ((parts.members[:, first:last] + lift).log_() - center).div_(spread).mean(dim=1)
        lift, center, spread = (t[M * n_parts :] for t in self._calibration)
        others = torch.stack([parts.rarity, parts.magnitude], dim=1)
        return torch.cat([members, ((others + lift).log_() - center).div_(spread)], dim=1)

    def score(self, Z: torch.Tensor, name: str) -> torch.Tensor:
        """Return one of `oddatom.ensemble.model.SCORES` from calibrated parts: higher = more normal."""
        if name == "joined":
            weighted = Z.index_select(1, self._weighted)
            top = weighted.amax(dim=1)
            return -(top + ((weighted - top[:, None]).exp_() @ self._weights).log_())
        if name == "margin":
            return (1.0 / (1.0 + Z.index_select(1, self._joined).clamp_(max=700.0).exp_())) @ self._plane
        return -Z[:, PARTS.index(name)]

    def score_rows(self, X: Any, names: Sequence[str] = ("joined",)) -> dict[str, torch.Tensor]:
        """Return scores of rows X (N×m) by name, on the device; no more than a block's parts are ever held."""
        source = self._rows(X)
        out = {name: torch.empty(source.shape[0], dtype=torch.float64, device=self.device) for name in names}
        for lo, hi, rows in self._blocks(source):
            Z = self.z_scores(self._block_parts(rows))
            for name in names:
                out[name][lo:hi] = self.score(Z, name)
        return out

    def group_scores(self, X: Any, name: str) -> torch.Tensor:
        """Return the score of rows by each group alone, (N, n_groups), which p-values are made of."""
        source = self._rows(X)
        out = torch.empty((source.shape[0], self.n_groups), dtype=torch.float64, device=self.device)
        for lo, hi, rows in self._blocks(source):
            parts = self._block_parts(rows)
            for group in range(self.n_groups):
                out[lo:hi, group] = self.score(self.z_scores(parts, group), name)
        return out

    def _rows(self, X: Any) -> DeviceRows:
        return DeviceRows(X, self.device, None, stream=True)

    def _blocks(self, source: DeviceRows) -> Iterator[tuple[int, int, torch.Tensor]]:
        """Yield (lo, hi, rows in float64), as many as there is room for."""
        (M, K, m), n, q = self._packed.centroids.shape, self._packed.atoms.shape[1], self._packed.directions.shape[1]
        for lo, hi, rows in source.blocks(8 * (M * (max(K, q) + 3 * m + 2 * n + 12) + 8 * m)):
            yield lo, hi, rows.to(torch.float64).contiguous()

    def _block_parts(self, X: torch.Tensor) -> TorchRowParts:
        U = X * self._unit
        rarity = self._rarity(U, held_out=False)
        z = U.sub_(self._center).div_(self._spread)
        size = z.abs()
        a = BEND * size.clamp(max=TOP)
        bent = ((a * a).add_(1.0).sqrt_().add_(a)).log_().div_(BEND)  # asinh, as the kernel of `row_parts` takes it
        Y = torch.copysign(bent, z)
        squares = torch.where(bent > 0.0, size.clamp_(max=FARTHEST) / bent, 1.0)  # s², what residuals are stretched by
        return TorchRowParts(self._members(Y, squares), rarity, Y.square().sum(dim=1))

    def _rarity(self, U: torch.Tensor, held_out: bool) -> torch.Tensor:
        """Σ_f −log p_f(u_f) of rows in the scaling's units."""
        inside = torch.minimum(torch.maximum(U, self._low), self._high).sub_(self._low).mul_(self._steps)
        bins = inside.to(torch.int64).clamp_(max=self._n_costs - 3).add_(1)
        bins = bins.masked_fill_(self._low > U, 0).masked_fill_(self._high < U, self._n_costs - 1)
        cost = self._costs[held_out].view(-1).index_select(0, bins.add_(self._first_cost).view(-1))
        return cost.view(bins.shape).sum(dim=1)

    def _members(self, Y: torch.Tensor, squares: torch.Tensor) -> torch.Tensor:
        """What each of M members says of B scaled rows, (B, M, 4). Tensors between are (M, B, ·)."""
        packed = self._packed
        M, B, m = packed.centroids.shape[0], *Y.shape
        rows = Y.expand(M, B, m)
        k = torch.baddbmm(packed.half_norms[:, None], rows, packed.centroids.mT, alpha=-1.0).argmin(dim=2)
        W = Y - _chosen(packed.centroids, k)
        W.masked_fill_(W.abs() <= ROUNDING * (1.0 + Y.abs()), 0.0)
        along = torch.bmm(W, packed.directions.mT).square_()
        distance = W.square().sum(dim=2).mul_(packed.rest_precision[:, None])
        distance += torch.bmm(along, packed.direction_gain[:, :, None])[:, :, 0]
        G = torch.bmm(W, packed.atoms.mT)
        i = G.abs().argmax(dim=2)
        c = G.gather(2, i[:, :, None])
        i = i.masked_fill(c[:, :, 0] == 0.0, 0)  # of gains that tie at 0 the first, as the kernel takes
        E = W.addcmul_(c, _chosen(packed.atoms, i), value=-1).square_()
        residual = E.sum(dim=2)
        largest = E.mul_(squares).mul_(packed.feature_precision[:, None]).amax(dim=2)
        length = packed.cost.gather(1, i).addcmul_(c[:, :, 0].square_(), packed.gain_precision.gather(1, i))
        length.addcmul_(residual, packed.precision[:, None])
        return torch.stack([length, distance.clamp_(min=0.0), largest, residual], dim=2).transpose(0, 1)


def _chosen(vectors: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    """Vector i_bj of member b for every row j: (M, K, m), (M, B) to (M, B, m)."""
    M, K, m = vectors.shape
    place = i + torch.arange(M, device=i.device)[:, None] * K
    return vectors.view(M * K, m).index_select(0, place.view(-1)).view(*i.shape, m)
