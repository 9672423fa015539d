"""The torch shard for pairs against the shard of this process: every answer, the SVM on dense codes, whole fits."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr

from oddatom.boundary.libsvm import fit_libsvm
from oddatom.boundary.plane import _kth, fit_one_class
from oddatom.learners.alternate import fit_last_svm, learn
from oddatom.learners.dpl import DPL, REPRESENTATIONS
from oddatom.learners.trimming import trim_pairs
from oddatom.passes import ShardGroup, SweepPasses
from oddatom.passes.protocol import DISTANCE, MARGIN
from oddatom.penalties import L20, L21
from oddatom.rows.array import PairShard

torch = pytest.importorskip("torch")

from oddatom.arrays import torch_rows  # noqa: E402
from oddatom.rows.device.torch_pairs import TorchPairShard, cross  # noqa: E402
from torch_devices import DEVICES  # noqa: E402

SHAPES = {"plain": (60, 5, 8, 3), "tall": (700, 12, 6, 3), "wide": (90, 70, 12, 4)}  # N, m, n, s


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.fixture(params=[2**22, 12_000], ids=["whole", "blocks"])
def work(request, monkeypatch):
    """Passes over all rows at once, or over a few at a time."""
    monkeypatch.setattr(torch_rows, "WORK_BYTES", dict.fromkeys(("cpu", "cuda"), request.param))
    return request.param


def unit_rows(rng, n, m):
    D = rng.standard_normal((n, m))
    return D / np.linalg.norm(D, axis=1, keepdims=True)


def assert_same(got, expected, tol=1e-10):
    """Answers of any kind, number by number."""
    if isinstance(expected, tuple | list):
        assert len(got) == len(expected)
        for one, two in zip(got, expected, strict=True):
            assert_same(one, two, tol)
        return
    if isinstance(expected, np.ndarray):
        assert isinstance(got, np.ndarray)
        assert got.dtype == expected.dtype
        assert got.shape == expected.shape
        assert got.flags.c_contiguous
    else:
        assert type(got) is type(expected)
    assert_allclose(got, expected, rtol=tol, atol=tol)


@pytest.fixture(params=[False, True], ids=["resident", "streamed"])
def stream(request):
    return request.param


@pytest.fixture(params=SHAPES)
def twins(request, device, work, stream):
    """Two shards with the same random codes, residual and multipliers; D; and random numbers."""
    N, m, n, s = SHAPES[request.param]
    rng = np.random.default_rng(N)
    Y, D = rng.standard_normal((N, m)), unit_rows(rng, n, m)
    Y[[3, 17]] = 0.0  # rows without codes
    Y[5] = 2 * D[1]  # and one with a slot to spare
    local, shard = PairShard(Y), TorchPairShard(Y, device, stream=stream)
    for one in (local, shard):
        one.encode(D, s)
    local.values *= rng.uniform(0.5, 1.5, local.values.shape)
    shard.values = torch.tensor(local.values, device=device)
    for one in (local, shard):
        one.start_sweeps(D)
    local.multipliers[:] = rng.uniform(0, 1, N) * (rng.random(N) < 0.7)
    shard.multipliers = local.multipliers
    return local, shard, D, rng


def ask(twins, method, *args):
    """Compare the answers of both shards; return the local shard's."""
    local, shard, *_ = twins
    got, expected = getattr(shard, method)(*args), getattr(local, method)(*args)
    assert_same(got, expected)
    return expected


def assert_same_state(twins):
    local, shard, *_ = twins
    assert_allclose(shard.values.cpu(), local.values, rtol=0, atol=1e-11)
    assert_allclose(shard.E.cpu(), local.E, rtol=0, atol=1e-11)


# The passes


def test_start_and_sums(twins):
    local, shard, D, rng = twins
    YY, _ = ask(twins, "start_moments")
    assert_array_equal(YY, YY.T)
    ask(twins, "absolute_sums")
    P = rng.standard_normal(D.shape)
    ask(twins, "analysis_squares", P)
    for one in (local, shard):
        one.start_pairs(P)
    assert_same_state(twins)
    assert (shard.indices.cpu().numpy()[5] >= 0).sum() == 1
    assert (shard.values.cpu().numpy()[5] != 0).sum() == 1
    ask(twins, "absolute_sums")


