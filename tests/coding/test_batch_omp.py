"""Batch OMP against a least-squares OMP and scikit-learn's, its stopping rules, exact repeatability."""

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import orthogonal_mp_gram

from oddatom.arrays.threads import split, threads
from oddatom.coding import batch_omp, batch_omp_gram
from reference import omp

TOL = {np.float64: 1e-10, np.float32: 2e-4}
both = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@pytest.fixture(autouse=True)
def _one_thread():
    with threads(1):
        yield


def problem(N, m, n, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((n, m))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    return rng.standard_normal((N, m)).astype(dtype), D.astype(dtype)


def dense(codes, n):
    X = np.zeros((len(codes.indices), n))
    rows, places = np.nonzero(codes.indices >= 0)
    X[rows, codes.indices[rows, places]] = codes.values[rows, places]
    return X


def assert_sound(codes, Y, D, s):
    """The layout, and what holds for any code: distinct atoms, r orthogonal to them, its norm as returned."""
    dtype = Y.dtype.type
    assert codes.indices.dtype == np.int32
    assert codes.values.dtype == codes.sq_residual.dtype == dtype
    assert codes.indices.shape == codes.values.shape == (len(Y), s)
    used = codes.indices >= 0
    assert_array_equal(codes.indices[~used], -1)
    assert_array_equal(codes.values[~used], 0)
    assert (used[:, :-1] >= used[:, 1:]).all()
    assert np.isfinite(codes.values).all()
    for support in codes.indices:
        assert len(set(support[support >= 0])) == (support >= 0).sum()
    R = Y - dense(codes, len(D)) @ D
    norms = np.linalg.norm(Y, axis=1)
    inner = np.abs(np.einsum("nsm,nm->ns", D[codes.indices], R))
    assert (inner[used] <= np.broadcast_to(TOL[dtype] * norms[:, None], used.shape)[used]).all()
    assert (codes.sq_residual >= 0).all()
    assert (np.abs(codes.sq_residual - (R**2).sum(1)) <= TOL[dtype] * norms**2).all()


@both
@pytest.mark.parametrize("s", [1, 2, 4, 5, 7, 12])
@pytest.mark.parametrize(("m", "n"), [(16, 33), (64, 128), (20, 13)])
def test_equals_least_squares_omp(m, n, s, dtype):
    Y, D = problem(40, m, n, dtype, seed=s)
    codes = batch_omp(Y, D, s)
    indices, values = omp(Y.astype(float), D.astype(float), s)
    assert_array_equal(codes.indices, indices)
    assert_allclose(codes.values, values, atol=TOL[dtype], rtol=TOL[dtype])
    assert_sound(codes, Y, D, s)


@both
def test_equals_scikit_learn(dtype):
    Y, D = problem(150, 30, 60, dtype)
    G, C, sq_norms = D @ D.T, Y @ D.T, (Y**2).sum(1)
    X = orthogonal_mp_gram(G, C.T, n_nonzero_coefs=6, norms_squared=sq_norms).T
    for codes in (batch_omp(Y, D, 6), batch_omp(Y, D, 6, gram=G), batch_omp_gram(C, G, sq_norms, 6)):
        assert_array_equal(dense(codes, 60) != 0, X != 0)
        assert_allclose(dense(codes, 60), X, atol=TOL[dtype])
        assert_sound(codes, Y, D, 6)


def test_given_gram_is_used():
    Y, D = problem(5, 8, 12)
    G = D @ D.T
    other = 2 * G
    assert_allclose(batch_omp(Y, D, 1, gram=other).values, batch_omp(Y, D, 1, gram=G).values / 2)


def test_correlations_are_left_alone():
    Y, D = problem(30, 8, 12)
    C = Y @ D.T
    before = C.copy()
    batch_omp_gram(C, D @ D.T, (Y**2).sum(1), 3)
    assert_array_equal(C, before)


@both
def test_fewer_nonzeros_are_the_first_steps_of_more(dtype):
    Y, D = problem(60, 20, 50, dtype)
    longest = batch_omp(Y, D, 9)
    for s in range(1, 9):
        assert_array_equal(batch_omp(Y, D, s).indices, longest.indices[:, :s])


@both
@pytest.mark.parametrize(("m", "n"), [(64, 128), (64, 300), (9, 309), (17, 33), (100, 1000)])
def test_code_is_the_same_in_any_batch(m, n, dtype):
    N, s = 311, 4
    Y, D = problem(N, m, n, dtype)
    whole = batch_omp(Y, D, s)
    order = np.random.default_rng(1).permutation(N)
    for mine, theirs in zip(whole, batch_omp(Y[order], D, s), strict=True):
        assert_array_equal(mine[order], theirs)
    for a, b in ((0, 48), (1, 97), (47, 311), (300, 311)):
        for mine, theirs in zip(whole, batch_omp(Y[a:b], D, s), strict=True):
            assert_array_equal(mine[a:b], theirs)
    for i in (0, 5, 47, 48, 191, 310):
        for mine, theirs in zip(whole, batch_omp(Y[i : i + 1], D, s), strict=True):
            assert_array_equal(mine[i : i + 1], theirs)
        for mine, theirs in zip(whole, batch_omp(np.repeat(Y[i : i + 1], N, axis=0), D, s), strict=True):
            assert_array_equal(np.repeat(mine[i : i + 1], N, axis=0), theirs)


# With so many atoms OpenBLAS treats the last rows of a block apart unless its tile divides the block.
@both
@pytest.mark.parametrize("n", [300, 309])
def test_place_in_the_batch_changes_no_correlation(n, dtype):
    """A row along an atom is coded by it, with the correlation computed in that place: try every atom."""
    D = problem(1, 64, n, dtype)[1]
    for i in range(n):
        codes = batch_omp(np.repeat(D[i : i + 1], 260, axis=0), D, 1)
        assert_array_equal(codes.indices, i)
        assert_array_equal(codes.values, codes.values[0, 0])


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
@both
def test_threads_change_nothing(dtype):
    Y, D = problem(1500, 64, 128, dtype)
    C, G, sq_norms = Y @ D.T, D @ D.T, (Y**2).sum(1)
    serial = *batch_omp(Y, D, 8), *batch_omp_gram(C, G, sq_norms, 8)
    with threads(2):
        assert split(1500, 1000.0).k > 1
        parallel = *batch_omp(Y, D, 8), *batch_omp_gram(C, G, sq_norms, 8)
    for one, two in zip(serial, parallel, strict=True):
        assert_array_equal(one, two)


@both
def test_zero_rows_get_no_atoms(dtype):
    Y, D = problem(7, 10, 20, dtype)
    Y[[0, 3]] = 0
    codes = batch_omp(Y, D, 4)
    assert_array_equal((codes.indices >= 0).sum(1), [0, 4, 4, 0, 4, 4, 4])
    assert_array_equal(codes.sq_residual[[0, 3]], 0)
    assert_sound(codes, Y, D, 4)


@both
@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_scale_does_not_matter(scale, dtype):
    Y, D = problem(20, 10, 30, dtype)
    codes, scaled = batch_omp(Y, D, 4), batch_omp(Y * dtype(scale), D, 4)
    assert_array_equal(scaled.indices, codes.indices)
    assert_allclose(scaled.values, codes.values * scale, rtol=TOL[dtype])


@both
def test_stops_when_the_row_is_represented(dtype):
    Y, D = problem(50, 40, 40, dtype)
    D = np.linalg.qr(D)[0].astype(dtype)
    rng = np.random.default_rng(2)
    pairs = np.array([rng.choice(40, 2, replace=False) for _ in Y])
    Y = np.ascontiguousarray((D[pairs] * [[[2.0], [1.0]]]).sum(1), dtype=dtype)
    codes = batch_omp(Y, D, 6)
    assert_array_equal(codes.indices[:, :2], pairs)
    assert_array_equal(codes.indices[:, 2:], -1)
    assert_sound(codes, Y, D, 6)


@both
def test_duplicate_atoms(dtype):
    Y, D = problem(60, 12, 9, dtype)
    doubled = np.concatenate([D, D, -D])
    codes, single = batch_omp(Y, doubled, 20), batch_omp(Y, D, 20)
    assert (codes.indices < 9).all()
    assert_array_equal(codes.indices, single.indices)
    assert_array_equal((codes.indices >= 0).sum(1), 9)
    assert_sound(codes, Y, doubled, 20)


@both
def test_dictionary_of_low_rank(dtype):
    Y, basis = problem(80, 8, 3, dtype)
    D = np.random.default_rng(3).standard_normal((30, 3)) @ basis
    D = (D / np.linalg.norm(D, axis=1, keepdims=True)).astype(dtype)
    codes = batch_omp(Y, D, 10)
    assert_array_equal((codes.indices >= 0).sum(1), 3)
    Q = np.linalg.qr(basis.T.astype(float))[0]
    outside = ((Y - Y @ Q @ Q.T) ** 2).sum(1)
    assert_allclose(codes.sq_residual, outside, atol=TOL[dtype] * 10, rtol=TOL[dtype])
    assert_sound(codes, Y, D, 10)


@both
@pytest.mark.parametrize("dependent", [True, False])
def test_nearly_equal_atoms(dependent, dtype):
    """y lies in the plane of two atoms at a small angle: below ε^0.3 the second is left out."""
    angle = float(np.finfo(dtype).eps) ** 0.3 * (0.7 if dependent else 1.4)
    D = np.array([[1, 0, 0], [np.cos(angle), np.sin(angle), 0]], dtype)
    Y = np.array([[-2, 1, 0.5]], dtype)
    codes = batch_omp(Y, D, 2)
    assert_array_equal(codes.indices, [[0, -1 if dependent else 1]])
    assert_allclose(codes.sq_residual, 1.25 if dependent else 0.25, rtol=1e-2)
    assert np.isfinite(codes.values).all()


@both
def test_ill_conditioned_dictionary(dtype):
    t = np.linspace(0, 1, 15)
    centres = np.linspace(0, 1, 60)
    D = np.exp(-(((t - centres[:, None]) / 0.3) ** 2))
    D = (D / np.linalg.norm(D, axis=1, keepdims=True)).astype(dtype)
    Y = problem(500, 15, 2, dtype)[0]
    codes = batch_omp(Y, D, 15)
    for support in codes.indices:
        assert len(set(support[support >= 0])) == (support >= 0).sum()
    assert np.isfinite(codes.values).all()
    R = Y - dense(codes, 60) @ D
    assert_allclose((R**2).sum(1), codes.sq_residual, rtol=1e-2 if dtype == np.float32 else 1e-5)


@both
@pytest.mark.parametrize("s", [10, 14])
def test_as_many_nonzeros_as_atoms(s, dtype):
    Y, D = problem(30, 10, 10, dtype)
    D = np.linalg.qr(D)[0] + dtype(0.05) * D
    D = (D / np.linalg.norm(D, axis=1, keepdims=True)).astype(dtype)
    codes = batch_omp(Y, D, s)
    assert_allclose(dense(codes, 10), np.linalg.solve(D.T.astype(float), Y.T).T, atol=TOL[dtype])
    assert_sound(codes, Y, D, s)


@both
def test_one_atom_and_one_nonzero(dtype):
    Y, D = problem(30, 10, 1, dtype)
    codes = batch_omp(Y, D, 1)
    assert_array_equal(codes.indices, np.zeros((30, 1)))
    assert_allclose(codes.values, Y @ D.T, rtol=TOL[dtype])


@both
def test_zero_atoms_are_never_chosen(dtype):
    Y, D = problem(30, 10, 12, dtype)
    with_zeros = np.insert(D, [0, 5, 12], 0, axis=0)
    codes, without = batch_omp(Y, with_zeros, 12), batch_omp(Y, D, 12)
    place = np.flatnonzero(with_zeros.any(1))
    assert_array_equal(codes.indices, np.where(without.indices < 0, -1, place[without.indices]))
    assert_allclose(codes.values, without.values, atol=TOL[dtype], rtol=TOL[dtype])
    empty = batch_omp(Y, np.zeros_like(D), 3)
    assert_array_equal(empty.indices, -1)
    assert_allclose(empty.sq_residual, (Y**2).sum(1), rtol=TOL[dtype])


@both
def test_ties_go_to_the_lower_index(dtype):
    near, apart = (1e-14, 1e-9) if dtype == np.float64 else (2e-7, 1e-5)
    rows = [[0.5, 1, -1, 1], [0.5, 1, -1 - near, 1 + 2 * near], [0.5, 1, -1 - apart, 1 + 2 * apart]]
    C = np.array(rows, dtype)
    codes = batch_omp_gram(C, np.eye(4, dtype=dtype), (C**2).sum(1), 2)
    assert_array_equal(codes.indices, [[1, 2], [1, 2], [3, 2]])


@both
@pytest.mark.parametrize("n", [4096, 4097, 9001])
def test_many_atoms(n, dtype):
    rng = np.random.default_rng(0)
    C = rng.permutation(n) * rng.choice([-1, 1], n) / n
    C = np.array([C, C[::-1]], dtype)
    codes = batch_omp_gram(C, np.eye(n, dtype=dtype), (C**2).sum(1), 5)
    assert_array_equal(codes.indices, np.argsort(-np.abs(C), axis=1)[:, :5])
    assert_array_equal(codes.values, np.take_along_axis(C, codes.indices.astype(int), 1))


def test_no_rows():
    codes = batch_omp(np.empty((0, 5)), np.eye(5), 2)
    assert codes.indices.shape == codes.values.shape == (0, 2)
    assert codes.sq_residual.shape == (0,)


def test_missing_values_stay_in_their_row():
    Y, D = problem(9, 10, 20)
    spoilt = Y.copy()
    spoilt[4, 2] = np.nan
    for clean, other in zip(batch_omp(Y, D, 4), batch_omp(spoilt, D, 4), strict=True):
        assert_array_equal(np.delete(clean, 4, axis=0), np.delete(other, 4, axis=0))
