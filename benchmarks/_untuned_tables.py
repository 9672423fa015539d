"""The tables of docs/untuned.md from benchmarks/untuned.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import untuned_pool
from benchmarks._compare import TIE, compare
from benchmarks._peers import NAMES, OURS
from benchmarks._sets import SETS

START, END = "<!-- results -->", "<!-- /results -->"
TITLE = "# Ranking without labels"
PROTOCOLS = {"same": "Fitted and scored on the same rows", "held-out": "Fitted on one half, scored on the other"}
METRICS = {"auroc": "AUROC", "ap": "AP"}
FOREST = "IsolationForest"


def between_markers(text: str, tables: str) -> str:
    """`text` with what stands between the markers replaced, and nothing else."""
    if text.count(START) != 1 or text.count(END) != 1 or text.index(START) > text.index(END):
        raise ValueError(f"The page must have {START} once and then {END} once. Put them where the tables belong.")
    before, rest = text.split(START)
    return f"{before}{START}\n\n{tables.strip()}\n\n{END}{rest.split(END)[1]}"


def write(page: Path, tables: str, title: str = TITLE) -> None:
    """Put the tables into the page; a new page is a title and the markers."""
    text = page.read_text() if page.exists() else f"{title}\n\n{START}\n{END}\n"
    page.write_text(between_markers(text, tables))


def complete(figures: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Detectors with any figures, and the sets for which all of these have them."""
    detectors = [name for name in NAMES if any(name in cells for cells in figures.values())]
    sets = [s.name for s in SETS if all(name in figures.get(s.name, {}) for name in detectors)]
    return detectors, sets if detectors else []


def render(results: dict[str, Any]) -> str:
    """All tables that the results allow."""
    out: list[str] = []
    for protocol, title in PROTOCOLS.items():
        figures = results.get("figures", {}).get(protocol, {})
        detectors, sets = complete(figures)
        if sets:
            out += [f"## {title}", "", *_measured(results, figures, detectors, sets), ""]
            out += [*_summary(figures, detectors, sets), "", *_by_set(results["sets"], figures, detectors, sets), ""]
            out += [*_failures(figures, detectors, sets), ""]
    if "pool" in results:
        out += [*untuned_pool.tables(results["pool"]), ""]
    if "choice" in results:
        out += [*_choice(results["choice"]), ""]
    if "speed" in results:
        out += _speed(results["speed"])
    return "\n".join(out).strip() + "\n"


def measured(figures: dict[str, Any], name: str) -> str:
    """The day, or the first and the last, on which a detector's figures were measured."""
    days = sorted({cells[name]["measured"][:10] for cells in figures.values() if name in cells})
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def _measured(results: dict[str, Any], figures: dict[str, Any], detectors: list[str], sets: list[str]) -> list[str]:
    """When, on what and with which versions; detectors that share these share a sentence."""
    groups: dict[str, list[str]] = {}
    for name in detectors:
        m = results["machines"][name]
        versions = ", ".join(f"{k} {v}" for k, v in m["versions"].items())
        where = f"{measured(figures, name)}, {m['cpu']}, Python {m['python']}, {versions}"
        groups.setdefault(where, []).append(name)
    lines = [f"{len(sets)} of {len(SETS)} sets, {len(detectors)} detectors, by `python -m benchmarks.untuned`.", ""]
    return lines + [f"Measured {where}: {', '.join(names)}." for where, names in groups.items()]


