"""A group of shards on the workers of a Dask cluster, whole through the loss of workers.

The rows are cut into units, one shard each, at the start of a fit. What a unit holds and the order in which answers
are added up never change; where a unit is does, when a worker is lost. A lost unit is made again from its partitions
on another worker and taken through the calls that had made it what it was: the fit goes on with the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from distributed import Client

from oddatom.exceptions import OddAtomError, WorkerLostError
from oddatom.passes.group import ShardGroup
from oddatom.passes.meter import Meter
from oddatom.rows.dask.messages import dumps, loads, unpack
from oddatom.rows.dask.placing import Placing
from oddatom.rows.dask.replay import Call, Log
from oddatom.rows.dask.units import Loader, cut
from oddatom.rows.dask.wire import Wire

TIMEOUT = 60.0
RETRIES = 3


class ClusterGroup(ShardGroup[Any]):
    """Shards of the rows of partitions, one actor a worker.

    Parameters
    ----------
    client : distributed.Client
    partitions : sequence of Delayed, Future or function
        Each gives an array or a frame: rows × the same number of columns. A partition is made again when the worker
        that held its rows is lost, and must then be the same.
    sizes : sequence of int
        Rows of every partition.
    row_map : function, optional
        Makes raw rows (float64) the learner's; can be pickled.
    shard : "sparse" or "pairs"
    device : "cpu", "cuda", "cuda:k" or "auto"
        "auto" is the GPU on workers that have one.
    n_units : int, optional
        At most this many units; as many as workers if left out.
    timeout : float
        A worker that has not been heard of for this many seconds is lost. One that computes is heard of.
    retries : int
        How often a round is taken up again, and a unit is made again, before the fit is given up.
    """

    can_lose: ClassVar[bool] = True

    def __init__(
        self,
        client: Client,
        partitions: Sequence[Loader],
        sizes: Sequence[int],
        *,
        row_map: Any = None,
        shard: str = "sparse",
        device: str = "cpu",
        n_units: int | None = None,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
    ) -> None:
        self.meter = Meter()
        self._wire = Wire(client, timeout)
        self._log = Log()
        self._retries = retries
        self._placing = Placing(self._wire, partitions, row_map, shard, device, retries)
        workers = self._wire.find_route()
        units = cut(sizes, len(workers) if n_units is None else n_units)
        if not units:
            problem = f"The {len(partitions)} partitions hold no rows."
            raise OddAtomError(problem, parameter="X", value=len(partitions), advice="Pass data that have some.")
        self._placing.start(units)
        self.n_units = len(units)

    def close(self) -> None:
        """Free the rows on the workers; the group answers no more."""
        self._placing.close()

    def _ask(self, method: str, args: tuple[Any, ...], pieces: Sequence[Any] | None) -> tuple[list[Any], int, int]:
        own = None if pieces is None else tuple(dumps(piece) for piece in pieces)
        if own is not None and len(own) != self.n_units:
            raise ValueError(f"scatter needs one piece per shard, {self.n_units}. Got {len(own)} instead.")
        call = Call(method, dumps(args), own)
        answers: dict[int, Any] = {}
        gone: dict[int, str] = {}
        sent = received = 0
        for attempt in range(self._retries + 1):
            missing = [unit for unit in range(self.n_units) if unit not in answers]
            messages = self._placing.messages(call, missing)
            calls = {
                address: self._wire.call(address, self._placing.actor(address), "call", message, units)
                for address, (message, units) in messages.items()
            }
            replies, lost = self._wire.collect(calls)
            for address, reply in replies.items():
                received += len(reply)
                sent += len(messages[address][0])
                found = zip(messages[address][1], loads(reply), strict=True)
                answers.update((unit, unpack(method, answer)) for unit, answer in found)
            if not lost:
                self._log.add(call)
                return [answers[unit] for unit in range(self.n_units)], sent, received
            gone = self._placing.give_up(lost)
            if attempt < self._retries:
                # A unit that is built again is where it was before this round: it must answer even if it has already.
                for unit in self._placing.restore(gone, self._log.calls()):
                    answers.pop(unit, None)
        raise WorkerLostError(
            f"Workers were lost {self._retries + 1} times in one round; the last: {'; '.join(gone.values())}.",
            self._placing.partitions_of(sorted(gone)),
            advice="Look at the workers' logs (memory is the usual reason), give them more of it or use more workers, "
            "and fit again.",
        )
