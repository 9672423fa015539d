"""Messages to workers from a thread that waits: none of them waits for ever, and silence is told from work.

A worker computes in one thread and answers messages in another. One that has not answered a call is asked every now and
then whether it is there: as long as it says so, however long it computes, it is not lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from time import monotonic, sleep
from typing import Any

from distributed import Client
from distributed.protocol import to_serialize

from oddatom.exceptions import WorkerLostError

_PAUSE = 0.1  # seconds that a round may take before anyone asks whether the workers are there
_LONGEST_PAUSE = 0.5
_REACH = 5.0  # seconds to find out whether workers can be spoken to without the scheduler in between


class ShardFailed(Exception):
    """A shard has raised an error of its own, the cause of this one; nothing is wrong with its worker."""


class Wire:
    """Messages by way of a Dask client: straight to the workers where they can be reached, else by its scheduler."""

    def __init__(self, client: Client, timeout: float) -> None:
        self.client = client
        self.timeout = timeout
        self._direct = True
        self._loop: asyncio.AbstractEventLoop = client.loop.asyncio_loop

    def start(self, message: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Send a message; its answer is waited for elsewhere."""
        if self.client.status in ("closing", "closed") or self.client.scheduler is None:
            message.close()
            problem = "The Dask client was closed, or has lost its scheduler."
            raise WorkerLostError(
                problem, parameter="client", value=self.client.status, advice="Connect and fit again."
            )
        return asyncio.run_coroutine_threadsafe(message, self._loop)

    def find_route(self) -> list[str]:
        """Return the workers there are, in a fixed order; go by the scheduler if one cannot be reached from here."""
        limit = monotonic() + self.timeout
        while not (addresses := sorted(self.known(limit - monotonic()))):
            if monotonic() > limit:
                problem = f"The Dask cluster has had no worker for {self.timeout:g} s."
                raise WorkerLostError(problem, parameter="timeout", value=self.timeout, advice="Start some.")
            sleep(0.05)
        asked = {address: self.echo(address, True) for address in addresses}
        wait(asked.values(), timeout=min(_REACH, self.timeout))
        self._direct = True
        for address in addresses:
            if self._direct and not _answered(asked[address]):
                self.is_silent(address)
        for echo in asked.values():
            echo.cancel()
        return addresses

    def known(self, limit: float) -> list[str]:
        """Return the workers that the scheduler knows of; none if it does not say within the limit."""
        asked = self.workers()
        wait([asked], timeout=max(limit, 0.0))
        if not asked.done():
            asked.cancel()
            return []
        return list(asked.result()) if asked.exception() is None else []

    def echo(self, address: str, direct: bool | None = None) -> Future[Any]:
        """Ask whether a worker is there."""
        return self.start(self._send(address, "echo", direct, data=0))

    def workers(self) -> Future[Any]:
        """Ask the scheduler for the workers that it knows of, by address."""
        return self.start(self._ask_scheduler("ncores"))

    def is_silent(self, address: str) -> bool:
        """Whether a worker does not answer the scheduler either; if it does, messages go that way from now on."""
        asked = self.echo(address, False)
        wait([asked], timeout=min(_REACH, self.timeout))
        answered = _answered(asked)
        self._direct &= not answered
        asked.cancel()
        return not answered

    def remove(self, address: str) -> None:
        """Have the scheduler take out a silent worker, as it does itself some minutes later: its data are made again.

        The worker closes when it is heard of again.
        """
        stimulus = f"oddatom-silent-worker-{monotonic()}"
        message = self._ask_scheduler("unregister", address=address, stimulus_id=stimulus)
        wait([self.start(message)], timeout=self.timeout)

    def call(self, address: str, actor: str, function: str, *args: Any) -> Future[Any]:
        """Call a method of an actor."""
        return self.start(self._call(address, actor, function, args))

    async def _call(self, address: str, actor: str, function: str, args: tuple[Any, ...]) -> Any:
        given = {"actor": actor, "function": function, "args": [to_serialize(arg) for arg in args], "kwargs": {}}
        reply = await self._send(address, "actor_execute", None, **given)
        if reply["status"] == "OK":
            return reply["result"]
        raise ShardFailed from reply["exception"]

    async def _send(self, address: str, operation: str, direct: bool | None, **message: Any) -> Any:
        if self._direct if direct is None else direct:
            return await getattr(self.client.rpc(address), operation)(**message)
        return await self._ask_scheduler("proxy", worker=address, msg={"op": operation, **message})

    async def _ask_scheduler(self, operation: str, **message: Any) -> Any:
        return await getattr(self.client.scheduler, operation)(**message)

    def collect(self, calls: Mapping[str, Future[Any]]) -> tuple[dict[str, Any], dict[str, str]]:
        """Wait for calls of workers, by address; return the answers, and of lost workers what is known of their end.

        An error that a shard itself has raised is raised.
        """
        answers: dict[str, Any] = {}
        lost: dict[str, str] = {}
        watch: Watch | None = None
        pause = _PAUSE
        pending = set(calls.values())
        try:
            while pending:
                _, pending = wait(pending, timeout=pause)
                if not pending:
                    break
                watch = watch or Watch(self, [a for a, call in calls.items() if call in pending])
                pause = min(2.0 * pause, _LONGEST_PAUSE)
                for address, reason in watch.gone().items():
                    if calls[address] in pending:
                        pending.remove(calls[address])
                        lost[address] = reason
            for address, call in calls.items():
                if address not in lost:
                    _settle(call, address, answers, lost)
        finally:
            for call in calls.values():
                call.cancel()
            if watch is not None:
                watch.stop()
        return answers, lost

    def watch_until(self, done: Sequence[Callable[[], bool]], addresses: Iterable[str]) -> dict[str, str]:
        """Wait until all is done or one of the workers is lost; return those that are, and what is known of it.

        It also ends after twice the limit, for others may have joined that are to be watched.
        """
        watch = Watch(self, addresses)
        pause, next_look = 0.002, monotonic() + _PAUSE
        end = monotonic() + 2.0 * self.timeout
        try:
            while not all(finished() for finished in done) and monotonic() < end:
                sleep(pause)
                pause = min(1.5 * pause, 0.05)
                if monotonic() > next_look:
                    next_look = monotonic() + _LONGEST_PAUSE
                    gone = watch.gone()
                    if gone:
                        return gone
            return {}
        finally:
            watch.stop()


