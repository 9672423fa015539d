"""A fit on a cluster gives what one shard gives, however the rows are cut."""

import pickle
from dataclasses import replace
from time import monotonic

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("distributed")

import dask
from clusters import (
    DICTIONARY,
    PAIRS,
    assert_close,
    assert_same_bits,
    cut_rows,
    fit_here,
    fit_there,
    loaders,
    rows,
)  # fmt: skip

from oddatom.exceptions import WorkerLostError
from oddatom.passes import MarginPasses, PlanePasses, ShardGroup, SweepPasses
from oddatom.passes.declared import PASSES
from oddatom.rows.array import LocalShard, PairShard
from oddatom.rows.dask import ClusterGroup, holder
from oddatom.rows.dask.holder import make_shard
from oddatom.rows.dask.messages import pack, unpack
from oddatom.rows.dask.units import cut, listed
from oddatom.scaling.linear import Scaling

Y, D = rows()
SIZES = {
    "even": [200, 200, 200],
    "uneven": [1, 3, 450, 146],
    "empty": [0, 300, 0, 0, 299, 1, 0],
    "one": [600],
    "many": [40] * 15,
}


@pytest.fixture(scope="module")
def one():
    return fit_here(Y, D, DICTIONARY)


@pytest.mark.parametrize("name", SIZES)
def test_dictionaries_do_not_see_the_partitions(client, one, name):
    assert 0 < one[0].active.sum() < len(D)  # the penalty has trimmed some atoms
    assert not one[3].degenerate
    assert_close(fit_there(client, Y, SIZES[name], D, DICTIONARY), one)


@pytest.mark.parametrize("n_units", [1, 2, 3])
def test_dictionaries_do_not_see_the_units(client, one, n_units):
    first, second = (fit_there(client, Y, SIZES["many"], D, DICTIONARY, n_units=n_units) for _ in range(2))
    assert_close(first, one)
    assert_same_bits(first, second)


@pytest.mark.parametrize("name", ["uneven", "empty"])
def test_pairs_do_not_see_the_partitions(client, name):
    expected = fit_here(Y, D, PAIRS, "pairs")
    assert expected[0].active.any()
    assert_close(fit_there(client, Y, SIZES[name], D, PAIRS, shard="pairs"), expected)


def test_more_rows_than_are_solved_at_once(client):
    tall, atoms = rows(2500, 6, 8)
    learner = replace(DICTIONARY, max_iter=1)
    assert_close(fit_there(client, tall, [700, 0, 1800], atoms, learner), fit_here(tall, atoms, learner))


def test_libsvm_gets_its_rows_in_order(client):
    learner = replace(DICTIONARY, svm_solver="libsvm", max_iter=1, nu=0.1)
    assert_close(fit_there(client, Y, SIZES["uneven"], D, learner), fit_here(Y, D, learner))


def test_rows_are_mapped_where_they_are(client, one):
    scaling = Scaling(np.arange(8.0), np.arange(1.0, 9.0), 3.0)
    raw = scaling.undo(Y)
    got = fit_there(client, raw, SIZES["many"], D, DICTIONARY, row_map=scaling.apply)
    assert_close(got, one, 1e-7)


def test_partitions_may_be_futures_functions_and_frames(client, one):
    pd = pytest.importorskip("pandas")
    first, second, third = cut_rows(Y, SIZES["even"])
    partitions = [client.submit(pd.DataFrame, first), lambda: second, dask.delayed(third)]
    group = ClusterGroup(client, partitions, SIZES["even"])
    counts, _ = group.sum(SweepPasses.encode, D, 3)
    assert_array_equal(counts, one[0].counts)