def opened(twins, i=2, kappa=0.4, alpha=0.5):
    """Take up atom i in both; return the T of U = Y_Ω T."""
    _, _, D, rng = twins
    new = unit_rows(rng, 1, D.shape[1])[0]
    ask(twins, "pair_open", i, D[i], new, np.float64(kappa), np.float64(alpha))
    return rng.standard_normal((D.shape[1], 4))


def test_direction_and_target(twins):
    _, _, D, _ = twins
    for i, kappa in ((0, 0.4), (5, 0.0), (2, -2.0)):
        (u,) = ask(twins, "direction", i, D[i])
        ask(twins, "pair_open", i, D[i], u / np.linalg.norm(u), kappa, 0.5)
        ask(twins, "pair_rows")
        (G,) = ask(twins, "pair_gram")
        assert_array_equal(G, G.T)
    assert_same_state(twins)


def test_basis(twins):
    T = opened(twins)
    for alpha in (0.5, 0.0):
        ask(twins, "pair_basis", T, alpha)
    ask(twins, "pair_basis_gram")
    ask(twins, "pair_all")


def test_fixed_boundary(twins):
    local, shard, D, rng = twins
    for one in (local, shard):
        one.hinge_start(np.linspace(-1, 1, len(D)), 0.3, 1.0, 0.4)
    for i in (0, 2):
        new = unit_rows(rng, 1, D.shape[1])[0]
        ask(twins, "pair_open_at_zero", i, D[i], new, 0.5)
        ask(twins, "pair_rows")
        ask(twins, "pair_basis", rng.standard_normal((D.shape[1], 4)), 0.5)
        ask(twins, "pair_soft", rng.standard_normal((3, 4)), 0.5)
        ask(twins, "pair_open", i, D[i], new, 0.4, 0.5, 0.4)
        ask(twins, "pair_line", new, 0.4, 0.4, np.array([1.0, 0.0, 0.3]), np.array([0.0, 0.5, 0.9]))
    assert_same_state(twins)


def test_band(twins):
    local, shard, _, rng = twins
    T = opened(twins)
    ask(twins, "pair_basis", T, 0.5)
    q = rng.standard_normal(4)
    n_rows = local._pair_pos.size
    for n in (5, n_rows, 10**6):
        got, expected = shard.pair_nearest(q, n), local.pair_nearest(q, n)
        assert_allclose(np.sort(got), np.sort(expected), atol=1e-12)
        assert expected.size == min(n, n_rows)
    smallest = np.sort(expected)
    for threshold, n_band in ((0.5 * (smallest[4] + smallest[5]), 5), (-1.0, 0), (np.inf, n_rows)):
        band, _ = ask(twins, "pair_band", threshold)
        assert len(band) == n_band
        values = rng.uniform(-1, 1, n_band)
        for one in (local, shard):
            one.pair_set_band(values)
        assert_allclose(shard._pair_tau.cpu(), local._pair_tau)
        for alpha in (0.3, 2.0):
            ask(twins, "pair_measure", rng.standard_normal(4), np.float64(alpha))
    values = rng.uniform(-1, 1, n_rows)
    for one in (local, shard):
        one.pair_set_all(values)
    ask(twins, "pair_measure", q, 0.7)


def test_gradient_passes(twins):
    local, shard, D, rng = twins
    T = opened(twins)
    ask(twins, "pair_basis", T, 0.5)
    ask(twins, "pair_cross", D[2])
    for step in (0.0, 0.05, 0.3, -1.0, 0.0, 0.2):
        ask(twins, "pair_ascend", rng.standard_normal(4), np.float64(step))
        assert_allclose(shard._pair_tau.cpu(), local._pair_tau, atol=1e-12)
    assert 0 < np.sum(np.abs(local._pair_tau) == 1) < local._pair_tau.size


def test_commit(twins):
    _, shard, D, rng = twins
    for i, p in ((2, D[0]), (4, rng.standard_normal(D.shape[1])), (4, D[1]), (4, 0 * D[1])):
        new = unit_rows(rng, 1, D.shape[1])[0]
        ask(twins, "pair_open", i, D[i], new, 0.3, 0.1)
        ask(twins, "pair_commit", D[i], new, p)
        D[i] = new
        assert_same_state(twins)
    assert shard.codes()[:, [4]].nnz == 0


