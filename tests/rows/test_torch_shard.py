"""The torch shard against the shard of this process: every answer, whole fits, blocks, dtypes, devices."""

import mmap
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr

from oddatom.boundary.libsvm import fit_libsvm
from oddatom.boundary.plane import _kth, fit_one_class
from oddatom.coding import batch_omp, correlation_omp
from oddatom.estimators import DLOCSVM
from oddatom.learners.alternate import fit_last_svm, lagrangian, learn
from oddatom.learners.dl import DL
from oddatom.learners.trimming import trim_batch
from oddatom.passes import ShardGroup, SweepPasses
from oddatom.passes.protocol import DISTANCE, MARGIN
from oddatom.penalties import L20, L21
from oddatom.rows.array import LocalShard
from reference import omp

torch = pytest.importorskip("torch")

from oddatom.arrays import torch_rows  # noqa: E402
from oddatom.arrays.torch_rows import DeviceRows, find_device, gram, spans  # noqa: E402
from oddatom.coding.torch_omp import torch_correlation_omp, torch_omp  # noqa: E402
from oddatom.rows.device.torch_shard import TorchShard  # noqa: E402
from torch_devices import DEVICES  # noqa: E402

SHAPES = {  # N, m, n, s
    "plain": (60, 5, 8, 3),
    "tall": (700, 12, 6, 3),
    "one": (50, 3, 9, 1),
    "more slots than atoms": (40, 6, 3, 5),
    "more slots than features": (40, 2, 7, 4),
    "wide": (90, 70, 12, 4),
}


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


def make_rows(shape, seed=0):
    """Rows with a zero row and duplicates, and atoms of which two are the same."""
    N, m, n, _ = SHAPES[shape]
    rng = np.random.default_rng([seed, N])
    Y, D = rng.standard_normal((N, m)), unit_rows(rng, n, m)
    Y[[3, 17]] = 0.0
    Y[20:30] = Y[10:20]
    if n > 3:
        D[3] = D[1]
    return Y, D, rng


@pytest.fixture(params=SHAPES)
def twins(request, device, work):
    """Two shards with the same random codes, residual and multipliers; D; and random numbers."""
    Y, D, rng = make_rows(request.param)
    local, shard = LocalShard(Y), TorchShard(Y, device)
    for one in (local, shard):
        one.encode(D, SHAPES[request.param][3])
    local.values *= rng.uniform(0.5, 1.5, local.values.shape)
    shard.values = torch.tensor(local.values, device=device)
    for one in (local, shard):
        one.start_sweeps(D)
    local.multipliers[:] = rng.uniform(0, 1, len(Y)) * (rng.random(len(Y)) < 0.7)
    shard.multipliers = local.multipliers
    return local, shard, D, rng


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
    else:
        assert type(got) is type(expected)
    assert_allclose(got, expected, rtol=tol, atol=tol)


def assert_same_state(shard, local):
    assert_allclose(shard.values.cpu(), local.values, rtol=0, atol=1e-11)
    assert_allclose(shard.E.cpu(), local.E, rtol=0, atol=1e-11)
    assert_allclose(shard.multipliers, local.multipliers, rtol=0, atol=1e-11)


# Coding


@pytest.mark.parametrize("coding", ["omp", "correlation"])
@pytest.mark.parametrize("shape", SHAPES)
def test_encode(shape, coding, device, work):
    Y, D, _ = make_rows(shape)
    s = SHAPES[shape][3]
    local, shard = LocalShard(Y), TorchShard(Y, device)
    assert_same(shard.encode(D, s, coding), local.encode(D, s, coding))
    got, expected = shard.last_codes(), local.last_codes()
    assert_array_equal(got.indices, expected.indices)
    assert_same(got, expected)
    assert_array_equal(shard._ptr - shard._ptr[0], local._ptr)  # unused slots come first here
    for i in range(len(D)):
        mine = shard._pos[shard._ptr[i] : shard._ptr[i + 1]]
        assert_array_equal(mine.cpu(), local._rows_of(i))
    assert (got.indices != 3).all() or len(D) <= 3  # atom 1 is the same, and comes before it
    assert (got.indices[3] == -1).all()
    for one in (local, shard):
        one.start_sweeps(D)
    assert_same_state(shard, local)
    X, Z = shard.codes(), local.codes()
    assert (X.indices.dtype, X.indptr.dtype, X.has_canonical_format) == (np.int32, np.int32, True)
    assert_array_equal(X.indptr, Z.indptr)
    assert_array_equal(X.indices, Z.indices)
    assert_same(X.data, Z.data)


