"""`device="cuda"` on a cluster: every worker keeps its rows in shards of torch. Here torch's device is the CPU."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("distributed")
pytest.importorskip("torch")

import dask.array as da
from clusters import running

from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM
from oddatom.exceptions import DeviceWarning
from oddatom.rows.dask import holder

COMMON = {"n_atoms": 12, "nu": 0.2, "beta": 0.01, "max_iter": 2, "random_state": 0}
DETECTORS = {
    "dl": DLOCSVM(**COMMON),
    "dl, the paper's": DLOCSVM.paper(**COMMON),
    "dpl": DPLOCSVM(**COMMON),
    "kdl": KDLOCSVM(**COMMON, approximation=40),
}


def take_the_cpu():
    """Let a worker's device "cuda" be torch's CPU; return how many shards it has made."""
    if hasattr(holder, "made"):
        return len(holder.made)
    from oddatom.rows.device.tensor_source import SHARDS

    holder.made = []

    def make_shard(Y, kind, device):
        assert device == "cuda"
        holder.made.append(SHARDS[kind](Y, "cpu"))
        return holder.made[-1]

    holder.make_shard = make_shard
    return 0


@pytest.fixture(scope="module")
def workers():
    with running(2) as client:
        client.run(take_the_cpu)
        yield client


def make_rows(N=500, m=6):
    rng = np.random.default_rng(0)
    D = rng.uniform(size=(9, m))
    X = np.array([rng.uniform(0.5, 1.5, 2) @ D[rng.choice(9, 2, replace=False)] for _ in range(N)])
    X += 0.05 * rng.uniform(size=X.shape)
    X[7] = 4.0 * X[7].max()
    return X


@pytest.mark.parametrize("name", DETECTORS)
def test_rows_on_the_devices_of_two_workers(workers, name):
    X = make_rows()
    before = workers.run(take_the_cpu)
    expected = DETECTORS[name].fit(X)
    found = DETECTORS[name].__class__(**{**expected.get_params(), "device": "cuda"})
    found.fit(da.from_array(X, chunks=(130, 6)))
    made = workers.run(take_the_cpu)
    assert all(made[worker] > before[worker] for worker in made)  # both workers have some of the rows
    scores = expected.score_samples(X)
    with pytest.warns(DeviceWarning, match="scored on the CPU"):
        on_device = found.score_samples(X)
    assert_allclose(on_device, scores, rtol=0, atol=1e-6 * np.abs(scores).max())
    assert_allclose(found.components_, expected.components_, rtol=0, atol=1e-6)
    assert on_device.argmin() == scores.argmin()