def _summary(figures: dict[str, Any], detectors: list[str], sets: list[str]) -> list[str]:
    stats = {
        metric: compare({name: [figures[s][name][metric] for s in sets] for name in detectors}, OURS)
        for metric in METRICS
    }
    others = len(detectors) - (OURS in detectors)
    lines = [
        f"Means and mean ranks over the sets. Wins, ties (a difference of at most {TIE:g}) and losses of {OURS}; "
        f"two-sided p of Wilcoxon's signed-rank test, Holm's correction over the {others} others. "
        "Seconds: scaling, fit and score on one thread, one run on every set.",
        "",
        "| detector | AUROC | rank | AP | rank | AUROC: win/tie/loss | p | AP: win/tie/loss | p | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in sorted(detectors, key=lambda name: -stats["auroc"][name]["mean"]):
        a, b = stats["auroc"][name], stats["ap"][name]
        times = [figures[s][name]["seconds"] for s in sets]
        total = "" if None in times else f"{sum(times):.2f}"
        shown = f"**{name}**" if name == OURS else name
        lines.append(
            f"| {shown} | {a['mean']:.3f} | {a['rank']:.2f} | {b['mean']:.3f} | {b['rank']:.2f} "
            f"| {_test(a)} | {_test(b)} | {total} |"
        )
    return lines


def _test(x: dict[str, Any]) -> str:
    return f"{'/'.join(map(str, x['win_tie_loss']))} | {x['p_holm']:.2g}" if "p" in x else " | "


def _by_set(facts: dict[str, Any], figures: dict[str, Any], detectors: list[str], sets: list[str]) -> list[str]:
    """A row per set: ours, the forest and the best of the others."""
    peers = [name for name in detectors if name != OURS]
    lines = [
        "Of each set, with the best of the others by that figure.",
        "",
        "| set | rows × features | anomalies | "
        + " | ".join(f"{m}: {OURS} | {FOREST} | best" for m in METRICS.values())
        + " |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for s in sets:
        cells, x = figures[s], facts[s]
        row = [s, f"{x['rows']:,} × {x['features']}", f"{100 * x['anomalies'] / x['rows']:.1f} %"]
        for metric in METRICS:
            row += [f"{cells[name][metric]:.3f}" if name in cells else "" for name in (OURS, FOREST)]
            best = max(peers, key=lambda name, cells=cells, metric=metric: cells[name][metric], default=None)
            row.append(f"{cells[best][metric]:.3f} {best}" if best else "")
        lines.append("| " + " | ".join(row) + " |")
    return lines


def _failures(figures: dict[str, Any], detectors: list[str], sets: list[str]) -> list[str]:
    """Runs that ended in an error, which count as AUROC .5 and AP the share of anomalies."""
    lines = [
        f"- {name}, {s}, {len(x['failures'])} of {x['runs']} runs: {next(iter(x['failures'].values()))}"
        for s in sets
        for name in detectors
        if (x := figures[s][name])["failures"]
    ]
    head = "Failures, counted as AUROC .5 and AP the share of anomalies" + (":" if lines else ": none.")
    return [head, "", *lines]


def _choice(r: dict[str, Any]) -> list[str]:
    rows = {
        "the default": r["default"],
        "chosen on 18 sets, judged on the 19th": r["chosen on 18"],
        f"the best of all, in hindsight: {r['best']['setting']}": r["best"]["figures"],
        "the median of all": r["median setting"],
        **{f"the default without the part {name}": figures for name, figures in r["without"].items()},
    }
    return [
        "## Settings chosen on other sets",
        "",
        f"`python -m benchmarks.untuned --choice`: {r['settings']} settings of OddAtomDetector (trim, centroids, "
        "parts joined), two seeds, chosen by the sum of mean AUROC and mean AP.",
        "",
        "| setting | AUROC | AP |",
        "|---|---|---|",
        *(f"| {name} | {auroc:.3f} | {ap:.3f} |" for name, (auroc, ap) in rows.items()),
    ]


def _speed(r: dict[str, Any]) -> list[str]:
    lines = [
        "## Speed",
        "",
        f"`python -m benchmarks.untuned --speed` on {r['date']}: {r['machine']['cpu']}, {r['machine']['cores']} cores; "
        f"`fit` and `score_samples` of seeded Gaussian mixtures, best of several in turn. {FOREST} at its defaults.",
        "",
        f"| figure | {OURS} | {FOREST} | ratio |",
        "|---|---|---|---|",
    ]
    for figure, values in r["figures"].items():
        ours, theirs = values.get(OURS), values.get(FOREST)
        ratio = f"{ours / theirs:.2f}" if ours and theirs else ""
        lines.append(
            f"| {figure} | " + " | ".join("" if v is None else f"{v:.4g}" for v in (ours, theirs)) + f" | {ratio} |"
        )
    return lines
