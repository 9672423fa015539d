"""Linear codes against the matrix product, and the same bits for a row in any batch."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from oddatom.arrays import threads as _threads
from oddatom.arrays.threads import threads
from oddatom.coding import analysis, analysis_codes

SIZES = [
    (1, 1),
    (3, 2),
    (7, 12),
    (16, 33),
    (63, 65),
    (64, 64),
    (64, 128),
    (300, 300),
    (5000, 1),
]  # by BLAS from 4,096 numbers on


def problem(N, m, n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N, m)), rng.standard_normal((n, m))


@pytest.mark.parametrize(("m", "n"), SIZES)
def test_equals_the_product(m, n):
    Y, P = problem(90, m, n)
    before = Y.copy(), P.copy()
    codes = analysis_codes(Y, P)
    assert codes.shape == (90, n)
    assert_allclose(codes, Y @ P.T, atol=1e-12)
    assert_array_equal(codes, analysis_codes(Y, np.asfortranarray(P)))
    assert_array_equal(Y, before[0])
    assert_array_equal(P, before[1])


@pytest.mark.parametrize(("m", "n"), SIZES)
def test_a_code_is_the_same_in_any_batch(m, n):
    Y, P = problem(211, m, n)
    with threads(1):
        whole = analysis_codes(Y, P)
        order = np.random.default_rng(1).permutation(211)
        assert_array_equal(analysis_codes(Y[order], P), whole[order])
        for a, b in ((0, 48), (1, 97), (47, 211), (210, 211)):
            assert_array_equal(analysis_codes(np.ascontiguousarray(Y[a:b]), P), whole[a:b])
        for j in (0, 5, 210):
            assert_array_equal(analysis_codes(Y[j : j + 1], P), whole[j : j + 1])
            nine = analysis_codes(np.repeat(Y[j : j + 1], 9, axis=0), P)
            assert_array_equal(nine, np.repeat(whole[j : j + 1], 9, axis=0))


@pytest.mark.parametrize(("m", "n"), SIZES)
def test_threads_do_not_matter(m, n, monkeypatch):
    monkeypatch.setattr(_threads, "SERIAL_NS", 100.0)
    monkeypatch.setattr(_threads._here, "serial_until", 0, raising=False)  # also where other cores are busy
    Y, P = problem(997, m, n)
    plans, plan = [], _threads.split
    monkeypatch.setattr(analysis, "split", lambda *args, **kw: plans.append(plan(*args, **kw)) or plans[-1])
    with threads(1):
        serial = analysis_codes(Y, P)
    with threads(2):
        assert_array_equal(analysis_codes(Y, P), serial)
    assert [p.parallel for p in plans] == [False, True]
    assert plans[1].k > 2
    assert_allclose(serial, Y @ P.T, atol=1e-11)


def test_no_atoms_and_no_rows():
    Y, P = problem(9, 4, 6)
    assert analysis_codes(Y, P[:0]).shape == (9, 0)
    assert analysis_codes(Y[:0], P).shape == (0, 6)
    P[2] = 0
    assert_array_equal(analysis_codes(Y, P)[:, 2], 0)
    assert_array_equal(analysis_codes(0 * Y, P), 0)
