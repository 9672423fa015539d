"""What the tests of the learned detectors share: rows, a first dictionary, the detectors, and when two are the same."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM

SCALINGS = (None, "standard", "robust")
LINEAR = {
    "DL": (DLOCSVM, {}),
    "DPL": (DPLOCSVM, {"alpha": 0.002}),
    "DPL omp": (DPLOCSVM, {"alpha": 0.002, "representation": "omp"}),
}
KERNEL = {
    "KDL": (KDLOCSVM, {}),
    "KDPL": (KDPLOCSVM, {"alpha": 0.002}),
    "KDPL omp": (KDPLOCSVM, {"alpha": 0.002, "representation": "omp"}),
}
KINDS = {**LINEAR, **KERNEL}
linear_only = pytest.mark.parametrize("make", LINEAR, indirect=True, scope="module")  # not in a kernel's space
kernel_only = pytest.mark.parametrize("make", KERNEL, indirect=True, scope="module")


def rows(N=120, m=6, seed=0):
    """Positive rows near a three-dimensional cone, the same for every seed, in columns of different units."""
    rng, cone = np.random.default_rng(seed), np.random.default_rng(99).uniform(0, 1, (3, m))
    X = rng.uniform(0.2, 1, (N, 3)) @ cone + 0.1 * rng.uniform(0, 1, (N, m))
    return X * 10.0 ** np.linspace(-0.5, 0.5, m)


def broken(column, value):
    X = rows()
    X[5, column] = value
    return X


def first_atoms(n=9, m=6, seed=3):
    return np.random.default_rng(seed).uniform(size=(n, m))


def make_detector(kind, **others):
    Class, own = KINDS[kind]
    return Class.paper(**{"beta": 0.02, "nu": 0.11, "random_state": 0, **own, **others})


def same_model(a, b):
    pair = ("analysis_dictionary_", "analysis_components_") if isinstance(a, DPLOCSVM) else ()
    for name in ("dictionary_", "components_", "coef_", "dual_coef_", "train_decision_", *pair):
        assert_array_equal(getattr(a, name), getattr(b, name))
    assert a.offset_ == b.offset_


def dense(codes):
    return codes if isinstance(codes, np.ndarray) else codes.toarray()


def tables(explanation):
    """Return the tables of an Explanation that are there."""
    return tuple(table for table in explanation if table is not None)
