"""A shard made anew from the calls that were kept is the one that was lost, after any round."""

from dataclasses import replace

import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("distributed")

from clusters import DICTIONARY, LOCAL, PAIRS, cut_rows, fit, rows

from oddatom.passes import PairPasses, ShardGroup
from oddatom.passes.declared import PASSES, STATE
from oddatom.penalties import L20
from oddatom.rows.array import PairShard
from oddatom.rows.dask.messages import dumps, loads
from oddatom.rows.dask.replay import Call, Log

# Attributes of a shard by part of its state.
PARTS = {
    "codes": ("indices", "values"), "residual": ("E",), "multipliers": ("multipliers",),
    "svm_rows": ("_norms", "_rows"),
    "scale": ("_scale",), "margins": ("_f",), "direction": ("_g",), "distances": ("_dist",), "band": ("_band",),
    "pair": ("_pair_c", "_pair_Y"), "basis": ("_pair_U",), "pair_codes": ("_pair_x",),
    "pair_multipliers": ("_pair_tau",), "pair_band": ("_pair_band",),
    "hinge": ("_slack",), "hinge_target": ("_target",),
}  # fmt: skip


class Checked(ShardGroup):
    """Shards in this process that are made anew, from the log, after every so many rounds, and compared."""

    def __init__(self, pieces, cls, every):
        super().__init__([cls(piece) for piece in pieces])
        self.pieces, self.cls, self.every = pieces, cls, every
        self.log, self.full, self.rounds, self.longest = Log(), [], 0, 0

    def _ask(self, method, args, pieces):
        given = None if pieces is None else tuple(dumps(piece) for piece in pieces)
        call = Call(method, dumps(args), given)
        out = super()._ask(method, args, pieces)
        self.log.add(call)
        if not PASSES[method].is_query:
            self.full.append(method)
        self.rounds += 1
        self.longest = max(self.longest, len(self.log))
        if self.rounds % self.every == 0:
            self.check()
        return out

    def check(self):
        twins = [self.cls(piece) for piece in self.pieces]
        for twin in twins:
            twin.E[:] = 0.0
        for method, args, pieces in self.log.calls():
            for k, twin in enumerate(twins):
                own = () if pieces is None else (loads(pieces[k]),)
                getattr(twin, method)(*own, *loads(args))
        written = set().union(*(PASSES[name].writes for name in self.full))
        for part in sorted(written):
            # After pair_basis τ is memory as it was found; pair_band fills a part of it.
            tau = "pair_multipliers"
            of_tau = [name for name in self.full if tau in PASSES[name].writes | PASSES[name].changes]
            if part == tau and of_tau[-1] in ("pair_basis", "pair_band"):
                continue
            if part == "hinge" and self.shards[0]._hinge is None:
                continue
            for name in PARTS[part]:
                for shard, twin in zip(self.shards, twins, strict=True):
                    if name == "_rows":
                        for one, two in zip(shard._rows, twin._rows, strict=True):
                            assert_array_equal(one, two)
                    else:
                        assert_array_equal(getattr(shard, name), getattr(twin, name), err_msg=f"{part} {name}")


FITS = {
    "dl": ("sparse", DICTIONARY),
    "l20": ("sparse", replace(DICTIONARY, penalty=L20(0.002), max_iter=2)),
    "libsvm": ("sparse", replace(DICTIONARY, svm_solver="libsvm", max_iter=1)),
    "atoms": ("sparse", replace(DICTIONARY, track_atoms=True, max_iter=1)),
    "hinge": ("sparse", replace(DICTIONARY, coupling_form="hinge")),
    "ball": ("sparse", replace(DICTIONARY, coupling_form="hinge", curvature=1.0, eta=100.0)),
    "dpl": ("pairs", PAIRS),
    "dpl hinge": ("pairs", replace(PAIRS, coupling_form="hinge", max_iter=1)),
    "dpl ball": ("pairs", replace(PAIRS, coupling_form="hinge", curvature=1.0, eta=100.0, max_iter=1)),
    "dpl omp": ("pairs", replace(PAIRS, representation="omp", max_iter=1)),
    "dpl gradient": ("pairs", replace(PAIRS, pair_solver="gradient", max_iter=1)),
}


@pytest.mark.parametrize("name", FITS)
def test_a_new_shard_is_the_lost_one(name):
    kind, learner = FITS[name]
    N = 2200 if kind == "sparse" else 600  # more rows than the SVM solves at once: its Newton steps are in the log too
    Y, D = rows(N, 6, 6)
    group = Checked(cut_rows(Y, [250, 0, N - 250]), LOCAL[kind], every=1 if N == 600 and "gradient" not in name else 7)
    fit(group, D, learner)
    group.check()
    assert group.rounds > 30
    assert group.longest < len(group.full) or len(group.full) < 64


def test_pairs_of_many_rows():
    """Theorem 2's ℓ1 problem on the rows nearest zero, the others fixed."""
    Y, D = rows(5000, 6, 3)
    group = Checked(cut_rows(Y, [1000, 4000]), PairShard, every=5)
    fit(group, D, replace(PAIRS, max_iter=1, s=2))
    assert {"pair_band", "pair_set_band", "pair_nearest"} <= set(group.full)


def test_the_log_does_not_grow_without_end():
    """The calls of a sweep that are kept are its commits and a handful for the multipliers that they used."""
    Y, D = rows(600, 6, 6)
    lengths = []
    for max_iter in (4, 8):
        group = Checked([Y], LOCAL["sparse"], every=10**9)
        fit(group, D, replace(DICTIONARY, max_iter=max_iter, penalty=L20(0.0)))
        lengths.append(len(group.log.calls()))
    assert (lengths[1] - lengths[0]) / 4 <= 6 + 8
    log = Log()
    for k in range(10_000):
        log.add(Call("svm_margins", dumps(k)))
        log.add(Call("svm_histogram", dumps(k)))
    assert len(log) < 200
    assert [loads(call.args) for call in log.calls()] == [9999]


def test_every_method_of_a_shard_is_a_declared_pass():
    def public(cls):
        return {name for name in dir(cls) if not name.startswith("_") and callable(getattr(cls, name))}

    assert public(PairShard) == public(PairPasses)
    assert public(PairPasses) <= set(PASSES)
    assert set(PARTS) == STATE
    used = set().union(*(PASSES[name].writes | PASSES[name].changes for name in public(PairPasses)))
    assert used == STATE
