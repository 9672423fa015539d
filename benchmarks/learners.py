"""Ranking by the four learners without labels: their defaults and the paper's settings beside two other detectors.

python -m benchmarks.learners                      the 19 sets: benchmarks/learners.json, docs/learners.md
python -m benchmarks.learners --only NAME          this detector again, the others from the file
python -m benchmarks.learners --pool               also means over the pool, a few hundred labelled tables
python -m benchmarks.learners --choose             settings chosen on some tables and judged on others; see below

Rows are scored as fitted. Three seeds on the 19 sets, each of which chooses the rows (at most 10,000) and the
random_state; one on the pool. Labels are used for AUROC and average precision only.

--choose: scaling, trim, boundary and scoring of each learner by the mean of AUROC + average precision on four fifths of
the tables (the 19 sets and 100 of the pool, at most 1,000 rows each), judged on the last fifth, five times. nu moves
the threshold and not the ranking, but for the boundary's own score, and is left at its default.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import oddatom
from benchmarks._common import machine, read, write_json
from benchmarks._compare import mean_ranks
from benchmarks._peers import choose
from benchmarks._sets import SETS, choose_rows
from benchmarks._untuned_tables import write
from benchmarks.untuned_pool import pool_files

HERE = Path(__file__).parent
FILE, PAGE = HERE / "learners.json", HERE.parent / "docs" / "learners.md"
LEARNERS = ("DLOCSVM", "DPLOCSVM", "KDLOCSVM", "KDPLOCSVM")
OTHERS = ("OddAtomDetector", "IsolationForest")
NAMES = (*OTHERS, *LEARNERS, *(f"{name}.paper" for name in LEARNERS))
SEEDS = range(3)
METRICS = ("AUROC", "AP")


def scores_of(name: str, X: np.ndarray, seed: int) -> np.ndarray:
    """Scores of the rows, higher = odder, by a detector at its defaults or the paper's settings."""
    if name in OTHERS:
        (detector,) = choose([name], [])
        rows = X if detector.raw else StandardScaler().fit_transform(X)
        return np.asarray(detector.scores(detector.make(seed), rows, None))
    Class = getattr(oddatom, name.removesuffix(".paper"))
    make = Class.paper if name.endswith(".paper") else Class
    return -make(random_state=seed, n_jobs=1).fit(X).score_samples(X)


def one_run(name: str, X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Any]:
    """AUROC and AP of one fit on one thread; one that fails has those of chance."""
    rows = choose_rows(len(y), seed)
    X, y, start = X[rows], y[rows], time.perf_counter()
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            scores = scores_of(name, X, seed)
        except Exception as error:
            return {"AUROC": 0.5, "AP": float(y.mean()), "error": f"{type(error).__name__}: {error}"[:200]}
    return {
        "AUROC": float(roc_auc_score(y, scores)),
        "AP": float(average_precision_score(y, scores)),
        "seconds": time.perf_counter() - start,
        "warnings": sorted({w.category.__name__ for w in caught if "oddatom" in w.category.__module__}),
    }


def rank(results: dict[str, Any], names: list[str], jobs: int) -> None:
    """Measure detectors on the 19 sets; the file is written after each set."""
    for data in SETS:
        X, y = data.load()
        with parallel_config(backend="loky", inner_max_num_threads=1):
            runs = Parallel(n_jobs=jobs)(delayed(one_run)(name, X, y, seed) for name in names for seed in SEEDS)
        for k, name in enumerate(names):
            mine = runs[k * len(SEEDS) : (k + 1) * len(SEEDS)]
            results.setdefault("sets", {}).setdefault(data.name, {})[name] = mine
            results.setdefault("machines", {})[name] = machine()
        write_json(FILE, results)
        print(
            data.name,
            {name: round(mean_of(results["sets"][data.name][name], "AUROC"), 3) for name in names},
            flush=True,
        )


