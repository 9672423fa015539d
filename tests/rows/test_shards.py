"""The passes of a shard against plain NumPy, and the same rows in one shard or in many."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse

from oddatom.arrays.blas import DSYRK
from oddatom.arrays.block import Block
from oddatom.arrays.threads import threads
from oddatom.boundary.plane import fit_one_class
from oddatom.learners.alternate import learn
from oddatom.learners.dl import DL
from oddatom.passes import ShardGroup, SweepPasses
from oddatom.passes.declared import shard_pass
from oddatom.penalties import L20, L21
from oddatom.rows.array import LocalShard, OneClassShard
from oddatom.rows.array import _plane_kernels as one_class_kernels
from oddatom.rows.array import _sparse_kernels as local_kernels
from reference import atom_moments, atom_rows, commit_atom, omp


def unit_rows(rng, n, m):
    D = rng.standard_normal((n, m))
    return D / np.linalg.norm(D, axis=1, keepdims=True)


def cut(X, sizes):
    """Consecutive pieces of the rows, of the given sizes; what is left goes to the last."""
    ends = [0, *np.cumsum(sizes), X.shape[0]]
    return [X[lo:hi] for lo, hi in pairwise(ends)]


def columns(shard, n):
    """Codes as a dense N×n array, NaN where the support that OMP chose has no entry."""
    X = np.full((shard.Y.shape[0], n), np.nan)
    for j, slots in enumerate(shard.indices):
        for k, i in enumerate(slots):
            if i >= 0:
                X[j, i] = shard.values[j, k]
    return X


@pytest.fixture(params=[(60, 5, 8, 3), (2500, 12, 6, 3)], ids=["small", "large"])
def state(request):
    """A shard whose residual is no longer what OMP left: codes, atoms and multipliers are random."""
    N, m, n, s = request.param
    rng = np.random.default_rng(N)
    D = unit_rows(rng, n, m)
    Y = rng.standard_normal((N, m))
    Y[3] = 0.0  # a row without codes
    shard = LocalShard(Y)
    shard.encode(D, s)
    shard.values *= rng.uniform(0.5, 1.5, shard.values.shape)
    shard.start_sweeps(D)
    shard.multipliers[:] = rng.uniform(0, 1, N) * (rng.random(N) < 0.7)
    return shard, D, columns(shard, n), rng


def test_encode_and_residual():
    rng = np.random.default_rng(0)
    D, Y = unit_rows(rng, 8, 5), rng.standard_normal((60, 5))
    Y[3] = 0.0
    shard = LocalShard(Y)
    counts, square = shard.encode(D, 3)
    shard.start_sweeps(D)
    indices, values = omp(Y, D, 3)
    X = np.zeros((60, 8))
    for j, k in zip(*np.nonzero(indices >= 0), strict=True):
        X[j, indices[j, k]] = values[j, k]
    np.testing.assert_array_equal(counts, np.sum(X != 0, axis=0))
    np.testing.assert_allclose(shard.E, Y - X @ D, atol=1e-12)
    assert square == pytest.approx(np.sum((Y - X @ D) ** 2))
    np.testing.assert_allclose(shard.codes().toarray(), X, atol=1e-12)


def test_residual_of_any_codes(state):
    shard, D, X, _ = state
    np.testing.assert_allclose(shard.E, shard.Y - np.nan_to_num(X) @ D, atol=1e-12)
    np.testing.assert_allclose(shard.codes().toarray(), np.nan_to_num(X))


def test_moments_and_rows(state):
    shard, D, X, _ = state
    for i in range(D.shape[0]):
        for kappa in (0.3, 0.0):
            c = kappa * shard.multipliers
            for got, expected in zip(
                shard.moments(i, D[i], kappa), atom_moments(shard.E, X[:, i], D[i], c), strict=True
            ):
                np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)
            for got, expected in zip(shard.rows(i, D[i], kappa), atom_rows(shard.E, X[:, i], D[i], c), strict=True):
                np.testing.assert_allclose(got, expected, atol=1e-13)


@pytest.mark.parametrize("shrink", [1.0, 0.6, 0.0])
def test_commit(state, shrink):
    shard, D, X, rng = state
    for i, kappa in ((0, 0.4), (2, 0.0), (4, -2.0)):
        new = unit_rows(rng, 1, D.shape[1])[0]
        E, x = commit_atom(shard.E, X[:, i], D[i], new, shrink, kappa * shard.multipliers)
        shard.commit(i, D[i], new, shrink, kappa)
        D[i], X[:, i] = new, x
        np.testing.assert_allclose(shard.E, E, atol=1e-12)
        np.testing.assert_allclose(columns(shard, D.shape[0]), X, atol=1e-12)
        np.testing.assert_allclose(shard.E, shard.Y - np.nan_to_num(X) @ D, atol=1e-11)  # E = Y − X D still
        assert shard.codes()[:, [i]].nnz == (0 if shrink == 0.0 else np.sum(~np.isnan(x)))


def test_commit_and_moments_are_the_two_in_turn(state):
    shard, D, _, rng = state
    new = unit_rows(rng, 1, D.shape[1])[0]
    twin = LocalShard(shard.Y)
    twin.encode(D, shard.values.shape[1])
    for name in ("E", "values", "multipliers"):
        setattr(twin, name, getattr(shard, name).copy())
    got = shard.commit_and_moments((1, D[1], new, 0.7, 0.2), (3, D[3], 0.1))
    twin.commit(1, D[1], new, 0.7, 0.2)
    for one, two in zip(got, twin.moments(3, D[3], 0.1), strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(shard.values, twin.values)


def test_sums(state):
    shard, _, X, _ = state
    X = np.nan_to_num(X)
    (square,), (weighted, squares) = shard.sq_error(), shard.code_sums()
    assert square == pytest.approx(np.sum(shard.E**2))
    np.testing.assert_allclose(weighted, shard.multipliers @ X, atol=1e-11)
    np.testing.assert_allclose(squares, np.sum(X**2, axis=0))


def test_svm_sees_the_active_columns(state):
    shard, D, X, _ = state
    active = np.arange(D.shape[0]) % 3 != 1
    shard.svm_open(active)
    np.testing.assert_allclose(shard.svm_all_rows().toarray(), np.nan_to_num(X[:, active]))
    N, n_zero, square = shard.svm_summary()
    kept = np.nan_to_num(X[:, active])
    assert (N, n_zero) == (len(X), np.sum(~kept.any(axis=1)))
    assert square == pytest.approx(np.sum(kept**2))


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("k", [1, 2, 7, 64])
def test_chunks_do_not_change_local_passes(state, k, parallel):
    shard, D, X, rng = state
    s, m = shard.values.shape[1], D.shape[1]
    pos = shard._rows_of(2)
    E = np.empty_like(shard.E)
    new = unit_rows(rng, 1, m)[0]
    expected = atom_moments(shard.E, X[:, 2], D[2], 0.3 * shard.multipliers)
    A, g, cc = np.zeros((k, m, m)), np.zeros((k, m)), np.zeros(k)
    with threads(2):
        local_kernels.residual(shard.Y, D, shard.indices, shard.values, E, k, parallel)
        rows = shard.E, shard.values, shard.multipliers, np.empty(0), pos, s
        local_kernels.moments(DSYRK, *rows, D[2], 0.3, 0.0, A, g, cc, k, parallel)
        np.testing.assert_allclose(E, shard.E, atol=1e-12)
        E, x = commit_atom(shard.E, X[:, 2], D[2], new, 0.5, 0.3 * shard.multipliers)
        local_kernels.commit(shard.E, shard.values, shard.multipliers, pos, s, D[2], new, 0.5, 0.3, k, parallel)
    for got, twin in zip((A[0], g[0], cc[0]), expected, strict=True):
        np.testing.assert_allclose(got, twin, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(shard.E, E, atol=1e-12)
    np.testing.assert_allclose(columns(shard, D.shape[0])[:, 2], x, atol=1e-12)


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("k", [1, 7])
@pytest.mark.parametrize("sparse", [False, True])
def test_one_class_passes(sparse, k, parallel):
    rng = np.random.default_rng(1)
    X = rng.normal(0.5, 1.0, (300, 5)) * (rng.random((300, 5)) < 0.5)
    w, rho, eps, scale = rng.standard_normal(5), 0.3, 0.8, 1.7
    S = scipy.sparse.csr_array(X)
    block = Block.csr(S.indptr.astype(np.int64), S.indices.astype(np.int32), S.data, 5) if sparse else Block.dense(X)
    f = np.empty(300)
    grad, H = np.zeros((k, 6)), np.zeros((k, 6, 6))
    with threads(2):
        one_class_kernels.margins(*block[:4], w, f, k, parallel)
        np.testing.assert_allclose(f, X @ w, atol=1e-13)
        one_class_kernels.smooth(*block, f, rho, eps, scale, grad, H, k, parallel)
    a = np.clip(0.5 + (rho - f) / eps, 0.0, 1.0)
    free = (a > 0) & (a < 1)
    assert 0 < free.sum() < 300
    Z = np.column_stack([X[free] / scale, -np.ones(free.sum())])
    np.testing.assert_allclose(grad.sum(axis=0), np.append(a @ X / scale, a.sum()), atol=1e-11)
    np.testing.assert_allclose(np.tril(H.sum(axis=0)), np.tril(Z.T @ Z), atol=1e-11)


def test_one_class_answers():
    rng = np.random.default_rng(2)
    X = rng.normal(0.5, 1.0, (200, 4))
    X[:3] = 0.0
    shard = OneClassShard(Block.dense(X))
    scale, w, rho = 2.0, rng.standard_normal(4), 0.2
    shard.svm_scale(scale)
    shard.svm_margins(w)
    f = X @ w / scale
    assert shard.svm_summary()[:2] == (200, 3)
    np.testing.assert_allclose(shard.svm_total()[0], X.sum(axis=0) / scale)
    assert shard.svm_slack(rho)[0] == pytest.approx(np.maximum(rho - f, 0).sum())
    shard.svm_distances(rho, False)
    np.testing.assert_allclose(shard._dist, np.abs(f - rho), atol=1e-14)
    shard.svm_distances(rho, True)
    distance = np.abs(f - rho) / (np.linalg.norm(X, axis=1) / scale + 1e-3)
    np.testing.assert_allclose(shard._dist, distance, atol=1e-12)

    threshold = np.sort(shard._dist)[49]
    band, total, n_below = shard.svm_band(rho, threshold)
    inside = shard._dist <= threshold
    below = ~inside & (f < rho)
    assert inside.sum() == 50  # the row at the threshold is in
    np.testing.assert_allclose(band.X, X[inside] / scale)
    np.testing.assert_allclose(total, X[below].sum(axis=0) / scale)
    assert n_below == below.sum() > 0
    shard.svm_set_band(np.full(50, 0.25))
    np.testing.assert_array_equal(shard.multipliers, np.where(inside, 0.25, below))
    wanted = np.abs(shard.multipliers - np.clip(shard.multipliers - (f - rho), 0, 1)).max()
    assert shard.svm_residual(rho) == pytest.approx(wanted)


ONE_TWO_SEVEN = {
    "two": [700],
    "seven": [1, 2, 500, 30, 700, 3],
    "empty_first": [0, 900],
    "empty_middle": [900, 0],
    "empty_last": [900, 2000],
}


def pieces_of(X, name):
    if name == "empty_last":
        return [X[:900], X[900:], X[:0]]
    return cut(X, ONE_TWO_SEVEN[name])


def assert_same(one, two, scale):
    np.testing.assert_allclose(two, one, rtol=0, atol=1e-8 * scale)


@pytest.mark.parametrize("penalty", [L21(0.05), L20(0.002)])
@pytest.mark.parametrize("name", ONE_TWO_SEVEN)
def test_learning_does_not_see_the_shards(name, penalty):
    rng = np.random.default_rng(6)
    N, m, n = 2000, 7, 12  # more rows than the one-class SVM solves at once
    Y = np.abs(rng.standard_normal((N, 4))) @ np.abs(unit_rows(rng, 4, m)) + 0.05 * rng.standard_normal((N, m))
    Y /= np.linalg.norm(Y)
    D = unit_rows(rng, n, m)
    settings = DL(s=3, penalty=penalty, nu=0.3, eta=50.0, max_iter=3)
    results = []
    for pieces in ([Y], pieces_of(Y, name)):
        group = ShardGroup([LocalShard(np.ascontiguousarray(piece)) for piece in pieces])
        model = learn(group, D, settings)
        a = np.concatenate([shard.multipliers for shard in group.shards])
        codes = scipy.sparse.vstack(group.map(SweepPasses.codes)).toarray()
        results.append((model, a, codes))
    (one, a_one, codes_one), (two, a_two, codes_two) = results
    assert 0 < one.active.sum() < n  # the penalty has trimmed some atoms
    assert not one.svm.degenerate
    np.testing.assert_array_equal(two.active, one.active)
    assert_same(one.D, two.D, 1.0)
    assert_same(one.svm.w, two.svm.w, np.linalg.norm(one.svm.w))
    assert_same(one.svm.rho, two.svm.rho, abs(one.svm.rho))
    assert_same(a_one, a_two, 1.0)
    assert_same(codes_one, codes_two, np.abs(codes_one).max())
    for key in ("F", "G", "total"):
        np.testing.assert_allclose(two.history[key], one.history[key], rtol=1e-8)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ONE_TWO_SEVEN)
def test_one_class_does_not_see_the_shards(name, sparse):
    rng = np.random.default_rng(7)
    X = rng.normal(0.8, 1.0, (2500, 5)) * (rng.random((2500, 5)) < 0.7)
    results = []
    for pieces in ([X], pieces_of(X, name)):
        shards = []
        for piece in pieces:
            S = scipy.sparse.csr_array(piece)
            csr = Block.csr(S.indptr.astype(np.int64), S.indices.astype(np.int32), S.data, 5)
            shards.append(OneClassShard(csr if sparse else Block.dense(piece)))
        group = ShardGroup(shards)
        fit = fit_one_class(group, 5, 0.3)
        results.append((fit, np.concatenate([shard.multipliers for shard in shards])))
    (one, a_one), (two, a_two) = results
    assert not one.degenerate
    assert_same(one.w, two.w, np.linalg.norm(one.w))
    assert_same(one.rho, two.rho, one.rho)
    assert_same(a_one, a_two, 1.0)
    assert two.gap <= 1e-8


class Recorder:
    """Passes of its own."""

    def __init__(self, value):
        self.value = value
        self.got = None

    @shard_pass("other")
    def recorder_ask(self, factor):
        return (factor * self.value, np.full(2, self.value))

    @shard_pass("other", writes="codes")
    def recorder_keep(self, piece, factor):
        self.got = factor * piece


def test_group_adds_up_in_the_order_of_the_shards():
    values = [1e16, 1.0, -1e16, 3.0]
    group = ShardGroup([Recorder(v) for v in values])
    assert [answer[0] for answer in group.map(Recorder.recorder_ask, 2.0)] == [2.0 * v for v in values]
    total, array = group.sum(Recorder.recorder_ask, 1.0)
    assert total == ((values[0] + values[1]) + values[2]) + values[3]
    np.testing.assert_array_equal(array, total)
    group.scatter(Recorder.recorder_keep, [10.0, 20.0, 30.0, 40.0], 2.0)
    assert [shard.got for shard in group.shards] == [20.0, 40.0, 60.0, 80.0]
    with pytest.raises(ValueError, match="shorter"):
        group.scatter(Recorder.recorder_keep, [1.0], 2.0)


def test_a_method_that_is_not_declared_is_no_pass():
    group = ShardGroup([Recorder(1.0)])
    with pytest.raises(ValueError, match=r"Recorder\.__init__ is not a declared pass; declare it with shard_pass"):
        group.map(Recorder.__init__, 2.0)


def test_arguments_by_name_are_refused():
    group = ShardGroup([Recorder(1.0)])
    with pytest.raises(TypeError, match=r"Passes take arguments by position\. Got factor by name"):
        group.map(Recorder.recorder_ask, factor=2.0)


def test_group_needs_a_shard():
    with pytest.raises(ValueError, match=r"at least one shard\. Got none; put the rows into one LocalShard"):
        ShardGroup([])
