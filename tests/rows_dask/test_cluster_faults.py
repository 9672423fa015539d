"""Fits through the loss of workers: the same bits, or an end in time with the last whole model."""

import contextlib
import os
import signal
import threading
from dataclasses import replace
from time import monotonic

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask
import dask.array as da
from clusters import (
    DICTIONARY,
    PAIRS,
    assert_close,
    assert_same_bits,
    fit,
    fit_here,
    fit_there,
    loaders,
    ready,
    rows,
    running,
)
from distributed import Event
from distributed.core import Status

from oddatom.exceptions import WorkerLostError
from oddatom.learners.alternate import learn
from oddatom.passes import SweepPasses
from oddatom.rows import blocks as passes
from oddatom.rows.dask import ClusterGroup, ClusterSource
from oddatom.scaling.linear import Scaling

Y, D = rows()
SIZES = [100, 0, 150, 50, 300]
UNITS = 3


class Struck(ClusterGroup):
    """A group whose workers are struck by signals in given rounds, before or after these are sent out."""

    def __init__(self, *args, strikes=(), **options):
        super().__init__(*args, **options)
        self.strikes = dict(strikes)  # round → (signal, number of the unit whose worker is struck, after sending)
        self.struck, self.n_rounds = [], 0
        self.pids = self._wire.client.run(os.getpid)
        collect = self._wire.collect

        def struck_collect(calls):
            self.strike(True)
            return collect(calls)

        self._wire.collect = struck_collect

    def strike(self, sent):
        number, unit, after = self.strikes.get(self.n_rounds, (None, None, None))
        if number is not None and after == sent:
            del self.strikes[self.n_rounds]
            pid = self.pids[self._placing._where[unit]]
            os.kill(pid, number)
            self.struck.append(pid)

    def _ask(self, method, args, pieces):
        self.n_rounds += 1
        self.strike(False)
        return super()._ask(method, args, pieces)


@pytest.fixture(scope="module")
def undisturbed(client):
    return fit_there(client, Y, SIZES, D, DICTIONARY, n_units=UNITS)


def struck_fit(client, strikes, learner=DICTIONARY, **options):
    ready(client)
    group = Struck(client, loaders(Y, SIZES), SIZES, n_units=UNITS, strikes=strikes, **options)
    got = fit(group, D, learner)
    assert not group.strikes  # all of them happened
    assert len(group.struck) == len(strikes)
    return got


N_ROUNDS = 120  # of a fit; see test_rounds


def test_rounds(client):
    group = Struck(client, loaders(Y, SIZES), SIZES, n_units=UNITS)
    fit(group, D, DICTIONARY)
    assert N_ROUNDS <= group.n_rounds <= N_ROUNDS + 20


@pytest.mark.parametrize("k", range(2 * UNITS))
def test_a_worker_killed_in_any_round(client, undisturbed, k):
    """Each unit's worker, before and after its question is sent, in rounds from the first to the last."""
    when, unit, after = 1 + k * (N_ROUNDS - 2) // (2 * UNITS - 1), k % UNITS, k % 2 == 0
    got = struck_fit(client, {when: (signal.SIGKILL, unit, after)})
    assert_same_bits(got, undisturbed)


def test_three_workers_killed_one_after_the_other(client, undisturbed):
    got = struck_fit(client, {k: (signal.SIGKILL, u, True) for k, u in ((20, 0), (21, 1), (60, 2))}, timeout=30.0)
    assert_same_bits(got, undisturbed)


def test_a_worker_killed_among_pairs(client):
    expected = fit_there(client, Y, SIZES, D, PAIRS, n_units=UNITS, shard="pairs")
    got = struck_fit(client, {90: (signal.SIGKILL, 1, True)}, PAIRS, shard="pairs")
    assert_same_bits(got, expected)
    assert_close(got, fit_here(Y, D, PAIRS, "pairs"))