def test_omp_is_orthogonal_matching_pursuit(device):
    rng = np.random.default_rng(3)
    Y, D = rng.standard_normal((80, 9)), unit_rows(rng, 14, 9)
    codes = torch_omp(torch.tensor(Y, device=device), torch.tensor(D, device=device), 5)
    indices, values = omp(Y, D, 5)
    assert codes.indices.dtype == torch.int32
    assert_array_equal(codes.indices.cpu(), indices)
    assert_allclose(codes.values.cpu(), values, atol=1e-11)


def test_atoms_that_depend_on_those_chosen(device):
    rng = np.random.default_rng(9)
    Y, D = rng.standard_normal((30, 6)), unit_rows(rng, 3, 6)
    D[1] = D[0] + 1e-6 * D[2]  # its own part is rounding, though it correlates with what is left
    Y[:, 1] = 0.0
    codes = torch_omp(torch.tensor(Y, device=device), torch.tensor(D[:2], device=device), 2)
    expected = batch_omp(Y, D[:2], 2)
    assert_array_equal(codes.indices.cpu(), expected.indices)
    assert (expected.indices[:, 1] == -1).all()
    assert_allclose(codes.values.cpu(), expected.values, atol=1e-12)


@pytest.mark.parametrize(("torch_coding", "coding"), [(torch_omp, batch_omp), (torch_correlation_omp, correlation_omp)])
def test_float32_codes(torch_coding, coding, device):
    rng = np.random.default_rng(4)
    Y, D = rng.standard_normal((300, 9)).astype(np.float32), unit_rows(rng, 14, 9).astype(np.float32)
    Y[:5] *= np.float32(1e-25)  # squares that float32 does not hold
    Y[5] = np.float32(1e-25) * D[4]
    got = torch_coding(torch.tensor(Y, device=device), torch.tensor(D, device=device), 4)
    expected = coding(Y, D, 4)
    same = (got.indices.cpu().numpy() == expected.indices).all(axis=1)
    assert same.mean() > 0.98
    if coding is batch_omp:
        assert got.indices[5].tolist() == [4, -1, -1, -1]
    assert got.values.dtype == got.sq_residual.dtype == torch.float32
    size = np.linalg.norm(Y.astype(np.float64), axis=1)[same]
    assert_allclose(got.values.cpu().numpy()[same] / size[:, None], expected.values[same] / size[:, None], atol=1e-4)


# The passes of a sweep


def test_moments_and_rows(twins):
    local, shard, D, _ = twins
    for i in range(len(D)):
        for kappa in (0.3, 0.0):
            args = np.int64(i), D[i], np.float64(kappa)  # as the driver sends them
            assert_same(shard.moments(*args), local.moments(*args))
            assert_same(shard.rows(*args), local.rows(*args))
            A = shard.moments(*args)[0]
            assert_array_equal(A, A.T)


@pytest.mark.parametrize("shrink", [1.0, 0.6, 0.0])
def test_commit(twins, shrink):
    local, shard, D, rng = twins
    for i, kappa in ((0, 0.4), (2, 0.0), (1, -2.0)):
        new = unit_rows(rng, 1, D.shape[1])[0]
        for one in (local, shard):
            one.commit(np.int64(i), D[i], new, shrink, np.float64(kappa))
        D[i] = new
        assert_same_state(shard, local)
        assert_same(shard.code_sums(), local.code_sums())
        assert shard.codes().nnz == local.codes().nnz
    new = unit_rows(rng, 1, D.shape[1])[0]
    done, ahead = (1, D[1], new, 0.7, 0.2), (0, D[0], 0.1)
    assert_same(shard.commit_and_moments(done, ahead), local.commit_and_moments(done, ahead))
    assert_same(shard.sq_error(), local.sq_error())
    assert_same_state(shard, local)


# The one-class SVM


