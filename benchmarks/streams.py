"""Rows in time and rows of groups: who finds the anomalies, how many normal rows are flagged, what does time cost?

python -m benchmarks.streams                     all but speed, into streams.json and docs/time_and_groups.md
python -m benchmarks.streams --only pump         this part again, the others from benchmarks/streams.json
python -m benchmarks.streams --speed             a million rows as well; --only speed: nothing else
python -m benchmarks.streams --dry-run           write no file

pump     four files of a pump: fitted on the first 400 rows, the others scored
series   thirteen labelled series of one column, each fitted and scored as a whole
normal   simulated series without anomalies: fitted on the first half, how many rows of the second half are flagged
levels   twenty machines of two columns, each with levels of its own and the same scale; 1 % of the rows shifted by 8
groups   twenty machines of five columns, each with levels and scales of its own; 1 % of the rows shifted by 6
Labels are used for the figures only. The files lie in a folder `streams` beside the sets (ODDATOM_DATA); without it
pump and series are left out. Other detectors get standardised columns without the time, see `_stream_peers.peer_runs`.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import parallel_config
from sklearn.metrics import average_precision_score, roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks import _cases
from benchmarks._common import machine, package_version, seconds, write_json
from benchmarks._stream_peers import (
    SERIES_DETECTOR,
    SERIES_LIBRARY,
    WINDOW,
    Run,
    check_peers,
    peer_runs,
    table_peer_runs,
)
from benchmarks._stream_tables import FAMILIES, MACHINES, ar, machines, read_stream, simulate, stamped, stream_files
from benchmarks._untuned_tables import write as write_page
from oddatom import TableDetector
from oddatom.exceptions import DriftWarning

FILE = Path(__file__).parent / "streams.json"
PAGE = Path(__file__).parents[1] / "docs" / "time_and_groups.md"
PUMP_ROWS = 400
LENGTHS = (1000, 4000)
SPEED_ROWS, SPEED_COLUMNS = 1_000_000, 10
DEFAULT, WITH_TIME, WITH_GROUPS = "TableDetector", "TableDetector, time", "TableDetector, by"
TITLES = {
    "pump": f"Pump: fitted on the first {PUMP_ROWS} rows, scored on the others, means of {{n}} files",
    "series": "Series: each fitted and scored as a whole, means of {n} series",
    "normal": "Normal rows flagged in the second half, and how often drift is warned of",
    "levels": "Groups with levels of their own and one scale, means of {n} seeds",
    "groups": f"Groups with levels and scales of their own: rows of {MACHINES} machines, means of {{n}} seeds",
    "speed": "A million rows of ten columns: fit and score_samples",
}
PARTS = tuple(TITLES)


def ours(**options: Any) -> TableDetector:
    """An oddatom detector with these options."""
    return TableDetector(random_state=0, **options)


def first_line(error: Exception) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {str(error).split(chr(10))[0][:100]}"


# ------------------------------------------------------------------------------------------------- figures of rankings
def figures(y: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """AUROC and average precision of scores, higher = more anomalous."""
    values = np.clip(np.asarray(scores, dtype=float), -1e300, 1e300)
    return {"auroc": float(roc_auc_score(y, values)), "ap": float(average_precision_score(y, values))}


def rank(y: np.ndarray, runs: Iterable[Run]) -> dict[str, dict[str, Any]]:
    """Figures of each detector, means over its seeds; those of equal scores, and the error, where it fails."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name, scores in runs:
        try:
            cell: dict[str, Any] = figures(y, scores())
        except Exception as e:
            cell = figures(y, np.zeros(len(y))) | {"error": first_line(e)}
        found.setdefault(name, []).append(cell)
    return {name: mean_cell(cells) for name, cells in found.items()}


