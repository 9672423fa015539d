"""Ten threads on one model: what one thread says, bit for bit, on every threading layer of numba's."""

import importlib.util

import pytest
from small_models import run_script

LAYERS = [
    "default",  # TBB, else OpenMP
    "workqueue",  # which ends the process where two threads enter parallel regions at once
    pytest.param(
        "tbb", marks=[pytest.mark.slow, pytest.mark.skipif(importlib.util.find_spec("tbb") is None, reason="no TBB")]
    ),
]


@pytest.mark.parametrize("layer", LAYERS)
def test_ten_threads_score_one_model_while_another_fits(layer):
    # More threads than cores, so that cores to share are not what keeps ten callers out of parallel regions.
    found = run_script("threads_script.py", NUMBA_THREADING_LAYER=layer, NUMBA_NUM_THREADS="16")
    assert found.startswith("same")
