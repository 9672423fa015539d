"""What threshold="auto" flags: clean tables, shifted rows, everyday tables with errors, labelled sets, the pool.

python -m benchmarks.flags                 figures, into benchmarks/flags.json and docs/flags.md
python -m benchmarks.flags --seeds 5       simulated tables with five seeds each
python -m benchmarks.flags --choose        other constants: chosen on four fifths of the tables, judged on the rest
python -m benchmarks.flags --dry-run       write neither file nor page

Tables are fitted and flagged on the same rows, with one seed. Labels are used for the figures only. The sets, the pool
and the everyday tables lie beside each other; groups whose folder is not there are left out.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks._clean_tables import clean_tables, shifted_tables
from benchmarks._common import data_folder, machine, read, write_json
from benchmarks._planting import find_tables, plant, read_table
from benchmarks._sets import SETS, choose_rows
from benchmarks._untuned_tables import write
from benchmarks.untuned_pool import pool_files
from oddatom import OddAtomDetector, TableDetector
from oddatom.decisions.auto import Criterion, Rule, decide
from oddatom.estimators._auto_threshold import LEAST_TAIL, MOST_P

HERE = Path(__file__).parent
FILE, PAGE, TITLE = HERE / "flags.json", HERE.parent / "docs" / "flags.md", "# What is flagged"
GROSS = ("x10", "x100", "sign")  # kinds of error that ought to be flagged
RANKED = 0.99  # AUROC from which shifted rows count
FOLDS = 5
ROWS, MISSING = 3000, 0.02  # of everyday tables, as in benchmarks.everyday


class Case(NamedTuple):
    """A fitted table: what a decision is made from, and what it is judged by."""

    group: str
    name: str
    y: np.ndarray
    scores: np.ndarray
    p_values: np.ndarray
    flagged: np.ndarray
    decision: tuple[Any, ...]  # reference scores, or distances in the one column that varies
    cap: float
    auroc: float


class _Recording(OddAtomDetector):
    """Keeps what its decision was made from."""

    def _decide(self, reference: np.ndarray | None = None, distances: np.ndarray | None = None) -> Any:
        self.recorded = reference, distances
        return super()._decide(reference, distances)


def _case(group: str, name: str, X: np.ndarray, y: np.ndarray, detector: _Recording) -> Case:
    scores, p_values = detector.score_samples(X), detector.p_values(X)
    cap = detector.conformal_.offset(MOST_P)
    decision = detector.recorded
    auroc = float(roc_auc_score(y, -scores)) if y.any() else 0.0
    return Case(group, name, y.astype(bool), scores, p_values, detector.predict(X) < 0, decision, cap, auroc)


def _fit(group: str, name: str, load: Callable[[], tuple[np.ndarray, np.ndarray]]) -> Case:
    X, y = load()
    with threadpool_limits(1):
        return _case(group, name, X, y, _Recording(random_state=0, n_jobs=1).fit(X))


def _fit_everyday(path: Path, kind: str | None) -> Case | None:
    table = read_table(path, ROWS)
    planted = None if kind is None else plant(table, kind, 0, MISSING)
    if kind is not None and planted is None:
        return None
    frame, y = (table, np.zeros(len(table))) if planted is None else (planted.frame, planted.y)
    name = path.name.split(".")[0]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TableDetector(_Recording(n_jobs=1), random_state=0).fit(frame)
        return _case(kind or "as they are", name, model.encoder_.transform(frame), y, model.detector_)


def tasks(seeds: int) -> Iterator[Any]:
    """Everything to fit."""
    for seed in range(seeds):
        for group, tables in (("clean", clean_tables(seed)), ("shifted", shifted_tables(seed))):
            for table in tables:
                yield delayed(_fit)(group, table.name, lambda table=table: (table.X, table.y))
    odds = data_folder()
    if odds is None:
        return
    for one in SETS:
        yield delayed(_fit)("19 sets", one.name, lambda one=one: _some_rows(*one.load()))
    if (odds.parent / "pool").is_dir():
        for name, path in pool_files().items():
            yield delayed(_fit)("pool", name, lambda path=path: read(path))
    if (odds.parent / "everyday").is_dir():
        for path in find_tables(odds.parent / "everyday").values():
            for kind in (None, *GROSS):
                yield delayed(_fit_everyday)(path, kind)


def _some_rows(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = choose_rows(len(y), 0)
    return X[rows], y[rows]


def f1(y: np.ndarray, flagged: np.ndarray) -> float:
    """2 TP / (P + flagged); 0 where both are 0."""
    return float(2 * np.count_nonzero(y & flagged) / max(np.count_nonzero(y) + np.count_nonzero(flagged), 1))


def figures(cases: list[Case], flags: Callable[[Case], np.ndarray] = lambda case: case.flagged) -> dict[str, float]:
    """All figures of a way to flag rows."""
    groups: dict[str, list[tuple[Case, np.ndarray]]] = {}
    for case in cases:
        groups.setdefault(case.group, []).append((case, flags(case)))
    out: dict[str, float] = {}
    for group, runs in groups.items():
        shares = [float(flagged.mean()) for _, flagged in runs]
        out[f"{group}: flagged"] = float(np.mean(shares))
        if group == "clean":
            out["clean: largest"] = max(shares)
        elif group == "shifted":
            ranked = [(case, flagged) for case, flagged in runs if case.auroc >= RANKED]
            out["shifted: F1"] = float(np.mean([f1(case.y, flagged) for case, flagged in ranked]))
        elif group in GROSS:
            right = [int((case.y & flagged).sum()) for case, flagged in runs]
            counts = [int(flagged.sum()) for _, flagged in runs]
            out[f"{group}: precision"] = sum(right) / max(sum(counts), 1)
            by_table = [r / n for r, n in zip(right, counts, strict=True) if n]
            out[f"{group}: precision, mean of tables"] = float(np.mean(by_table)) if by_table else 0.0
            out[f"{group}: recall"] = sum(right) / sum(int(case.y.sum()) for case, _ in runs)
        elif group != "as they are":
            out[f"{group}: F1"] = float(np.mean([f1(case.y, flagged) for case, flagged in runs]))
    pairs = [(case, flagged) for runs in groups.values() for case, flagged in runs]
    out["flagged with p > .05"] = float(max((flagged & (case.p_values > MOST_P)).sum() for case, flagged in pairs))
    return out


def by_rule(rule: Rule) -> Callable[[Case], np.ndarray]:
    """Return how rows are flagged with other constants."""

    def flags(case: Case) -> np.ndarray:
        found = decide(case.scores, case.decision[0], least=LEAST_TAIL, distances=case.decision[1], rule=rule)
        return case.scores < min(found.offset, case.cap)

    return flags


def worth(found: dict[str, float]) -> float:
    """One number to choose constants by: F1 and precision, and a hundredth of clean rows flagged costs a fifth."""
    wanted = ("shifted: F1", "19 sets: F1", "pool: F1", *(f"{kind}: precision" for kind in GROSS))
    return sum(found.get(name, 0.0) for name in wanted) - 20.0 * found.get("clean: flagged", 0.0)


def grid() -> list[Rule]:
    """Constants to choose from."""
    return [
        Rule(decay, Criterion(cost, share, 2.0), Rule().deep_tail, Criterion(of_reference, most, 3.0))
        for decay, cost, share, of_reference, most in itertools.product(
            (0.7, 0.8, 0.9, 1.0), (2.0, 3.0, 4.0), (0.3, 0.5), (1.5, 2.0, 3.0), (0.1, 0.2, 0.3)
        )
    ]


def choose(cases: list[Case]) -> None:
    """Choose constants on four folds of the tables, judge them on the fifth."""
    rules = grid()
    fold = np.arange(len(cases)) % FOLDS
    flags = [[by_rule(rule)(case) for case in cases] for rule in rules]

    def judged(rule: int, places: np.ndarray) -> dict[str, float]:
        given = {id(cases[i]): flags[rule][i] for i in places}
        return figures([cases[i] for i in places], lambda case: given[id(case)])

    kept, chosen = [], []
    own = by_rule(Rule())
    for k in range(FOLDS):
        others, rest = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        best = max(range(len(rules)), key=lambda r: worth(judged(r, others)))
        chosen.append(judged(best, rest))
        kept.append(figures([cases[i] for i in rest], own))
        print(f"fold {k}: {rules[best]}: {worth(chosen[-1]):.3f}, ours {worth(kept[-1]):.3f}", flush=True)
    for title, found in (("chosen on other tables", chosen), ("ours", kept)):
        means = {name: float(np.mean([one[name] for one in found if name in one])) for name in found[0]}
        print(title, {name: round(value, 4) for name, value in means.items()})
    best = max(range(len(rules)), key=lambda r: worth(judged(r, np.arange(len(cases)))))
    print("chosen on all tables:", rules[best])


def render(results: dict[str, Any]) -> str:
    """The table of the page."""
    here = results["machine"]
    lines = [f"Measured {results['date']}, {here['cpu']}, simulated tables with {results['seeds']} seeds.", ""]
    lines += ["| | figure |", "|---|---|"]
    for name, value in results["figures"].items():
        if name == "flagged with p > .05":
            shown = f"{value:.0f} rows"
        else:
            shown = f"{100 * value:.2f} %" if "flagged" in name or "largest" in name else f"{value:.3f}"
        lines.append(f"| {name} | {shown} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flags", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, help="of simulated tables")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--choose", action="store_true", help="try other constants")
    parser.add_argument("--dry-run", action="store_true", help="write neither file nor page")
    args = parser.parse_args()
    with parallel_config(backend="loky", inner_max_num_threads=1):
        found = Parallel(n_jobs=args.jobs)(tasks(args.seeds))
    cases = [case for case in found if case is not None]
    if args.choose:
        choose(cases)
        return
    results = {"date": date.today().isoformat(), "machine": machine(), "seeds": args.seeds, "figures": figures(cases)}
    worst = sorted((case for case in cases if case.group == "clean"), key=lambda case: -case.flagged.mean())
    print("clean, largest:", [(case.name, round(float(case.flagged.mean()), 4)) for case in worst[:5]])
    lost = [
        case for case in cases if case.group == "shifted" and case.auroc >= RANKED and f1(case.y, case.flagged) < 0.7
    ]
    print("shifted, F1 below .7:", [(case.name, round(f1(case.y, case.flagged), 2)) for case in lost])
    if not args.dry_run:
        write_json(FILE, results)
        write(PAGE, render(results), TITLE)
    print(render(results))


if __name__ == "__main__":
    main()
