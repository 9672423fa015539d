"""Seconds of OddAtomDetector and IsolationForest, fit and score, all at their defaults; growth; rows scored a second.

python -m benchmarks.untuned --speed
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np

from benchmarks._common import best_in_turn, machine
from benchmarks._peers import Sklearn, choose

NAMES = ["OddAtomDetector", "IsolationForest"]


def mixture(n_rows: int, n_features: int, seed: int = 0) -> np.ndarray:
    """Rows of eight Gaussians with their own means and covariances, one row in a hundred strewn widely."""
    rng = np.random.default_rng(seed)
    X = np.empty((n_rows, n_features))
    kind = rng.integers(8, size=n_rows)
    for k in range(8):
        mine = kind == k
        A = rng.normal(size=(n_features, n_features)) / np.sqrt(n_features)
        X[mine] = 4.0 * rng.normal(size=n_features) + rng.normal(size=(mine.sum(), n_features)) @ A
    strays = rng.choice(n_rows, n_rows // 100, replace=False)
    X[strays] = rng.uniform(-12.0, 12.0, size=(strays.size, n_features))
    return X


def run() -> dict[str, Any]:
    """All figures by detector."""
    detectors = choose(NAMES, [])

    def fit_and_score(X: np.ndarray, repeats: int) -> dict[str, float]:
        def call(d: Sklearn) -> Callable[[], object]:
            return lambda: d.scores(d.make(0), X, None)

        return best_in_turn({d.name: call(d) for d in detectors}, repeats)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small, medium, large = mixture(10_000, 20), mixture(100_000, 10), mixture(1_000_000, 10)
        fit_and_score(small, 1)  # compile
        t_small, t_medium, t_large = fit_and_score(small, 5), fit_and_score(medium, 3), fit_and_score(large, 2)
        new = mixture(200_000, 20, seed=1)
        models = {d.name: d.make(0).fit(small) for d in detectors}
        t_new = best_in_turn({name: lambda m=m: m.score_samples(new) for name, m in models.items()}, 3)
    return {
        "date": date.today().isoformat(),
        "machine": machine(),
        "figures": {
            "10,000 × 20, seconds": t_small,
            "100,000 × 10, seconds": t_medium,
            "1,000,000 × 10, seconds": t_large,
            "times as long, 100,000 to 1,000,000 rows": {name: t_large[name] / t_medium[name] for name in t_large},
            "new rows × 20 scored a second": {name: new.shape[0] / t for name, t in t_new.items()},
        },
    }
