"""Cores that fit and score take, alone and inside joblib: python -m benchmarks.threads [--rows N] [--detectors A,B]

"cores" is CPU time over wall time, of this process and its workers together. "running" counts, a few hundred times a
second, the threads that run or wait for a core: more of them than cores is oversubscription.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

import oddatom
from benchmarks._common import machine

FEATURES = 20
OPTIONS: dict[str, dict] = {
    "DLOCSVM": {"max_iter": 3},
    "DPLOCSVM": {"max_iter": 2},
    "KDLOCSVM": {"max_iter": 1, "approximation": 100, "n_atoms": 40},
    "OddAtomDetector": {},
}
TICK = os.sysconf("SC_CLK_TCK")


def table(N: int) -> np.ndarray:
    """Rows around a few positive directions, some noise, a few strays."""
    rng = np.random.default_rng(0)
    X = rng.gamma(2.0, size=(N, 8)) @ rng.uniform(0, 1, size=(8, FEATURES)) + 0.1 * rng.normal(size=(N, FEATURES))
    X[: N // 100] *= rng.uniform(0, 3, size=(N // 100, FEATURES))
    return X


def stat(path: str) -> list[str]:
    """State, parent and so on of a process or thread, as Linux's /proc has them; nothing if it has ended."""
    try:
        return Path(path).read_text().rpartition(")")[2].split()
    except OSError:
        return []


def family() -> list[int]:
    """This process and its descendants."""
    parents = {
        int(name): int(fields[1])
        for name in os.listdir("/proc")
        if name.isdigit() and (fields := stat(f"/proc/{name}/stat"))
    }
    found = [os.getpid()]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def cpu_seconds() -> float:
    fields = [stat(f"/proc/{process}/stat") for process in family()]
    return sum(int(f[11]) + int(f[12]) for f in fields if f) / TICK


class Watch:
    """Counts running threads until told to stop."""

    def __enter__(self) -> Watch:
        self.counts: list[int] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        own = threading.get_native_id()
        processes = family()
        while not self._stop.wait(0.004):
            running = 0
            for process in processes:
                try:
                    names = os.listdir(f"/proc/{process}/task")
                except OSError:
                    continue
                states = (stat(f"/proc/{process}/task/{name}/stat")[:1] for name in names if int(name) != own)
                running += sum(state == ["R"] for state in states)
            self.counts.append(running)

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()


def measure(function: Callable[[], object]) -> dict[str, float]:
    cpu, wall = cpu_seconds(), time.perf_counter()
    with Watch() as watch:
        function()
    wall = time.perf_counter() - wall
    counts = np.array(watch.counts or [0])
    return {
        "seconds": round(wall, 3),
        "cores": round((cpu_seconds() - cpu) / wall, 2),
        "running_mean": round(float(counts.mean()), 2),
        "running_99": int(np.percentile(counts, 99)),
    }


def fit(name: str, X: np.ndarray, n_jobs: int | None) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(oddatom, name)(random_state=0, n_jobs=n_jobs, **OPTIONS[name]).fit(X)


def score(model: object, X: np.ndarray) -> np.ndarray:
    return model.score_samples(X)


def run(n_rows: int, names: list[str]) -> list[dict[str, object]]:
    X, rows = table(n_rows), []

    def note(name: str, case: str, what: str, function: Callable[[], object]) -> None:
        function()  # libraries, compiled kernels and workers are there afterwards
        found = {"detector": name, "case": case, "what": what, **measure(function)}
        rows.append(found)
        print(
            "  ".join(f"{value!s:>16s}" if i < 3 else f"{value:>8}" for i, value in enumerate(found.values())),
            flush=True,
        )

    print("detector, case, what: seconds, cores, running threads (mean and 99th percentile)")
    for name in names:
        model = fit(name, X, None)
        for n_jobs in (1, 2, None):
            note(name, f"n_jobs={n_jobs}", "fit", lambda name=name, n=n_jobs: fit(name, X, n))
            model.n_jobs = n_jobs
            note(name, f"n_jobs={n_jobs}", "score", lambda model=model: score(model, X))
        for kind, backend in (("2 processes", "loky"), ("2 threads", "threading")):
            parallel = Parallel(n_jobs=2, backend=backend, max_nbytes=None)
            note(name, kind, "fit", lambda p=parallel, name=name: p(delayed(fit)(name, X, None) for _ in range(2)))
            note(name, kind, "score", lambda p=parallel, m=model: p(delayed(score)(m, X) for _ in range(2)))
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--detectors", default=",".join(OPTIONS))
    options = parser.parse_args()
    print(json.dumps(machine()))
    run(options.rows, options.detectors.split(","))
