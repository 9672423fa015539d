"""Every shard has the passes of its protocol, with the same arguments."""

import importlib
import inspect

import pytest

from oddatom.passes import PairPasses, PlanePasses, SweepPasses, WeightedPasses

SHARDS = {
    "oddatom.rows.array:OneClassShard": PlanePasses,
    "oddatom.rows.array:WeightedOneClassShard": WeightedPasses,
    "oddatom.rows.array:LocalShard": SweepPasses,
    "oddatom.rows.array:WeightedShard": SweepPasses,
    "oddatom.rows.array:PairShard": PairPasses,
    "oddatom.rows.device.torch_shard:TorchShard": SweepPasses,
    "oddatom.rows.device.torch_pairs:TorchPairShard": PairPasses,
}


def passes(protocol):
    return [name for name in dir(protocol) if not name.startswith("_")]


@pytest.mark.parametrize("shard", SHARDS)
def test_a_shard_has_the_passes_of_its_protocol(shard):
    module, _, name = shard.partition(":")
    if "torch" in module:
        pytest.importorskip("torch")
    cls, protocol = getattr(importlib.import_module(module), name), SHARDS[shard]
    assert len(passes(protocol)) >= 12
    for name in passes(protocol):
        wanted = inspect.signature(getattr(protocol, name)).parameters
        found = inspect.signature(getattr(cls, name)).parameters
        assert list(found) == list(wanted), name
        assert [p.default for p in found.values()] == [p.default for p in wanted.values()], name
