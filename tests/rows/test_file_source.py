"""Rows from files: every row once and in order, refusals that name file and column, fits equal to those of an array."""

import numpy as np
import pytest
from sklearn.base import clone

from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM
from oddatom.arrays.memory import usable_memory
from oddatom.learners.alternate import learn
from oddatom.learners.dpl import DPL
from oddatom.learners.initial import unit_rows
from oddatom.passes import SweepPasses
from oddatom.penalties import L21
from oddatom.rows.array import ArraySource
from oddatom.rows.files import file_source as files
from oddatom.rows.files.file_source import FileSource, too_large
from oddatom.rows.files.spilled import SpilledShard
from oddatom.rows.row_map import RowMap
from oddatom.scaling.linear import Scaling


@pytest.fixture(scope="module")
def X():
    """Rows around a few positive directions; no choice between atoms is close to a tie."""
    rng = np.random.default_rng(0)
    return rng.gamma(2.0, size=(1300, 8)) @ rng.uniform(0, 1, (8, 6)) + 0.1 * rng.normal(size=(1300, 6))


NAMES = ["a", "b.c", "b", "ß", "e f", "g"]


def write_parquet(X, folder, ends=(0, 500, 500, 1300), **options):
    """Some files with the columns in turn in this order and the other, an empty file among them."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    paths = []
    for k in range(len(ends) - 1):
        paths.append(folder / f"part{k}.parquet")
        columns = list(enumerate(NAMES))[:: 1 if k % 2 == 0 else -1]
        table = pa.table({name: X[ends[k] : ends[k + 1], f] for f, name in columns})
        pq.write_table(table, paths[-1], row_group_size=170, **options)
    return paths


def write_npy(X, folder, ends=(0, 500, 500, 1300)):
    paths = [folder / f"part{k}.npy" for k in range(len(ends) - 1)]
    for k, path in enumerate(paths):
        np.save(path, X[ends[k] : ends[k + 1]])
    return paths


def mapped(X, folder):
    np.save(folder / "x.npy", np.asfortranarray(X))
    return np.load(folder / "x.npy", mmap_mode="r")


@pytest.fixture(params=["parquet", "one parquet", "npy", "memory map"])
def data(request, X, tmp_path):
    if request.param == "parquet":
        return write_parquet(X, tmp_path)
    if request.param == "one parquet":
        return str(write_parquet(X, tmp_path, (0, 1300))[0])
    return write_npy(X, tmp_path) if request.param == "npy" else mapped(X, tmp_path)


@pytest.mark.parametrize("block_rows", [1, 77, 499, 1300, 5000, None])
@pytest.mark.parametrize("piece", [8 * 6 * 50, 2**23])
def test_every_row_once_and_in_order(data, X, block_rows, piece, monkeypatch):
    monkeypatch.setattr(files, "PIECE", piece)
    source = FileSource(data, block_rows=block_rows)
    assert source.shape == X.shape
    blocks = source.map(np.copy)
    assert [len(block) for block in blocks] == source.sizes
    assert max(source.sizes) == min(block_rows or 1300, 1300)
    np.testing.assert_array_equal(np.concatenate(blocks), X)
    some = np.array([1299, 3, 500, 3, 0])
    np.testing.assert_array_equal(source.take(some), X[some])
    weights = source.map(lambda rows, piece, sign: sign * piece * len(rows), -1, pieces=range(len(source.sizes)))
    assert weights == [-k * size for k, size in enumerate(source.sizes)]


def test_names_types_and_pandas_index(X, tmp_path):
    assert FileSource(write_parquet(X, tmp_path)).feature_names == NAMES
    assert FileSource(write_npy(X, tmp_path)).feature_names is None
    pd = pytest.importorskip("pandas")
    kinds = {"f": np.float32, "i": np.int16, "u": np.uint64, "b": bool, "d": np.float64}
    frame = pd.DataFrame({name: (10 * X[:, f]).astype(kind) for f, (name, kind) in enumerate(kinds.items())})
    frame.index = [f"row {j}" for j in range(len(frame))]
    frame.to_parquet(tmp_path / "frame.parquet")
    source = FileSource(tmp_path / "frame.parquet")
    assert source.feature_names == list(kinds)
    np.testing.assert_array_equal(source.map(np.copy)[0], frame.to_numpy(dtype=np.float64))
    np.save(tmp_path / "i.npy", (10 * X).astype(np.int32))
    np.testing.assert_array_equal(FileSource(tmp_path / "i.npy").map(np.copy)[0], np.trunc(10 * X))


@pytest.mark.parametrize(("value", "said"), [(np.nan, "nan"), (-np.inf, "-inf"), (None, "nan")])
def test_no_number_is_refused_by_file_and_column(value, said, X, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    paths = write_parquet(X, tmp_path)
    columns = {name: list(X[500:, f]) for f, name in enumerate(NAMES)}
    columns["ß"][411] = value
    pq.write_table(pa.table(columns), paths[2])
    with pytest.raises(ValueError, match=rf"part2.parquet has {said} in column 'ß', row 411 "):
        FileSource(paths).map(len)
    with pytest.raises(ValueError, match=rf"part2.parquet has {said} in column 'ß', row 411 "):
        DLOCSVM.paper().fit(paths)
    if value is not None:
        bad = X.copy()
        bad[700, 2] = value
        with pytest.raises(ValueError, match=rf"part2.npy has {said} in column 2, row 200 "):
            FileSource(write_npy(bad, tmp_path)).map(len)
        with pytest.raises(ValueError, match=rf"x.npy has {said} in column 2, row 700 "):
            FileSource(mapped(bad, tmp_path)).map(len)


def test_what_cannot_be_read_is_refused(X, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet, npy = write_parquet(X, tmp_path), write_npy(X, tmp_path)

    def write(name, *columns):
        pq.write_table(pa.Table.from_arrays([c for _, c in columns], names=[n for n, _ in columns]), tmp_path / name)
        return tmp_path / name

    words = write("words.parquet", ("a", pa.array([1.0])), ("b", pa.array(["x"])))
    twice = write("twice.parquet", ("a", pa.array([1.0])), ("a", pa.array([1.0])))
    other = write("other.parquet", *((n, pa.array([1.0])) for n in [*NAMES[:-1], "h"]))
    np.save(tmp_path / "flat.npy", X[0])
    np.save(tmp_path / "turned.npy", np.asfortranarray(X))
    np.save(tmp_path / "narrow.npy", X[:, 1:])
    (tmp_path / "text.npy").write_text("a,b\n1,2\n")
    (tmp_path / "text.parquet").write_text("a,b\n1,2\n")
    for paths, match in [
        ([], "an empty list"),
        ([words], "Column 'b' of .*words.parquet is string, not a number"),
        ([twice], "twice.parquet has two columns named 'a'"),
        ([*parquet, other], "'g' is in only one of .*part0.parquet and .*other.parquet"),
        ([parquet[0], npy[0]], "Files must be of one kind. Got .*part0.npy and .*part0.parquet"),
        ([tmp_path / "flat.npy"], r"flat.npy must hold a two-dimensional .* shape \(6,\)"),
        ([tmp_path / "turned.npy"], "turned.npy must .* columns first"),
        ([npy[0], tmp_path / "narrow.npy"], "part0.npy has 6 and .*narrow.npy has 5"),
        ([tmp_path / "text.npy"], "text.npy is no .npy file"),
        ([tmp_path / "text.parquet"], "text.parquet is no Parquet file"),
    ]:
        with pytest.raises(ValueError, match=match):
            FileSource(paths)
    for name in ("none.npy", "none.parquet"):
        with pytest.raises(FileNotFoundError, match=name):
            FileSource(tmp_path / name)
    with pytest.raises(ValueError, match="two-dimensional array of numbers"):
        FileSource(np.array([["a"]]))


def test_files_that_change_are_refused(X, tmp_path):
    parquet, npy = write_parquet(X, tmp_path), write_npy(X, tmp_path)
    sources = FileSource(parquet), FileSource(npy)
    for shorter in write_parquet(X[:600], tmp_path, (0, 500, 500, 600))[2:]:
        assert shorter == parquet[2]
    with open(npy[2], "r+b") as file:
        file.truncate(128 + 8 * 6 * 100 + 24)
    with pytest.raises(ValueError, match=r"part2.parquet had 800 rows and now has 100"):
        sources[0].map(len)
    with pytest.raises(ValueError, match=r"part2.npy ends at row 100 of 800"):
        sources[1].map(len)
    write_parquet(np.tile(X, (2, 1)), tmp_path, (0, 500, 500, 1301))
    with pytest.raises(ValueError, match=r"last file has more rows"):
        sources[0].map(len)
    write_parquet(X, tmp_path, (0, 501, 501, 1300))
    with pytest.raises(ValueError, match=r"part0.parquet had 500 rows and now has 501"):
        sources[0].map(len)


def assert_learns_alike(detector, data, X, monkeypatch, **options):
    """From blocks of 170 rows in scratch files as from an array in memory."""
    model = detector(random_state=0, max_iter=2, nu=0.2, n_atoms=8, **options)
    expected = clone(model).fit(X)
    monkeypatch.setattr(files, "BLOCK", 8 * 6 * 170)
    monkeypatch.setattr(files, "ROOM", 10**9)  # nothing fits in memory
    made = []
    monkeypatch.setattr(files, "SpilledShard", lambda *args: made.append(args) or SpilledShard(*args))
    found = model.fit(data)
    assert len(made) == 2 * 8  # for the sweeps, and for the SVM on codes made anew
    np.testing.assert_allclose(found.dictionary_, expected.dictionary_, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.dual_coef_, expected.dual_coef_, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.train_decision_, expected.train_decision_, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.score_samples(data), expected.score_samples(X), rtol=0, atol=1e-8)
    np.testing.assert_array_equal(found.predict(data), expected.predict(X))


@pytest.mark.parametrize("init", ["random", "data"])
def test_learning_from_files(data, init, X, monkeypatch):
    assert_learns_alike(DLOCSVM.paper, data, X, monkeypatch, init=init)


def test_learning_pairs_from_files(X, tmp_path, monkeypatch):
    assert_learns_alike(DPLOCSVM.paper, write_npy(X, tmp_path), X, monkeypatch)


def test_learning_in_a_feature_space_from_files(X, tmp_path, monkeypatch):
    assert_learns_alike(KDLOCSVM.paper, write_npy(X, tmp_path), X, monkeypatch, approximation=40)


@pytest.mark.parametrize("kind", ["sparse", "pairs"])
def test_shards_in_files_are_those_in_memory(kind, X, tmp_path):
    row_map = RowMap(Scaling(X.mean(axis=0), X.std(axis=0), 100.0))
    paths = write_npy(X, tmp_path)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    groups = [FileSource(paths, block_rows=333, folder=scratch, spill=spill) for spill in (True, False)]
    stored, here = (source.group(row_map, kind) for source in groups)
    assert [isinstance(shard, SpilledShard) for shard in stored.shards + here.shards] == [True] * 4 + [False] * 4
    assert len(list(scratch.iterdir())) == 4
    D = unit_rows(np.random.default_rng(1).normal(size=(9, 6)))
    np.testing.assert_array_equal(np.concatenate([shard.Y for shard in stored.shards]), row_map(X))
    if kind == "pairs":
        learner = DPL(s=2, penalty=L21(0.001), nu=0.2, max_iter=1)
        np.testing.assert_array_equal(learn(stored, D, learner).P, learn(here, D, learner).P)
    else:
        for one, two in zip(stored.sum(SweepPasses.encode, D, 2), here.sum(SweepPasses.encode, D, 2), strict=True):
            np.testing.assert_array_equal(one, two)
    shard = stored.shards[0]
    stored.close()
    here.close()
    assert list(scratch.iterdir()) == []
    with pytest.raises(ValueError, match="closed"):
        shard.sq_error()


def test_scratch_files_are_removed_when_a_file_cannot_be_read(X, tmp_path):
    X = X.copy()
    X[1200, 0] = np.nan
    paths = write_npy(X, tmp_path)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    source = FileSource(paths, block_rows=100, folder=scratch, spill=True)
    with pytest.raises(ValueError, match=r"part2.npy has nan"):
        source.group(RowMap(Scaling(None, None, 1.0)), "sparse")
    assert list(scratch.iterdir()) == []


def test_more_rows_than_memory_or_disk_hold(tmp_path):
    with open(tmp_path / "x", "wb") as file:
        file.truncate(2**43)  # all holes
    X = np.memmap(tmp_path / "x", np.float64, "r", shape=(2**30, 1024))
    assert too_large(X.shape)
    assert usable_memory() < 2**43
    source = FileSource(X, folder=tmp_path)
    assert max(source.sizes) * 1024 * 8 <= 2**25
    with pytest.raises(OSError, match=r"at least 1.76e\+04 GB, and .* Set TMPDIR"):
        source.group(RowMap(Scaling(None, None, 1.0)), "sparse")


@pytest.mark.parametrize("settings", [{"n_folds": 2}, {"kernel": "precomputed"}])
def test_a_map_beyond_memory_is_refused_before_the_fit(X, tmp_path, monkeypatch, settings):
    np.save(tmp_path / "rows.npy", X)
    monkeypatch.setattr("oddatom.estimators._routing.too_large", lambda shape: True)
    with pytest.raises(ValueError, match="on a cluster, in files or on a device"):
        KDLOCSVM.paper(**settings).fit(np.load(tmp_path / "rows.npy", mmap_mode="r"))


def test_a_selection_that_ends_in_an_empty_block(tmp_path):
    """The statistics of the rows left, whatever the last block has."""
    X = np.random.default_rng(0).normal(size=(90, 5))
    data, keep = write_npy(X, tmp_path), np.arange(90) < 55
    here, there = ArraySource(X), FileSource(data, block_rows=20)
    assert there.select(keep).sizes == [20, 20, 15, 0, 0]
    model = DLOCSVM(trim=0.0, n_nonzero=2, beta=0.01, random_state=0).fit(X)
    one, two = (source.select(keep).code_statistics(model) for source in (here, there))
    for mine, theirs in zip(one[:3], two[:3], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    twice = np.flatnonzero(keep)[::2]
    again = there.select(keep).select(np.arange(55) % 2 == 0)
    np.testing.assert_array_equal(np.concatenate(again.map(np.copy)), X[twice])
