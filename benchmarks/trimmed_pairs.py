"""Pairs that DPLOCSVM trims although they should stay, judged by the objective itself.

python -m benchmarks.trimmed_pairs

Wherever a pair is trimmed with the boundary fixed, other pairs are tried from x = 0: d and x take turns, from the
leading atoms of the residual and from 40 random ones, and x goes any part of the way. A pair that lowers M, which is F
and the hinges of the rows outside the boundary, by more than 1e-6 of the objective should have stayed. Five sets of
scikit-learn, two dictionaries, plane and ball, the default coupling and 1.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from benchmarks._common import machine
from oddatom import DPLOCSVM
from oddatom.boundary.hinge_codes import slack
from oddatom.learners import dpl

SETS = {
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "diabetes": load_diabetes,
    "digits": load_digits,
    "iris": load_iris,
}
ATOMS, TURNS, STEPS = 40, 5, 2.0 ** -np.arange(20)
TOL = 1e-6


@contextmanager
def watched() -> Iterator[list[float]]:
    """Yield a list: what every pair that is trimmed would have gained."""
    gains: list[float] = []
    step = dpl.with_boundary

    def watch(group: Any, pair: Any, old: Any, solution: Any, weight: float, now: np.ndarray) -> Any:
        solution = step(group, pair, old, solution, weight, now)
        if not solution.p.any():
            gains.append(_gain(group.shards[0], pair, now, weight))
        return solution

    dpl.with_boundary = watch
    try:
        yield gains
    finally:
        dpl.with_boundary = step


def _gain(shard: Any, pair: Any, now: np.ndarray, weight: float) -> float:
    """How much M falls from x = 0 with the best pair found."""
    w, _, h, _, outside = shard._hinge_of(pair.i)
    pos = shard._rows_of(pair.i)
    rows, x = pos // shard.values.shape[1], shard.values.ravel()[pos]
    R, Y = shard.E[rows] + np.outer(x, now), shard.Y[rows]
    q = outside[rows] + w * x - 0.5 * h * x**2
    at_zero = np.maximum(q, 0.0).sum()
    U, sizes, _ = np.linalg.svd(Y, full_matrices=False)
    U = U[:, sizes > 1e-9 * sizes[0]]

    def value(d: np.ndarray, x: np.ndarray) -> float:
        hinges = float(np.maximum(slack(x, q, w, h), 0.0).sum() - at_zero)
        rest = pair.penalty.value(float(np.linalg.norm(x))) + pair.alpha * float(np.abs(x).sum())
        return 0.5 * float(x @ x) - float(x @ (R @ d)) + rest + weight * hinges

    best = 0.0
    leading = np.linalg.svd(U.T @ R)[2][:4]
    for d in (*leading, *-leading, *np.random.default_rng(pair.i).normal(size=(ATOMS, R.shape[1]))):
        for _ in range(TURNS):
            d = d / np.linalg.norm(d)
            c = U @ (U.T @ (R @ d + weight * w * (q > 0.0)))
            z = U @ (U.T @ (np.sign(c) * np.maximum(np.abs(c) - pair.alpha, 0.0)))
            best = min(best, *(value(d, t * z) for t in STEPS))
            d = R.T @ z
            if not d.any():
                break
    return -best


def run() -> dict[str, dict[str, int]]:
    results: dict[str, dict[str, int]] = {}
    for name, load in SETS.items():
        X = load().data
        for boundary in ("plane", "ball"):
            for coupling in (0.1, 1.0):
                counts = {"trimmed": 0, "should stay": 0}
                for draw in range(2):
                    with watched() as gains, warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        fit = DPLOCSVM(boundary=boundary, coupling=coupling, random_state=draw).fit(X)
                    size = abs(float(fit.history_["total"][-1]))
                    counts["trimmed"] += len(gains)
                    counts["should stay"] += sum(gain > TOL * size for gain in gains)
                results[f"{name}, {boundary}, coupling {coupling:g}"] = counts
    return results


if __name__ == "__main__":
    results = run()
    total = {key: sum(counts[key] for counts in results.values()) for key in ("trimmed", "should stay")}
    print(json.dumps({"machine": machine(), "pairs": results, "total": total}, indent=2))