@pytest.fixture(params=["all", "some"])
def opened(request, twins):
    """The shards with their codes on all atoms, or all but some, handed to the SVM; and how many atoms that is."""
    local, shard, D, rng = twins
    active = np.ones(len(D), bool)
    if request.param == "some":
        active[1::3] = False
    local.commit(0, D[0], D[0], 0.0, 0.0)  # a trimmed atom: slots in use that hold 0
    shard.commit(0, D[0], D[0], 0.0, 0.0)
    for one in (local, shard):
        one.svm_open(active)
    return local, shard, int(active.sum()), rng


def ask(opened, method, *args):
    """Compare the answers of both shards; return the shard's."""
    local, shard, *_ = opened
    got, expected = getattr(shard, method)(*args), getattr(local, method)(*args)
    assert_same(got, expected)
    return got


def test_summary_and_rows(opened):
    local, shard, n, _ = opened
    N, n_zero, _ = ask(opened, "svm_summary")
    assert (N, n_zero >= 2) == (len(local.Y), True)
    ask(opened, "svm_total")
    X, Z = shard.svm_all_rows(), local.svm_all_rows()
    assert X.shape == (N, n)
    for name in ("indptr", "indices", "data"):  # entries in the same order too: libsvm's path hangs on it
        assert_array_equal(getattr(X, name), getattr(Z, name))
    for one in (shard, local):
        one.svm_zero_rows(0.7)
    assert_array_equal(shard.multipliers, local.multipliers)
    assert shard.multipliers.max() == 0.7


def test_margins_and_smooth_sums(opened):
    local, shard, n, rng = opened
    w, dw = rng.standard_normal((2, n))
    for one in (shard, local):
        one.svm_scale(1.7)
        one.svm_margins(w)
    assert_array_equal(shard.margins, local.margins)  # the same sums in the same order
    ask(opened, "svm_range")
    rho = float(np.quantile(local.margins, 0.6))
    eps = max(float(np.quantile(np.abs(local.margins - rho), 0.3)), 1e-3)
    ask(opened, "svm_slack", rho)
    for step in (0.0, 0.0, 0.6):
        grad, H = shard.svm_smooth(rho, eps, step)
        expected, lower = local.svm_smooth(rho, eps, step)
        assert_same(grad, expected)
        assert_same(np.tril(H), np.tril(lower))
        assert 0 < H[n, n] < len(local.Y)
        ask(opened, "svm_try", dw, rho, 0.3, eps)
    assert_same(shard.margins, local.margins)
    ask(opened, "svm_smooth_values", rho, -0.2, eps, np.array([0.0, 0.4, 1.0, -1.0]))
    for one in (shard, local):  # with other rows there is no direction yet
        one.svm_open(np.arange(len(local._ptr) - 1) < n)
    ask(opened, "svm_smooth_values", rho, -0.2, eps, np.array([0.7]))
    with pytest.raises(ValueError, match=f"one entry per column, {n}. Got {n + 1} instead"):
        shard.svm_margins(np.ones(n + 1))


