"""How much of OddAtomDetector's figure comes from choosing its settings on these sets: choose on 18, look at the 19th.

python -m benchmarks.untuned --choice
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks._sets import SETS, choose_rows
from oddatom import OddAtomDetector
from oddatom.ensemble.joining import join
from oddatom.ensemble.parts import PARTS

SEEDS = range(2)
JOINED = tuple(name for name in PARTS if PARTS[name].joined)
TRIMS = ((0.1, 0.25, 0.5), (0.2, 0.4), (0.25, 0.5), (0.35, 0.5), (0.5,))
CENTROIDS = (16, 32, 64)
JOINS = (JOINED, *(tuple(name for name in JOINED if name != out) for out in JOINED))
GRID = tuple(product(TRIMS, CENTROIDS, JOINS))
DEFAULT = GRID.index(((0.2, 0.4), 32, JOINED))


def _one(X: np.ndarray, y: np.ndarray, seed: int, trim: tuple[float, ...], n_centroids: int) -> np.ndarray:
    """AUROC and AP for every way to join the parts of one fit, (ways, 2)."""
    rows = choose_rows(len(y), seed)
    X, y = X[rows], y[rows]
    model = OddAtomDetector(trim=trim, n_centroids=n_centroids, random_state=seed, n_jobs=1).fit(X)
    parts = model.score_parts(X)
    Z = -np.stack([parts[name] for name in JOINED], axis=1)
    weights = [np.array([PARTS[name].weight * (name in names) for name in JOINED]) for names in JOINS]
    scores = [join(Z, some / some.sum()) for some in weights]
    return np.array([(roc_auc_score(y, s), average_precision_score(y, s)) for s in scores])


def run(jobs: int) -> dict[str, Any]:
    """Figures of the default, of the best setting, and of the setting chosen without the set it is judged on."""
    figures = []
    for data in SETS:
        X, y = data.load()
        tasks = [(trim, K, seed) for trim, K in product(TRIMS, CENTROIDS) for seed in SEEDS]
        runs = Parallel(n_jobs=jobs)(delayed(_one)(X, y, seed, trim, K) for trim, K, seed in tasks)
        figures.append(np.concatenate(np.array(runs).reshape(-1, len(SEEDS), *runs[0].shape).mean(axis=1)))
        print(f"choice {data.name}", flush=True)
    E = np.array(figures)  # sets × settings × (AUROC, AP)
    chosen = [int(np.delete(E, k, axis=0).mean(axis=0).sum(axis=1).argmax()) for k in range(len(SETS))]
    best = int(E.mean(axis=0).sum(axis=1).argmax())
    return {
        "settings": len(GRID),
        "default": E[:, DEFAULT].mean(axis=0).tolist(),
        "median setting": np.median(E.mean(axis=0), axis=0).tolist(),
        "best": {"setting": str(GRID[best]), "figures": E[:, best].mean(axis=0).tolist()},
        "chosen on 18": E[np.arange(len(SETS)), chosen].mean(axis=0).tolist(),
        "choices": {data.name: str(GRID[i]) for data, i in zip(SETS, chosen, strict=True)},
        "without": {
            out: E[:, GRID.index((*GRID[DEFAULT][:2], names))].mean(axis=0).tolist()
            for out, names in zip(JOINED, JOINS[1:], strict=True)
        },
    }
