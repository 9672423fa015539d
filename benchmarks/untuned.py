"""Ranking without labels: OddAtomDetector beside twelve others on 19 labelled sets, every one at its defaults.

python -m benchmarks.untuned                       everything: both protocols, all detectors, speed (or: make untuned)
python -m benchmarks.untuned --only NAME           these detectors anew, the others from benchmarks/untuned.json
python -m benchmarks.untuned --speed               seconds beside IsolationForest
python -m benchmarks.untuned --choice              settings chosen on 18 sets, judged on the 19th
python -m benchmarks.untuned --learn-weights       weights of the parts (untuned_weights.py)
python -m benchmarks.untuned --pool                means over the pool, a few hundred labelled tables (untuned_pool.py)

"same": fit and score the same rows. "held-out": fit one half, score the other; the halves are random but share the
anomalies evenly, so that both have some. Labels are used for that and for AUROC and average precision only. Five
seeds, each of which chooses the rows (at most 10,000), the halves and the random_state. OddAtomDetector gets the
columns as they are, the others standardised by the rows they are fitted on.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks import untuned_choice, untuned_pool, untuned_speed, untuned_weights
from benchmarks._common import data_folder, machine, package_version, write_json
from benchmarks._peers import NAMES, Sklearn, choose
from benchmarks._sets import MOST_ROWS, SETS, Set, choose_rows, halves
from benchmarks._untuned_tables import PROTOCOLS, measured, render, write

HERE = Path(__file__).parent
FILE, PAGE = HERE / "untuned.json", HERE.parent / "docs" / "untuned.md"
SEEDS = range(5)


def one_run(detector: Sklearn, protocol: str, X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Any]:
    """Figures of one detector with one seed, on one thread."""
    rows = choose_rows(len(y), seed)
    X, y = X[rows], y[rows]
    Z = None
    if protocol == "held-out":
        fit, other = halves(y, seed)
        X, Z, y = X[fit], X[other], y[other]
    model = detector.make(seed)
    error, notes = None, {}
    with threadpool_limits(1), parallel_config(backend="sequential"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        try:
            scores = _scores(detector, model, X, Z)
        except Exception as e:
            error = f"{type(e).__name__}: {e}"
        taken = time.perf_counter() - start
    for w in caught:
        notes.setdefault(w.category.__name__, str(w.message).splitlines()[0][:200])
    out = {"detector": detector.name, "seed": seed, "seconds": taken, "error": error, "warnings": notes}
    if error is not None:
        return out | {"auroc": 0.5, "ap": float(y.mean())}
    return out | {"auroc": float(roc_auc_score(y, scores)), "ap": float(average_precision_score(y, scores))}


def _scores(detector: Sklearn, model: Any, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
    if not detector.raw:
        scaler = StandardScaler().fit(X)
        X, Z = scaler.transform(X), None if Z is None else scaler.transform(Z)
    scores = np.asarray(detector.scores(model, X, Z))
    bad = int(np.sum(~np.isfinite(scores)))
    if bad:
        raise FloatingPointError(f"{bad} of {scores.size} scores are not finite")
    return scores


def one_set(data: Set, protocol: str, detectors: list[Sklearn], jobs: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Facts about a set, and the figures of every detector on it over the seeds."""
    X, y = data.load()
    facts = {"rows": len(y), "features": X.shape[1], "anomalies": int(y.sum())}
    # On the same rows a detector without a random_state gives the same scores for every seed: one run stands for all.
    fixed = protocol == "same" and len(y) <= MOST_ROWS
    tasks = [(d, s) for d in detectors for s in (SEEDS if d.stochastic or not fixed else SEEDS[:1])]
    with parallel_config(backend="loky", inner_max_num_threads=1):
        runs = Parallel(n_jobs=jobs)(delayed(one_run)(d, protocol, X, y, seed) for d, seed in tasks)
    return facts, {d.name: _cell([r for r in runs if r["detector"] == d.name], jobs) for d in detectors}