def rank_pool(results: dict[str, Any], names: list[str], jobs: int) -> None:
    """Measure detectors on the pool, one seed."""
    files = list(pool_files().items())
    for start in range(0, len(files), 16):
        batch = files[start : start + 16]
        with parallel_config(backend="loky", inner_max_num_threads=1):
            runs = Parallel(n_jobs=jobs)(delayed(one_run)(name, *read(path), 0) for _, path in batch for name in names)
        for k, (table, _) in enumerate(batch):
            found = dict(zip(names, runs[k * len(names) : (k + 1) * len(names)], strict=True))
            results.setdefault("pool", {}).setdefault(table, {}).update({name: [run] for name, run in found.items()})
        write_json(FILE, results)
        print(f"pool: {start + len(batch)} of {len(files)}", flush=True)


def mean_of(runs: list[dict[str, Any]], metric: str) -> float:
    """The mean of a metric over runs."""
    return float(np.mean([run[metric] for run in runs]))


# Settings chosen on some tables, judged on others

SCALINGS, TRIMS = ("robust", "standard", None), (0.0, 0.1, 0.3, 0.5)
FITS = (*product(SCALINGS, TRIMS, ("ball",)), *product(SCALINGS, (0.0, 0.3), ("plane",)))
SCORINGS = ("margin", "residual", "description_length", "loda")
FOLDS = 5
OWN = {"ball": "distance", "plane": "margin"}


