"""What travels between the driver and a worker: pickled once, symmetric matrices as triangles, counts in few bytes."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import numpy as np

from oddatom.passes.declared import PASSES


def dumps(value: Any) -> bytes:
    """Return a value as bytes."""
    return pickle.dumps(value, protocol=5)


def loads(message: bytes) -> Any:
    """Undo `dumps`."""
    return pickle.loads(message)


@cache
def _triangle(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.tril_indices(n)


def pack(method: str, answer: Any) -> Any:
    """Return an answer as it is sent."""
    kind = PASSES[method]
    if not kind.symmetric and not kind.counts:
        return answer
    parts = list(answer)
    for k, part in enumerate(parts):
        if k in kind.symmetric:
            parts[k] = part[_triangle(part.shape[0])]
        elif k in kind.counts:
            parts[k] = part.astype(np.min_scalar_type(int(part.max(initial=0))))
    return tuple(parts)


def unpack(method: str, answer: Any) -> Any:
    """Undo `pack`; both triangles of a symmetric matrix are filled from the lower one."""
    kind = PASSES[method]
    if not kind.symmetric and not kind.counts:
        return answer
    parts = list(answer)
    for k, part in enumerate(parts):
        if k in kind.symmetric:
            n = int(np.sqrt(2 * part.size))
            full = np.empty((n, n))
            rows, columns = _triangle(n)
            full[rows, columns] = part
            full[columns, rows] = part
            parts[k] = full
        elif k in kind.counts:
            parts[k] = part.astype(np.int64)
    return tuple(parts)
