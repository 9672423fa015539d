"""libsvm's path, walked on sparse codes, against libsvm itself."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import OneClassSVM

from oddatom.boundary import libsvm_smo as smo
from oddatom.boundary.libsvm import _slots

CASES = {
    "stops at its tolerance": (500, 0.1, 1.0, 5000),
    "stops at once": (2000, 0.1, 1e-3, 5000),
    "shrinks": (1500, 0.3, 300.0, 5000),
    "cut after a few steps": (1500, 0.3, 300.0, 137),
    "cut between two shrinkings": (1500, 0.3, 300.0, 1500),
    "fewer rows than steps between shrinkings": (60, 0.4, 300.0, 5000),
    "one multiplier": (200, 0.001, 1.0, 5000),
    "puts back what it shrank away, and stops": (5000, 0.6, 0.3, 5000),
    "puts back what it shrank away, and goes on": (5000, 0.6, 10.0, 2500),
}


def codes(N, scale, n=12, s=4, seed=0):
    rng = np.random.RandomState(seed)
    X = np.zeros((N, n))
    for row in X:
        row[rng.choice(n, s, replace=False)] = rng.normal(0.3, 1.0, s) * scale
    X[5:9] = X[4]  # rows that tie
    return X


def both(X, nu, max_iter):
    walked = smo.walk(*_slots(scipy.sparse.csr_array(X)), X.shape[1], nu, 1e-3, max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = OneClassSVM(kernel="linear", nu=nu, max_iter=max_iter).fit(X)
    alpha = np.zeros(X.shape[0])
    alpha[model.support_] = model.dual_coef_.ravel()
    return walked, (alpha, model.offset_[0], int(np.sum(model.n_iter_)))


@pytest.mark.parametrize("case", CASES)
def test_every_step_is_libsvms(case):
    N, nu, scale, max_iter = CASES[case]
    (alpha, rho, steps), (libsvm_alpha, libsvm_rho, libsvm_steps) = both(codes(N, scale), nu, max_iter)
    assert steps == libsvm_steps
    np.testing.assert_allclose(alpha, libsvm_alpha, atol=1e-9)
    np.testing.assert_allclose(rho, libsvm_rho, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize(
    ("shape", "nu"),
    [
        ({"N": 100, "scale": 3.0, "s": 6, "seed": 20}, 0.3),
        ({"N": 400, "scale": 1.0, "n": 60, "seed": 3}, 0.3),
        ({"N": 400, "scale": 0.3, "n": 30, "seed": 22}, 0.6),
    ],
)
def test_small_sets_are_shrunk_and_put_back_often(shape, nu):
    (alpha, rho, steps), (libsvm_alpha, libsvm_rho, libsvm_steps) = both(codes(**shape), nu, 5000)
    assert steps == libsvm_steps
    np.testing.assert_allclose(alpha, libsvm_alpha, atol=1e-9)
    np.testing.assert_allclose(rho, libsvm_rho, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("s", [1, 3, 6])
def test_any_number_of_slots_will_do(s):
    X = codes(1200, 30.0, s=s)
    X[600:1100] = X[100:600]  # ties in other blocks
    (alpha, rho, steps), (libsvm_alpha, libsvm_rho, libsvm_steps) = both(X, 0.2, 3000)
    assert steps == libsvm_steps
    np.testing.assert_allclose(alpha, libsvm_alpha, atol=1e-9)
    np.testing.assert_allclose(rho, libsvm_rho, rtol=1e-7, atol=1e-12)


def test_with_every_multiplier_at_its_bound_there_is_an_offset():
    X = codes(50, 1.0)
    alpha, rho, steps = smo.walk(*_slots(scipy.sparse.csr_array(X)), 12, 1.0, 1e-3, 5000)
    assert (alpha.sum(), steps) == (50.0, 0)
    assert rho == pytest.approx((X @ X.sum(axis=0)).max(), rel=1e-6)


def test_the_cases_shrink_rows_and_are_cut():
    _, (_, _, steps) = both(codes(1500, 300.0), 0.3, 5000)
    assert steps > 2 * smo.EVERY


def test_the_rows_are_left_alone():
    index, value = _slots(scipy.sparse.csr_array(codes(1500, 300.0)))
    before = index.copy(), value.copy()
    smo.walk(index, value, 12, 0.3, 1e-3, 5000)
    np.testing.assert_array_equal(index, before[0])
    np.testing.assert_array_equal(value, before[1])
