"""Threads: numba over chunks of rows outside, BLAS on one thread inside.

Rows are cut into chunks whose number depends on the amount of work alone, and partial sums are added in the
order of the chunks: a result is the same, bit for bit, for every number of threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numba
import scipy.linalg.blas  # noqa: F401  numba's BLAS: loaded before threadpoolctl looks for libraries
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

# Below this many floating-point operations a parallel region costs more than it saves.
SERIAL_WORK = 1_000_000
MAX_CHUNKS = 64


class _State:
    """How many callers hold BLAS at one thread, and whether this process is a forked child."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.holders = 0
        self.limiter: Any = None
        self.forked = False


_state = _State()
_here = threading.local()


def _after_fork() -> None:
    """Stay on one thread in a forked child: GNU's OpenMP aborts when it is entered again there."""
    _state.__init__()  # type: ignore[misc]
    _state.forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def split(n_rows: int, flops_per_row: float) -> tuple[int, bool]:
    """Return the number of chunks for a pass over the rows, and whether to run them in parallel."""
    work = n_rows * flops_per_row
    if work < SERIAL_WORK:
        return 1, False
    k = int(min(MAX_CHUNKS, max(2, work // (SERIAL_WORK // 2)), n_rows))
    return k, k > 1 and getattr(_here, "n_threads", 1) > 1


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Run the body with `n_jobs` numba threads (None: all, unless joblib says otherwise) and BLAS on one."""
    n = effective_n_jobs(-1 if n_jobs is None else n_jobs)
    n = 1 if _state.forked else max(1, min(n, numba.config.NUMBA_NUM_THREADS))
    outer = getattr(_here, "n_threads", None)
    with _state.lock:
        if _state.holders == 0:
            _state.limiter = _controller().limit(limits=1, user_api="blas")
        _state.holders += 1
    _here.n_threads = n
    before = numba.get_num_threads() if n > 1 else None
    if n > 1:
        numba.set_num_threads(n)
    try:
        yield
    finally:
        if before is not None:
            numba.set_num_threads(before)
        _here.n_threads = 1 if outer is None else outer
        with _state.lock:
            _state.holders -= 1
            if _state.holders == 0:
                _state.limiter.restore_original_limits()
                _state.limiter = None
