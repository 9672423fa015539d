"""Rounds, bytes and seconds of talking to shards."""

import numpy as np
import pytest
import scipy.sparse

from oddatom.arrays.block import Block
from oddatom.history import ROUND_COLUMNS
from oddatom.learners.alternate import learn
from oddatom.learners.dl import DL
from oddatom.passes.declared import PASSES, PHASES, shard_pass
from oddatom.passes.group import ShardGroup
from oddatom.passes.meter import Meter, n_bytes
from oddatom.penalties import L21
from oddatom.rows.array import LocalShard, PairShard


def test_bytes():
    sparse = scipy.sparse.csr_array(np.eye(4))
    assert n_bytes(np.zeros((3, 4))) == 96
    assert n_bytes((1, 2.0, np.float64(3), np.int32(4), True)) == 40
    assert n_bytes([np.zeros(2, np.int32), (np.zeros(1), [b"abc", None, "de"])]) == 8 + 8 + 3 + 2
    assert n_bytes(sparse) == sparse.data.nbytes + sparse.indices.nbytes + sparse.indptr.nbytes
    assert n_bytes(Block.dense(np.zeros((5, 2)))) >= 80
    assert n_bytes(None) == 0
    assert n_bytes(7) == 8


def test_phases():
    wanted = {
        "coding": ("encode", "start_sweeps", "start_pairs", "start_moments", "analyse"),
        "atoms": ("moments", "commit", "commit_and_moments", "rows", "pair_open", "pair_commit"),
        "svm": ("svm_open", "svm_smooth", "svm_set_band"),
        "other": ("sq_error", "code_sums", "codes", "absolute_sums"),
    }
    for phase, methods in wanted.items():
        for method in methods:
            assert hasattr(PairShard, method)
            assert PASSES[method].phase == phase
    assert tuple(wanted) == PHASES


class Answers:
    @shard_pass("svm")
    def answers_ask(self, w, k):
        return np.zeros(3), 1.0

    @shard_pass("svm", writes="codes")
    def answers_keep(self, piece, k):
        return None


def test_a_round_is_counted_once():
    group = ShardGroup([Answers(), Answers()])
    group.sum(Answers.answers_ask, np.zeros(5), 2)
    assert (group.meter.rounds, group.meter.sent, group.meter.received) == (1, 2 * 48, 2 * 32)
    group.scatter(Answers.answers_keep, [np.zeros(1), np.zeros(2)], 3)
    assert (group.meter.rounds, group.meter.sent, group.meter.received) == (2, 96 + 24 + 16, 64)
    group.map(Answers.answers_ask, np.zeros(5), 2)
    assert group.meter.rounds == 3
    assert group.meter.seconds["svm"] > 0
    assert group.meter.seconds["atoms"] == group.meter.seconds["coding"] == group.meter.seconds["other"] == 0


def test_what_has_come_since():
    meter = Meter()
    meter.add("coding", 10, 20, 1.0)
    before = meter.copy()
    meter.add("atoms", 1_000_000, 500_000, 2.0)
    meter.add("svm", 0, 0, 0.25)
    found = meter.since(before)
    assert tuple(found) == ROUND_COLUMNS
    assert found == pytest.approx(
        {"rounds": 2, "megabytes": 1.5, "seconds_coding": 0, "seconds_atoms": 2, "seconds_svm": 0.25}
    )


def test_history_of_a_fit():
    rng = np.random.default_rng(0)
    Y, D = np.abs(rng.standard_normal((200, 5))), np.eye(5)
    group = ShardGroup([LocalShard(Y / np.linalg.norm(Y))])
    history = learn(group, D, DL(s=2, penalty=L21(0.0), nu=0.3, max_iter=2)).history
    assert history["rounds"].sum() == group.meter.rounds
    assert history["megabytes"].sum() == pytest.approx(1e-6 * (group.meter.sent + group.meter.received))
    assert np.all(history["rounds"][1:] >= 6)  # a round for every atom at least
    assert history["seconds_coding"][0] > 0
    assert np.all(history["seconds_coding"][1:] == 0)
    assert np.all(history["seconds_atoms"][1:] > 0)
    assert history["seconds_atoms"][0] == 0
    assert np.all(history["seconds_svm"] > 0)
    spent = sum(history[name] for name in ROUND_COLUMNS[2:])
    assert np.all(spent <= history["seconds"])
