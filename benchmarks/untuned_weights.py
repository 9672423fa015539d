"""Weights of the parts in OddAtomDetector's joined score: chosen on labelled tables, judged on others.

python -m benchmarks.untuned --learn-weights                       the 19 sets and the pool
python -m benchmarks.untuned --learn-weights --everyday FOLDER     with errors planted in everyday tables too

Every table is fitted once, without its labels. Then weights and sharpness are chosen by coordinate ascent, from equal
weights on, on the mean of AUROC and average precision, over tables first and then over kinds of tables. Each kind of
table is cut into five folds: the figures in the last line are those of tables that took no part in the choice. Everyday
tables stay whole, all planted versions of one in the same fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config

from benchmarks._common import read
from benchmarks._planting import KINDS, find_tables, plant, read_table
from benchmarks._sets import SETS, choose_rows
from benchmarks.untuned_pool import pool_files
from oddatom import OddAtomDetector, TableDetector
from oddatom.ensemble.joining import SHARPNESS, join
from oddatom.ensemble.parts import PARTS

N_FOLDS, ROUNDS, ROWS = 5, 6, 3000
FACTORS = (0.0, 0.5, 0.8, 1.25, 2.0)  # by which a weight is changed; 0 leaves the part out
LEAST = 0.02  # a part that was left out comes back with this weight
SHARP = (0.7, 0.85, 1.2, 1.4)


class Table(NamedTuple):
    """Calibrated parts of the rows (N, n_parts), in units of a robust deviation, and labels; the fold it is in."""

    Z: np.ndarray
    y: np.ndarray
    fold: int


class Setting(NamedTuple):
    """Weights in the order of PARTS, not normalised, and the sharpness."""

    weights: np.ndarray
    sharpness: float


def figures(table: Table, setting: Setting) -> tuple[float, float]:
    """AUROC and average precision of the joined score; rows that tie share their place."""
    scores = join(np.ascontiguousarray(table.Z * setting.sharpness), setting.weights / setting.weights.sum())
    order = np.argsort(-scores, kind="stable")
    s, y = scores[order], table.y[order]
    last = np.append(s[1:] != s[:-1], True)
    found, seen = np.cumsum(y)[last], np.flatnonzero(last) + 1
    new, false = np.diff(found, prepend=0), np.diff(seen - found, prepend=0)
    n = int(y.sum())
    auroc = float((false * (found - new / 2)).sum() / (n * (y.size - n)))
    return auroc, float((new * found / seen).sum() / n)


def mean_figures(tables: dict[str, list[Table]], setting: Setting, wanted: Callable[[Table], bool]) -> np.ndarray:
    """AUROC and AP by kind of table, (kinds, 2)."""
    rows = [[figures(table, setting) for table in some if wanted(table)] for some in tables.values()]
    return np.array([np.mean(some, axis=0) for some in rows if some])


def choose(tables: dict[str, list[Table]], start: Setting, wanted: Callable[[Table], bool]) -> Setting:
    """The setting that coordinate ascent ends at."""

    def quality(setting: Setting) -> float:
        return float(mean_figures(tables, setting, wanted).mean())

    best, value = start, quality(start)
    for _ in range(ROUNDS):
        before = value
        for change in _changes():
            candidate = change(best)
            if candidate.weights.max() > 0.0 and (found := quality(candidate)) > value + 1e-6:
                best, value = candidate, found
        if value - before < 1e-4:
            break
    return best


def _changes() -> Iterator[Callable[[Setting], Setting]]:
    """Small changes of a setting, each of one number."""
    for p, part in enumerate(PARTS.values()):
        if part.joined:
            yield from (partial(_weigh, p, factor) for factor in FACTORS)
    yield from (partial(_sharpen, factor) for factor in SHARP)


def _weigh(p: int, factor: float, setting: Setting) -> Setting:
    weights = setting.weights.copy()
    weights[p] = factor * (weights[p] or LEAST)
    return setting._replace(weights=weights)


def _sharpen(factor: float, setting: Setting) -> Setting:
    return setting._replace(sharpness=factor * setting.sharpness)


def _from_rows(X: np.ndarray, y: np.ndarray, fold: int) -> Table:
    return _table(OddAtomDetector(random_state=0, n_jobs=1).fit(X), X, y, fold)


def _from_frame(path: Path, kind: str, fold: int) -> Table | None:
    planted = plant(read_table(path, ROWS), kind, 0, 0.02)
    if planted is None:
        return None
    model = TableDetector(OddAtomDetector(random_state=0, n_jobs=1)).fit(planted.frame)
    return _table(model, planted.frame, planted.y, fold)


def _table(model: Any, X: Any, y: np.ndarray, fold: int) -> Table:
    parts = model.score_parts(X)
    return Table(-np.stack([parts[name] for name in PARTS], axis=1) / SHARPNESS, np.asarray(y).astype(int), fold)


def load_tables(everyday: Path | None, jobs: int) -> dict[str, list[Table]]:
    """Fit every table."""
    tasks: dict[str, list[Any]] = {"19 sets": [], "pool": []}
    for k, data in enumerate(SETS):
        X, y = data.load()
        rows = choose_rows(len(y), 0)
        tasks["19 sets"].append(delayed(_from_rows)(np.asarray(X[rows], float), y[rows], k % N_FOLDS))
    for k, path in enumerate(pool_files().values()):
        tasks["pool"].append(delayed(_from_rows)(*read(path), k % N_FOLDS))
    if everyday is not None:
        tables = enumerate(find_tables(everyday).values())
        tasks["everyday"] = [delayed(_from_frame)(path, kind, k % N_FOLDS) for k, path in tables for kind in KINDS]
    with parallel_config(backend="loky", inner_max_num_threads=1):
        done = {kind: Parallel(n_jobs=jobs)(some) for kind, some in tasks.items()}
    return {kind: [table for table in some if table is not None] for kind, some in done.items()}


def run(everyday: Path | None, jobs: int) -> None:
    """Print the weights of today, those chosen on all tables, and the figures of both and of the folds."""
    tables = load_tables(everyday, jobs)
    today = Setting(np.array([part.weight for part in PARTS.values()]), SHARPNESS)
    alike = Setting(np.array([float(part.joined) for part in PARTS.values()]), 1.0)
    _show("today", today, mean_figures(tables, today, lambda table: True), list(tables))
    chosen = choose(tables, alike, lambda table: True)
    _show("chosen on all", chosen, mean_figures(tables, chosen, lambda table: True), list(tables))
    judged, sizes = [], []
    for fold in range(N_FOLDS):
        one = choose(tables, alike, lambda table, fold=fold: table.fold != fold)
        judged.append(mean_figures(tables, one, lambda table, fold=fold: table.fold == fold))
        sizes.append([sum(table.fold == fold for table in some) for some in tables.values()])
        _show(f"fold {fold}: chosen on the others", one, judged[-1], list(tables))
    mean = np.average(judged, axis=0, weights=np.repeat(np.array(sizes)[:, :, None], 2, axis=2))
    print("judged on tables that took no part: " + _words(mean, list(tables)))


def _show(title: str, setting: Setting, values: np.ndarray, kinds: list[str]) -> None:
    share = setting.weights / setting.weights.sum()
    weights = ", ".join(f"{name} {w:.3f}" for name, w in zip(PARTS, share, strict=True) if w > 0.0)
    print(f"{title}: {_words(values, kinds)}\n  sharpness {setting.sharpness:.2f}; {weights}", flush=True)


def _words(values: np.ndarray, kinds: list[str]) -> str:
    return "; ".join(f"{kind} AUROC {a:.4f} AP {b:.4f}" for kind, (a, b) in zip(kinds, values, strict=True))
