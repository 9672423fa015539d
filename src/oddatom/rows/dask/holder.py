"""The worker's side: one actor a worker, which holds units of rows as shards and answers for them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

import numpy as np
from distributed import get_worker
from distributed.protocol import pickle

from oddatom.arrays.threads import threads
from oddatom.passes import SweepPasses
from oddatom.rows.array.array_source import SHARDS
from oddatom.rows.dask.messages import dumps, loads, pack

RowMap: TypeAlias = Callable[[np.ndarray], np.ndarray]

_holders: WeakValueDictionary[str, UnitHolder] = WeakValueDictionary()


class Recipe(NamedTuple):
    """What makes a shard of a unit's partitions: the rows they have, what is done to rows, and which shard it is."""

    unit: int
    partitions: tuple[int, ...]
    sizes: tuple[int, ...]
    row_map: RowMap | None
    shard: str
    device: str = "cpu"


class RowsChanged(ValueError):
    """A partition does not have the rows that it had when the fit began."""


class HolderGone(RuntimeError):
    """The actor that was to have a unit is no longer there."""


def make_shard(Y: np.ndarray, kind: str, device: str) -> SweepPasses:
    """Return a shard of the rows; "auto" is a GPU where this worker has one."""
    if device == "cpu" or (device == "auto" and not _has_cuda()):
        return SHARDS[kind](Y)
    from oddatom.rows.device.tensor_source import SHARDS as ON_DEVICE  # torch: on a worker alone, maybe

    return ON_DEVICE[kind](Y, "cuda" if device == "auto" else device)


def _has_cuda() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


class UnitHolder:
    """Units of rows, by number. Dask calls its methods one at a time, in a thread of their own."""

    def __init__(self, token: str) -> None:
        self.units: dict[int, SweepPasses] = {}
        _holders[token] = self

    def call(self, call: bytes, units: Sequence[int]) -> bytes:
        """Ask the units; return their answers, in the order asked for."""
        method, args, pieces = loads(call)
        shared = loads(args)
        with threads(get_worker().state.nthreads):
            return dumps([pack(method, _ask(self.units[unit], method, shared, pieces, unit)) for unit in units])

    def replay(self, calls: Sequence[bytes], units: Sequence[int]) -> None:
        """Bring new units to where the calls have brought the others."""
        with threads(get_worker().state.nthreads):
            for method, args, pieces in map(loads, calls):
                shared = loads(args)
                for unit in units:
                    _ask(self.units[unit], method, shared, pieces, unit)


def _ask(shard: SweepPasses, method: str, args: tuple[Any, ...], pieces: Any, unit: int) -> Any:
    own = () if pieces is None else (loads(pieces[unit]),)
    return getattr(shard, method)(*own, *args)


def fill(token: str, recipe: bytes, *parts: Any) -> int:
    """Make a unit's shard of its partitions and hand it to this worker's holder; return a checksum of the rows.

    It runs as a task of its own, so that Dask brings the partitions here.
    """
    holder = _holders.get(token)
    if holder is None:
        raise HolderGone(token)
    unit, numbers, sizes, row_map, kind, device = pickle.loads(recipe)
    pieces = []
    with threads(get_worker().state.nthreads):
        for part, number, size in zip(parts, numbers, sizes, strict=True):
            rows = as_rows(part)
            if rows.shape[0] != size:
                raise RowsChanged(f"partition {number} had {size} rows and now has {rows.shape[0]}")
            pieces.append(rows if row_map is None else row_map(rows))
        Y = np.ascontiguousarray(pieces[0] if len(pieces) == 1 else np.concatenate(pieces))
        holder.units[unit] = make_shard(Y, kind, device)
    return zlib.crc32(Y.data.cast("B") if Y.size else b"")


def as_rows(part: Any) -> np.ndarray:
    """Return a partition (array or frame) as a C-ordered float64 array of two dimensions."""
    values = part.to_numpy(dtype=np.float64, na_value=np.nan) if hasattr(part, "to_numpy") else part
    rows = np.ascontiguousarray(values, dtype=np.float64)
    return rows.reshape(-1, 1) if rows.ndim == 1 else rows


def n_rows(part: Any) -> int:
    """Return the number of rows of a partition."""
    return len(part)
