"""Errors planted in everyday tables: who finds them?

python -m benchmarks.everyday FOLDER                     all tables (.csv, .csv.gz), kinds of error and detectors
python -m benchmarks.everyday FOLDER --only NAME         these detectors again, the others from benchmarks/everyday.json
python -m benchmarks.everyday FOLDER --table NAME --kind KIND --missing 0.02 --dry-run      a quick try

One row in a hundred (at least ten) gets one wrong cell: a number times 10, times 100, divided by 10 or with the wrong
sign, two numbers of the row swapped, or a category of another row. Before that a share of all cells is emptied at
random; an empty cell is no error. Every detector is fitted on the rows that it scores, at its defaults.
OddAtomDetector and isotree get the table as it is, the others numbers (see `_everyday_peers.one_hot`). Labels are used
for the figures only. The tables are not part of the repository.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from sklearn.metrics import average_precision_score, roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks._common import machine, package_version, write_json
from benchmarks._everyday_peers import ISOTREE, NAMES, choose_names, fit_ours, peer_scores
from benchmarks._everyday_tables import TITLE, render
from benchmarks._peers import OURS
from benchmarks._planting import KINDS, Planted, find_tables, plant, read_table
from benchmarks._untuned_tables import write

HERE = Path(__file__).parent
FILE, PAGE = HERE / "everyday.json", HERE.parent / "docs" / "everyday.md"
MISSING = (0.02, 0.1, 0.3)
# Kinds whose wrong cell an explanation should name: the number is far from all others, or of a sign that is rare.
EXPLAINED = ("x10", "x100", "sign")
HUGE = 1e300


def one_run(table: Any, kind: str, seed: int, missing: float, names: list[str]) -> dict[str, dict[str, Any]]:
    """Figures of every detector on one planted table, on one thread; nothing where the kind does not apply."""
    planted = plant(table, kind, seed, missing)
    if planted is None:
        return {}
    out: dict[str, dict[str, Any]] = {}
    with threadpool_limits(1), parallel_config(backend="sequential"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if OURS in names:
            out[OURS] = _or_chance(planted.y, lambda: _ours(planted, kind, seed))
        for name, scores in peer_scores(names, planted.frame, seed).items():
            out[name] = _or_chance(planted.y, lambda scores=scores: _figures(planted.y, scores()))
    return out


def _or_chance(y: np.ndarray, figures: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The figures; those of equal scores, and the error, where the detector fails."""
    try:
        return figures()
    except Exception as e:
        return _figures(y, np.zeros(len(y))) | {"error": f"{type(e).__name__}: {str(e).split(chr(10))[0][:100]}"}


def _figures(y: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
    values = np.nan_to_num(np.asarray(scores, dtype=float), posinf=HUGE)
    return {"auroc": float(roc_auc_score(y, values)), "ap": float(average_precision_score(y, values))}


def _ours(planted: Planted, kind: str, seed: int) -> dict[str, Any]:
    """The same figures, how many rows are flagged, and how many explanations name the wrong column first."""
    frame, y = planted.frame, planted.y
    model = fit_ours(frame, seed)
    scores = -model.score_samples(frame)
    flagged = model.predict(frame) < 0
    out = _figures(y, scores)
    out |= {"rows": len(y), "planted": int(y.sum()), "flagged": int(flagged.sum()), "right": int(y[flagged].sum())}
    if kind in EXPLAINED:
        first = np.argsort(-scores, kind="stable")[: y.sum()]
        found = first[y[first] == 1]
        named = first_columns(model, frame.iloc[found]) if found.size else []
        right = [name in planted.wrong[int(row)] for row, name in zip(found, named, strict=True)]
        out |= {"found": len(found), "named": int(sum(right))}
    return out


def first_columns(model: Any, frame: Any) -> list[str]:
    """For every row the column of the table with the lowest contribution."""
    contributions = model.explain(frame).contributions
    return [str(contributions.columns[i]) for i in np.asarray(contributions).argmin(axis=1)]


def merge(runs: list[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Means of AUROC and AP and sums of counts over the seeds, by detector."""
    out: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(name for run in runs for name in run):
        cells = [run[name] for run in runs]
        cell: dict[str, Any] = {m: round(float(np.mean([c[m] for c in cells])), 6) for m in ("auroc", "ap")}
        counts = dict.fromkeys(key for c in cells for key, value in c.items() if isinstance(value, int))
        cell |= {key: sum(c.get(key, 0) for c in cells) for key in counts}
        errors = [c["error"] for c in cells if "error" in c]
        out[name] = cell | ({"error": errors[0], "failures": len(errors)} if errors else {})
    return out


def measure(results: dict[str, Any], tables: dict[str, Path], names: list[str], args: argparse.Namespace) -> None:
    """Run the detectors on every table, kind and share of empty cells."""
    here = machine() | {"date": date.today().isoformat()}
    here["versions"] |= {package: package_version(package) for package in ("pandas", "pyod", ISOTREE)}
    for missing in args.missing:
        figures = results.setdefault("figures", {}).setdefault(f"{missing:g}", {})
        for title, path in tables.items():
            table = read_table(path, args.rows)
            tasks = [(kind, seed) for kind in args.kind or KINDS for seed in range(args.seeds)]
            with parallel_config(backend="loky", inner_max_num_threads=1):
                runs = Parallel(n_jobs=args.jobs)(delayed(one_run)(table, *task, missing, names) for task in tasks)
            for kind in dict(tasks):
                cells = merge([run for run, task in zip(runs, tasks, strict=True) if task[0] == kind])
                if cells:
                    figures.setdefault(title, {}).setdefault(kind, {}).update(cells)
            results.setdefault("machines", {}).update(dict.fromkeys(names, here))
            if not args.dry_run:
                write_json(FILE, results)
            print(f"{100 * missing:g} % empty, {title}", flush=True)


def load(settings: dict[str, int], dry_run: bool) -> dict[str, Any]:
    """The figures of earlier runs, which must have been made with the same settings."""
    if dry_run or not FILE.exists():
        return {"settings": settings}
    results = json.loads(FILE.read_text())
    if results["settings"] != settings:
        used = " ".join(f"--{key} {value}" for key, value in results["settings"].items())
        raise SystemExit(f"{FILE.name} has figures made with {used}. Use the same, delete the file, or add --dry-run.")
    return results


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.everyday", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with .csv or .csv.gz files")
    parser.add_argument("--missing", type=float, nargs="+", default=MISSING, help="shares of empty cells")
    parser.add_argument("--only", action="append", default=[], choices=NAMES, help="run this detector (repeatable)")
    parser.add_argument("--table", action="append", default=[], help="run this table (repeatable)")
    parser.add_argument("--kind", action="append", default=[], choices=KINDS, help="run this kind (repeatable)")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--rows", type=int, default=3000, help="rows sampled of longer tables")
    parser.add_argument("--seeds", type=int, default=1, help="seeds 0 to K - 1")
    parser.add_argument("--dry-run", action="store_true", help="print the tables; write neither file nor page")
    return parser.parse_args()


def main() -> None:
    args = parse()
    tables = find_tables(args.folder)
    if unknown := set(args.table) - set(tables):
        raise SystemExit(f"No table {', '.join(sorted(unknown))} in {args.folder}; it has {', '.join(tables)}.")
    names = choose_names(args.only)
    results = load({"rows": args.rows, "seeds": args.seeds}, args.dry_run)
    measure(results, {k: v for k, v in tables.items() if not args.table or k in args.table}, names, args)
    text = render(results)
    if not args.dry_run:
        write(PAGE, text, TITLE)
    print(text)


if __name__ == "__main__":
    main()
