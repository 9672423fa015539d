"""Shards in scratch files: the same numbers as in memory, one block mapped at a time, no file left behind."""

import errno
import gc
import os
import pickle
import resource
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from oddatom.learners.alternate import fit_last_svm, learn
from oddatom.learners.dl import DL
from oddatom.learners.dpl import DPL
from oddatom.passes import MarginPasses, ShardGroup, SweepPasses
from oddatom.passes.declared import shard_pass
from oddatom.penalties import L21
from oddatom.rows.array import LocalShard, PairShard
from oddatom.rows.files.spilled import SpilledGroup, SpilledShard, Stored

linux = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads /proc/self/maps")


def unit_rows(rng, n, m):
    D = rng.uniform(0.1, 1.0, size=(n, m))
    return D / np.linalg.norm(D, axis=1, keepdims=True)


def data(N=3000, m=8, n=12, s=3):
    """Rows of a planted dictionary, scaled, and another dictionary to start from."""
    rng = np.random.default_rng(7)
    atoms = unit_rows(rng, n, m)
    Y = np.zeros((N, m))
    for _ in range(s):
        Y += rng.gamma(2.0, size=(N, 1)) * atoms[rng.integers(n, size=N)]
    Y += 0.1 * rng.normal(size=(N, m))
    return Y / np.linalg.norm(Y), unit_rows(rng, n, m)


def cut(Y, sizes=(1100, 0, 1, 700)):
    """Consecutive pieces of the rows, of the given sizes; what is left goes to the last."""
    ends = [0, *np.cumsum(sizes), Y.shape[0]]
    return [np.ascontiguousarray(Y[lo:hi]) for lo, hi in pairwise(ends)]


def spilled(kind, pieces, folder, keep=0):
    return SpilledGroup([SpilledShard(lambda piece=piece: kind(piece), folder, keep=keep) for piece in pieces])


