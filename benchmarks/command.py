"""Seconds of `oddatom detect` with its report, beside a script of pandas and IsolationForest on the same csv.

python -m benchmarks.command [--repeats 3] [--rows 1.0] [--dry-run]

connections   494,021 rows × 41 columns, 38 of them numbers, as in a well-known log of network connections (made up)
amounts       1,000,000 × 10 numbers
small         2,000 × 20 numbers
first run     `oddatom detect` on the small table with an empty cache of kernels, over one with a full cache

Each is a process of its own, run in turn; the best of several counts. The script reads the csv, makes 0/1 columns of
text, fits and scores an IsolationForest at its defaults, and writes the 50 rows with the lowest scores.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._common import machine, write_json
from benchmarks._tables import command_section, replace_section

RESULTS = Path(__file__).with_name("command.json")
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
SCRIPT = """
import sys
import pandas as pd
from sklearn.ensemble import IsolationForest
table = pd.read_csv(sys.argv[1])
X = pd.get_dummies(table).to_numpy(float)
scores = IsolationForest(random_state=0).fit(X).score_samples(X)
table.assign(score=scores).nsmallest(50, "score").to_csv(sys.argv[2])
"""


LAUNCHER = """
import resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def connections(n: int) -> pd.DataFrame:
    """Counts, shares, rare counts and bytes by 23 kinds of connection, and three columns of text."""
    rng = np.random.default_rng(0)
    kind = rng.choice(23, size=n, p=np.r_[0.57, 0.2, 0.15, np.full(20, 0.004)])
    columns: dict[str, Any] = {}
    for j in range(38):
        columns[f"c{j}"] = [
            lambda: (1000 * rng.exponential(1 + kind % 5, size=n)).astype(int),
            lambda: np.round(np.clip(rng.normal(kind / 23, 0.2, size=n), 0, 1), 2),
            lambda: np.where(rng.random(n) < 0.02, rng.integers(1, 30, size=n), 0),
            lambda: rng.integers(0, 256, size=n) * (kind % 3 != 0),
        ][j % 4]()
    columns["protocol"] = np.array(["tcp", "udp", "icmp"])[kind % 3]
    columns["service"] = np.array([f"s{i}" for i in range(66)])[(3 * kind + rng.integers(0, 3, size=n)) % 66]
    columns["flag"] = np.array([f"F{i}" for i in range(11)])[rng.integers(0, 11, size=n)]
    return pd.DataFrame(columns)


def amounts(n: int, m: int = 10) -> pd.DataFrame:
    """Correlated Gaussian numbers."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(np.round(rng.normal(size=(n, m)) @ rng.normal(size=(m, m)), 4)).add_prefix("x")


def run(words: list[str], folder: Path, **environment: str) -> tuple[float, float]:
    """Return seconds and peak megabytes of a process that a small one starts: its peak begins with its parent's."""
    ended = subprocess.run(
        [sys.executable, "-c", LAUNCHER, *words],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise RuntimeError(f"{words} failed: {ended.stderr}")
    seconds, peak = map(float, ended.stdout.split())
    return seconds, peak / 1024


def measure(folder: Path, repeats: int, share: float) -> dict[str, Any]:
    """Return the figures of all tables."""
    sizes = {"connections": 494_021, "amounts": 1_000_000, "small": 2_000}
    made = {"connections": connections, "amounts": amounts, "small": lambda n: amounts(n, 20)}
    detect = [sys.executable, "-m", "oddatom", "detect"]
    figures: dict[str, Any] = {}
    for name, n in sizes.items():
        table = made[name](max(int(share * n), 100))
        table.to_csv(folder / f"{name}.csv", index=False)
        words = {
            "oddatom": [*detect, f"{name}.csv"],
            "script": [sys.executable, "-c", SCRIPT, f"{name}.csv", "top.csv"],
        }
        run(words["oddatom"], folder)  # compile
        found: dict[str, list[tuple[float, float]]] = {which: [] for which in words}
        for _ in range(repeats):
            for which, some in words.items():
                found[which].append(run(some, folder))
        best = {which: min(seconds for seconds, _ in runs) for which, runs in found.items()}
        figures[name] = {
            "rows": len(table),
            "columns": table.shape[1],
            "seconds": best,
            "ratio": best["oddatom"] / best["script"],
            "peak MB": {which: max(peak for _, peak in runs) for which, runs in found.items()},
        }
        print(name, figures[name], flush=True)
    warm = figures["small"]["seconds"]["oddatom"]
    with tempfile.TemporaryDirectory() as cache:
        cold = run([*detect, "small.csv"], folder, NUMBA_CACHE_DIR=cache)[0]
    figures["first run"] = {"seconds": cold, "compiling": cold - warm}
    print("first run", figures["first run"], flush=True)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--dry-run", action="store_true", help="write no file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), options.repeats, options.rows)
    if not options.dry_run:
        found = {"date": date.today().isoformat(), "machine": machine(), "figures": figures}
        write_json(RESULTS, found)
        PAGE.write_text(replace_section(PAGE.read_text(), command_section(found)))


if __name__ == "__main__":
    main()
