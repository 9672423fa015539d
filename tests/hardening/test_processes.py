"""A fitted model in child processes: forked after numba's threads have run, spawned, and joblib's."""

import multiprocessing

import pytest
from small_models import run_script

METHODS = [method for method in ("fork", "spawn") if method in multiprocessing.get_all_start_methods()]


@pytest.mark.parametrize("how", [*METHODS[:1], *(pytest.param(m, marks=pytest.mark.slow) for m in METHODS[1:]), "loky"])
def test_children_score_and_fit_as_the_parent_does(how):
    kinds = [] if how in ("fork", "loky") else ["DLOCSVM", "OddAtomDetector"]  # all, or two: they inherit nothing
    assert run_script("processes_script.py", how, *kinds) == "same\n"


@pytest.mark.slow
@pytest.mark.skipif("fork" not in METHODS, reason="no fork here")
def test_forked_children_on_the_layer_without_openmp():
    assert run_script("processes_script.py", "fork", NUMBA_THREADING_LAYER="workqueue") == "same\n"
