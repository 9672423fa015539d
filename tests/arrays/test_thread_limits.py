"""Cores are taken once: by numba or by BLAS, and by workers or by the threads of one of them."""

import multiprocessing
import os
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend import context as loky_context
from threadpoolctl import ThreadpoolController

from oddatom import DLOCSVM
from oddatom.arrays.threads import Plan, _state, threads

CORES = numba.config.NUMBA_NUM_THREADS
needs_two_cores = pytest.mark.skipif(CORES < 2, reason="one core")


def found(n_jobs):
    """Threads of numba and of each BLAS inside `threads`, and the process that says so."""
    import oddatom  # noqa: F401  loads the libraries, in a worker too

    numba.get_num_threads()  # starts numba's threads
    with threads(n_jobs):
        blas = [library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()]
        return numba.get_num_threads(), blas, os.getpid()


@pytest.mark.parametrize("n_jobs", [1, 2, -1, None])
def test_numba_has_the_threads_asked_for_and_blas_one(n_jobs):
    before = numba.get_num_threads()
    expected = CORES if n_jobs in (-1, None) else min(n_jobs, CORES)
    n, blas, _ = found(n_jobs)
    assert n == expected
    assert blas
    assert set(blas) == {1}
    assert numba.get_num_threads() == before


@pytest.fixture
def fresh_workers(monkeypatch):
    """Workers of joblib that start as asked, whatever earlier tests told it or its workers."""
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):  # which joblib leaves as they are, and Dask sets
        monkeypatch.delenv(f"{name}_NUM_THREADS", raising=False)

    def start(method):
        get_reusable_executor().shutdown(wait=True)
        monkeypatch.setattr(loky_context, "_DEFAULT_START_METHOD", method)

    yield start
    get_reusable_executor().shutdown(wait=True)


@needs_two_cores
@pytest.mark.parametrize(
    ("start_method", "expected"),
    [
        ("loky", {None: 1, 2: 1}),  # joblib allows its worker one
        ("spawn", {None: 1, 2: 2}),  # which importing SUOD makes joblib's way to start workers; these are told nothing
    ],
)
def test_worker_processes_of_joblib_share_the_cores(start_method, expected, fresh_workers):
    fresh_workers(start_method)
    asked = [*expected] * CORES
    answers = Parallel(n_jobs=CORES)(delayed(found)(n_jobs) for n_jobs in asked)
    assert os.getpid() not in {process for *_, process in answers}
    assert [n for n, _, _ in answers] == [expected[n_jobs] for n_jobs in asked]
    assert all(blas and set(blas) == {1} for _, blas, _ in answers)


@needs_two_cores
def test_worker_processes_take_the_share_that_joblib_gives_them(fresh_workers):
    fresh_workers("loky")
    with parallel_config("loky", inner_max_num_threads=2):
        answers = Parallel(n_jobs=2)(delayed(found)(None) for _ in range(2))
    assert [n for n, _, _ in answers] == [2, 2]


def tell(queue):
    queue.put([found(n_jobs)[:2] for n_jobs in (None, 2, -1)])


@needs_two_cores
def test_a_daemon_takes_one_thread_unless_told_otherwise():
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    worker = context.Process(target=tell, args=(queue,), daemon=True)
    worker.start()
    answers = queue.get(timeout=120)
    worker.join(60)
    assert [n for n, _ in answers] == [1, 2, CORES]
    assert {n for _, blas in answers for n in blas} == {1}


@pytest.mark.slow
def test_tasks_of_dask_take_one_thread_unless_told_otherwise():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        # One after the other: at the same time they would share the cores.
        answers = [client.submit(found, n_jobs).result(timeout=120) for n_jobs in (None, 2)]
    assert os.getpid() not in {process for *_, process in answers}
    assert [n for n, *_ in answers] == [1, min(2, CORES)]
    assert {n for _, blas, _ in answers for n in blas} == {1}


def used_at_once(n_callers, n_jobs):
    """Threads that passes take in as many Python threads, all of them in the middle of one."""
    both = threading.Barrier(n_callers)
    taken = []

    def kernel(k, parallel):
        taken.append(numba.get_num_threads() if parallel else 1)
        both.wait(60)

    def call():
        with threads(n_jobs):
            both.wait(60)
            Plan(8, True, 1e9).run(kernel)
            both.wait(60)
            assert numba.get_num_threads() == min(n_jobs or CORES, CORES)

    Parallel(n_jobs=n_callers, backend="threading")(delayed(call)() for _ in range(n_callers))
    assert _state.inside == {}
    return sorted(taken)


@needs_two_cores
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_python_threads_share_the_cores(n_jobs):
    n = CORES if n_jobs is None else 2
    assert used_at_once(1, n_jobs) == [n]
    assert sum(used_at_once(2, n_jobs)) == min(max(CORES, 2), n + 1)
    assert used_at_once(CORES, n_jobs) == [1] * CORES


@needs_two_cores
def test_fits_in_threads_of_joblib_are_the_fit_alone():
    X = np.abs(np.random.default_rng(0).normal(size=(20_000, 8))) + 0.5
    model = DLOCSVM.paper(random_state=0, max_iter=2)
    alone = model.fit(X).dictionary_.copy()
    models = Parallel(n_jobs=2, backend="threading")(
        delayed(DLOCSVM.paper(random_state=0, max_iter=2).fit)(X) for _ in range(3)
    )
    for other in models:
        np.testing.assert_array_equal(other.dictionary_, alone)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads in /proc")
def test_one_job_starts_no_thread():
    code = """
import os, sys
import numpy as np
from oddatom import DLOCSVM
X = np.abs(np.random.default_rng(0).normal(size=(20_000, 8))) + 0.5
before = len(os.listdir("/proc/self/task"))
for n_jobs in (1, 2):
    DLOCSVM.paper(random_state=0, max_iter=1, n_jobs=n_jobs).fit(X).score_samples(X)
    print(len(os.listdir("/proc/self/task")) - before)
"""
    environment = {**os.environ, "NUMBA_THREADING_LAYER": "omp"}  # starts threads when they get work
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    one, two = map(int, done.stdout.split())
    assert one == 0
    assert (two > 0) == (CORES > 1)
