"""Rows on a Dask cluster: arrays, frames and files, whose partitions stay with the workers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import Any

import numpy as np
from distributed import Client, Future, KilledWorker, get_client, get_worker, rejoin, secede
from distributed.protocol import pickle

from oddatom.arrays.threads import threads
from oddatom.exceptions import OddAtomError, WorkerLostError
from oddatom.passes.group import ShardGroup
from oddatom.rows.dask.cluster_group import TIMEOUT, ClusterGroup
from oddatom.rows.dask.file_partitions import file_partitions
from oddatom.rows.dask.holder import as_rows, n_rows
from oddatom.rows.dask.lazy import check_dimensions, for_workers, one_column_chunk
from oddatom.rows.dask.units import Loader, listed, load
from oddatom.rows.dask.wire import Wire
from oddatom.rows.row_map import RowMap
from oddatom.rows.source import Source


class ClusterSource(Source):
    """Partitions of a Dask array, a Dask frame, or of files that every worker can read.

    From the first pass on the cluster keeps the raw rows, as it keeps any result (workers that run short of memory put
    them on disk), until `close`. A partition whose worker is lost is made again.

    Parameters
    ----------
    X : Dask array (rows × features), Dask frame of numbers, or list of paths of Parquet or .npy files
    client : distributed.Client, optional
        The current one if left out.
    device : "cpu", "cuda", "cuda:k" or "auto"
        Where shards compute; "auto" is the GPU on workers that have one.
    timeout : float
        A worker that has not been heard of for this many seconds is lost.
    """

    def __init__(self, X: Any, *, client: Client | None = None, device: str = "cpu", timeout: float = TIMEOUT) -> None:
        self._left = _leave_pool()  # a fit in a task waits for other tasks: its thread must not be one they need
        self._client = _find_client() if client is None else client
        self._device, self._wire = device, Wire(self._client, timeout)
        self._wire.find_route()
        loaders: Sequence[Loader]
        if hasattr(X, "to_delayed"):
            loaders, sizes = self._take_frame(X) if hasattr(X, "columns") else self._take_array(X)
        else:
            loaders, sizes, self.n_features, self.feature_names = file_partitions(X)
        self._parts: list[Future] = [load(self._client, loader) for loader in loaders]
        self.sizes = self._gather([self._client.submit(n_rows, part, pure=False) for part in self._parts])
        if sizes is not None and list(sizes) != self.sizes:
            odd = next(k for k, pair in enumerate(zip(sizes, self.sizes, strict=True)) if pair[0] != pair[1])
            problem = f"Partition {odd} should have {sizes[odd]} rows and has {self.sizes[odd]}."
            raise OddAtomError(problem, parameter="X", value=odd, advice="Look at what makes it.")

    def _take_array(self, X: Any) -> tuple[list[Loader], list[int] | None]:
        check_dimensions(X)
        if X.dtype.kind not in "biuf":
            problem = f"Expected a Dask array of numbers. Got dtype {X.dtype} instead"
            raise OddAtomError(problem, parameter="X", value=X.dtype, advice="convert it with astype.")
        if np.isnan(X.shape[1]):
            problem = "The number of columns of the Dask array is unknown."
            raise OddAtomError(problem, parameter="X", advice="Call compute_chunk_sizes() first.")
        X = one_column_chunk(X)
        self.n_features = int(X.shape[1])
        known = not any(np.isnan(size) for size in X.chunks[0])
        return list(X.to_delayed().ravel()), [int(size) for size in X.chunks[0]] if known else None

    def _take_frame(self, X: Any) -> tuple[list[Loader], None]:
        for name, kind in X.dtypes.items():
            if getattr(kind, "kind", "O") not in "biuf":
                problem = f"Column {name!r} of the frame is {kind}, not a number."
                raise OddAtomError(problem, parameter="X", value=name, advice="Drop it, or make numbers of it.")
        names = list(X.columns)
        self.n_features = len(names)
        if all(isinstance(name, str) for name in names):
            self.feature_names = names
        return list(X.to_delayed()), None

    def map(self, function: Callable[..., Any], *args: Any, pieces: Sequence[Any] | None = None) -> list[Any]:
        """Return `function(rows, *args)` of every partition, in order; with `pieces` `function(rows, piece, *args)`."""
        sent = pickle.dumps((function, tuple(for_workers(arg) for arg in args)))
        shared = self._client.submit(_given, sent, pure=False)  # goes to the scheduler once
        if pieces is None:
            return self._gather([self._client.submit(_apply, shared, part, pure=False) for part in self._parts])
        both = zip(self._parts, pieces, strict=True)
        return self._gather([self._client.submit(_apply, shared, part, piece, pure=False) for part, piece in both])

    def group(self, row_map: RowMap, shard: str) -> ShardGroup[Any]:
        """Return shards on the workers of the rows that `row_map` makes."""
        return ClusterGroup(
            self._client,
            self._parts,
            self.sizes,
            row_map=row_map,
            shard=shard,
            device=self._device,
            timeout=self._wire.timeout,
        )

    def select(self, keep: np.ndarray) -> ClusterSource:
        """Return the rows of a mask, which the cluster keeps beside the others."""
        view = copy.copy(self)
        masks = np.split(keep, np.cumsum(self.sizes)[:-1])
        both = zip(self._parts, masks, strict=True)
        view._parts = [self._client.submit(_selected, part, mask, pure=False) for part, mask in both]
        view.sizes, view._left = [int(mask.sum()) for mask in masks], False
        return view

    def close(self) -> None:
        """Let the workers free the rows."""
        self._parts = []
        if self._left:
            rejoin()
            self._left = False

    def _gather(self, tasks: list[Future]) -> list[Any]:
        """Wait for a task on every partition; a silent worker is done without, and what it had is made elsewhere."""
        self._wait([task.done for task in tasks])
        for number, task in enumerate(tasks):
            if task.status != "finished":
                raise self._failure(number, task)
        answers = self._wire.start(self._client.gather(tasks, asynchronous=True))
        self._wait([answers.done])
        return answers.result()

    def _wait(self, done: Sequence[Callable[[], bool]]) -> None:
        """Wait until all is done, as long as there are workers."""
        empty_since: float | None = None
        while not all(finished() for finished in done):
            known = self._wire.known(self._wire.timeout)
            if known:
                empty_since = None
                self._wire.watch_until(done, known)
                continue
            empty_since = monotonic() if empty_since is None else empty_since
            if monotonic() - empty_since > self._wire.timeout:
                raise WorkerLostError(
                    f"The Dask cluster has had no worker for {self._wire.timeout:g} s, the limit of a wait.",
                    tuple(range(len(self._parts))),
                    parameter="timeout",
                    value=self._wire.timeout,
                    advice="Start workers and fit again.",
                )
            sleep(0.05)

    def _failure(self, number: int, task: Future) -> BaseException:
        """Say what ended a task: its partition, its worker, or the function itself."""
        part, limit = self._parts[number] if number < len(self._parts) else task, self._wire.timeout
        error = part.exception(timeout=limit) if part.status == "error" else None
        own = task.exception(timeout=limit) if task.status == "error" else None
        if isinstance(error or own, KilledWorker) or (error is None and own is None):
            return WorkerLostError(
                f"Workers were lost, one after the other, while they read {listed([number])}.",
                (number,),
                advice="Look at their logs (memory is the usual reason), give them more of it or make smaller "
                "partitions, and fit again.",
            )
        if error is None:
            assert own is not None
            return own
        wrong = RuntimeError(
            f"Partition {number} (of 0–{len(self._parts) - 1}) cannot be read: {type(error).__name__}: {error}. See "
            "that every worker can read it, and fit again."
        )
        wrong.__cause__ = error
        return wrong


def _selected(part: Any, mask: np.ndarray) -> np.ndarray:
    """Return some rows of a partition."""
    return as_rows(part)[mask]


def _leave_pool() -> bool:
    """Take this thread out of the pool of a worker, if it runs one of its tasks."""
    try:
        get_worker()
    except ValueError:
        return False
    secede()
    return True


def _find_client() -> Client:
    try:
        return get_client()
    except ValueError:
        raise OddAtomError(
            "Rows on Dask need a cluster, and there is no client of one.",
            parameter="client",
            advice="Start one: from dask.distributed import Client; client = Client().",
        ) from None


def _given(message: bytes) -> Any:
    return pickle.loads(message)


def _apply(shared: tuple[Callable[..., Any], tuple[Any, ...]], part: Any, *piece: Any) -> Any:
    function, args = shared
    with threads(1):  # Dask runs as many of these at a time as there are threads
        return function(as_rows(part), *piece, *args)