LEARNERS = {
    "dl": (LocalShard, DL(s=3, penalty=L21(0.01), nu=0.1, max_iter=3)),
    "dl, traced": (LocalShard, DL(s=2, penalty=L21(0.0), nu=0.1, max_iter=1, track_atoms=True)),
    "dl, libsvm": (LocalShard, DL(s=3, penalty=L21(0.01), nu=0.1, max_iter=1, svm_solver="libsvm")),
    "dpl": (PairShard, DPL(s=3, penalty=L21(0.001), nu=0.1, max_iter=2)),
    "dpl, gradient, omp": (
        PairShard,
        DPL(s=3, penalty=L21(0.001), nu=0.1, max_iter=1, pair_solver="gradient", representation="omp"),
    ),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_learns_what_shards_in_memory_learn(name, tmp_path):
    Y, D = data()
    kind, learner = LEARNERS[name]
    D = D[:5] if "gradient" in name else D  # hundreds of small calls an atom
    found = []
    group = spilled(kind, cut(Y), tmp_path)
    for shards in (group, ShardGroup([kind(piece) for piece in cut(Y)]), ShardGroup([kind(Y)])):
        model = learn(shards, D, learner)
        codes = np.concatenate([part.toarray() for part in shards.map(SweepPasses.codes)])
        svm, nu = fit_last_svm(shards, model, learner)
        assert model.active.sum() > 3
        assert not svm.degenerate
        a = np.concatenate(shards.map(MarginPasses.svm_dual_coef, 1.0))
        found.append((model.D, model.P, model.svm.w, codes, svm.w, svm.rho, nu, a, model.history["total"]))
    for in_files, in_memory in zip(found[0], found[1], strict=True):  # the same blocks: the same operations
        np.testing.assert_array_equal(in_files, in_memory)
    for in_files, whole in zip(found[0][:7], found[2][:7], strict=True):
        np.testing.assert_allclose(in_files, whole, rtol=1e-8, atol=1e-8)
    group.close()
    assert list(tmp_path.iterdir()) == []


def test_attributes_and_answers_are_copies(tmp_path):
    Y, D = data(400)
    shard, twin = SpilledShard(lambda: LocalShard(Y), tmp_path, keep=0), LocalShard(Y)
    for s in (shard, twin):
        s.encode(D, 3)
        s.start_sweeps(D)
        s.svm_open(np.ones(12, bool))
    expected = [*twin.last_codes(), twin.svm_all_rows().toarray(), *twin.moments(1, D[1], 0.0), twin.Y, twin.margins]
    rows = shard.svm_all_rows()
    answers = [*shard.last_codes(), None, *shard.moments(1, D[1], 0.0), shard.Y, shard.margins]
    shard.encode(D[:5], 2)  # other codes, in other files
    shard.moments(0, D[0], 0.0)  # into the same scratch memory
    shard.close()
    answers[3] = rows.toarray()
    for answer, right in zip(answers, expected, strict=True):
        np.testing.assert_array_equal(answer, right)
    with pytest.raises(AttributeError, match="no attribute 'row'"):
        SpilledShard(lambda: LocalShard(Y), tmp_path).row  # noqa: B018
    with pytest.raises(AttributeError, match="values"):
        SpilledShard(lambda: LocalShard(Y), tmp_path).values = Y


class Views:
    """Arrays that share memory in all the ways NumPy knows."""

    def __init__(self):
        self.base = np.arange(24.0)
        self.middle = self.base[4:16]
        self.pair = (self.base[2:14].reshape(3, 4), "name", (self.middle[::-2], 3))
        self.turned = np.asfortranarray(np.arange(12.0).reshape(3, 4))
        self.part = self.turned.T[1:, ::2]
        self.bits = self.base.view(np.uint64)[20:]
        self.still = self.base[:3]
        self.still.flags.writeable = False
        self.point = self.base[7:8].reshape(())
        self.empty = self.base[:0]
        self.odd = np.zeros(3, dtype=[("a", np.int8), ("b", np.float64)])
        self.odd_b = self.odd["b"]

    def arrays(self):
        plain = (self.base, self.middle, self.turned, self.part, self.bits, self.still, self.point, self.empty)
        return (*plain, self.odd["a"], self.odd_b, self.pair[0], self.pair[2][0])

    def write(self, which, value):
        self.arrays()[which][...] = value

    def replace(self):
        self.base = self.base + 1.0  # the views stay with the old memory


def test_views_follow_sharing_memory(tmp_path):
    shard, twin = SpilledShard(Views, tmp_path, keep=0), Views()
    n = len(twin.arrays())
    assert len(list(next(tmp_path.iterdir()).iterdir())) == 3  # base, turned and odd
    for which in range(n):
        if which == 5:
            with pytest.raises(ValueError, match="read-only"):
                shard.write(which, 1.0)
            continue
        for s in (shard, twin):
            s.write(which, 100 + which)
        for stored, right in zip(shard.arrays(), twin.arrays(), strict=True):
            assert stored.shape == right.shape
            np.testing.assert_array_equal(stored, right)
    for s in (shard, twin):
        s.replace()
        s.write(0, -1.0)
        s.write(1, -2.0)
    for stored, right in zip(shard.arrays(), twin.arrays(), strict=True):
        np.testing.assert_array_equal(stored, right)
    assert shard.pair[1] == "name"
    assert shard.pair[2][1] == 3


class Watched(LocalShard):
    """A shard that says which scratch files are mapped while it answers."""

    @shard_pass("other")
    def watched_maps(self):
        return tuple(sorted(mapped_files()))

    def odd(self):
        return [self.E]

    def fail(self):
        self.E[0] = 5.0
        raise ArithmeticError("half way")


def mapped_files():
    lines = Path("/proc/self/maps").read_text().splitlines()
    return {Path(line.split(maxsplit=5)[5]).parent.name for line in lines if "oddatom-" in line}


@linux
def test_only_the_shard_that_answers_is_mapped(tmp_path):
    Y, D = data()
    group = spilled(Watched, cut(Y, (1000, 1000)), tmp_path, keep=2**12)
    group.map(SweepPasses.encode, D, 3)
    folders = [{path.name} for path in (shard._files for shard in group.shards)]
    assert [set(found) for found in group.map(Watched.watched_maps)] == folders
    assert mapped_files() == set()
    for shard in group.shards:
        state = vars(shard._shard)
        assert isinstance(state["E"], Stored)
        assert all(v.nbytes < 2**12 for v in state.values() if isinstance(v, np.ndarray))


@linux
def test_after_an_error_the_shard_goes_on(tmp_path):
    Y, D = data(500)
    shard = SpilledShard(lambda: Watched(Y), tmp_path, keep=0)
    shard.encode(D, 3)
    with pytest.raises(ArithmeticError, match="half way"):
        shard.fail()
    with pytest.raises(TypeError, match="'odd' is or holds a list"):
        shard.odd()
    gc.collect()
    assert mapped_files() == set()
    assert shard.E[0, 0] == 5.0
    shard.start_sweeps(D)
    twin = LocalShard(Y)
    twin.encode(D, 3)
    twin.start_sweeps(D)
    np.testing.assert_array_equal(shard.E, twin.E)


def test_files_of_arrays_no_longer_there_are_removed(tmp_path):
    Y, D = data(500)
    shard = SpilledShard(lambda: LocalShard(Y), tmp_path, keep=0)
    counts = set()
    for _ in range(3):
        shard.encode(D, 3)
        shard.svm_open(np.ones(12, bool))
        counts.add(len(list(shard._files.iterdir())))
    assert len(counts) == 1


def test_files_are_removed(tmp_path):
    Y, _ = data(50)
    shard = SpilledShard(lambda: LocalShard(Y), tmp_path)
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        pickle.dumps(shard)
    shard.close()
    shard.close()
    with pytest.raises(ValueError, match="no 'encode'"):
        shard.encode(Y[:3], 1)
    assert list(tmp_path.iterdir()) == []
    shard = SpilledShard(lambda: LocalShard(Y), tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    del shard
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ZeroDivisionError):
        SpilledShard(lambda: 1 / 0, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("end", ["pass", "raise KeyError"])
def test_files_are_removed_when_python_ends(end, tmp_path):
    code = f"""
import os
import numpy as np
from oddatom.rows.array import LocalShard
from oddatom.rows.files.spilled import SpilledShard
shard = SpilledShard(lambda: LocalShard(np.ones((1000, 4))), {str(tmp_path)!r})
print(len(os.listdir({str(tmp_path)!r})))
{end}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "1", done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_leaves_the_files_alone(tmp_path):
    shard = SpilledShard(lambda: LocalShard(np.ones((1000, 4))), tmp_path)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            shard.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    np.testing.assert_array_equal(shard.Y, 1.0)


class Holder:
    """A shard with whatever it is given, and a place outside for its arrays."""

    shelf: list = []  # noqa: RUF012  shared on purpose

    def __init__(self, **held):
        vars(self).update(held)

    def leak(self):
        self.shelf.append(self.x[1:])

    def set(self, **held):
        vars(self).update(held)


def test_an_array_that_outlives_the_call_is_refused(tmp_path):
    shard = SpilledShard(lambda: Holder(x=np.ones(5000)), tmp_path)
    try:
        with pytest.raises(RuntimeError, match=r"Holder\.leak left an array"):
            shard.leak()
        np.testing.assert_array_equal(Holder.shelf[0], 1.0)  # it is still mapped: no crash
    finally:
        Holder.shelf.clear()
    np.testing.assert_array_equal(shard.x, 1.0)


def overlapping():
    memory = bytearray(8 * 5000)
    return {"x": np.frombuffer(memory), "y": np.frombuffer(memory)}


@pytest.mark.parametrize(
    ("held", "error", "match"),
    [
        (lambda: {"x": [np.ones(3)]}, TypeError, "'x' is or holds a list"),
        (lambda: {"x": (1, {"a": 2})}, TypeError, "'x' is or holds a dict"),
        (lambda: {"x": np.ma.masked_array(np.ones(5000))}, TypeError, "A MaskedArray cannot"),
        (lambda: {"x": np.full(5000, None)}, TypeError, "Python objects"),
        (overlapping, ValueError, "not NumPy's"),
    ],
)
@pytest.mark.parametrize("later", [False, True])
def test_what_cannot_be_followed_is_refused(held, error, match, later, tmp_path):
    shard = SpilledShard(lambda: Holder(z=np.ones(5000)), tmp_path) if later else None
    call = shard.set if later else lambda **given: SpilledShard(lambda: Holder(**given), tmp_path)
    given = held()
    with pytest.raises(error, match=match):
        call(**given)
    assert list(tmp_path.iterdir()) == []  # a state half written is of no use


def test_no_room_for_the_files(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    shard = SpilledShard(lambda: Holder(z=np.ones(5000)), tmp_path)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
        with pytest.raises(OSError, match="writing 80000 bytes of rows") as caught:
            shard.set(x=np.ones(10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.errno == errno.EFBIG
    assert list(tmp_path.iterdir()) == []