def figures_of(name: str, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """AUROC and AP of every setting, (fits, scorings, 2); chance where a fit fails."""
    rows = choose_rows(len(y), 0, 1000)
    X, y = X[rows], y[rows]
    out = np.full((len(FITS), len(SCORINGS), 2), (0.5, float(y.mean())))
    more = {"approximation": 128} if name.startswith("K") else {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, (scaling, trim, boundary) in enumerate(FITS):
            settings = {"scaling": scaling, "trim": trim, "boundary": boundary, "scoring": "loda", **more}
            try:
                parts = getattr(oddatom, name)(random_state=0, n_jobs=1, **settings).fit(X).score_parts(X)
            except ValueError:
                continue
            for j, scoring in enumerate(SCORINGS):
                scores = -parts[OWN[boundary] if scoring == "margin" else scoring]
                out[k, j] = roc_auc_score(y, scores), average_precision_score(y, scores)
    return out


def choose_settings(names: list[str], jobs: int) -> dict[str, Any]:
    """Choose on four fifths of the tables, judge on the rest."""
    pool = list(pool_files().values())
    tables = [data.load() for data in SETS] + [read(path) for path in pool[:: max(1, len(pool) // 100)][:100]]
    tables = [(X, y) for X, y in tables if y[choose_rows(len(y), 0, 1000)].any()]
    fold = np.arange(len(tables)) % FOLDS
    out: dict[str, Any] = {"tables": len(tables), "machine": machine()}
    for name in names:
        with parallel_config(backend="loky", inner_max_num_threads=1):
            figures = np.array(Parallel(n_jobs=jobs)(delayed(figures_of)(name, X, y) for X, y in tables))
        flat = figures.reshape(len(tables), -1, 2)
        chosen = [int(flat[fold != k].mean(axis=0).sum(axis=1).argmax()) for k in range(FOLDS)]
        judged = np.concatenate([flat[fold == k][:, chosen[k]] for k in range(FOLDS)])
        settings = [dict(zip(("scaling", "trim", "boundary"), FITS[c // len(SCORINGS)], strict=True)) for c in chosen]
        for setting, c in zip(settings, chosen, strict=True):
            setting["scoring"] = SCORINGS[c % len(SCORINGS)]
        own = getattr(oddatom, name)()
        default = FITS.index((own.scaling, own.trim, own.boundary)) * len(SCORINGS) + SCORINGS.index(own.scoring)
        means = flat.mean(axis=0)
        out[name] = {
            "chosen": settings,
            "judged": judged.mean(axis=0).round(4).tolist(),
            "default": means[default].round(4).tolist(),
            "best": means[int(means.sum(axis=1).argmax())].round(4).tolist(),
        }
        print(name, out[name], flush=True)
    return out


# The page


def render(results: dict[str, Any]) -> str:
    """The tables of the page."""
    lines: list[str] = []
    for key, title in (("sets", "The 19 sets"), ("pool", "The pool")):
        tables = results.get(key, {})
        names = [name for name in NAMES if tables and all(name in found for found in tables.values())]
        if names:
            lines += [f"## {title}", "", *_means(tables, names), ""]
    if "sets" in results:
        lines += ["## By set: AUROC / average precision", "", *_by_set(results["sets"]), ""]
    if "choice" in results:
        lines += ["## Settings chosen on some tables, judged on others", "", *_choice(results["choice"]), ""]
    return "\n".join(lines)


def _means(tables: dict[str, Any], names: list[str]) -> list[str]:
    lines = ["| detector | AUROC | AP | mean rank, AUROC | mean rank, AP |", "|---|---|---|---|---|"]
    values = {m: np.array([[mean_of(found[name], m) for name in names] for found in tables.values()]) for m in METRICS}
    ranks = {m: mean_ranks(table) for m, table in values.items()}
    for k, name in enumerate(names):
        cells = [f"{values[m][:, k].mean():.3f}" for m in METRICS] + [f"{ranks[m][k]:.1f}" for m in METRICS]
        lines.append(f"| {_label(name)} | {' | '.join(cells)} |")
    return [f"{len(tables)} tables.", "", *lines]


def _by_set(tables: dict[str, Any]) -> list[str]:
    names = [name for name in (*OTHERS, *LEARNERS) if all(name in found for found in tables.values())]
    lines = [f"| set | {' | '.join(map(_label, names))} |", "|---" * (len(names) + 1) + "|"]
    for table, found in tables.items():
        cells = [f"{mean_of(found[name], 'AUROC'):.3f} / {mean_of(found[name], 'AP'):.3f}" for name in names]
        lines.append(f"| {table} | {' | '.join(cells)} |")
    return lines


def _choice(choice: dict[str, Any]) -> list[str]:
    lines = [
        f"{choice['tables']} tables, {FOLDS} folds, by `python -m benchmarks.learners --choose`.",
        "",
        "| learner | chosen, by fold | judged on the others: AUROC / AP | the default there | the best there |",
        "|---|---|---|---|---|",
    ]
    for name in LEARNERS:
        if name in choice:
            one = choice[name]
            kinds: dict[str, int] = {}
            for setting in one["chosen"]:
                text = ", ".join(str(value) for value in setting.values())
                kinds[text] = kinds.get(text, 0) + 1
            text = "; ".join(f"{kind} ({count}×)" for kind, count in kinds.items())
            pairs = [" / ".join(f"{v:.3f}" for v in one[key]) for key in ("judged", "default", "best")]
            lines.append(f"| `{name}` | {text} | {' | '.join(pairs)} |")
    return lines


def _label(name: str) -> str:
    return f"`{name}()`" if name.startswith(LEARNERS) else name


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learners", description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", default=[], choices=NAMES, help="only this detector (repeatable)")
    parser.add_argument("--pool", action="store_true", help="the pool instead of the 19 sets")
    parser.add_argument("--choose", action="store_true", help="only settings chosen on some tables, judged on others")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    args = parser.parse_args()
    names = args.only or list(NAMES)
    results = json.loads(FILE.read_text()) if FILE.exists() else {}
    if args.choose:
        results["choice"] = choose_settings([name for name in names if name in LEARNERS], args.jobs)
    elif args.pool:
        rank_pool(results, names, args.jobs)
    else:
        rank(results, names, args.jobs)
    write_json(FILE, results)
    write(PAGE, render(results), "# The four learners without labels")
    print(render(results))


if __name__ == "__main__":
    main()
