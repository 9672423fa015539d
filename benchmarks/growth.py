"""Growth of a fit from 100,000 to 1,000,000 rows × 10 features, its peak memory, and the rate of scoring.

python -m benchmarks.growth
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

from benchmarks._common import best_in_turn, machine, seconds
from oddatom import DLOCSVM


def table(N: int) -> np.ndarray:
    """Rows around a few positive directions, some noise, a few strays."""
    rng = np.random.default_rng(0)
    atoms = rng.uniform(0, 1, size=(8, 10))
    X = rng.gamma(2.0, size=(N, 8)) @ atoms + 0.1 * rng.normal(size=(N, 10))
    X[: N // 100] *= rng.uniform(0, 3, size=(N // 100, 10))
    return X


def peak_over_data(N: int) -> float:
    """Peak memory that a fit adds, as a multiple of the data, in a process of its own."""
    X = table(N)
    DLOCSVM.paper(random_state=0).fit(X[:5000])  # compiled code and libraries are not the fit's
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = memory("VmRSS")
    DLOCSVM.paper(random_state=0).fit(X)
    return (memory("VmHWM") - before) / X.nbytes


def memory(key: str) -> int:
    """Bytes of a line of Linux's /proc/self/status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(key))


def run() -> dict[str, object]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small, large = table(100_000), table(1_000_000)
        DLOCSVM.paper(random_state=0).fit(small)
        t_small = best_in_turn({"fit": lambda: DLOCSVM.paper(random_state=0).fit(small)}, 5)["fit"]
        t_large = best_in_turn({"fit": lambda: DLOCSVM.paper(random_state=0).fit(large)}, 2)["fit"]
        model = DLOCSVM.paper(random_state=0).fit(small)
        t_score = min(seconds(lambda: model.score_samples(large)) for _ in range(5))
    command = [sys.executable, "-c", "from benchmarks.growth import peak_over_data; print(peak_over_data(1_000_000))"]
    peak = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])
    return {
        "seconds_100k": t_small,
        "seconds_1m": t_large,
        "time_factor": t_large / t_small,
        "peak_memory_over_data": peak,
        "score_rows_per_second": 1_000_000 / t_score,
        "active_atoms": int(model.components_.shape[0]),
    }


if __name__ == "__main__":
    print(json.dumps({"machine": machine(), "growth": run()}, indent=2))
