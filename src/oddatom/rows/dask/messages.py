"""What travels between the driver and a worker: pickled once, symmetric matrices as triangles, counts in few bytes."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import numpy as np

# Answers, by method and position, that are symmetric matrices, or of which only the lower triangle is used.
SYMMETRIC = frozenset(
    {
        ("moments", 0),
        ("commit_and_moments", 0),
        ("start_moments", 0),
        ("pair_gram", 0),
        ("pair_basis_gram", 0),
        ("svm_smooth", 1),
    }
)
# Answers that are counts, 64-bit integers that are seldom large.
COUNTS = frozenset({("encode", 0), ("svm_histogram", 0)})
_METHODS = frozenset(method for method, _ in SYMMETRIC | COUNTS)


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
    if method not in _METHODS:
        return answer
    parts = list(answer)
    for k, part in enumerate(parts):
        if (method, k) in SYMMETRIC:
            parts[k] = part[_triangle(part.shape[0])]
        elif (method, k) in COUNTS:
            parts[k] = part.astype(np.min_scalar_type(int(part.max(initial=0))))
    return tuple(parts)


def unpack(method: str, answer: Any) -> Any:
    """Undo `pack`; both triangles of a symmetric matrix are filled from the lower one."""
    if method not in _METHODS:
        return answer
    parts = list(answer)
    for k, part in enumerate(parts):
        if (method, k) in SYMMETRIC:
            n = int(np.sqrt(2 * part.size))
            full = np.empty((n, n))
            rows, columns = _triangle(n)
            full[rows, columns] = part
            full[columns, rows] = part
            parts[k] = full
        elif (method, k) in COUNTS:
            parts[k] = part.astype(np.int64)
    return tuple(parts)
