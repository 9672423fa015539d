"""Threads: limits are put back, in any nesting and from several threads; forked children work; chunks by work alone."""

import os
import signal
import subprocess
import sys
import threading
import warnings

import numba
import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from oddatom import LinearOneClassSVM
from oddatom.arrays import threads as _threads
from oddatom.arrays.threads import MAX_CHUNKS, split, threads, threads_here

CORES = numba.config.NUMBA_NUM_THREADS
needs_two_cores = pytest.mark.skipif(CORES < 2, reason="one core")


def blas():
    """Threads of each BLAS library in this process."""
    return [library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()]


@pytest.fixture(autouse=True)
def two_blas_threads():
    """Something to limit and to put back; and forget that the cores may have been busy a moment ago."""
    _threads._here.serial_until = 0
    with threadpool_limits(limits=2, user_api="blas"):
        yield


def ones():
    return [1] * len(blas())


@needs_two_cores
def test_numba_and_blas_are_put_back():
    before, numba_before = blas(), numba.get_num_threads()
    assert 2 in before
    try:
        numba.set_num_threads(1)
        with threads(2):
            assert numba.get_num_threads() == 2
            assert blas() == ones()
        assert numba.get_num_threads() == 1
        assert blas() == before
    finally:
        numba.set_num_threads(numba_before)


def test_put_back_after_an_error():
    before, numba_before = blas(), numba.get_num_threads()

    def body():
        with threads(2):
            raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        body()
    assert blas() == before
    assert numba.get_num_threads() == numba_before
    assert not split(10**7, 10.0).parallel


def test_nested():
    before = blas()
    big = (10**7, 10.0)
    with threads(2):
        assert split(*big).parallel == (CORES > 1)
        with threads(1):
            assert blas() == ones()
            assert not split(*big).parallel
            with threads(None):
                assert numba.get_num_threads() == CORES
                assert split(*big).parallel == (CORES > 1)
            assert not split(*big).parallel
        assert blas() == ones()  # the outer one still holds it
        assert split(*big).parallel == (CORES > 1)
    assert blas() == before
    assert not split(*big).parallel


def test_threads_of_the_body_around():
    with threads_here():
        assert _threads._here.n_threads == CORES
    with threads(1), threads_here():
        assert _threads._here.n_threads == 1


def test_more_threads_than_cores():
    with threads(10_000):
        assert numba.get_num_threads() == CORES


def test_two_python_threads_at_once():
    before = blas()
    inside, leave, seen = threading.Event(), threading.Event(), []

    def other():
        with threads(1):
            inside.set()
            assert leave.wait(60)
            seen.append(split(10**7, 10.0).parallel)
        seen.append(blas())

    worker = threading.Thread(target=other)
    with threads(2):
        worker.start()
        assert inside.wait(60)
        assert split(10**7, 10.0).parallel == (CORES > 1)  # the other thread's choice is its own
    assert blas() == ones()  # the other thread is still inside
    leave.set()
    worker.join(60)
    assert not worker.is_alive()
    assert seen == [False, before]
    assert blas() == before


def rows():
    return np.random.default_rng(0).normal(2.0, 1.0, (50_000, 4))


def test_fits_from_two_python_threads_agree():
    X = rows()
    expected = LinearOneClassSVM(nu=0.1).fit(X).coef_
    found = {}

    def fit(name):
        found[name] = LinearOneClassSVM(nu=0.1).fit(X).coef_

    workers = [threading.Thread(target=fit, args=(name,)) for name in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    for name in "ab":
        np.testing.assert_array_equal(found[name], expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_child_fits():
    X = rows()
    parent = LinearOneClassSVM(nu=0.1, n_jobs=2).fit(X)  # numba's threads have run before the fork
    expected = np.append(parent.coef_, parent.offset_).tobytes()
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forking with threads about
        child = os.fork()
    if child == 0:  # no assertion and no pytest in here: write the numbers and leave at once
        try:
            signal.alarm(60)
            model = LinearOneClassSVM(nu=0.1, n_jobs=2).fit(X)
            os.write(writer, np.append(model.coef_, model.offset_).tobytes())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        found = pipe.read()
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert found == expected
    again = LinearOneClassSVM(nu=0.1, n_jobs=2).fit(X)  # and the parent is none the worse
    np.testing.assert_array_equal(again.coef_, parent.coef_)


@pytest.mark.parametrize("n_rows", [1, 7, 1000, 10**5, 10**8])
@pytest.mark.parametrize("cost", [0.5, 20.0, 1e4])
def test_chunks_depend_on_work_only(n_rows, cost):
    found = set()
    for n_jobs in (1, 2, None):
        with threads(n_jobs):
            plan = split(n_rows, cost)
        found.add(plan.k)
        assert plan.parallel <= (plan.k > 1)
    found.add(split(n_rows, cost).k)
    assert len(found) == 1
    k = found.pop()
    assert 1 <= k <= min(MAX_CHUNKS, n_rows)


def test_little_work_is_one_chunk_and_more_work_is_more_chunks():
    assert split(10, 1.0).k == 1
    counts = [split(n, 10.0).k for n in (10, 10**5, 10**6, 10**8)]
    assert counts == sorted(counts)
    assert counts[-1] == MAX_CHUNKS
    assert split(0, 10.0).k == 1


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
def test_two_threads_on_the_workqueue_layer():
    # numba's fallback layer ends the process when two threads enter parallel regions at once.
    code = """
import threading, numpy as np
from oddatom import DLOCSVM
X = np.abs(np.random.default_rng(0).normal(size=(20_000, 12))) + 0.5
alone = DLOCSVM.paper(random_state=0, max_iter=2, n_jobs=2).fit(X)
models = [DLOCSVM.paper(random_state=0, max_iter=2, n_jobs=2) for _ in range(3)]
workers = [threading.Thread(target=m.fit, args=(X,)) for m in models]
[w.start() for w in workers]; [w.join() for w in workers]
assert all((m.dictionary_ == alone.dictionary_).all() and m.offset_ == alone.offset_ for m in models)
"""
    environment = {**os.environ, "NUMBA_THREADING_LAYER": "workqueue"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_fewest_rows_of_a_chunk():
    assert split(1000, 1e6, rows_per_chunk=600).k == 1
    assert split(1000, 1e6, rows_per_chunk=250).k == 4