def mean_cell(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Means of AUROC and AP, and the first error."""
    out: dict[str, Any] = {key: float(np.mean([c[key] for c in cells])) for key in ("auroc", "ap")}
    errors = [c["error"] for c in cells if "error" in c]
    return out | ({"error": errors[0]} if errors else {})


def over_sets(by_set: dict[str, dict[str, dict[str, Any]]], shares: list[float]) -> dict[str, Any]:
    """Means over the sets, with the APs of each set."""
    names = dict.fromkeys(name for cells in by_set.values() for name in cells)
    means = {name: mean_cell([cells[name] for cells in by_set.values() if name in cells]) for name in names}
    by_name = {name: {s: round(c[name]["ap"], 4) for s, c in by_set.items() if name in c} for name in names}
    return {"sets": len(by_set), "anomalies": float(np.mean(shares)), "figures": means, "ap by set": by_name}


def our_runs(table: pd.DataFrame, time: str, n_train: int | None) -> list[Run]:
    """Oddatom by default, on the table with its time column, and with time."""
    train, rest = table.iloc[:n_train], table.iloc[n_train or 0 :]
    return [
        Run(DEFAULT, lambda: -ours().fit(train).score_samples(rest)),
        Run(WITH_TIME, lambda: -ours(time=time).fit(train).score_samples(rest)),
    ]


def measure_files(paths: list[Path], n_train: int | None) -> dict[str, Any]:
    """Part pump, or series."""
    by_set, shares = {}, []
    for path in paths:
        table, time, y = read_stream(path)
        y = y[n_train or 0 :]
        columns = table.drop(columns=time).to_numpy(dtype=float)
        runs = [*our_runs(table, time, n_train), *peer_runs(columns, n_train)]
        by_set[path.stem] = rank(y, runs)
        shares.append(float(y.mean()))
        print(path.stem, flush=True)
    return over_sets(by_set, shares)


def flag(model: TableDetector, table: pd.DataFrame) -> tuple[float, bool]:
    """Share of the second half that a model of the first half flags, and whether it warns of drift."""
    half = len(table) // 2
    model.fit(table.iloc[:half])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        share = float((model.predict(table.iloc[half:]) < 0).mean())
    return share, any(issubclass(w.category, DriftWarning) for w in caught)


def measure_normal(seeds: int) -> dict[str, Any]:
    """Part normal."""
    out: dict[str, Any] = {}
    for family in FAMILIES:
        for n in LENGTHS:
            cells = out.setdefault(f"{family}, {n:,} rows", {})
            tables = [simulate(family, n, seed) for seed in range(seeds)]
            for name, options in ((DEFAULT, {}), (WITH_TIME, {"time": "timestamp"})):
                try:
                    runs = [flag(ours(**options), table) for table in tables]
                except Exception as e:
                    cells[name] = {"error": first_line(e)}
                    continue
                shares = [share for share, _ in runs]
                cells[name] = {"mean": float(np.mean(shares)), "largest": max(shares)}
                cells[name] |= {"warned": sum(warned for _, warned in runs), "runs": len(runs)}
        print(family, flush=True)
    return {"figures": out}


def measure_groups(make: Callable[[int], tuple[pd.DataFrame, np.ndarray]], seeds: int) -> dict[str, Any]:
    """Parts levels and groups: tables with a column `machine`."""
    by_set, shares = {}, []
    for seed in range(seeds):
        frame, y = make(seed)
        runs = [
            Run(DEFAULT, lambda frame=frame: -ours().fit(frame).score_samples(frame)),
            Run(WITH_GROUPS, lambda frame=frame: -ours(by="machine").fit(frame).score_samples(frame)),
            *table_peer_runs(frame, seed),
        ]
        by_set[f"seed {seed}"] = rank(y, runs)
        shares.append(float(y.mean()))
    print(make.__module__, flush=True)
    return over_sets(by_set, shares)


# --------------------------------------------------------------------------------------------------------------- speed
def measure_speed() -> dict[str, Any]:
    """Seconds of `fit` and `score_samples` of a million rows; without time the time column is ignored."""
    table = stamped(ar(np.random.default_rng(0), SPEED_ROWS, 0.9, SPEED_COLUMNS), "s")
    found: dict[str, float] = {}
    for name, options in (
        (DEFAULT, {"ignore": ["timestamp"]}),
        (f"{WITH_TIME}, window={WINDOW}", {"time": "timestamp", "window": WINDOW}),
    ):
        small = table.iloc[:2000]
        ours(**options).fit(small).score_samples(small)  # compiles
        model = ours(**options)
        found[name] = seconds(lambda model=model: model.fit(table).score_samples(table))
        print(f"{name}: {found[name]:.1f} s", flush=True)
    return {"figures": found}


# -------------------------------------------------------------------------------------------------------------- output
def render(results: dict[str, Any]) -> str:
    """The tables of all parts that have figures."""
    lines: list[str] = []
    for part in (name for name in PARTS if name in results):
        found = results[part]
        lines += [f"### {TITLES[part].format(n=found.get('sets'))}", ""]
        if part == "normal":
            lines += _flagged(found["figures"])
        elif part == "speed":
            lines += _times(found["figures"])
        else:
            lines += _ranking(found)
        lines += ["", *(f"Left out: {name}: {why}.\n" for name, why in found.get("left out", {}).items())]
    return "\n".join(lines).strip() + "\n"


def _ranking(part: dict[str, Any]) -> list[str]:
    lines = ["| detector | AUROC | AP |", "|---|---|---|"]
    found = part["figures"]
    for name in sorted(found, key=lambda name: -found[name]["ap"]):
        shown = f"**{name}**" if name.startswith(DEFAULT) else name
        lines.append(f"| {shown} | {found[name]['auroc']:.3f} | {found[name]['ap']:.3f} |")
    lines.append(f"| (random order) | 0.500 | {part['anomalies']:.3f} |")
    return lines + [f"\nFailed, counted as random: {name}: {c['error']}" for name, c in found.items() if "error" in c]


def _flagged(found: dict[str, Any]) -> list[str]:
    names = list(dict.fromkeys(name for cells in found.values() for name in cells))
    lines = ["| family | " + " | ".join(f"{name}: mean | largest | warned" for name in names) + " |"]
    lines.append("|---" * (1 + 3 * len(names)) + "|")
    for family, cells in found.items():
        shown = [_flagged_cell(cells[name]) if name in cells else " | | " for name in names]
        lines.append(f"| {family} | " + " | ".join(shown) + " |")
    return lines


def _flagged_cell(c: dict[str, Any]) -> str:
    if "error" in c:
        return f"failed: {c['error']} | | "
    return f"{100 * c['mean']:.2f} % | {100 * c['largest']:.2f} % | {c['warned']} of {c['runs']}"


def _times(found: dict[str, float]) -> list[str]:
    rows = [f"| {name} | {time:.1f} | {time / found[DEFAULT]:.2f} |" for name, time in found.items()]
    return ["| | seconds | ratio |", "|---|---|---|", *rows]


def measure(part: str, paths: list[Path], seeds: int) -> dict[str, Any]:
    """Figures of a part, and what was left out of it."""
    left_out = {} if part in ("normal", "speed") else check_peers()
    if part == "speed":
        return {**measure_speed(), "left out": left_out}
    with threadpool_limits(1), parallel_config(backend="sequential"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if part == "normal":
            found = measure_normal(seeds)
        elif part in ("levels", "groups"):
            left_out.pop(SERIES_DETECTOR, None)
            found = measure_groups(_cases.machines if part == "levels" else machines, seeds)
        else:
            found = measure_files(paths, PUMP_ROWS if part == "pump" else None)
    return {**found, "left out": left_out}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams", description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", default=[], choices=PARTS, help="run this part (repeatable)")
    parser.add_argument("--seeds", type=int, default=5, help="of simulated rows: 0 to K - 1")
    parser.add_argument("--speed", action="store_true", help="time a million rows as well")
    parser.add_argument("--dry-run", action="store_true", help="write no file")
    return parser.parse_args()


def main() -> None:
    args = parse()
    files = dict(zip(("pump", "series"), stream_files(), strict=True))
    results = {} if args.dry_run or not FILE.exists() else json.loads(FILE.read_text())
    here = machine() | {"date": date.today().isoformat()}
    here["versions"] |= {package: package_version(package) for package in ("pandas", "pyod", SERIES_LIBRARY)}
    for part in args.only or [part for part in PARTS if part != "speed" or args.speed]:
        if files.get(part) == []:
            print(f"No files for {part}: put a folder `streams` beside the sets, or set ODDATOM_DATA.", flush=True)
            continue
        results[part] = {**measure(part, files.get(part, []), args.seeds), "machine": here}
        if not args.dry_run:
            write_json(FILE, results)
            write_page(PAGE, render(results), "# Time and groups")
    print(render(results))


if __name__ == "__main__":
    main()
