"""Units: runs of consecutive partitions that are one shard each, wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from dask.delayed import Delayed
from distributed import Client, Future

# What makes a partition, an array or a frame of rows: a Dask object, or a function without arguments.
Loader: TypeAlias = Delayed | Future | Callable[[], Any]


class Unit(NamedTuple):
    """The partitions that a unit is made of, by number, and their rows."""

    partitions: tuple[int, ...]
    sizes: tuple[int, ...]


def cut(sizes: Sequence[int], n_units: int) -> list[Unit]:
    """Cut partitions into at most `n_units` consecutive runs of about as many rows; empty partitions are left out.

    Which partitions make a unit depends on sizes and `n_units` alone.
    """
    filled = [(number, size) for number, size in enumerate(sizes) if size > 0]
    total, n_units = sum(size for _, size in filled), min(n_units, len(filled))
    units, start, before = [], 0, 0
    for k in range(n_units):
        stop, rows = start, 0
        most = len(filled) - (n_units - k - 1)  # every later unit needs a partition
        goal = total * (k + 1) / n_units
        # Take the next partition where that ends nearer to this unit's share.
        while stop < most and (stop == start or before + rows + filled[stop][1] / 2 <= goal):
            rows += filled[stop][1]
            stop += 1
        if k == n_units - 1:
            stop = len(filled)
        numbers, counts = zip(*filled[start:stop], strict=True)
        units.append(Unit(numbers, counts))
        start, before = stop, before + sum(counts)
    return units


def load(client: Client, loader: Loader, address: str | None = None) -> Future:
    """Have a partition made, on this worker unless it is better made elsewhere."""
    if isinstance(loader, Future):
        if loader.status == "error":
            loader.retry()
        return loader
    where = {} if address is None else {"workers": [address], "allow_other_workers": True}
    if isinstance(loader, Delayed):
        return client.compute(loader, **where)
    return client.submit(loader, pure=False, **where)


def listed(numbers: Sequence[int]) -> str:
    """Return partition numbers as words: "partition 3", "partitions 0–4, 7"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    text = ", ".join(str(low) if low == high else f"{low}–{high}" for low, high in runs)
    return f"partition{'s' if len(numbers) > 1 else ''} {text}"