def test_product_of_tall_matrices(device):
    rng = np.random.default_rng(8)
    A, B = rng.standard_normal((50, 3)), rng.standard_normal((50, 4))
    for chunk in (7, 25, 50, 51):
        assert_allclose(cross(*(torch.tensor(Z, device=device) for Z in (A, B)), chunk).cpu(), A.T @ B, atol=1e-12)


# The one-class SVM on dense codes


def test_dense_codes(twins):
    local, shard, D, rng = twins
    P = rng.standard_normal(D.shape)
    n = len(D)
    for one in (local, shard):
        one.analyse(P)
    ask(twins, "analysed")
    _, n_zero, _ = ask(twins, "svm_summary")
    assert n_zero == 2
    ask(twins, "svm_total")
    X, Z = shard.svm_all_rows(), local.svm_all_rows()
    for name in ("indptr", "indices"):
        assert_array_equal(getattr(X, name), getattr(Z, name))
    assert_same(X.data, Z.data)
    w, dw = rng.standard_normal((2, n))
    for one in (local, shard):
        one.svm_scale(1.7)
        one.svm_margins(w)
    assert_same(shard.margins, local.margins.copy())
    ask(twins, "svm_range")
    rho = float(np.quantile(local.margins, 0.6)) + 1e-3
    eps = 4.0 * float(np.quantile(np.abs(local.margins - rho), 0.3))
    for step in (0.0, 0.6):
        (grad, H), (expected, lower) = (one.svm_smooth(rho, eps, step) for one in (shard, local))
        assert_same(grad, expected)
        assert_same(np.tril(H), np.tril(lower))
        assert 0 < H[n, n] < len(local.Y)
        ask(twins, "svm_try", dw, rho, 0.3, eps)
    for by_norm in (False, True):
        for one in (local, shard):
            one.svm_distances(rho, by_norm)
        ordered = np.sort(local._dist)
        for threshold in (0.5 * (ordered[12] + ordered[13]), -1.0, np.inf):
            (block, *sums), (rows, *wanted) = (one.svm_band(rho, threshold) for one in (shard, local))
            assert_same(sums, wanted)
            assert_same(block.X, rows.X)
            assert block.n == rows.n == n
            values = rng.uniform(0, 1, len(rows.X))
            for one in (local, shard):
                one.svm_set_band(values)
            assert_array_equal(shard.multipliers, local.multipliers)
            ask(twins, "svm_residual", rho)
            ask(twins, "svm_slack", rho)
    for which, numbers in ((MARGIN, local._f), (DISTANCE, local._dist)):
        assert_allclose(_kth(ShardGroup([shard]), which, 20), np.sort(numbers)[20], rtol=1e-10)
    with pytest.raises(ValueError, match=f"one entry per column, {n}. Got {n + 1} instead"):
        shard.svm_margins(np.ones(n + 1))
    for one in (local, shard):  # and back to sparse codes
        one.svm_open(np.ones(n, bool))
    ask(twins, "svm_summary")


@pytest.mark.parametrize("solver", [fit_one_class, fit_libsvm])
def test_one_class_svm(solver, device, work, stream):
    rng = np.random.default_rng(5)
    Y, P = np.abs(rng.standard_normal((1800, 6))), np.abs(unit_rows(rng, 9, 6))
    fits = []
    for shard in (PairShard(Y), TorchPairShard(Y, device, stream=stream)):
        shard.analyse(P)
        fits.append((solver(ShardGroup([shard]), 9, 0.2), np.array(shard.multipliers)))
    (expected, a), (got, b) = fits
    assert not expected.degenerate
    assert_allclose(b, a, atol=1e-7 if solver is fit_one_class else 1e-10)  # dual solutions: 9 columns of rank 6
    for name in ("w", "rho", "objective", "residual", "scale"):
        assert_allclose(getattr(got, name), getattr(expected, name), rtol=1e-8, atol=1e-8)


# Whole fits


def learning_rows(N=2000, m=7, n=12, seed=6):
    rng = np.random.default_rng(seed)
    Y = np.abs(rng.standard_normal((N, 4))) @ np.abs(unit_rows(rng, 4, m)) + 0.05 * rng.standard_normal((N, m))
    return Y / np.linalg.norm(Y), unit_rows(rng, n, m)


