"""Threads: numba over chunks of rows outside, BLAS on one thread inside.

Rows are cut into chunks whose number depends on the amount of work alone, and partial sums are added in the
order of the chunks: a result is the same, bit for bit, for every number of threads.

Cores are taken once. Workers of joblib, multiprocessing and Dask share them already; Python threads that come here at
the same time leave each other one core at least.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from time import perf_counter_ns
from typing import Any, NamedTuple, TypeVar

import numba
import scipy.linalg.blas  # noqa: F401  numba's BLAS: loaded before threadpoolctl looks for libraries
import threadpoolctl
from joblib import cpu_count, effective_n_jobs
from numba.np.ufunc import parallel as numba_threads
from threadpoolctl import ThreadpoolController

# A pass shorter than this (in nanoseconds) is not worth a parallel region; a chunk of a longer one takes about that.
SERIAL_NS = 60_000.0
MAX_CHUNKS = 64
T = TypeVar("T")


class _State:
    """Who holds BLAS at one thread, and whether this process is a forked child."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.region: dict[str, int] = {}  # "taken" by which thread; a lock would not say whose it is
        self.inside: dict[int, int] = {}  # Python threads inside `threads`, and how deep
        self.limiter: Any = None
        self.forked = False


_state = _State()
_best: dict[Callable[..., None], float] = {}
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


def _release_openblas() -> None:
    """Let any thread set OpenBLAS's limit.

    Newer versions of threadpoolctl (3.8 does) heed only the thread that set it first, and ignore all others while
    that one lives. Here the first to come in sets the limit and the last to leave, maybe another, puts it back.
    """
    release = getattr(getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None)
    if release is not None:
        release(force=True)


class Plan(NamedTuple):
    """A pass over rows in `k` chunks, in parallel or one after the other: the result is the same."""

    k: int
    parallel: bool
    ns: float

    def run(self, kernel: Callable[..., None], *args: Any) -> None:
        """Call kernel(*args, k, parallel); remember it when a parallel region takes far longer than it should."""
        # One parallel region at a time: numba's "workqueue" layer ends the process at two, and two share the cores
        # anyway. Whoever finds it taken goes on alone, with the same result.
        region, me = _state.region, threading.get_ident()
        wanted = getattr(_here, "n_threads", 1)
        n = min(wanted, numba.config.NUMBA_NUM_THREADS - len(_state.inside) + 1)  # one core for each of the others
        try:
            if not self.parallel or n < 2 or region.setdefault("taken", me) != me:
                kernel(*args, self.k, False)
                return
            if n < wanted:
                numba.set_num_threads(n)
            start = perf_counter_ns()
            kernel(*args, self.k, True)
            _notice(kernel, perf_counter_ns() - start, self.ns)
        finally:  # after Ctrl-C too, whether it came before or after the region was taken
            if region.get("taken") == me:
                if n < wanted:
                    numba.set_num_threads(wanted)
                region.pop("taken", None)


