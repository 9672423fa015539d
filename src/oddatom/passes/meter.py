"""What talking to shards costs: rounds, bytes and seconds, by phase of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from oddatom.passes.declared import PHASES

_NUMBERS = (int, float, np.generic)


def n_bytes(value: Any) -> int:
    """Return the bytes of the numbers in arguments or answers: arrays, numbers, and containers of them."""
    kind = type(value)
    if kind is np.ndarray:
        return value.nbytes
    if kind is tuple or kind is list or isinstance(value, tuple):
        total = 0
        for part in value:
            total += 8 if isinstance(part, _NUMBERS) else n_bytes(part)
        return total
    if kind is bytes or kind is str:
        return len(value)
    if hasattr(value, "indptr"):  # a sparse matrix
        return n_bytes((value.data, value.indices, value.indptr))
    return 8 if isinstance(value, _NUMBERS) else 0


class Meter:
    """Rounds, bytes sent and received, and seconds by phase, from the start of a group on."""

    __slots__ = ("received", "rounds", "seconds", "sent")

    def __init__(self) -> None:
        self.rounds = self.sent = self.received = 0
        self.seconds = dict.fromkeys(PHASES, 0.0)

    def add(self, phase: str, sent: int, received: int, seconds: float) -> None:
        """Count one round of a phase."""
        self.rounds += 1
        self.sent += sent
        self.received += received
        self.seconds[phase] += seconds

    def copy(self) -> Meter:
        """Return the counts as they stand."""
        twin = Meter()
        twin.rounds, twin.sent, twin.received, twin.seconds = self.rounds, self.sent, self.received, dict(self.seconds)
        return twin

    def since(self, before: Meter) -> dict[str, float]:
        """Return what has come since, as columns of a `History`."""
        return {
            "rounds": self.rounds - before.rounds,
            "megabytes": 1e-6 * (self.sent + self.received - before.sent - before.received),
            **{f"seconds_{name}": self.seconds[name] - before.seconds[name] for name in PHASES[:3]},
        }