def fit(shards, D, learner):
    """The model, multipliers, codes, and the last SVM and its margins for either representation."""
    group = ShardGroup(shards)
    model = learn(group, D, learner)
    a = np.concatenate([shard.multipliers for shard in shards])
    codes = scipy.sparse.vstack(group.map(SweepPasses.codes)).toarray()
    last, margins = [], []
    for name in REPRESENTATIONS:
        last.append(fit_last_svm(group, model, replace(learner, representation=name)))
        margins.append(np.concatenate([shard.margins for shard in shards]))
    return model, a, codes, last, margins


def near(got, expected, scale=1.0):
    assert_allclose(got, expected, rtol=0, atol=1e-8 * scale)


def assert_same_fit(got, expected):
    (model, a, codes, last, margins), (twin, twin_a, twin_codes, twin_last, twin_margins) = got, expected
    assert_array_equal(model.active, twin.active)
    near(model.D, twin.D)
    near(model.P, twin.P, np.abs(twin.P).max())
    near(a, twin_a)
    near(codes, twin_codes, np.abs(twin_codes).max())
    for (one, nu), (two, twin_nu) in zip([(model.svm, 0), *last], [(twin.svm, 0), *twin_last], strict=True):
        assert nu == twin_nu
        near(one.w, two.w, np.linalg.norm(two.w))
        near(one.rho, two.rho, abs(two.rho))
    for one, two in zip(margins, twin_margins, strict=True):
        near(one, two, np.abs(two).max())
    for key in ("F", "G", "total"):
        assert_allclose(model.history[key], twin.history[key], rtol=1e-8)


LEARNER = DPL(s=3, penalty=L21(0.05), nu=0.3, alpha=0.01, eta=50.0, max_iter=3)


@pytest.mark.parametrize(
    "learner",
    [
        LEARNER,
        replace(LEARNER, penalty=L20(0.002), coding="correlation"),
        replace(LEARNER, pair_solver="gradient", max_iter=1),
        replace(LEARNER, svm_solver="libsvm", max_iter=2),
    ],
    ids=["l21", "l20", "gradient", "libsvm"],
)
def test_learning_does_not_see_the_shard(learner, device):
    Y, D = learning_rows(500 if learner.pair_solver == "gradient" else 2000)
    expected = fit([PairShard(Y)], D, learner)
    assert 0 < expected[0].active.sum() < len(D)  # some pairs are trimmed
    assert_same_fit(fit([TorchPairShard(Y, device)], D, learner), expected)


def test_learning_from_a_band_of_many_rows(device, monkeypatch):
    Y, D = learning_rows(6000, 7, 3)
    learner = replace(LEARNER, s=2, penalty=L21(0.02), max_iter=2)
    bands = []
    band = TorchPairShard.pair_band
    monkeypatch.setattr(TorchPairShard, "pair_band", lambda self, t: bands.append(band(self, t)) or bands[-1])
    got = fit([TorchPairShard(Y, device)], D, learner)
    assert any(0 < len(U) < 2000 for U, _ in bands)
    assert_same_fit(got, fit([PairShard(Y)], D, learner))


@pytest.mark.parametrize("pair_solver", ["exact", "gradient"])
def test_fewer_rows_than_features(pair_solver, device):
    rng = np.random.default_rng(1)
    Y = np.abs(rng.standard_normal((40, 30)))
    Y, D = Y / np.linalg.norm(Y), unit_rows(rng, 12, 30)
    learner = DPL(s=2, penalty=L21(0.01), nu=0.3, alpha=0.005, eta=10.0, max_iter=2, track_atoms=True)
    learner = replace(learner, pair_solver=pair_solver)
    expected, got = fit([PairShard(Y)], D, learner), fit([TorchPairShard(Y, device)], D, learner)
    assert_same_fit(got, expected)
    for one, two in zip(got[0].history.lagrangian, expected[0].history.lagrangian, strict=True):
        assert_allclose(one, two, rtol=1e-8)


@pytest.mark.parametrize("ends", [[700], [1, 3, 503, 1200], [0, 900], [900, 900], [900, 2000]])
def test_learning_does_not_see_the_number_of_shards(ends, device):
    Y, D = learning_rows()
    pieces = [Y[lo:hi] for lo, hi in pairwise([0, *ends, 2000])]
    assert_same_fit(fit([TorchPairShard(p, device) for p in pieces], D, LEARNER), fit([PairShard(Y)], D, LEARNER))