def _cell(runs: list[dict[str, Any]], jobs: int) -> dict[str, Any]:
    """Means and standard deviations over the runs; seconds only where nothing ran beside."""
    cell: dict[str, Any] = {"runs": len(runs), "measured": datetime.now().isoformat(timespec="minutes")}
    for metric in ("auroc", "ap"):
        values = [r[metric] for r in runs]
        cell[metric] = float(np.mean(values))
        cell[f"{metric}_sd"] = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    cell["seconds"] = float(np.mean([r["seconds"] for r in runs])) if jobs == 1 else None
    cell["failures"] = {str(r["seed"]): r["error"] for r in runs if r["error"] is not None}
    cell["warnings"] = {k: v for r in reversed(runs) for k, v in r["warnings"].items()}
    return cell


def rank(results: dict[str, Any], protocols: list[str], detectors: list[Sklearn], jobs: int) -> None:
    """Measure the detectors on every set; the file is written after each."""
    here = machine()
    here["versions"]["pyod"] = package_version("pyod")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for d in detectors:  # compile, so that the first set does not pay for it
            _scores(d, d.make(0), np.random.default_rng(0).normal(size=(500, 5)), None)
    for protocol in protocols:
        figures = results.setdefault("figures", {}).setdefault(protocol, {})
        for data in SETS:
            start = time.perf_counter()
            facts, cells = one_set(data, protocol, detectors, jobs)
            results.setdefault("sets", {})[data.name] = facts
            figures.setdefault(data.name, {}).update(cells)
            results.setdefault("machines", {}).update({d.name: here for d in detectors})
            save(results)
            print(f"{protocol} {data.name}: {time.perf_counter() - start:.0f} s", flush=True)
            for name, cell in cells.items():
                for seed, error in cell["failures"].items():
                    print(f"  failed: {name}, seed {seed}: {error}", flush=True)


def save(results: dict[str, Any]) -> None:
    """Write the file after every step, so that a run that is stopped loses little."""
    write_json(FILE, results)


def say_reused(results: dict[str, Any], protocols: list[str], run: list[str]) -> None:
    """Say which figures come from the file, not from this run, and when they were measured."""
    for protocol, figures in results.get("figures", {}).items():
        for name in NAMES:
            new = protocol in protocols and name in run
            if not new and any(name in cells for cells in figures.values()):
                print(f"{protocol}: {name} from {FILE.name}, measured {measured(figures, name)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.untuned", description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", default=[], choices=NAMES, help="rerun this detector (repeatable)")
    parser.add_argument("--skip", action="append", default=[], choices=NAMES, help="leave this one (repeatable)")
    parser.add_argument("--protocol", action="append", default=[], choices=list(PROTOCOLS), help="only this protocol")
    parser.add_argument("--jobs", type=int, default=1, help="processes; seconds are kept with 1 only")
    parser.add_argument("--speed", action="store_true", help="only seconds beside IsolationForest")
    parser.add_argument("--choice", action="store_true", help="only settings chosen on 18 sets, judged on the 19th")
    parser.add_argument("--pool", action="store_true", help="only the pool, with --only, --skip and --jobs")
    parser.add_argument("--learn-weights", action="store_true", help="only choose weights of the parts; see --everyday")
    parser.add_argument("--everyday", type=Path, help="a folder of tables, for --learn-weights")
    parser.add_argument("--first", type=int, help="only the first N tables of the pool")
    args = parser.parse_args()
    if args.learn_weights:
        untuned_weights.run(args.everyday, args.jobs)
        return
    results = json.loads(FILE.read_text()) if FILE.exists() else {}
    if not (args.speed or args.pool) and data_folder() is None:
        raise SystemExit("No ODDS data: set ODDATOM_DATA to the folder with the .mat files.")
    alone = args.speed or args.choice or args.pool
    everything = not (alone or args.only or args.skip or args.protocol)
    if not alone:
        detectors = choose(args.only, args.skip)
        protocols = args.protocol or list(PROTOCOLS)
        say_reused(results, protocols, [d.name for d in detectors])
        rank(results, protocols, detectors, args.jobs)
    if args.pool:
        for _ in untuned_pool.run(results, choose(args.only, args.skip), args.jobs, args.first, one_run):
            save(results)
    if args.choice or everything:
        results["choice"] = untuned_choice.run(args.jobs)
        save(results)
    if args.speed or everything:
        results["speed"] = untuned_speed.run()
        save(results)
    tables = render(results)
    write(PAGE, tables)
    print(tables)


if __name__ == "__main__":
    main()
