"""Rows on a torch device: fitted and scored there, float32 rows in float32."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse
import torch
from sklearn.utils.validation import check_array

from oddatom.arrays.namespaces import like
from oddatom.arrays.torch_rows import DTYPES, from_host, from_numpy, no_table, rows_per_block, spans
from oddatom.coding.histograms import CodeHistograms
from oddatom.coding.statistics import CodeStatistics
from oddatom.passes import ShardGroup, SweepPasses, by_kind
from oddatom.rows import blocks as passes
from oddatom.rows.checks import not_finite
from oddatom.rows.device.torch_codes import row_code_histograms, row_code_statistics
from oddatom.rows.device.torch_features import TensorColumns, apply_kernel_map, scale_rows
from oddatom.rows.device.torch_pairs import TorchPairShard
from oddatom.rows.device.torch_shard import TorchShard
from oddatom.rows.row_map import RowMap
from oddatom.rows.source import Source
from oddatom.scaling.column_statistics import Kind, fit_columns
from oddatom.scaling.linear import Scaling

SHARDS = by_kind(TorchShard, TorchPairShard)
RESIDENT = 0.25  # of the device's memory that rows may take and stay there; residual, codes and margins take as much


class TensorSource(Source):
    """Rows of a tensor or array, on a device from the start where they fit, else copied there block by block.

    Parameters
    ----------
    X : (N, m) tensor, array or frame
        Used as it is where it is on the device already.
    device : torch.device
    stream : bool or None
        Leave the rows where they are. None decides by their size.
    missing : bool
        Whether NaN is a missing value, and not refused.
    """

    def __init__(self, X: Any, device: torch.device, stream: bool | None = None, *, missing: bool = False) -> None:
        self.device = device
        rows, self.feature_names = as_tensor(X)
        self.stream = rows.device != device and too_large(rows, device) if stream is None else stream
        self.tensor = rows if self.stream else rows.to(device).contiguous()
        self.n_features = rows.shape[1]
        self.sizes = [rows.shape[0]]
        self._check_numbers(missing)

    def _check_numbers(self, missing: bool) -> None:
        bad = torch.zeros(self.n_features, dtype=torch.bool, device=self.device)
        for block in self._blocks():
            bad |= (torch.isinf(block) if missing else ~torch.isfinite(block)).any(dim=0)
        columns = np.flatnonzero(bad.cpu().numpy())
        if columns.size:
            raise not_finite(columns, self.feature_names, missing=missing)

    def _blocks(self) -> Any:
        for lo, hi in spans(self.shape[0], rows_per_block(self.device, 32 * self.n_features)):
            yield self.tensor[lo:hi].to(self.device)

    def map(self, function: Callable[..., Any], *args: Any, pieces: Sequence[Any] | None = None) -> list[Any]:
        """Return function(rows, …) of all rows, one block: on the device where it can work there, else here.

        A function of rows with `on_arrays` takes arrays of any library, and gives a number a row.
        """
        if getattr(function, "on_arrays", False):
            found = [function(block, *(like(arg, block) for arg in args)) for block in self._blocks()]
            return [torch.cat(found).cpu().numpy()]
        if function in ON_DEVICE:
            return [ON_DEVICE[function](self, *(() if pieces is None else (pieces[0],)), *args)]
        rows = self.tensor.to("cpu", torch.float64).contiguous().numpy()
        return [function(rows, *args) if pieces is None else function(rows, pieces[0], *args)]

    def group(self, row_map: RowMap, shard: str) -> ShardGroup[SweepPasses]:
        """Return one shard on the device."""
        width, dtype = self.n_features, self.tensor.dtype
        if row_map.kernel_map is not None:  # coordinates of a kernel are in float64, and may be many
            width, dtype = row_map.kernel_map.T.shape[1], torch.float64
        stream = self.stream or beyond(self.shape[0] * width * dtype.itemsize, self.device)
        rows = self._streamed(row_map, width, dtype) if stream else learner_rows(row_map, self.tensor)
        return ShardGroup([SHARDS[shard](rows, self.device, stream=stream)])

    def select(self, keep: np.ndarray) -> TensorSource:
        """Return the rows of a mask, where the others are."""
        view = copy.copy(self)
        view.tensor = self.tensor[torch.as_tensor(keep, device=self.tensor.device)]
        view.sizes = [view.tensor.shape[0]]
        return view

    def _streamed(self, row_map: RowMap, width: int, dtype: torch.dtype) -> torch.Tensor:
        """The learner's rows, on the host."""
        out = torch.empty((self.shape[0], width), dtype=dtype, pin_memory=self.device.type == "cuda")
        lo = 0
        for block in self._blocks():
            out[lo : lo + block.shape[0]] = learner_rows(row_map, block)
            lo += block.shape[0]
        return out

    def take(self, indices: np.ndarray) -> np.ndarray:
        """Return raw rows by their numbers, in float64 on the host."""
        where = torch.as_tensor(np.asarray(indices, dtype=np.int64), device=self.tensor.device)
        return self.tensor.index_select(0, where).to("cpu", torch.float64).numpy()

    def fit_scaling(self, kind: Kind) -> Scaling:
        """Return the scaling of all rows."""
        return super().fit_scaling(kind) if self.stream else fit_columns(TensorColumns(self.tensor), kind)

    def code_statistics(self, detector: Any) -> CodeStatistics:
        """Return how the rows use the atoms of a detector that is fitted but for its scores."""
        return row_code_statistics(
            self.tensor, detector.scaling_, detector.components_, detector.n_nonzero_, detector._coding,
            kernel_map=getattr(detector, "kernel_map_", None), device=self.device,
        )  # fmt: skip

    def code_histograms(self, detector: Any) -> CodeHistograms:
        """Return the histograms of the codes that scoring="loda" takes, of such a detector."""
        return row_code_histograms(
            self.tensor, detector.scaling_, detector.components_, detector.n_nonzero_, detector._coding,
            kernel_map=getattr(detector, "kernel_map_", None), analysis=detector._analysis, device=self.device,
        )  # fmt: skip

    def sorted_scores(self, detector: Any) -> np.ndarray:
        """Return the scores of all rows, sorted."""
        return torch.sort(detector._device_scores(self.tensor, self.device)).values.cpu().numpy()