def test_a_local_shard_beside_a_torch_shard(device):
    Y, D = learning_rows()
    group = [PairShard(Y[:700]), TorchPairShard(Y[700:], device)]
    assert_same_fit(fit(group, D, LEARNER), fit([PairShard(Y)], D, LEARNER))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_streamed_rows(dtype, device, work):
    Y, D = learning_rows()
    stays = TorchPairShard(Y, device, dtype, stream=True)
    assert stays.Y.device.type == "cpu"
    got = fit([stays], D, LEARNER)
    assert stays._pair_Y.device.type == device
    assert stays._pair_Y.dtype == dtype
    expected = fit([TorchPairShard(Y, device, dtype)], D, LEARNER)
    if dtype == torch.float64:
        assert_same_fit(got, expected)
    else:
        for one, two in zip(got[4], expected[4], strict=True):
            assert spearmanr(one, two)[0] > 0.999


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_same_bits_twice(dtype, device, work):
    Y, D = learning_rows(800)
    one, two = (fit([TorchPairShard(Y, device, dtype)], D, LEARNER) for _ in range(2))
    for name in ("D", "P", "norms"):
        assert_array_equal(getattr(one[0], name), getattr(two[0], name))
    for a, b in zip((*one[1:3], *one[4]), (*two[1:3], *two[4]), strict=True):
        assert_array_equal(a, b)


def test_float32_ranks_rows_alike(device):
    Y, D = learning_rows(3000)
    wide = fit([PairShard(Y)], D, LEARNER)
    shard = TorchPairShard(Y.astype(np.float32), device)
    narrow = fit([shard], D, LEARNER)
    assert shard.values.dtype == shard.E.dtype == shard._pair_Y.dtype == torch.float32
    assert shard.analyse(narrow[0].P) is None
    assert shard._rows.values.dtype == torch.float32
    assert_array_equal(narrow[0].active, wide[0].active)
    for one, two in zip(narrow[4], wide[4], strict=True):
        assert spearmanr(one, two)[0] > 0.999
    assert_allclose(narrow[0].D, wide[0].D, atol=1e-4)
    assert_allclose(narrow[0].history["total"], wide[0].history["total"], rtol=1e-5)


def test_trimming_a_batch_of_pairs(device, stream):
    Y, D = learning_rows(300)
    P = np.linspace(1, 9, len(D))[:, None] * D
    tol = float(np.median(np.linalg.norm(Y @ P.T, axis=0)))
    shards = PairShard(Y), TorchPairShard(Y, device, stream=stream)
    expected, got = (trim_pairs(ShardGroup([shard]), D, P, 3, tol) for shard in shards)
    assert 0 < expected.nnz < 900
    assert_allclose(got.toarray(), expected.toarray(), atol=1e-12)


def test_no_rows(device, stream):
    D = np.eye(4)
    twins = PairShard(np.empty((0, 4))), TorchPairShard(np.empty((0, 4)), device, stream=stream)
    calls = [
        ("encode", D, 2), ("start_moments",), ("start_pairs", D), ("start_sweeps", D), ("absolute_sums",),
        ("direction", 1, D[1]), ("pair_open", 1, D[1], D[2], 0.3, 0.1), ("pair_rows",), ("pair_gram",),
        ("hinge_start", D[0], 0.1, 1.0, 0.3), ("pair_open_at_zero", 1, D[1], D[2], 0.1),
        ("pair_line", D[3], 0.3, 0.1, np.ones(2), np.zeros(2)),
        ("pair_basis", np.ones((4, 3)), 0.1), ("pair_basis_gram",), ("pair_soft", np.ones((2, 3)), 0.1),
        ("pair_nearest", np.ones(3), 5), ("pair_band", 0.5),
        ("pair_set_band", np.empty(0)), ("pair_all",), ("pair_measure", np.ones(3), 0.3), ("pair_cross", D[1]),
        ("pair_set_all", np.empty(0)), ("pair_ascend", np.ones(3), 0.3), ("pair_commit", D[1], D[2], D[3]),
        ("analysis_squares", D), ("analyse", D), ("analysed",), ("svm_summary",), ("svm_total",),
        ("svm_margins", np.ones(4)), ("svm_slack", 0.2), ("svm_residual", 0.2),
    ]  # fmt: skip
    for method, *args in calls:
        got, expected = (getattr(shard, method)(*args) for shard in reversed(twins))
        if expected is None:
            assert got is None
        else:
            assert_same(got, expected)
