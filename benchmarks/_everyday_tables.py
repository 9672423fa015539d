"""The tables of docs/everyday.md from benchmarks/everyday.json."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks._everyday_peers import NAMES
from benchmarks._peers import OURS
from benchmarks._planting import KINDS

TITLE = "# Errors in everyday tables"
METRICS = {"auroc": "AUROC", "ap": "AP"}
# A planted table: its name, the kind of error, and the figures by detector.
Run = tuple[str, str, dict[str, dict[str, Any]]]


def complete(figures: dict[str, Any]) -> tuple[list[str], list[Run]]:
    """Detectors with any figures, and the planted tables for which all of these have them."""
    runs = [(table, kind, cells[kind]) for table, cells in sorted(figures.items()) for kind in KINDS if cells.get(kind)]
    detectors = [name for name in NAMES if any(name in cells for _, _, cells in runs)]
    return detectors, [run for run in runs if all(name in run[2] for name in detectors)]


def render(results: dict[str, Any]) -> str:
    """All tables that the results allow."""
    shares = sorted(results.get("figures", {}), key=float)
    found = {share: complete(results["figures"][share]) for share in shares}
    found = {share: (detectors, runs) for share, (detectors, runs) in found.items() if runs}
    if not found:
        return "No figures yet: `python -m benchmarks.everyday FOLDER` fills this section.\n"
    out = [*_measured(results, found), "", *_summary(found), ""]
    for share, (detectors, runs) in found.items():
        out += [f"## {100 * float(share):g} % of the cells empty", ""]
        for metric, title in METRICS.items():
            out += [f"{title} by kind of error.", "", *_by_kind(detectors, runs, metric), ""]
        out += ["AP by table, the mean over its kinds of error.", "", *_by_table(detectors, runs), ""]
        out += [*_decisions(runs), ""]
        out += [*_failures(runs), ""]
    return "\n".join(out).strip() + "\n"


def _measured(results: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Which tables were run, and when, on what and with which versions."""
    tables = sorted({table for _, runs in found.values() for table, _, _ in runs})
    rows, seeds = results["settings"]["rows"], results["settings"]["seeds"]
    counted = f"{len(tables)} table{'s' * (len(tables) > 1)} ({', '.join(tables)})"
    lines = [
        f"{counted}, at most {rows:,} rows each, {seeds} seed{'s' * (seeds > 1)}, by "
        "`python -m benchmarks.everyday FOLDER`.",
        "",
    ]
    groups: dict[str, list[str]] = {}
    for name, m in results["machines"].items():
        versions = ", ".join(f"{k} {v}" for k, v in m["versions"].items() if v)
        groups.setdefault(f"{m['date']}, {m['cpu']}, Python {m['python']}, {versions}", []).append(name)
    return lines + [f"Measured {where}: {', '.join(names)}." for where, names in groups.items()]


def _mean(runs: Iterable[Run], name: str, metric: str) -> float:
    return float(np.mean([cells[name][metric] for _, _, cells in runs]))


def _table(head: list[str], rows: Iterable[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _bold_best(values: list[float]) -> list[str]:
    best = f"{max(values):.3f}"
    return [f"**{text}**" if (text := f"{value:.3f}") == best else text for value in values]


def _summary(found: dict[str, tuple[list[str], list[Run]]]) -> list[str]:
    names = [name for name in NAMES if any(name in detectors for detectors, _ in found.values())]
    rows = []
    for share, (detectors, runs) in found.items():
        for metric, title in METRICS.items():
            texts = dict(zip(detectors, _bold_best([_mean(runs, name, metric) for name in detectors]), strict=True))
            head = [f"{100 * float(share):g} %", str(len(runs)), title]
            rows.append([*head, *(texts.get(name, "") for name in names)])
    note = "Means over all tables and kinds of error. A planted table is one table with one kind of error."
    return [note, "", *_table(["cells empty", "planted tables", "figure", *names], rows)]


def _by_kind(detectors: list[str], runs: list[Run], metric: str) -> list[str]:
    groups = {kind: [run for run in runs if run[1] == kind] for kind in KINDS} | {"mean": runs}
    return _table(
        ["kind", "tables", *detectors],
        (
            [kind, str(len(part)), *_bold_best([_mean(part, name, metric) for name in detectors])]
            for kind, part in groups.items()
            if part
        ),
    )


def _by_table(detectors: list[str], runs: list[Run]) -> list[str]:
    groups = {table: [run for run in runs if run[0] == table] for table in dict.fromkeys(run[0] for run in runs)}
    return _table(
        ["table", *detectors],
        ([table, *_bold_best([_mean(part, name, "ap") for name in detectors])] for table, part in groups.items()),
    )


def _decisions(runs: list[Run]) -> list[str]:
    """Flags and explanations of OddAtomDetector by kind of error."""
    ours = [(kind, cells[OURS]) for _, kind, cells in runs if "flagged" in cells.get(OURS, {})]
    if not ours:
        return []
    note = (
        f"Decisions of {OURS}: rows that `predict` flags (mean share), how many of these are planted, how many planted "
        "rows are flagged; and, of the planted rows that rank among the first (as many as are planted), how often "
        "`explain` names the wrong column first."
    )
    rows = []
    for kind in (*KINDS, "all"):
        cells = [cell for k, cell in ours if kind in (k, "all")]
        if cells:
            share = float(np.mean([cell["flagged"] / cell["rows"] for cell in cells]))
            pairs = (("right", "flagged"), ("right", "planted"), ("named", "found"))
            rows.append([kind, f"{100 * share:.1f} %", *(_ratio(cells, *pair) for pair in pairs)])
    head = ["kind", "flagged", "precision of flagged rows", "planted rows flagged", "wrong column named first"]
    return [note, "", *_table(head, rows)]


def _ratio(cells: list[dict[str, Any]], part: str, whole: str) -> str:
    a, b = (sum(cell.get(key, 0) for cell in cells) for key in (part, whole))
    return f"{100 * a / b:.0f} % ({a:,} of {b:,})" if b else ""


def _failures(runs: list[Run]) -> list[str]:
    lines = [
        f"- {name}, {table}, {kind}: {cell['error']}"
        for table, kind, cells in runs
        for name, cell in cells.items()
        if "error" in cell
    ]
    return ["Failures, counted as equal scores for all rows:", "", *lines] if lines else []
