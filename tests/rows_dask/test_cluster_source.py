"""All five detectors fitted to rows on a cluster, and scores of them that are computed when they are asked for."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

pytest.importorskip("distributed")
pytest.importorskip("pandas")

import dask
import dask.array as da
import dask.dataframe as dd
import pandas as pd

from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM, OddAtomDetector
from oddatom.rows import blocks as passes
from oddatom.rows.dask import ClusterSource
from oddatom.rows.dask import cluster_source as source_module
from oddatom.rows.dask.file_partitions import file_partitions
from oddatom.rows.dask.lazy import for_workers, lazy_scores
from oddatom.scaling.array_columns import fit_scaling

COMMON = {"n_atoms": 12, "nu": 0.2, "beta": 0.01, "max_iter": 2, "random_state": 0}
DETECTORS = {
    "dl": DLOCSVM.paper(**COMMON),
    "dl from data": DLOCSVM.paper(**COMMON, init="data", scoring="description_length"),
    "dpl": DPLOCSVM.paper(**COMMON, representation="omp"),
    "kdl": KDLOCSVM.paper(**COMMON, approximation=40),
    "kdpl": KDPLOCSVM.paper(**COMMON, approximation=40),
    "untuned": OddAtomDetector(random_state=0, rows_per_member=300),
}
CHUNKS = {"even": ((140, 140, 140), (6,)), "uneven, columns too": ((1, 0, 400, 0, 19), (2, 4))}
ARRAYS = ("components_", "coef_", "train_scores_", "dual_coef_", "train_decision_", "train_coef_")


def make_rows(seed=0, N=420, m=6):
    rng = np.random.default_rng(seed)
    D = rng.uniform(size=(9, m))
    X = np.array([rng.uniform(0.5, 1.5, 2) @ D[rng.choice(9, 2, replace=False)] for _ in range(N)])
    return X + 0.05 * rng.uniform(size=X.shape)


X = make_rows()
NAMES = list("abcdef")


def assert_same_detector(got, expected):
    for name in ARRAYS:
        if hasattr(expected, name):
            assert_allclose(getattr(got, name), getattr(expected, name), rtol=1e-8, atol=1e-8, err_msg=name)
    assert got.offset_ == pytest.approx(expected.offset_, rel=1e-7)
    scores = expected.score_samples(X)
    assert_allclose(got.score_samples(X), scores, rtol=0, atol=1e-8 * np.abs(scores).max())


@pytest.fixture(scope="module")
def here():
    return {name: clone(detector).fit(X) for name, detector in DETECTORS.items()}


@pytest.mark.parametrize(("name", "chunks"), [("dl", "even"), *((name, "uneven, columns too") for name in DETECTORS)])
def test_arrays(client, here, name, chunks):
    chunks = CHUNKS[chunks]
    rows = da.from_array(X, chunks)
    got = clone(DETECTORS[name]).fit(rows)
    assert_same_detector(got, here[name])
    lazy = got.score_samples(rows)
    assert isinstance(lazy, da.Array)
    assert lazy.chunks == (chunks[0],)
    assert_allclose(lazy.compute(), got.score_samples(X), rtol=1e-10)
    assert_array_equal(got.predict(rows).compute(), got.predict(X))
    assert_allclose(got.decision_function(rows).compute(), got.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("name", ["dl", "untuned"])
def test_frames(client, here, name):
    frame = pd.DataFrame(X, columns=NAMES, index=np.arange(1000, 1420))
    rows = dd.from_pandas(frame, npartitions=4)
    got = clone(DETECTORS[name]).fit(rows)
    assert_array_equal(got.feature_names_in_, NAMES)
    expected = clone(DETECTORS[name]).fit(frame)
    for attribute in ARRAYS:
        if hasattr(expected, attribute):
            assert_allclose(getattr(got, attribute), getattr(expected, attribute), rtol=1e-8, atol=1e-8)
    scores = got.score_samples(rows)
    assert scores.divisions == rows.divisions
    computed = scores.compute()
    assert_array_equal(computed.index, frame.index)
    assert_allclose(computed, expected.score_samples(frame), rtol=1e-8, atol=1e-10)
    labels = got.predict(rows)
    assert labels.divisions == rows.divisions
    assert_array_equal(labels.compute(), expected.predict(frame))


def test_parquet_files(client, here, tmp_path):
    ends = [0, 100, 100, 250, 420]
    paths = []
    for k, (lo, hi) in enumerate(pairwise(ends)):
        paths.append(tmp_path / f"{k}.parquet")
        frame = pd.DataFrame(X[lo:hi], columns=NAMES)
        (frame if k % 2 else frame[NAMES[::-1]]).to_parquet(paths[-1], row_group_size=60)  # columns in another order
    paths = [paths[k] for k in (1, 0, 2, 3)]  # the first has no rows, and the order of columns is its order
    got = clone(DETECTORS["dl"]).fit(paths)
    assert_array_equal(got.feature_names_in_, NAMES)
    for name in ("components_", "coef_", "train_scores_"):
        assert_allclose(getattr(got, name), getattr(here["dl"], name), rtol=1e-8, atol=1e-8)
    assert_allclose(got.score_samples(paths), here["dl"].score_samples(X), rtol=1e-8, atol=1e-10)
    loaders, sizes, m, names = file_partitions(paths, rows=100)
    assert ([size for size in sizes if size], m, names) == ([100, 120, 30, 120, 50], 6, NAMES)
    assert_array_equal(np.concatenate([load() for load in loaders]), X)


def test_npy_files(client, tmp_path):
    for k, part in enumerate((X[:200], X[200:])):
        np.save(tmp_path / f"{k}.npy", part)
    paths = [tmp_path / "0.npy", tmp_path / "1.npy"]
    source = ClusterSource(paths)
    assert_array_equal(source.take(np.arange(420)), X)
    loaders, sizes, m, names = file_partitions(paths, rows=150)
    assert (sizes, m, names) == ([150, 50, 150, 70], 6, None)
    assert_array_equal(np.concatenate([load() for load in loaders]), X)


def test_frames_of_any_numbers(client):
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [True, False, True], "c": np.array([1, 2, 3], np.float32)})
    frame["d"] = pd.array([1, None, 3], dtype="Int64")
    source = ClusterSource(dd.from_pandas(frame, npartitions=2))
    assert source.feature_names == list("abcd")
    assert_array_equal(source.take(np.array([2, 1])), [[3, 1, 3, 3], [2, 0, 2, np.nan]])
    with pytest.raises(ValueError, match=r"NaN or infinity in column 'd'\."):
        DLOCSVM.paper().fit(dd.from_pandas(frame, npartitions=2))


def test_sizes_that_are_not_known(client):
    rows = da.from_array(X, (100, 6))
    source = ClusterSource(rows[rows[:, 0] > np.median(X[:, 0])])
    kept = X[X[:, 0] > np.median(X[:, 0])]
    assert source.shape == kept.shape
    assert_array_equal(source.take(np.arange(len(kept))), kept)
    got = clone(DETECTORS["dl"]).fit(kept)
    lazy = got.score_samples(rows[rows[:, 0] > np.median(X[:, 0])])
    assert_allclose(lazy.compute(), got.score_samples(kept), rtol=1e-10)


def test_map_and_pieces(client):
    source = ClusterSource(da.from_array(X, ((100, 0, 320), 6)))
    assert source.sizes == [100, 0, 320]
    sums = source.map(passes.column_sums, np.ones(6))
    assert_allclose(sum(sums), X.sum(axis=0))
    taken = source.map(passes.take, pieces=[np.array([3]), np.array([], int), np.array([0, 319])])
    assert_array_equal(np.concatenate(taken), X[[3, 100, 419]])
    wanted, found = fit_scaling(X, "standard")[0], source.fit_scaling("standard")
    for one, other in zip(wanted, found, strict=True):
        assert_allclose(other, one, rtol=1e-12)
    source.close()


def test_nothing_is_computed_before_it_is_asked_for(client, here):
    def fail(block):
        raise AssertionError("computed")

    rows = da.from_array(X, (100, 6)).map_blocks(fail, dtype=float, meta=np.empty((0, 0)))
    scores = here["dl"].score_samples(rows)
    with pytest.raises(AssertionError, match="computed"):
        scores.compute()


def test_what_travels_to_workers(here):
    for name, detector in here.items():
        sent = for_workers(detector)
        assert sent.n_jobs == 1
        assert not hasattr(sent, "train_scores_")
        assert detector.train_scores_.size == 420
        assert_allclose(pickle.loads(pickle.dumps(sent))._block_scores(X), detector.score_samples(X), err_msg=name)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (da.zeros((10,)), "two dimensions, rows × features. Got 1 instead"),
        (da.zeros((10, 2), dtype=complex), "array of numbers. Got dtype complex128"),
        (
            dd.from_pandas(pd.DataFrame({"a": [1.0], "b": ["x"]}), npartitions=1),
            "Column 'b' of the frame is .*not a num",
        ),
    ],
)
def test_refused(client, rows, message):
    with pytest.raises(ValueError, match=message):
        DLOCSVM.paper().fit(rows)


def test_refused_by_scores(client, here):
    with pytest.raises(ValueError, match="X has 5 features, but DLOCSVM is expecting 6"):
        here["dl"].score_samples(da.zeros((10, 5)))
    with pytest.raises(ValueError, match="two dimensions"):
        lazy_scores(here["dl"], da.zeros(10))
    frame = pd.DataFrame(X, columns=NAMES)
    got = clone(DETECTORS["dl"]).fit(frame)
    with pytest.raises(ValueError, match=r"in their order; 'b' is not in its place\. Pass 'a', 'b', 'c'"):
        got.score_samples(dd.from_pandas(frame[["b", "a", "c", "d", "e", "f"]], npartitions=1))
    rows = X.copy()
    rows[7, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        here["dl"].score_samples(da.from_array(rows)).compute()


def test_a_partition_that_cannot_be_read(client, tmp_path):
    np.save(tmp_path / "0.npy", X)
    rows = da.from_delayed(dask.delayed(np.load)(str(tmp_path / "1.npy")), (420, 6), float)
    both = da.concatenate([da.from_array(X), rows])
    with pytest.raises(RuntimeError, match=r"Partition 1 \(of 0–1\) cannot be read: FileNotFoundError: .*1\.npy"):
        DLOCSVM.paper().fit(both)


def test_no_client(monkeypatch):
    def none():
        raise ValueError("No global client found")

    monkeypatch.setattr(source_module, "get_client", none)
    with pytest.raises(ValueError, match=r"there is no client of one\. Start one: .*client = Client\(\)"):
        DLOCSVM.paper().fit(da.ones((10, 3)))


def test_a_fit_in_a_task_does_not_wait_for_itself(client, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 5)) @ rng.uniform(size=(5, 5))
    np.save(tmp_path / "rows.npy", X)

    def from_file(path):
        import numpy as np

        from oddatom import DLOCSVM

        return DLOCSVM.paper(n_atoms=8, random_state=0).fit(np.load(path)).score_samples(path)

    def from_array(rows):
        from oddatom import DLOCSVM

        return DLOCSVM.paper(n_atoms=8, random_state=0).fit(rows).score_samples(X)

    wanted = from_array(X)
    found = client.submit(from_file, str(tmp_path / "rows.npy"), pure=False).result(timeout=60)
    np.testing.assert_allclose(found, wanted, atol=1e-8 * np.abs(wanted).max())
    rows = dask.array.from_array(X, chunks=(50, 5))
    found = client.submit(from_array, rows, pure=False).result(timeout=60)
    np.testing.assert_allclose(found, wanted, atol=1e-8 * np.abs(wanted).max())


def test_other_collections_and_devices_are_refused_at_once(client):
    rows = dask.array.ones((20, 3), chunks=(10, 3))
    frame = dask.dataframe.from_dask_array(rows, columns=["a", "b", "c"])
    for other, name in ((frame["a"], "Series"), (dask.delayed(np.ones)((20, 3)), "Delayed")):
        with pytest.raises(TypeError, match=f"arrays and frames. Got a {name} instead"):
            DLOCSVM.paper().fit(other)
    with pytest.raises(ValueError, match="Got 'gpu' instead"):
        DLOCSVM.paper(device="gpu").fit(rows)