def _answered(asked: Future[Any]) -> bool:
    return asked.done() and asked.exception() is None


def _settle(call: Future[Any], address: str, answers: dict[str, Any], lost: dict[str, str]) -> None:
    """Sort a finished call: its answer, an error of the shard's own, or a sign that the worker has gone."""
    try:
        answers[address] = call.result()
    except ShardFailed as failed:
        raise failed.__cause__ or failed from None
    except Exception as error:
        lost[address] = f"{type(error).__name__}: {error}"


class Watch:
    """Asks some workers, over and over, whether they are there, and the scheduler whether it knows them."""

    def __init__(self, wire: Wire, addresses: Iterable[str]) -> None:
        self._wire = wire
        now = monotonic()
        self._heard = dict.fromkeys(addresses, now)
        self._asked = {address: wire.echo(address) for address in self._heard}
        self._scheduler_heard = now
        self._scheduler_asked = wire.workers()

    def gone(self) -> dict[str, str]:
        """Return the workers that the scheduler has lost, or that have been silent for too long, and which it was."""
        now, limit = monotonic(), self._wire.timeout
        found: dict[str, str] = {}
        if self._scheduler_asked.done():
            if self._scheduler_asked.exception() is None:
                self._scheduler_heard = now
                known = self._scheduler_asked.result()
                found = {a: "it has left the cluster" for a in self._heard if a not in known}
            self._scheduler_asked = self._wire.workers()
        if now - self._scheduler_heard > limit:
            raise WorkerLostError(
                f"The Dask scheduler has been silent for {limit:g} s, the limit of a wait.",
                parameter="timeout",
                value=limit,
                advice="Connect to one that runs.",
            )
        for address, asked in self._asked.items():
            if asked.done():
                if asked.exception() is None:
                    self._heard[address] = now
                self._asked[address] = self._wire.echo(address)
            if now - self._heard[address] > limit and address not in found and self._wire.is_silent(address):
                found[address] = f"it has been silent for {limit:g} s"
                self._wire.remove(address)
        return found

    def stop(self) -> None:
        """Wait for no more answers."""
        for asked in (*self._asked.values(), self._scheduler_asked):
            asked.cancel()