def test_what_is_counted(client):
    cluster, local = ClusterGroup(client, loaders(Y, [300, 300]), [300, 300]), ShardGroup([LocalShard(Y)])
    for group in (cluster, local):
        group.sum(SweepPasses.encode, D, 3)
        group.map(SweepPasses.start_sweeps, D)
        group.sum(SweepPasses.moments, 1, D[1], 0.0)
    assert cluster.meter.rounds == local.meter.rounds == 3
    # Both workers get the dictionary twice, and an atom; they answer with counts, and moments as triangles.
    asked = 2 * (2 * D.nbytes + D[1].nbytes)
    assert asked < cluster.meter.sent < asked + 6 * 300
    answered = 2 * 8 * (8 * 9 // 2 + 8)
    assert answered < cluster.meter.received < answered + 6 * 300
    # One shard in this process: the same, less what is pickled around numbers.
    assert local.meter.sent == 2 * D.nbytes + D[1].nbytes + 8 + 16
    assert local.meter.received == D.shape[0] * 8 + 8 + 8 * (64 + 8 + 1)
    assert cluster.meter.seconds["coding"] > 0 < cluster.meter.seconds["atoms"]
    assert cluster.meter.seconds["svm"] == 0


def test_history_of_a_fit(client):
    model = fit_there(client, Y, SIZES["even"], D, DICTIONARY)[0]
    history = model.history
    for name in ("rounds", "megabytes", "seconds_coding", "seconds_atoms", "seconds_svm"):
        assert history[name].shape == (4,)
    assert np.all(history["rounds"] > 10)
    assert np.all(history["megabytes"] > 0)
    assert np.all(history["seconds_coding"][1:] == 0) and history["seconds_coding"][0] > 0  # noqa: PT018
    parts = history["seconds_atoms"] + history["seconds_svm"] + history["seconds_coding"]
    assert np.all(parts <= history["seconds"])


def test_errors_of_a_shard_are_raised_as_they_are(client):
    group = ClusterGroup(client, loaders(Y, [600]), [600])
    with pytest.raises(KeyError, match="nothing"):
        group.map(SweepPasses.encode, D, 3, "nothing")
    group.map(SweepPasses.encode, D, 3)  # and the group goes on
    group.map(SweepPasses.svm_open, np.ones(len(D), bool))
    with pytest.raises(ValueError, match="one entry per column, 16"):
        group.map(MarginPasses.svm_margins, np.ones(3))
    with pytest.raises(ValueError, match=r"one piece per shard, 1\. Got 2"):
        group.scatter(PlanePasses.svm_set_all, [1, 2])


def test_no_rows_at_all(client):
    with pytest.raises(ValueError, match="The 2 partitions hold no rows"):
        ClusterGroup(client, loaders(Y[:0], [0, 0]), [0, 0])


def test_closed_groups_free_their_rows(client):
    group = ClusterGroup(client, loaders(Y, SIZES["even"]), SIZES["even"])
    keys = {holder.future.key for holder in group._placing._holders.values()}

    def held(dask_worker):
        return len(keys & set(dask_worker.state.actors))

    assert sum(client.run(held).values()) == len(keys) == 3
    group.close()
    limit = monotonic() + 60
    while any(client.run(held).values()):  # until the scheduler has told the workers
        assert monotonic() < limit


@pytest.mark.parametrize("sizes", [*SIZES.values(), [5, 0, 0, 5], [1, 1000, 1], [1000, 1, 1, 1], [1, 1, 1, 1000]])
@pytest.mark.parametrize("n_units", [1, 2, 3, 5, 100])
def test_units(sizes, n_units):
    units = cut(sizes, n_units)
    filled = [k for k, size in enumerate(sizes) if size]
    assert [number for unit in units for number in unit.partitions] == filled
    assert [size for unit in units for size in unit.sizes] == [sizes[k] for k in filled]
    assert len(units) == min(n_units, len(filled))
    assert max(sum(unit.sizes) for unit in units) <= sum(sizes) / len(units) + max(sizes)


def test_packing():
    rng = np.random.default_rng(0)
    shard = PairShard(Y)
    calls = [
        ("encode", D, 3), ("start_moments",), ("start_sweeps", D), ("moments", 2, D[2], 0.1), ("svm_open", D[:, 0] < 9),
        ("commit_and_moments", (1, D[1], D[2], 0.5, 0.1), (2, D[2], 0.2)), ("svm_margins", D[:, 0]),
        ("svm_smooth", 0.01, 1.0, 0.0), ("svm_histogram", 0, 0, 53, 11), ("pair_open", 2, D[2], D[2], 0.1, 0.1),
        ("pair_gram",), ("pair_basis", rng.standard_normal((8, 3)), 0.1), ("pair_basis_gram",), ("sq_error",),
        ("hinge_start", D[:, 0], 0.1, 0.0, 0.2), ("hinge_zero_moments", 1, D[1]), ("hinge_try", 1, D[1], D[2], 1.1),
        ("hinge_commit_and_moments", (1, D[1], D[2], 1.1), (2, D[2], 0.1, 0.0)),
    ]  # fmt: skip
    for method, *args in calls:
        answer = getattr(shard, method)(*args)
        if not isinstance(answer, tuple):
            assert pack(method, answer) is answer is unpack(method, answer)
            continue
        sent = pack(method, answer)
        for k, (part, there, back) in enumerate(zip(answer, sent, unpack(method, sent), strict=True)):
            if method == "svm_smooth":
                part, back = np.tril(part), np.tril(back)
            assert_array_equal(back, part)
            if k in PASSES[method].symmetric:
                n = len(part)
                assert there.size == n * (n + 1) // 2
            if k in PASSES[method].counts:
                assert there.itemsize <= 2
                assert np.asarray(back).dtype == np.asarray(part).dtype
    packed = {name for name, declared in PASSES.items() if declared.symmetric or declared.counts}
    assert packed <= {method for method, *_ in calls}


def test_numbers_of_partitions():
    assert listed([3]) == "partition 3"
    assert listed([7, 1, 2, 3, 9]) == "partitions 1–3, 7, 9"


def test_lost_workers_error_keeps_its_model():
    error = WorkerLostError("gone", (1, 2))
    error.model = {"D": 1}
    twin = pickle.loads(pickle.dumps(error))
    assert (str(twin), twin.partitions, twin.model) == ("gone", (1, 2), {"D": 1})


def test_shards_by_kind_and_device(monkeypatch):
    assert type(make_shard(Y, "sparse", "cpu")) is LocalShard
    assert type(make_shard(Y, "pairs", "cpu")) is PairShard
    monkeypatch.setattr(holder, "_has_cuda", lambda: False)
    assert type(make_shard(Y, "pairs", "auto")) is PairShard
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="finds no CUDA device here"):
            make_shard(Y, "sparse", "cuda:0")
    from oddatom.rows.device import tensor_source

    assert set(tensor_source.SHARDS) == set(holder.SHARDS)