def test_a_stopped_worker_is_done_without_and_does_not_disturb(client, undisturbed):
    ready(client)
    group = Struck(
        client, loaders(Y, SIZES), SIZES, n_units=UNITS, timeout=1.5, strikes={40: (signal.SIGSTOP, 1, False)}
    )
    resumed = []
    restore = group._placing.restore

    def and_resume(*args):
        """Let the stopped worker go on, with the question it was asked, when its unit is elsewhere."""
        out = restore(*args)
        os.kill(group.struck[0], signal.SIGCONT)
        resumed.append(True)
        return out

    group._placing.restore = and_resume
    assert_same_bits(fit(group, D, DICTIONARY), undisturbed)
    assert resumed == [True]


def test_a_worker_that_computes_for_long_is_not_lost(client):
    """Far longer than the limit; it says that it is there all the while."""
    group = ClusterGroup(client, loaders(Y, SIZES), SIZES, n_units=2, timeout=1.0)
    before = dict(group._placing._where)
    release = Event("work", client=client)
    timer = threading.Timer(2.5, release.set)

    def wait_in_a_method(dask_worker):
        from oddatom.rows.array import LocalShard

        def sq_error(self):
            Event("work").wait()
            return (1.0,)

        LocalShard.usual, LocalShard.sq_error = LocalShard.sq_error, sq_error

    def undo(dask_worker):
        from oddatom.rows.array import LocalShard

        LocalShard.sq_error = LocalShard.usual
        del LocalShard.usual

    client.run(wait_in_a_method)
    try:
        timer.start()
        started = monotonic()
        assert group.sum(SweepPasses.sq_error) == (2.0,)
        assert monotonic() - started > 2.0
        assert group._placing._where == before
    finally:
        client.run(undo)


def test_by_way_of_the_scheduler(client, undisturbed):
    """Where workers cannot be reached from here, messages go by the scheduler."""
    group = Struck(client, loaders(Y, SIZES), SIZES, n_units=UNITS, strikes={50: (signal.SIGKILL, 1, False)})
    group._wire._direct = False
    assert_same_bits(fit(group, D, DICTIONARY), undisturbed)
    assert not group.strikes


def test_a_worker_killed_while_it_reads(client):
    ready(client)
    begun, go_on = Event("begun", client=client), Event("go on", client=client)

    def slowly(rows):
        Event("begun").set()
        Event("go on").wait()
        return rows

    partitions = loaders(Y, [300, 300])
    partitions[1] = dask.delayed(slowly)(partitions[1])

    def kill_the_reader():
        begun.wait()
        processing = client.processing()
        os.kill(pids[next(address for address, tasks in processing.items() if tasks)], signal.SIGKILL)
        go_on.set()

    pids = client.run(os.getpid)
    killer = threading.Thread(target=kill_the_reader)
    killer.start()
    group = ClusterGroup(client, partitions, [300, 300], n_units=2)
    killer.join()
    assert_close(fit(group, D, DICTIONARY), fit_here(Y, D, DICTIONARY))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_passes_over_the_rows(client, number):
    """A worker that holds rows, and may be asked for them, goes in the middle of the passes before a fit."""
    ready(client)
    pids = client.run(os.getpid)
    source = ClusterSource(da.from_array(Y, (50, 8)), timeout=1.5)
    expected = source.map(passes.column_sums, np.ones(8))
    holders = {address for keys in client.who_has(source._parts).values() for address in keys}
    struck = pids[sorted(holders)[0]]
    os.kill(struck, number)
    try:
        np.testing.assert_array_equal(source.map(passes.column_sums, np.ones(8)), expected)
        np.testing.assert_array_equal(source.take(np.arange(600)), Y)
        group = source.group(Scaling(None, None, 1.0).apply, "sparse")
        assert_close(fit(group, D, DICTIONARY), fit_here(Y, D, DICTIONARY))
    finally:
        if number == signal.SIGSTOP:
            with contextlib.suppress(ProcessLookupError):  # its nanny may have been faster
                os.kill(struck, signal.SIGCONT)


# Rows that cannot be had again


def from_file(path):
    return dask.delayed(np.load)(str(path))


