"""Clusters, rows and fits that the tests of this folder share."""

import multiprocessing
from contextlib import contextmanager
from itertools import pairwise
from time import monotonic, sleep

import dask
import numpy as np
import scipy.sparse
from distributed import Client, LocalCluster
from distributed.core import Status
from distributed.utils import get_mp_context

from oddatom.learners.alternate import fit_last_svm, learn
from oddatom.learners.dl import DL
from oddatom.learners.dpl import DPL
from oddatom.passes import MarginPasses, ShardGroup, SweepPasses
from oddatom.penalties import L21
from oddatom.rows.array import LocalShard, PairShard
from oddatom.rows.dask import ClusterGroup

DICTIONARY = DL(s=3, penalty=L21(0.05), nu=0.3, eta=50.0, max_iter=3)
PAIRS = DPL(s=3, penalty=L21(0.05), nu=0.3, alpha=0.01, eta=50.0, max_iter=2)
LOCAL = {"sparse": LocalShard, "pairs": PairShard}


@contextmanager
def running(n_workers):
    """A client of real worker processes, which start fast: they are forked from one that has imported everything."""
    # A worker not back by then is given up, its nanny with it, and comes again only by `ready`.
    fast = {
        "distributed.worker.multiprocessing-method": "forkserver",
        "distributed.deploy.lost-worker-timeout": 3.0,
        "distributed.comm.timeouts.connect": 3.0,  # whoever asks a killed worker for rows tries for that long
    }
    with dask.config.set(fast):
        get_mp_context()
        multiprocessing.set_forkserver_preload(
            ["distributed", "pandas", "oddatom.rows.dask.holder", "oddatom.rows.array"]
        )
        options = {"n_workers": n_workers, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
        with LocalCluster(**options) as cluster, Client(cluster) as client:
            yield client


def ready(client, n_workers=3):
    """Wait until lost workers are back, or others: a nanny starts its worker again only if it had seen it start."""
    limit = monotonic() + 60
    cluster = client.cluster
    while len(client.nthreads()) < n_workers or any(n.status != Status.running for n in cluster.workers.values()):
        assert monotonic() < limit, cluster.workers
        cluster.scale(n_workers)
        sleep(0.02)


def unit_rows(rng, n, m):
    D = rng.standard_normal((n, m))
    return D / np.linalg.norm(D, axis=1, keepdims=True)


def rows(N=600, m=8, n=16):
    rng = np.random.default_rng(6)
    Y = np.abs(rng.standard_normal((N, 4))) @ np.abs(unit_rows(rng, 4, m)) + 0.05 * rng.standard_normal((N, m))
    return Y / np.linalg.norm(Y), unit_rows(rng, n, m)


def cut_rows(Y, sizes):
    ends = np.cumsum([0, *sizes])
    assert ends[-1] == len(Y)
    return [Y[lo:hi] for lo, hi in pairwise(ends)]


def loaders(Y, sizes):
    return [dask.delayed(np.array)(piece) for piece in cut_rows(Y, sizes)]


def fit(group, D, learner):
    """Everything that a fit leaves behind: the model, multipliers, codes, the last SVM."""
    model = learn(group, D, learner)
    a = np.concatenate(group.map(MarginPasses.svm_dual_coef, 1.0))
    codes = scipy.sparse.vstack(group.map(SweepPasses.codes)).toarray()
    svm, nu = fit_last_svm(group, model, learner)
    return model, a, codes, svm, nu


def fit_here(Y, D, learner, kind="sparse"):
    return fit(ShardGroup([LOCAL[kind](Y)]), D, learner)


def fit_there(client, Y, sizes, D, learner, Group=ClusterGroup, **options):
    group = Group(client, loaders(Y, sizes), sizes, **options)
    try:
        return fit(group, D, learner)
    finally:
        group.close()


def arrays(found):
    model, a, codes, svm, nu = found
    history = [model.history[name] for name in ("F", "G", "total", "n_active", "gap")]
    numbers = np.array([model.svm.rho, svm.rho, nu, svm.gap])
    return [model.D, model.P, model.active, model.norms, model.svm.w, a, codes, svm.w, numbers, *history]


def assert_same_bits(got, expected):
    for one, two in zip(arrays(got), arrays(expected), strict=True):
        np.testing.assert_array_equal(one, two)


def assert_close(got, expected, tolerance=1e-8):
    for one, two in zip(arrays(got), arrays(expected), strict=True):
        scale = max(1.0, np.abs(two).max(initial=0.0)) if two.size and two.dtype != bool else 1.0
        np.testing.assert_allclose(one.astype(float), two.astype(float), rtol=0, atol=tolerance * scale)