def test_band(opened):
    local, shard, n, rng = opened
    w = rng.standard_normal(n)
    for one in (shard, local):
        one.svm_scale(0.6)
        one.svm_margins(w)
    rho = float(np.sort(local.margins)[len(local.Y) // 2])
    for by_norm in (False, True):
        for one in (shard, local):
            one.svm_distances(rho, by_norm)
        assert_allclose(shard._dist.cpu(), local._dist, rtol=1e-15)
        local._dist[:] = shard._dist.cpu()  # the row at the threshold is in
        for threshold in (np.sort(local._dist)[12], -1.0, np.inf):
            (block, *sums), (rows, *expected) = (one.svm_band(rho, threshold) for one in (shard, local))
            assert_same(sums, expected)
            assert_same(list(block[1:4]), list(rows[1:4]))
            assert block.n == rows.n == n
            assert block.indptr[-1] == block.data.size
            assert_same(shard.multipliers, local.multipliers)
            values = rng.uniform(0, 1, rows.n_rows)
            for one in (shard, local):
                one.svm_set_band(values)
            assert_array_equal(shard.multipliers, local.multipliers)
            ask(opened, "svm_residual", rho)
    values = rng.uniform(0, 1, len(local.Y))
    shard.svm_set_all(values)
    assert_array_equal(shard.multipliers, values)


def test_order_statistics(opened):
    local, shard, n, rng = opened
    w = rng.standard_normal(n)
    for one in (shard, local):
        one.svm_margins(w)
        one.svm_distances(0.1, False)
    extremes = np.array([0.0, -0.0, 5e-324, -5e-324, np.inf, -np.inf, 1e308, -1e308])
    local._f[-8:] = extremes
    shard._f[-8:] = torch.tensor(extremes, device=shard.device)
    for which, numbers in ((MARGIN, local._f), (DISTANCE, local._dist)):
        for j in (0, 1, 19, -1, -2, -4, -5):
            bits = int(numbers[j : j + 1 or None].view(np.uint64)[0])
            key = ~bits % 2**64 if bits >> 63 else bits | 1 << 63
            for shift, n_bits in ((53, 11), (42, 11), (9, 11), (0, 9), (0, 11)):
                ask(opened, "svm_histogram", which, key >> (shift + n_bits), shift, n_bits)
                ask(opened, "svm_values", which, key >> shift, shift)
            assert numbers[j] in shard.svm_values(which, key, 0)
        ordered = np.sort(numbers)
        for rank in (0, 1, len(numbers) // 2, len(numbers) - 1):
            assert _kth(ShardGroup([shard]), which, rank) == ordered[rank]


@pytest.mark.parametrize("solver", [fit_one_class, fit_libsvm])
def test_one_class_svm(solver, device, work):
    rng = np.random.default_rng(5)
    Y, D = np.abs(rng.standard_normal((1800, 6))), np.abs(unit_rows(rng, 10, 6))
    fits = []
    for shard in (LocalShard(Y), TorchShard(Y, device)):
        shard.encode(D, 2)
        shard.svm_open(np.arange(10) != 4)
        fits.append((solver(ShardGroup([shard]), 9, 0.2), shard.multipliers))
    (expected, a), (got, b) = fits
    assert not expected.degenerate
    assert_allclose(b, a, atol=1e-8)
    for name in ("w", "rho", "objective", "residual", "scale"):
        assert_allclose(getattr(got, name), getattr(expected, name), rtol=1e-8, atol=1e-8)


# Whole fits


def learning_rows(N=2000, m=7, n=12, seed=6):
    rng = np.random.default_rng(seed)
    Y = np.abs(rng.standard_normal((N, 4))) @ np.abs(unit_rows(rng, 4, m)) + 0.05 * rng.standard_normal((N, m))
    return Y / np.linalg.norm(Y), unit_rows(rng, n, m)


def fit(shards, D, learner):
    """The model, codes and multipliers as the last sweep left them, then the last SVM and its margins."""
    group = ShardGroup(shards)
    model = learn(group, D, learner)
    codes = scipy.sparse.vstack(group.map(SweepPasses.codes)).toarray()
    a = np.concatenate([shard.multipliers for shard in shards])
    svm, _ = fit_last_svm(group, model, learner)
    return model, codes, a, svm, np.concatenate([shard.margins for shard in shards])


def assert_same_fit(got, expected):
    (model, codes, a, svm, margins), (twin, twin_codes, twin_a, twin_svm, twin_margins) = got, expected
    assert_array_equal(model.active, twin.active)
    assert_allclose(model.D, twin.D, rtol=0, atol=1e-8)
    assert_allclose(codes, twin_codes, rtol=0, atol=1e-8 * np.abs(twin_codes).max())
    assert_allclose(a, twin_a, rtol=0, atol=1e-8)
    for one, two in ((model.svm, twin.svm), (svm, twin_svm)):
        assert_allclose(one.w, two.w, rtol=0, atol=1e-8 * np.linalg.norm(two.w))
        assert_allclose(one.rho, two.rho, rtol=1e-8)
    assert_allclose(margins, twin_margins, rtol=0, atol=1e-8 * np.abs(twin_margins).max())
    for key in ("F", "G", "total"):
        assert_allclose(model.history[key], twin.history[key], rtol=1e-8)


LEARNER = DL(s=3, penalty=L21(0.05), nu=0.3, eta=50.0, max_iter=3)


@pytest.mark.parametrize(
    "learner",
    [
        LEARNER,
        DL(s=3, penalty=L20(0.002), nu=0.3, eta=50.0, max_iter=3, atom_solver="power"),
        DL(s=2, penalty=L21(0.05), nu=0.1, max_iter=2, svm_solver="libsvm", coding="correlation"),
    ],
    ids=["exact", "power", "libsvm"],
)
def test_learning_does_not_see_the_shard(learner, device):
    Y, D = learning_rows()
    expected = fit([LocalShard(Y)], D, learner)
    assert 0 < expected[0].active.sum() < len(D)  # the penalty has trimmed some atoms
    assert_same_fit(fit([TorchShard(Y, device)], D, learner), expected)


def test_learning_in_the_space_of_the_rows(device):
    Y, D = learning_rows(150, 70, 20)
    learner = DL(s=2, penalty=L21(0.02), nu=0.3, max_iter=2, track_atoms=True)
    expected, got = fit([LocalShard(Y)], D, learner), fit([TorchShard(Y, device)], D, learner)
    assert expected[0].counts.min() < 35 < expected[0].counts.max()  # atoms of both kinds
    assert_same_fit(got, expected)
    for one, two in zip(got[0].history.lagrangian, expected[0].history.lagrangian, strict=True):
        assert_allclose(one, two, rtol=1e-9)


@pytest.mark.parametrize("ends", [[700], [1, 3, 503, 1200], [0, 900], [900, 900], [900, 2000]])
def test_learning_does_not_see_the_number_of_shards(ends, device):
    Y, D = learning_rows()
    pieces = [Y[lo:hi] for lo, hi in pairwise([0, *ends, 2000])]
    assert_same_fit(fit([TorchShard(p, device) for p in pieces], D, LEARNER), fit([TorchShard(Y, device)], D, LEARNER))


def test_a_local_shard_beside_a_torch_shard(device):
    Y, D = learning_rows()
    group = [LocalShard(Y[:700]), TorchShard(Y[700:], device)]
    assert_same_fit(fit(group, D, LEARNER), fit([LocalShard(Y)], D, LEARNER))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_same_bits_twice(dtype, device, work):
    Y, D = learning_rows()
    one, two = (fit([TorchShard(Y, device, dtype)], D, LEARNER) for _ in range(2))
    for name in ("D", "norms", "counts"):
        assert_array_equal(getattr(one[0], name), getattr(two[0], name))
    assert (one[0].svm.rho, one[3].rho) == (two[0].svm.rho, two[3].rho)
    assert_array_equal(one[0].history["total"], two[0].history["total"])
    for a, b in zip((*one[1:3], one[3].w, one[4]), (*two[1:3], two[3].w, two[4]), strict=True):
        assert_array_equal(a, b)


def test_a_detector_cannot_tell(device):
    class OnDevice(DLOCSVM):
        @staticmethod
        def _Shard(Y):
            return TorchShard(Y, device)

    X = learning_rows()[0]
    options = {"n_atoms": 9, "n_nonzero": 2, "nu": 0.1, "max_iter": 2, "random_state": 0}
    got, expected = OnDevice.paper(**options).fit(X), DLOCSVM.paper(**options).fit(X)
    for name in ("dictionary_", "coef_", "dual_coef_", "train_decision_", "train_scores_", "offset_"):
        twin = getattr(expected, name)
        assert_allclose(getattr(got, name), twin, rtol=0, atol=1e-8 * np.abs(twin).max())
    assert_allclose(got.score_samples(X), expected.score_samples(X), rtol=1e-7, atol=1e-12)


def test_trimming_a_batch(device):
    Y, D = learning_rows(300)
    expected, got = (
        trim_batch(ShardGroup([shard]), D, 3, L20(0.01)) for shard in (LocalShard(Y), TorchShard(Y, device))
    )
    assert 0 < expected.nnz < 900
    assert_allclose(got.toarray(), expected.toarray(), atol=1e-12)


# float32


def test_float32_ranks_rows_alike(device):
    Y, D = learning_rows(3000)
    wide = fit([LocalShard(Y)], D, LEARNER)
    shard = TorchShard(Y.astype(np.float32), device)
    narrow = fit([shard], D, LEARNER)
    assert shard.values.dtype == shard.E.dtype == torch.float32
    assert spearmanr(wide[4], narrow[4])[0] > 0.999
    assert_allclose(narrow[0].D, wide[0].D, atol=1e-4)
    assert_allclose(narrow[0].history["total"], wide[0].history["total"], rtol=1e-5)


def test_sums_of_float32_rows_are_float64(device, work):
    """Answers on float32 rows are those on the same rows in float64, to far less than a rounding of float32."""
    Y, D, rng = make_rows("tall")
    Y = Y.astype(np.float32)
    shard, local = TorchShard(Y, device), LocalShard(Y.astype(np.float64))
    for one in (shard, local):
        one.encode(D, 3)
    local.indices, local.values = shard.indices.cpu().numpy(), shard.values.double().cpu().numpy()
    local._ptr, local._pos = shard._ptr, shard._pos.cpu().numpy()
    shard.start_sweeps(D)
    local.E[:] = shard.E.double().cpu()
    for one in (shard, local):
        one.svm_set_all(np.linspace(0, 1, len(Y)))
        one.svm_open(np.ones(len(D), bool))
        one.svm_margins(np.arange(1.0, 7.0))
    assert_same(shard.moments(2, D[2], 0.3), local.moments(2, D[2], 0.3), 1e-12)
    for name in ("sq_error", "code_sums", "svm_total", "svm_summary"):
        assert_same(getattr(shard, name)(), getattr(local, name)(), 1e-12)
    assert_array_equal(shard.margins, local.margins)
    assert_same(shard.svm_smooth(0.5, 0.3, 0.0)[0], local.svm_smooth(0.5, 0.3, 0.0)[0], 1e-12)
    new = unit_rows(rng, 1, D.shape[1])[0]
    shard.commit(1, D[1], new, 0.8, 0.1)
    D[1] = new
    X = shard.codes().toarray()
    assert_allclose(shard.E.cpu(), Y - X @ D, atol=1e-6)  # the residual of the codes as they were rounded


# Rows as they come


def test_rows_are_not_copied(device):
    Y, D = learning_rows(100)
    tensor = torch.tensor(Y, device=device)
    shard = TorchShard(tensor, device)
    assert shard.Y.data_ptr() == tensor.data_ptr()
    before = tensor.clone()
    fit([shard], D, LEARNER)
    assert torch.equal(tensor, before)
    narrow = tensor.float()
    assert TorchShard(narrow, device).Y.data_ptr() == narrow.data_ptr()
    assert TorchShard(narrow, device, torch.float64).Y.dtype == torch.float64
    if device == "cpu":
        assert TorchShard(Y).Y.data_ptr() == Y.ctypes.data
    assert TorchShard(Y, device).Y.device.type == device


@pytest.mark.filterwarnings("error")
def test_any_array_will_do(device):
    Y, D = learning_rows(100)
    whole = np.round(1000 * Y)
    mapped = np.frombuffer(mmap.mmap(-1, Y.nbytes, access=mmap.ACCESS_WRITE), Y.dtype).reshape(Y.shape)
    mapped[:] = whole
    mapped.flags.writeable = False
    parameter = torch.tensor(whole, requires_grad=True)
    given = [np.asfortranarray(whole), whole[::-1][::-1], whole.astype(int), whole.astype(">f8"), mapped, parameter]
    expected = LocalShard(whole).encode(D, 2)
    for rows in (*given, torch.tensor(whole).T.contiguous().T, whole.tolist()):
        shard = TorchShard(rows, device)
        assert shard.Y.dtype == torch.float64
        assert_same(shard.encode(D, 2), expected)
        assert not shard.values.requires_grad


@pytest.mark.parametrize("dtype", [None, torch.float32])
def test_streamed_rows(dtype, device, work):
    Y, D = learning_rows()
    stays = TorchShard(Y, device, dtype, stream=True)
    if device == "cpu":
        assert stays.Y.data_ptr() == Y.ctypes.data
    assert stays.Y.device.type == "cpu"
    got, expected = fit([stays], D, LEARNER), fit([TorchShard(Y, device, dtype)], D, LEARNER)
    if dtype is None:
        assert_same_fit(got, expected)
    else:
        assert spearmanr(got[4], expected[4])[0] > 0.999


def test_blocks_cover_the_rows_once(device, monkeypatch):
    monkeypatch.setattr(torch_rows, "WORK_BYTES", dict.fromkeys(("cpu", "cuda"), 640))
    Y = np.arange(90.0).reshape(30, 3)
    resident = DeviceRows(Y, find_device(device), None)
    assert [(lo, hi) for lo, hi, _ in resident.blocks()] == [(0, 30)]
    assert [(lo, hi) for lo, hi, _ in resident.blocks(64)] == [(0, 10), (10, 20), (20, 30)]
    streamed = DeviceRows(Y, find_device(device), torch.float32, stream=True)
    blocks = list(streamed.blocks())
    assert len(blocks) > 1
    assert all(part.dtype == torch.float32 and part.device.type == device for *_, part in blocks)
    assert_array_equal(torch.cat([part for *_, part in blocks]).cpu(), Y)
    assert [(lo, hi) for lo, hi, _ in blocks] == list(spans(30, blocks[0][1]))


def test_gram_in_chunks(device):
    Z = np.random.default_rng(8).standard_normal((50, 4))
    for chunk in (7, 25, 50, 51):
        assert_allclose(gram(torch.tensor(Z, device=device), chunk).cpu(), Z.T @ Z, atol=1e-12)


def test_no_rows(device):
    D = np.eye(4)
    local, shard = LocalShard(np.empty((0, 4))), TorchShard(np.empty((0, 4)), device)
    calls = [
        ("encode", D, 2), ("start_sweeps", D), ("moments", 1, D[1], 0.3), ("rows", 1, D[1], 0.3), ("sq_error",),
        ("commit", 1, D[1], D[2], 0.5, 0.3), ("code_sums",), ("svm_open", np.arange(4) < 3), ("svm_summary",),
        ("svm_scale", 2.0), ("svm_total",), ("svm_margins", np.ones(3)), ("svm_try", np.ones(3), 0.1, 0.2, 0.3),
        ("svm_smooth_values", 0.1, 0.2, 0.3, np.ones(2)), ("svm_smooth", 0.1, 0.2, 0.5), ("svm_range",),
        ("svm_distances", 0.2, True), ("svm_histogram", MARGIN, 0, 53, 11), ("svm_values", DISTANCE, 3, 53),
        ("svm_band", 0.1, 0.2), ("svm_set_band", np.empty(0)), ("svm_set_all", np.empty(0)), ("svm_slack", 0.1),
        ("svm_residual", 0.1), ("svm_zero_rows", 0.5), ("last_codes",),
    ]  # fmt: skip
    for method, *args in calls:
        got, expected = getattr(shard, method)(*args), getattr(local, method)(*args)
        if expected is None:
            assert got is None
        else:
            assert_same(got, expected)
    assert shard.multipliers.shape == shard.margins.shape == (0,)
    assert shard.codes().shape == local.codes().shape == (0, 4)
    assert shard.svm_all_rows().shape == (0, 3)


def test_lagrangian_falls_in_float32(device):
    Y, D = learning_rows(300)
    shard = TorchShard(Y, device, torch.float32)
    group = ShardGroup([shard])
    model = LEARNER.start(group, D)
    before = lagrangian(group, model, LEARNER)
    LEARNER.sweep(group, model)
    assert lagrangian(group, model, LEARNER) < before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "mps"}, "must be 'cpu', 'cuda' or 'cuda:k'. Got 'mps' instead"),
        ({"device": "gpu"}, "must be 'cpu', 'cuda' or 'cuda:k'. Got 'gpu' instead"),
        ({"dtype": torch.float16}, "must be torch.float64 or torch.float32. Got torch.float16 instead"),
    ],
)
def test_refused(options, message):
    with pytest.raises(ValueError, match=message):
        TorchShard(np.ones((3, 2)), **options)


def test_rows_must_be_a_table():
    with pytest.raises(ValueError, match=r"n_samples × n_features\. Got 1 dimensions instead"):
        TorchShard(np.ones(3))


def test_no_gpu_is_said_at_once(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="Got 'cuda:1' instead, and torch finds no CUDA device here; pass 'cpu'"):
        TorchShard(np.ones((3, 2)), "cuda:1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ValueError, match="torch finds 1 CUDA device here; pass 'cuda:0'"):
        TorchShard(np.ones((3, 2)), "cuda:1")
