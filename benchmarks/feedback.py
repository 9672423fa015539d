"""Ten judged rows: how much `feedback` raises average precision of the other rows, on the 19 sets and the pool.

python -m benchmarks.feedback              one line a group; --rows 10 is how many of the highest rows are judged

A detector is fitted, its ten oddest rows get their true labels, and the rows are scored again. Average precision is of
the rows that were not judged, before and after.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from joblib import Parallel, delayed, parallel_config
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

from benchmarks._common import read
from benchmarks._sets import SETS, choose_rows
from benchmarks.untuned_pool import pool_files
from oddatom import OddAtomDetector


def gain(name: str, load: Callable[[], tuple[np.ndarray, np.ndarray]], n: int) -> tuple[str, float, float] | None:
    """Average precision of rows that are not judged, and what feedback adds to it; None where all are judged."""
    X, y = load()
    rows = choose_rows(len(y), 0)
    X, y = X[rows], y[rows].astype(bool)
    with threadpool_limits(1):
        model = OddAtomDetector(random_state=0, n_jobs=1).fit(X)
        before = model.score_samples(X)
        judged = np.argsort(before, kind="stable")[:n]
        after = model.feedback(X[judged], np.where(y[judged], -1, 1), rows=X).score_samples(X)
    others = np.ones(len(y), bool)
    others[judged] = False
    if not y[others].any():
        return None
    first, second = (float(average_precision_score(y[others], -s[others])) for s in (before, after))
    return name, first, second - first


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.feedback", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10, help="judged rows")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    args = parser.parse_args()
    groups = {
        "19 sets": [delayed(gain)(one.name, one.load, args.rows) for one in SETS],
        "pool": [delayed(gain)(name, lambda path=path: read(path), args.rows) for name, path in pool_files().items()],
    }
    for group, tasks in groups.items():
        with parallel_config(backend="loky", inner_max_num_threads=1):
            found = [one for one in Parallel(n_jobs=args.jobs)(tasks) if one is not None]
        gains = np.array([one[2] for one in found])
        worst = sorted(found, key=lambda one: one[2])[:3]
        print(
            f"{group}: {len(found)} tables, AP {np.mean([one[1] for one in found]):.3f}, feedback adds "
            f"{gains.mean():.4f}; "
            f"{int((gains < -0.02).sum())} lose more than .02; worst {', '.join(f'{n} {g:+.3f}' for n, _, g in worst)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
