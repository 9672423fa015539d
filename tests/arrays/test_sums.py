"""Sums have an order of their own: the same digits from a fresh compiler and from its cache, wherever arrays lie."""

import importlib
import os
import pkgutil
import subprocess
import sys
from math import fsum
from pathlib import Path

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError

import oddatom
from model_files import DETECTORS
from oddatom.arrays.sums import LANES, dot


@pytest.mark.parametrize("n", range(20))
def test_dot_is_the_sum_of_products_by_lanes(n):
    x, y = np.random.default_rng(n).normal(size=(2, n))
    assert dot(x, y) == pytest.approx(fsum(x * y), abs=1e-14)
    powers = 2.0 ** np.arange(n)  # no rounding
    assert dot(powers, np.ones(n)) == 2.0**n - 1.0


def test_lanes_are_four_sums_of_their_own():
    """1e16 swallows a one beside it in its lane, and none of the others'."""
    x = np.ones(4 * LANES)
    x[0], x[-LANES] = 1e16, -1e16
    assert dot(x, np.ones(x.size)) == 3 * 4


def test_dot_goes_on_for_the_length_of_the_second():
    assert dot(np.arange(9.0), np.ones(6)) == 15.0


@pytest.mark.parametrize("x", [np.ones(8)[::2], np.ones(4, np.float32), np.ones((4, 4))])
def test_dot_refuses_what_is_no_row_of_float64(x):
    with pytest.raises(TypingError):
        dot(x, np.ones(4))


def test_dot_takes_rows_that_may_only_be_read():
    x = np.arange(9.0)
    x.flags.writeable = False
    assert dot(x, x) == 204.0


def kernels():
    for module in pkgutil.walk_packages(oddatom.__path__, "oddatom."):
        if module.name.endswith("__main__"):
            continue
        try:
            namespace = vars(importlib.import_module(module.name))
        except ImportError as error:
            if "oddatom" in str(error.name):
                raise
            continue  # an extra that is not installed
        for value in namespace.values():
            if isinstance(value, Dispatcher) and value.py_func.__module__ == module.name:
                yield value


def test_no_kernel_lets_the_compiler_order_its_sums():
    found = {f"{each.py_func.__module__}.{each.py_func.__name__}": each.targetoptions for each in kernels()}
    assert len(found) > 100
    allowed = {"contract", "nsz", "nnan"}
    loose = {name for name, options in found.items() if set(options.get("fastmath") or ()) - allowed}
    assert not loose


def saved_models(folder, kinds, **environment):
    """A folder of models that another process has fitted."""
    folder.mkdir()
    command = [sys.executable, Path(__file__).parents[1] / "compile_kernels.py", folder, *kinds]
    subprocess.run(command, check=True, env={**os.environ, **environment})
    return folder


def test_the_first_run_of_a_new_cache_gives_the_digits_of_the_next(tmp_path):
    """The first run is that of `conftest.py` before the workers; without workers, one with an empty cache."""
    if "ODDATOM_FIRST_RUN" in os.environ:
        kinds, cache, first = DETECTORS, {}, Path(os.environ["ODDATOM_FIRST_RUN"])
    else:
        kinds, cache = ["LinearOneClassSVM"], {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        first = saved_models(tmp_path / "first", kinds, **cache)
    later = saved_models(tmp_path / "next", kinds, **cache)
    assert len(kinds) == len(list(later.iterdir()))
    for kind in kinds:
        assert (first / kind).read_bytes() == (later / kind).read_bytes(), kind