def run_all(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Return what tasks without arguments return, in their order; Python threads share them where there are several.

    For work that is mostly NumPy's and numba's own, which does not hold Python's lock.
    """
    n = min(getattr(_here, "n_threads", 1), len(tasks))
    if n < 2:
        return [task() for task in tasks]
    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(lambda task: task(), tasks))


def split(n_rows: int, ns_per_row: float, rows_per_chunk: int = 1) -> Plan:
    """Plan a pass over the rows: chunks by the amount of work alone, in parallel where that pays.

    `rows_per_chunk` is the fewest rows that are worth a chunk's own sums.
    """
    ns = n_rows * ns_per_row
    most = min(MAX_CHUNKS, n_rows // rows_per_chunk)
    if ns < SERIAL_NS or most < 2:
        return Plan(1, False, ns)
    k = int(min(most, max(2.0, ns / SERIAL_NS)))
    parallel = k > 1 and getattr(_here, "n_threads", 1) > 1 and perf_counter_ns() >= getattr(_here, "serial_until", 0)
    return Plan(k, parallel, ns)


def _notice(kernel: Callable[..., None], taken: int, expected: float) -> None:
    """Stay serial for a while when the other cores are busy: a region waits for its last thread to get one.

    Busy means four times the best that this kernel has done; its first call, which compiles or loads it, never
    counts as that. The while doubles from 20 ms to 640 ms with every further disappointment.
    """
    ratio = taken / expected
    best = _best.get(kernel, ratio)
    _best[kernel] = min(best, ratio)
    if taken < 1e6 or ratio < 4.0 * best:
        _here.disappointments = 0
        return
    _here.disappointments = min(getattr(_here, "disappointments", 0) + 1, 6)
    _here.serial_until = perf_counter_ns() + 10_000_000 * 2**_here.disappointments


def _raised(error: SystemError) -> BaseException:
    """What a signal handler raised (Ctrl-C) while numba was handing an array back, which comes as a SystemError."""
    cause: BaseException = error
    while isinstance(cause, SystemError) and cause.__cause__ is not None:
        cause = cause.__cause__
    return cause


def _count(n_jobs: int | None) -> int:
    """How many threads `n_jobs` means here.

    joblib is asked only where it is left to choose: in a daemon, which the workers of Dask are, it knows but one.
    Its own workers learn their share from the environment, but not when they are spawned, as SUOD has it.
    """
    if n_jobs is not None and n_jobs > 0:
        n = n_jobs
    elif n_jobs is None and multiprocessing.parent_process() is not None and "NUMBA_NUM_THREADS" not in os.environ:
        n = 1
    elif multiprocessing.current_process().daemon:
        n = 1 if n_jobs is None else cpu_count() + 1 + n_jobs
    else:
        n = effective_n_jobs(-1 if n_jobs is None else n_jobs)
    return 1 if _state.forked else max(1, min(n, numba.config.NUMBA_NUM_THREADS))


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Run the body with `n_jobs` numba threads (None: all, unless it is a worker that runs it) and BLAS on one."""
    n = _count(n_jobs)
    outer = getattr(_here, "n_threads", None)
    # One thread does not start numba's others; where they have been started, this is to keep them out.
    before = numba.get_num_threads() if n > 1 or getattr(numba_threads, "_is_initialized", False) else None
    me, lock = threading.get_ident(), _state.lock
    depth = _state.inside.get(me, 0)
    try:
        with lock:
            _state.inside[me] = depth + 1
            if _state.limiter is None:
                _state.limiter = _controller().limit(limits=None, user_api="blas")  # knows what to put back
                _release_openblas()
                _controller().limit(limits=1, user_api="blas")
                _release_openblas()
        _here.n_threads = n
        if before is not None:
            numba.set_num_threads(n)
        yield
    except SystemError as error:
        raise _raised(error) from None
    finally:
        try:
            _leave(me, depth, lock, before, outer)
        except BaseException:  # Ctrl-C in there
            _leave(me, depth, lock, before, outer)
            raise


@contextmanager
def threads_here() -> Iterator[None]:
    """Run the body with the threads of the body around it; where there is none, with all."""
    if _state.inside.get(threading.get_ident(), 0) > 0:
        yield
        return
    with threads(None):
        yield


def _leave(me: int, depth: int, lock: Any, before: int | None, outer: int | None) -> None:
    """Put back what it was like at this depth; a second time does nothing."""
    if before is not None:
        numba.set_num_threads(before)
    _here.n_threads = 1 if outer is None else outer
    if _state.lock is not lock:
        return  # a child forked in the body knows of nobody inside
    with lock:
        if depth:
            _state.inside[me] = depth
        else:
            _state.inside.pop(me, None)
        if not _state.inside and _state.limiter is not None:
            _release_openblas()
            _state.limiter.restore_original_limits()
            _release_openblas()
            _state.limiter = None
