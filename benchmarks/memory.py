"""Peak memory that fits and scoring add to a process that holds the rows, beside what they may take.

python -m benchmarks.memory [--rows 50000,200000] [--features 16] [--only NAME]

Every detector in a process of its own, after a small fit has loaded libraries and compiled kernels. The peak is that of
resident memory (Linux: VmHWM), which sees what NumPy, BLAS and numba take alike. Bounds are in bytes, for N rows of m
features (of r coordinates for the kernels), n atoms and s non-zeros a code; see `fit_bound` and `score_bound`.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

from benchmarks.growth import memory
from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM, LinearOneClassSVM, OddAtomDetector
from oddatom.estimators._base import CHUNK_ROWS
from oddatom.estimators.odd_atom import SAMPLE_ROWS

LANDMARKS, ATOMS, NONZERO = 32, 16, 3
COMMON = {"n_atoms": ATOMS, "n_nonzero": NONZERO, "max_iter": 2, "nu": 0.1, "random_state": 0}
NYSTROEM = {**COMMON, "approximation": LANDMARKS}
KINDS = {
    "DLOCSVM": (DLOCSVM.paper, COMMON),
    "DPLOCSVM": (DPLOCSVM.paper, COMMON),
    "KDLOCSVM": (KDLOCSVM.paper, NYSTROEM),
    "KDPLOCSVM": (KDPLOCSVM.paper, NYSTROEM),
    "LinearOneClassSVM": (LinearOneClassSVM, {"nu": 0.1}),
    "OddAtomDetector": (OddAtomDetector, {"random_state": 0}),
}
FIXED = 24 * 2**20  # what does not grow with the rows: matrices of atoms, chunks of threads, the allocator's reserve


def fit_bound(kind: str, N: int, m: int) -> int:
    """The most bytes that a fit may add: 8 N times the numbers that it keeps of a row, and FIXED."""
    if kind == "OddAtomDetector":  # learns from a sample; of every row it keeps a score and its place in the draw
        return 8 * (min(N, SAMPLE_ROWS) * (6 * m + 100) + 8 * N) + FIXED
    if kind == "LinearOneClassSVM":  # scaled rows, and vectors of the interior point
        return 8 * N * (m + 24) + FIXED
    per_row = (5 * LANDMARKS if kind.startswith("K") else 2 * m) + 6 * NONZERO + 16  # rows and residual; codes; SVM
    if kind in ("DPLOCSVM", "KDPLOCSVM"):
        per_row += 6 * ATOMS  # codes are dense
    return 8 * N * per_row + FIXED


def score_bound(kind: str, N: int, m: int) -> int:
    """The most bytes that scoring may add: the scores, one vector beside them, and chunks of rows at work."""
    width = LANDMARKS if kind.startswith("K") else m
    return 8 * (2 * N + CHUNK_ROWS * (2 * width + 2 * ATOMS + 16)) + FIXED


def rows(N: int, m: int) -> np.ndarray:
    """Positive rows near a cone."""
    rng = np.random.default_rng(0)
    return rng.gamma(2.0, size=(N, 4)) @ rng.uniform(0, 1, (4, m)) + 0.1 * rng.uniform(size=(N, m))


def peak(function, *args) -> int:
    """Bytes that a call adds at most; what it returns counts."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # give back what was freed: taken again it would not show
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = memory("VmRSS")
    kept = function(*args)
    del kept
    return max(0, memory("VmHWM") - before)


def measure(kind: str, sizes: list[int], m: int) -> dict[str, dict[str, int]]:
    """Peaks of fit and scoring at each size, in this process."""
    Class, parameters = KINDS[kind]
    out = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = rows(4_000, m)
        Class(**parameters).fit(X).score_samples(X)
        for N in sizes:
            X = rows(N, m)
            model = Class(**parameters)
            fit = peak(model.fit, X)
            out[str(N)] = {"fit": fit, "score": peak(model.score_samples, X)}
    return out


def measured(kind: str, sizes: list[int], m: int) -> dict[str, dict[str, int]]:
    """The same in a process of its own."""
    words = ["-m", "benchmarks.memory", "--child", kind, "--rows", ",".join(map(str, sizes)), "--features", str(m)]
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, *words], cwd=root, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="50000,200000")
    parser.add_argument("--features", type=int, default=16)
    parser.add_argument("--only", choices=KINDS, default=None)
    parser.add_argument("--child", choices=KINDS, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes, m = [int(size) for size in options.rows.split(",")], options.features
    if options.child:
        print(json.dumps(measure(options.child, sizes, m)))
        return
    print(f"{m} features; MB beyond the rows, and the bound")
    print(f"{'':20s}{'rows':>10s}{'data':>8s}{'fit':>8s}{'bound':>8s}{'score':>8s}{'bound':>8s}")
    for kind in [options.only] if options.only else KINDS:
        found = measured(kind, sizes, m)
        for N in sizes:
            at = found[str(N)]
            numbers = (8 * N * m, at["fit"], fit_bound(kind, N, m), at["score"], score_bound(kind, N, m))
            print(f"{kind:20s}{N:10,d}" + "".join(f"{number / 1e6:8.1f}" for number in numbers), flush=True)


if __name__ == "__main__":
    main()