@pytest.fixture
def files(tmp_path):
    paths = []
    for k, lo in enumerate(range(0, 600, 150)):
        paths.append(tmp_path / f"{k}.npy")
        np.save(paths[-1], Y[lo : lo + 150])
    return paths


def test_a_partition_that_cannot_be_read(client, files):
    os.remove(files[2])
    with pytest.raises(RuntimeError, match=r"Partition 2 \(of 0–3\) cannot be read: FileNotFoundError: .*2\.npy"):
        ClusterGroup(client, [from_file(path) for path in files], [150] * 4)


def test_a_partition_with_other_rows_than_were_counted(client, files):
    with pytest.raises(ValueError, match="partition 3 had 149 rows and now has 150"):
        ClusterGroup(client, [from_file(path) for path in files], [150, 150, 150, 149])


@pytest.mark.parametrize("how", ["removed", "shorter", "other numbers"])
def test_a_partition_that_cannot_be_read_again(client, files, how):
    ready(client)
    group = Struck(client, [from_file(path) for path in files], [150] * 4, n_units=2, timeout=20.0)
    group.strikes = {60: (signal.SIGKILL, 0, False)}
    if how == "removed":
        os.remove(files[1])
        message = (
            r"could not be had again in 4 attempts: partitions 0–1\. The last attempt: .*FileNotFoundError: .*1\.npy"
        )
    else:
        np.save(files[1], Y[:140] if how == "shorter" else Y[:150])
        message = "have changed since they were first read: partitions 0–1; " + (
            "partition 1 had 150 rows and now has 140" if how == "shorter" else "their numbers are not those"
        )
    with pytest.raises(WorkerLostError, match=message) as caught:
        learn(group, D, DICTIONARY)
    assert caught.value.partitions == (0, 1)
    model = caught.value.model
    assert 0 < model.n_iter < DICTIONARY.max_iter
    assert model.history["F"].size == model.n_iter + 1


def test_the_model_of_a_fit_that_ends_is_whole(client, undisturbed):
    """It is what a fit of fewer iterations gives."""
    whole = fit_there(client, Y, SIZES, D, replace(DICTIONARY, max_iter=1), n_units=UNITS)[0]
    ready(client)
    group = ClusterGroup(client, loaders(Y, SIZES), SIZES, n_units=UNITS)
    ask = group._ask

    def end(method, args, pieces):
        if group.meter.rounds > 60:
            raise WorkerLostError("now")
        return ask(method, args, pieces)

    group._ask = end
    with pytest.raises(WorkerLostError, match="now") as caught:
        learn(group, D, DICTIONARY)
    assert caught.value.model.n_iter == 1
    np.testing.assert_array_equal(caught.value.model.D, whole.D)
    np.testing.assert_array_equal(caught.value.model.svm.w, whole.svm.w)
    np.testing.assert_array_equal(caught.value.model.norms, whole.norms)
    np.testing.assert_array_equal(caught.value.model.active, whole.active)


@pytest.mark.parametrize("how", ["stopped", "killed", "all closed"])
def test_no_worker_left(how):
    """The fit ends in time, with its model."""
    with running(2) as client:
        group = Struck(client, loaders(Y, SIZES), SIZES, timeout=0.8)
        number = signal.SIGSTOP if how == "stopped" else signal.SIGKILL
        if how == "all closed":
            strike = group.strike
            group.strike = lambda sent: client.cluster.close() if group.n_rounds == 60 and not sent else strike(sent)
        else:
            for nanny in client.cluster.workers.values():
                nanny.status = Status.closing_gracefully  # it starts no other worker
            group.strikes = {60: (number, 0, True), 61: (number, 1, False)}
        started = monotonic()
        try:
            message = "client was closed" if how == "all closed" else r"for 0\.8 s, the limit of a wait"
            with pytest.raises(WorkerLostError, match=message) as caught:
                learn(group, D, DICTIONARY)
            assert monotonic() - started < 20
            assert caught.value.model.n_iter > 0
        finally:
            for pid in group.struck:
                if how == "stopped":
                    os.kill(pid, signal.SIGKILL)
