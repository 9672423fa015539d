"""The paper's coding for kernels against plain matching pursuit on the correlations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from oddatom.arrays.threads import threads
from oddatom.coding import CODINGS, batch_omp, correlation_omp
from reference import omp


def problem(N=90, m=7, n=12, seed=0):
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((n, m))
    return rng.standard_normal((N, m)), D / np.linalg.norm(D, axis=1, keepdims=True)


def dense(codes, n):
    out = np.zeros((len(codes.indices), n))
    for j, k in zip(*np.nonzero(codes.indices >= 0), strict=True):
        out[j, codes.indices[j, k]] = codes.values[j, k]
    return out


@pytest.mark.parametrize("s", [1, 2, 4])
@pytest.mark.parametrize("n", [5, 12])
def test_it_is_pursuit_on_correlations(s, n):
    Y, D = problem(n=n)
    before = Y.copy(), D.copy()
    codes = correlation_omp(Y, D, s)
    indices, values = omp(Y @ D.T, D @ D.T, s)  # the rows of D Dᵀ are no units, and are not made so
    assert_array_equal(codes.indices, indices)
    assert_allclose(codes.values, values, atol=1e-9)
    X = dense(codes, n)
    assert_allclose(codes.sq_residual, np.sum((Y - X @ D) ** 2, axis=1), rtol=1e-10)
    assert_array_equal(Y, before[0])
    assert_array_equal(D, before[1])
    other = batch_omp(Y, D, s)
    assert np.mean(other.indices != codes.indices) > 0.05
    assert CODINGS["correlation"] is correlation_omp


def test_the_gram_matrix_at_hand():
    Y, D = problem()
    codes, wanted = correlation_omp(Y, D, 3, gram=D @ D.T), correlation_omp(Y, D, 3)
    assert_array_equal(codes.indices, wanted.indices)
    assert_array_equal(codes.values, wanted.values)
    other = correlation_omp(Y, D, 3, gram=np.eye(12))
    assert_array_equal(other.indices[:, 0], np.argmax(np.abs(Y @ D.T), axis=1))


@pytest.mark.parametrize(("m", "n"), [(7, 12), (80, 60)])
def test_a_code_is_the_same_in_any_batch(m, n):
    Y, D = problem(101, m, n)
    with threads(1):
        whole = correlation_omp(Y, D, 3)
        for some in (slice(0, 50), slice(47, 101), slice(100, 101)):
            part = correlation_omp(np.ascontiguousarray(Y[some]), D, 3)
            for a, b in zip(part, whole, strict=True):
                assert_array_equal(a, b[some])


def test_rows_that_no_atom_finds():
    Y, D = problem()
    Y[3] = 0
    codes = correlation_omp(Y, D, 3)
    assert_array_equal(codes.indices[3], -1)
    assert_array_equal(codes.values[3], 0)
    assert codes.sq_residual[3] == 0
