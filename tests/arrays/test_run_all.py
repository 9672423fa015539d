"""Tasks side by side: answers in the order of the tasks, as many threads as were asked for, errors as they are."""

import threading
from functools import partial

import numba
import pytest

from oddatom.arrays.threads import run_all, threads


def slow_square(barrier, k):
    if barrier is not None:
        barrier.wait(timeout=30)  # goes on when another task is here too
    return k * k, threading.get_ident()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_answers_are_in_the_order_of_the_tasks(n_jobs):
    with threads(n_jobs):
        found = run_all([partial(slow_square, None, k) for k in range(40)])
    assert [square for square, _ in found] == [k * k for k in range(40)]
    if n_jobs == 1:
        assert {thread for _, thread in found} == {threading.get_ident()}


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one core")
def test_tasks_run_side_by_side():
    barrier = threading.Barrier(2)
    with threads(2):
        found = run_all([partial(slow_square, barrier, k) for k in range(2)])
    assert len({thread for _, thread in found}) == 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_is_raised(n_jobs):
    with threads(n_jobs), pytest.raises(ZeroDivisionError):
        run_all([lambda: 1, lambda: 1 // 0, lambda: 2])
