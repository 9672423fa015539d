"""The ranking benchmark on the pool: a few hundred labelled tables, fitted and scored on the same rows, one seed.

python -m benchmarks.untuned --pool                       all detectors on all tables
python -m benchmarks.untuned --pool --only NAME           this detector again, the others from benchmarks/untuned.json
python -m benchmarks.untuned --pool --first 5             the first five tables, for a quick try

The pool is a folder of .npz files with X and y (1: anomaly), `pool` beside the ODDS folder.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config

from benchmarks._common import data_folder, machine, package_version, read
from benchmarks._compare import TIE, compare
from benchmarks._peers import NAMES, OURS, Sklearn

SEED = 0
METRICS = ("auroc", "ap")
# Sets measured between two writes of the file.
BATCH = 16
# Sets with more anomalies than this are also averaged by themselves.
MANY = 0.12


def pool_files() -> dict[str, Path]:
    """The files of the pool by name."""
    odds = data_folder()
    folder = None if odds is None else odds.parent / "pool"
    files = sorted(folder.glob("*.npz")) if folder is not None and folder.is_dir() else []
    if not files:
        where = "the ODDS folder, which is not there either: set ODDATOM_DATA" if odds is None else str(odds)
        raise SystemExit(f"No pool: put a folder `pool` of .npz files with X and y beside {where}.")
    return {path.stem: path for path in files}


def run(results: dict[str, Any], detectors: list[Sklearn], jobs: int, first: int | None, one_run: Callable) -> Any:
    """Measure the detectors on the pool, `one_run` for each; yields after every batch, so that it can be saved."""
    files = dict(list(pool_files().items())[:first])
    pool = results.setdefault("pool", {"sets": {}, "figures": {}, "failures": {}, "machines": {}})
    here = machine() | {"date": date.today().isoformat()}
    here["versions"] |= {"pyod": package_version("pyod")}
    names = list(files)
    for start in range(0, len(names), BATCH):
        batch = names[start : start + BATCH]
        with parallel_config(backend="loky", inner_max_num_threads=1):
            done = Parallel(n_jobs=jobs)(delayed(_one_set)(files[name], detectors, one_run) for name in batch)
        for name, (facts, runs) in zip(batch, done, strict=True):
            _keep(pool, name, facts, runs)
        pool["machines"].update({d.name: here for d in detectors})
        print(f"pool: {start + len(batch)} of {len(names)} sets", flush=True)
        yield


def _one_set(path: Path, detectors: list[Sklearn], one_run: Callable) -> tuple[list[int], list[dict[str, Any]]]:
    """Rows, features and anomalies of a set, and one run of every detector."""
    X, y = read(path)
    return [*X.shape, int(y.sum())], [one_run(d, "same", X, y, SEED) for d in detectors]


def _keep(pool: dict[str, Any], name: str, facts: list[int], runs: list[dict[str, Any]]) -> None:
    """Put the figures of a set into the columns of the detectors, which follow the order of the sets."""
    pool["sets"][name] = facts
    at = list(pool["sets"]).index(name)
    for one in runs:
        detector = one["detector"]
        for metric, column in pool["figures"].setdefault(detector, {metric: [] for metric in METRICS}).items():
            column += [None] * (at + 1 - len(column))
            column[at] = round(one[metric], 4)
        failures = pool["failures"].setdefault(detector, {})
        failures.pop(name, None)
        if one["error"] is not None:
            failures[name] = one["error"][:100]


def tables(pool: dict[str, Any]) -> list[str]:
    """The section of the page: means and mean ranks over the sets that all detectors have."""
    detectors = [name for name in NAMES if name in pool["figures"]]
    columns = {m: np.full((len(pool["sets"]), len(detectors)), np.nan) for m in METRICS}
    for metric, values in columns.items():
        for j, name in enumerate(detectors):
            column = pool["figures"][name][metric]
            values[: len(column), j] = [np.nan if v is None else v for v in column]
    whole = ~np.isnan(columns["auroc"]).any(axis=1)
    if not whole.any():
        return []
    share = np.array([facts[2] / facts[0] for facts in pool["sets"].values()])[whole]
    values = {metric: table[whole] for metric, table in columns.items()}
    head = [
        "## The pool",
        "",
        f"{int(whole.sum())} labelled tables, fitted and scored on the same rows, one seed, by "
        f"`python -m benchmarks.untuned --pool`. Anomalies: {100 * share.mean():.1f} % in the mean; "
        f"{int((share > MANY).sum())} tables have more than {100 * MANY:g} %.",
        "",
        *_measured(pool, detectors),
        "",
    ]
    return [*head, *_summary(values, share, detectors), "", *_failures(pool)]


def _measured(pool: dict[str, Any], detectors: list[str]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for name in detectors:
        m = pool["machines"][name]
        versions = ", ".join(f"{k} {v}" for k, v in m["versions"].items())
        groups.setdefault(f"{m['date']}, {m['cpu']}, Python {m['python']}, {versions}", []).append(name)
    return [f"Measured {where}: {', '.join(names)}." for where, names in groups.items()]


def _summary(values: dict[str, np.ndarray], share: np.ndarray, detectors: list[str]) -> list[str]:
    stats = {m: compare(dict(zip(detectors, table.T.tolist(), strict=True)), OURS) for m, table in values.items()}
    lines = [
        f"Means and mean ranks; wins, ties (a difference of at most {TIE:g}) and losses of {OURS}; two-sided p of "
        "Wilcoxon's signed-rank test, Holm's correction. The last two columns are the mean AUROC over tables with few "
        "and with many anomalies.",
        "",
        "| detector | AUROC | rank | AP | rank | AUROC: win/tie/loss | p | AP: win/tie/loss | p "
        f"| AUROC, ≤ {100 * MANY:g} % | > {100 * MANY:g} % |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in sorted(detectors, key=lambda name: -float(stats["auroc"][name]["mean"])):
        auroc = values["auroc"][:, detectors.index(name)]
        a, b = stats["auroc"][name], stats["ap"][name]
        parts = [f"{auroc[part].mean():.3f}" if part.any() else "" for part in (share <= MANY, share > MANY)]
        shown = f"**{name}**" if name == OURS else name
        cells = [shown, f"{a['mean']:.3f}", f"{a['rank']:.2f}", f"{b['mean']:.3f}", f"{b['rank']:.2f}"]
        lines.append("| " + " | ".join([*cells, *_test(a), *_test(b), *parts]) + " |")
    return lines


def _test(x: dict[str, Any]) -> list[str]:
    return ["/".join(map(str, x["win_tie_loss"])), f"{x['p_holm']:.2g}"] if "p" in x else ["", ""]


def _failures(pool: dict[str, Any]) -> list[str]:
    failed = {name: errors for name, errors in pool["failures"].items() if errors}
    lines = [f"- {name}, {len(errors)} sets: {next(iter(errors.values()))}" for name, errors in failed.items()]
    head = "Failures, counted as AUROC .5 and AP the share of anomalies" + (":" if lines else ": none.")
    return [head, "", *lines]
