"""A fit on a Dask cluster: rounds, bytes and seconds, and a model of its cost: python -m benchmarks.cluster

Workers are processes of this machine with one thread each. The model, seconds = a · rounds + b · rows a worker, is
fitted to the smallest and the largest fit on one worker and compared with the others.
"""

import argparse
import time

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from oddatom import DLOCSVM
from oddatom.passes import MarginPasses, SweepPasses
from oddatom.rows.dask.cluster_source import ClusterSource
from oddatom.rows.row_map import RowMap
from oddatom.scaling.linear import Scaling

M, ATOMS, NONZERO, SWEEPS = 32, 64, 6, 6
PHASES = ("coding", "atoms", "svm")


def make_rows(n_rows, seed=0):
    """Rows of a planted dictionary, six atoms each, with noise."""
    rng = np.random.default_rng(seed)
    D = rng.uniform(size=(ATOMS, M))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    X = 0.05 * rng.standard_normal((n_rows, M))
    for _ in range(NONZERO):
        X += rng.uniform(0.2, 1.2, (n_rows, 1)) * D[rng.integers(0, ATOMS, n_rows)]
    return X


def measure(client, X, n_workers):
    """Return what a fit did: seconds in all, and by `history_` rounds, megabytes and seconds by phase."""
    rows = da.from_array(X, chunks=(-(-X.shape[0] // (2 * n_workers)), M)).persist()
    model = DLOCSVM.paper(
        n_atoms=ATOMS, n_nonzero=NONZERO, max_iter=SWEEPS, beta=0.01, nu=0.05, scaling=None, random_state=0
    )
    started = time.perf_counter()
    model.fit(rows)
    found = {"fit": time.perf_counter() - started}
    history = model.history_
    found |= {name: float(history[name].sum()) for name in ("rounds", "megabytes", "seconds")}
    found |= {name: float(history[f"seconds_{name}"].sum()) for name in PHASES}
    return found


def latency(client, X, n=200):
    """Return the seconds of a round that does nothing but ask how many rows there are."""
    source = ClusterSource(da.from_array(X[:1000], chunks=(500, M)), client=client)
    group = source.group(RowMap(Scaling(None, None, 1.0)), "sparse")
    group.map(SweepPasses.encode, np.eye(M), 2)
    group.map(SweepPasses.svm_open, np.ones(M, bool))
    started = time.perf_counter()
    for _ in range(n):
        group.sum(MarginPasses.svm_summary)
    taken = (time.perf_counter() - started) / n
    group.close()
    source.close()
    return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="50000,200000,800000")
    parser.add_argument("--workers", default="1,2")
    options = parser.parse_args()
    sizes = [int(n) for n in options.rows.split(",")]
    X = make_rows(max(sizes))
    heads = ["workers", "rows", "rounds", "MB", "ms an empty round", "sweeps, s", *PHASES, "model, s", "fit, s"]
    print("| " + " | ".join(heads) + " |")
    print("|---" * len(heads) + "|")
    fits = []
    for n_workers in map(int, options.workers.split(",")):
        with (
            LocalCluster(n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            measure(client, X[: sizes[0]], n_workers)  # compiled code is read, connections are made
            empty = latency(client, X)
            for n_rows in sizes:
                found = measure(client, X[:n_rows], n_workers)
                fits.append({"workers": n_workers, "rows": n_rows, "empty": 1e3 * empty, **found})
    alone = [fit for fit in fits if fit["workers"] == fits[0]["workers"]]
    counts = np.array([[fit["rounds"], fit["rows"] / fit["workers"]] for fit in fits])
    ends = [0, len(alone) - 1]
    a, b = np.linalg.solve(counts[ends], [alone[k]["seconds"] for k in ends])
    for fit, model in zip(fits, counts @ [a, b], strict=True):
        cells = [f"{fit['workers']}", f"{fit['rows']:,}", f"{fit['rounds']:.0f}", f"{fit['megabytes']:.1f}"]
        cells += [f"{fit['empty']:.1f}", f"{fit['seconds']:.2f}", *(f"{fit[name]:.2f}" for name in PHASES)]
        print("| " + " | ".join([*cells, f"{model:.2f}", f"{fit['fit']:.2f}"]) + " |")
    print(f"{1e3 * a:.1f} ms a round, {1e6 * b:.1f} µs a row and worker")
    for n_rows in (1e9, 1e10):
        print(f"{n_rows:.0e} rows on 100 such workers, 1,000 rounds: {(1000 * a + b * n_rows / 100) / 60:.0f} min")


if __name__ == "__main__":
    main()
