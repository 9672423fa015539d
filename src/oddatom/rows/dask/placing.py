"""Which unit is on which worker: built there from its partitions, and built again elsewhere when the worker is lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, wait
from time import monotonic, sleep
from typing import NamedTuple
from uuid import uuid4

from distributed import Future, KilledWorker
from distributed.protocol import pickle

from oddatom.exceptions import WorkerLostError
from oddatom.rows.dask.holder import HolderGone, Recipe, RowMap, RowsChanged, UnitHolder, fill
from oddatom.rows.dask.messages import dumps
from oddatom.rows.dask.replay import Call
from oddatom.rows.dask.units import Loader, Unit, listed, load
from oddatom.rows.dask.wire import Wire

_ANSWER = 2.0  # seconds in which a worker that is to be used must say that it is there, if another does


class _Holder(NamedTuple):
    """An actor: its address is the worker's, its key Dask's name for it, held by the future."""

    token: str
    future: Future


class _Build(NamedTuple):
    """A unit in the making: the partitions it waits for and the task that makes it."""

    parts: list[Future]
    done: Future


class Placing:
    """Holders by worker, and the worker of every unit."""

    def __init__(
        self,
        wire: Wire,
        partitions: Sequence[Loader],
        row_map: RowMap | None,
        shard: str,
        device: str,
        retries: int,
    ) -> None:
        self._wire = wire
        self._client = wire.client
        self._partitions = list(partitions)
        self._row_map, self._shard, self._device = row_map, shard, device
        self._retries = retries
        self._units: list[Unit] = []
        self._holders: dict[str, _Holder] = {}
        self._where: dict[int, str] = {}
        self._sums: dict[int, int] = {}  # checksums of the units' rows

    def start(self, units: Sequence[Unit]) -> None:
        """Build every unit for the first time."""
        self._units = list(units)
        self.restore(range(len(units)), [])

    def actor(self, address: str) -> str:
        """Return Dask's name for the actor on a worker."""
        return str(self._holders[address].future.key)

    def messages(self, call: Call, units: Iterable[int]) -> dict[str, tuple[bytes, list[int]]]:
        """Return the message for every worker that has some of the units, and those units."""
        by_address = self._by_address(units)
        if call.pieces is None:
            message = dumps(tuple(call))
            return {address: (message, held) for address, held in by_address.items()}
        return {address: (_messages([call], held)[0], held) for address, held in by_address.items()}

    def give_up(self, gone: Mapping[str, str]) -> dict[int, str]:
        """Give up workers; return the units that are or were to be there, and what is known of their worker's end."""
        units = {unit: f"{a}: {gone[a]}" for unit, a in self._where.items() if a in gone}
        for unit in units:
            del self._where[unit]
        for address in gone:
            self._holders.pop(address, None)  # its future goes, and with it an actor that may still be there
        return units

    def partitions_of(self, units: Iterable[int]) -> tuple[int, ...]:
        """Return the numbers of the units' partitions."""
        return tuple(number for unit in units for number in self._units[unit].partitions)

    def close(self) -> None:
        """Free the rows on the workers: without their futures the actors go."""
        self._holders.clear()
        self._where.clear()

    def restore(self, units: Iterable[int], calls: Sequence[Call]) -> set[int]:
        """Build units on workers that are there and take them through the calls; those that fail once more, elsewhere.

        Returns all units that were built: more than asked for where further workers were lost meanwhile.
        """
        todo, built = set(units), set[int]()
        problems: dict[int, str] = {}
        for _ in range(self._retries + 1):
            built |= todo
            places = self._choose(sorted(todo), self._available(todo))
            self._where |= places
            problems = self._make_holders(set(places.values()))
            problems |= self._build([u for u in places if u not in problems])
            problems |= self._replay([u for u in places if u not in problems], calls)
            todo = set(problems)
            if not todo:
                return built
        partitions = self.partitions_of(sorted(todo))
        raise WorkerLostError(
            f"Rows were lost with a worker and could not be had again in {self._retries + 1} attempts: "
            f"{listed(partitions)}. The last attempt: {problems[min(todo)]}.",
            partitions,
            advice="See that the data can be read from the workers that are left, and fit again.",
        )

    def _by_address(self, units: Iterable[int]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for unit in units:
            found.setdefault(self._where[unit], []).append(unit)
        return found

    def _available(self, units: Iterable[int]) -> list[str]:
        """Return workers that answer; wait for one up to the limit (a nanny may be starting it)."""
        limit = monotonic() + self._wire.timeout
        while monotonic() < limit:
            echoes = {address: self._wire.echo(address) for address in self._wire.known(limit - monotonic())}
            wait(echoes.values(), timeout=min(_ANSWER, limit - monotonic()))
            found = [address for address, echo in echoes.items() if echo.done() and echo.exception() is None]
            for echo in echoes.values():
                echo.cancel()
            if found:
                return found
            sleep(0.05)
        partitions = self.partitions_of(sorted(units))
        raise WorkerLostError(
            f"No worker of the Dask cluster has answered for {self._wire.timeout:g} s, the limit of a wait: none is "
            f"left for {listed(partitions)}.",
            partitions,
            parameter="timeout",
            value=self._wire.timeout,
            advice="Start workers and fit again.",
        )

    def _choose(self, units: Sequence[int], addresses: Sequence[str]) -> dict[int, str]:
        """Put each unit on the worker that has the fewest."""
        held = dict.fromkeys(sorted(addresses), 0)
        for address in self._where.values():
            if address in held:
                held[address] += 1
        places = {}
        for unit in units:
            address = min(held, key=held.__getitem__)
            places[unit] = address
            held[address] += 1
        return places

    def _make_holders(self, addresses: set[str]) -> dict[int, str]:
        """Start an actor on every worker that has none; return the units whose worker is lost, and why."""
        new: dict[str, _Holder] = {}
        for address in sorted(addresses - set(self._holders)):
            token = uuid4().hex
            key = f"oddatom-holder-{token}"
            future = self._client.submit(UnitHolder, token, actor=True, key=key, workers=[address])
            new[address] = _Holder(token, future)
        gone: dict[str, str] = {}
        while waiting := [a for a, h in new.items() if a not in gone and not h.future.done()]:
            gone |= self._wire.watch_until([new[a].future.done for a in waiting], waiting)
        for address, holder in new.items():
            if address not in gone and holder.future.status != "finished":
                gone[address] = f"its actor is {holder.future.status}"
        self._holders |= {address: holder for address, holder in new.items() if address not in gone}
        return self.give_up(gone)

    def _build(self, units: Sequence[int]) -> dict[int, str]:
        """Make units of their partitions; return those that failed, and others that were lost meanwhile, and why."""
        builds = {unit: self._begin(unit, self._where[unit]) for unit in units}
        problems: dict[int, str] = {}
        while waiting := [unit for unit, b in builds.items() if unit not in problems and not b.done.done()]:
            # A partition may be made or kept on any worker: a silent one must not hold it up.
            watched = {*self._wire.known(self._wire.timeout), *(self._where[unit] for unit in waiting)}
            problems |= self.give_up(self._wire.watch_until([builds[unit].done.done for unit in waiting], watched))
        for unit, build in builds.items():
            reason = None if unit in problems else self._finish(unit, build)
            if reason is not None:
                problems[unit] = reason
                del self._where[unit]
        return problems

    def _begin(self, unit: int, address: str) -> _Build:
        numbers, sizes = self._units[unit]
        parts = [load(self._client, self._partitions[number], address) for number in numbers]
        recipe = pickle.dumps(Recipe(unit, numbers, sizes, self._row_map, self._shard, self._device))
        token = self._holders[address].token
        return _Build(parts, self._client.submit(fill, token, recipe, *parts, pure=False, workers=[address]))

    def _finish(self, unit: int, build: _Build) -> str | None:
        """Check a unit that has been built; return what went wrong where another attempt may help."""
        again, limit = unit in self._sums, self._wire.timeout
        if build.done.status == "finished":
            try:
                found = build.done.result(timeout=limit)
            except (TimeoutError, OSError, CancelledError) as lost:
                return f"{self._where[unit]}: it was lost when it had read its rows ({type(lost).__name__})"
            if self._sums.setdefault(unit, found) != found:
                raise self._changed(unit, "their numbers are not those of the first reading")
            return None
        for number, part in zip(self._units[unit].partitions, build.parts, strict=True):
            error = part.exception(timeout=limit) if part.status == "error" else None
            if part.status in ("cancelled", "lost") or isinstance(error, KilledWorker):
                return f"partition {number} was lost with a worker ({part.status})"
            if error is not None and again:
                return f"partition {number} cannot be read: {type(error).__name__}: {error}"
            if error is not None:
                raise RuntimeError(
                    f"Partition {number} (of 0–{len(self._partitions) - 1}) cannot be read: {type(error).__name__}: "
                    f"{error}. See that every worker can read it, and fit again."
                ) from error
        error = build.done.exception(timeout=limit) if build.done.status == "error" else None
        if error is None or isinstance(error, KilledWorker | HolderGone):
            return f"{self._where[unit]}: it was lost while it read its rows ({build.done.status})"
        if isinstance(error, RowsChanged) and again:
            raise self._changed(unit, str(error)) from error
        raise error

    def _changed(self, unit: int, what: str) -> WorkerLostError:
        partitions = self._units[unit].partitions
        return WorkerLostError(
            f"Rows were lost with a worker, and have changed since they were first read: {listed(partitions)}; {what}.",
            partitions,
            advice="Fit again, to data that stay as they are (persist them, or write them to files first).",
        )

    def _replay(self, units: Sequence[int], calls: Sequence[Call]) -> dict[int, str]:
        """Take new units through the calls; return those whose worker is lost, and why."""
        if not calls:
            return {}
        sent = {
            address: self._wire.call(address, self.actor(address), "replay", _messages(calls, held), held)
            for address, held in self._by_address(units).items()
        }
        _, lost = self._wire.collect(sent)
        return self.give_up(lost)


def _messages(calls: Sequence[Call], units: Sequence[int]) -> list[bytes]:
    """Return calls as messages, with the pieces of these units alone."""
    pieces = [None if call.pieces is None else {unit: call.pieces[unit] for unit in units} for call in calls]
    return [dumps((call.method, call.args, own)) for call, own in zip(calls, pieces, strict=True)]