def learner_rows(row_map: RowMap, X: torch.Tensor) -> torch.Tensor:
    """Return the rows of the learner: scaled, or the coordinates of a kernel."""
    if row_map.kernel_map is None:
        return scale_rows(row_map.scaling, X)
    return apply_kernel_map(row_map.kernel_map, scale_rows(row_map.scaling, X, torch.float64))


def as_tensor(X: Any) -> tuple[torch.Tensor, list[str] | None]:
    """Return X as a float32 or float64 tensor, on its memory where that can be, and the names of a frame's columns."""
    if isinstance(X, torch.Tensor):
        rows = X.detach()
    else:
        X = X.toarray() if scipy.sparse.issparse(X) else X
        array = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=False, ensure_min_samples=0)
        rows = from_numpy(array)
    if rows.ndim != 2:
        raise no_table(rows.ndim)
    if rows.dtype not in DTYPES:
        rows = rows.to(torch.float64)
    names = list(getattr(X, "columns", ()))
    return rows, names if names and all(isinstance(name, str) for name in names) else None


def too_large(rows: torch.Tensor, device: torch.device) -> bool:
    """Whether rows take more than their part of the device's memory."""
    return beyond(rows.numel() * rows.element_size(), device)


def beyond(n_bytes: int, device: torch.device) -> bool:
    """Whether so many bytes of rows are to stay on the host."""
    return device.type == "cuda" and n_bytes > RESIDENT * torch.cuda.get_device_properties(device).total_memory


def _nonzero(source: TensorSource, row_map: RowMap) -> np.ndarray:
    found = [learner_rows(row_map, block).to(torch.float64).square_().sum(dim=1) > 0 for block in source._blocks()]
    return torch.cat(found).cpu().numpy()


def _weighted(source: TensorSource, weights: np.ndarray, row_map: RowMap) -> np.ndarray:
    total, lo = torch.zeros((), dtype=torch.float64, device=source.device), 0
    for block in source._blocks():
        hi = lo + block.shape[0]
        Y = learner_rows(row_map, block).to(torch.float64)
        total = total + from_host(weights[:, lo:hi], source.device) @ Y
        lo = hi
    return total.cpu().numpy()


def _extent(source: TensorSource) -> tuple[np.ndarray, np.ndarray]:
    ends = torch.stack([torch.stack(torch.aminmax(block, dim=0)) for block in source._blocks()]).to(torch.float64)
    return ends[:, 0].amin(dim=0).cpu().numpy(), ends[:, 1].amax(dim=0).cpu().numpy()


def _ends_alone(source: TensorSource, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    ends = from_host(low, source.device), from_host(high, source.device)
    between = [((block > ends[0]) & (block < ends[1])).any(dim=0) for block in source._blocks()]
    return (~torch.stack(between).any(dim=0)).cpu().numpy()


# Passes that need not bring the rows to the host.
ON_DEVICE: dict[Callable[..., Any], Callable[..., Any]] = {
    passes.nonzero: _nonzero,
    passes.weighted: _weighted,
    passes.extent: _extent,
    passes.ends_alone: _ends_alone,
}
