"""Simulated cases with a known answer: a figure and a goal for each.

python -m benchmarks.synthetic_cases                  all cases, three seeds
python -m benchmarks.synthetic_cases --only TEXT      cases whose name contains the text

Figures are worst / mean over the seeds; a goal is met where the worst is. `OddAtomDetector` gets tables of complete
numbers as they are, `make_detector` every table, IsolationForest and k-NN (k = 5) numbers (`one_hot`, standardised).
The cases are in `_cases.py`.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from scipy.stats import spearmanr
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.neighbors import NearestNeighbors

from benchmarks import _cases as cases
from benchmarks._everyday_peers import fit_ours, one_hot
from oddatom import OddAtomDetector

# Scores, higher = more anomalous, and flags, where the detector has them.
Outcome = tuple[np.ndarray, np.ndarray | None]
Detector = Callable[[pd.DataFrame, int], Outcome | None]
OURS = ("OddAtomDetector", "make_detector")


def odd_atom(frame: pd.DataFrame, seed: int) -> Outcome | None:
    """None where the table is more than numbers."""
    if frame.isna().any(axis=None) or not all(is_numeric_dtype(column) for _, column in frame.items()):
        return None
    X = frame.to_numpy(dtype=float)
    model = OddAtomDetector(random_state=seed).fit(X)
    return -model.score_samples(X), model.predict(X) < 0


def table_detector(frame: pd.DataFrame, seed: int) -> Outcome:
    model = fit_ours(frame, seed)
    return -model.score_samples(frame), model.predict(frame) < 0


def forest(frame: pd.DataFrame, seed: int) -> Outcome:
    Z = one_hot(frame)
    return -IsolationForest(random_state=seed).fit(Z).score_samples(Z), None


def neighbours(frame: pd.DataFrame, seed: int) -> Outcome:
    return NearestNeighbors(n_neighbors=5).fit(one_hot(frame)).kneighbors()[0][:, -1], None


DETECTORS: dict[str, Detector] = dict(zip(OURS, (odd_atom, table_detector), strict=True)) | {
    "IsolationForest": forest,
    "k-NN": neighbours,
}


@dataclass(frozen=True)
class Case:
    """`measure(detector, seed)` returns one value for each of `goals`; None where the detector has no such figure.

    A goal is the name of its figure and the value that must be reached: at least, or at most for a negative `sign`.
    """

    name: str
    goals: tuple[tuple[str, float, int], ...]
    measure: Callable[[Detector, int], tuple[float | None, ...] | None]


def ranking(name: str, make: Callable[[int], cases.Made], metric: str, goal: float) -> Case:
    """A case judged by AUROC or AP."""
    figure = {"AUROC": roc_auc_score, "AP": average_precision_score}[metric]

    def measure(detector: Detector, seed: int) -> tuple[float | None, ...] | None:
        frame, y = make(seed)
        outcome = detector(frame, seed)
        return None if outcome is None else (float(figure(y, outcome[0])),)

    return Case(name, ((metric, goal, 1),), measure)


def first_rows(name: str, make: Callable[[int], cases.Made], spare: int = 2) -> Case:
    """A case whose odd rows must be among the first; the figure is the last of their ranks, ties counted against."""
    planted = int(make(0)[1].sum())

    def measure(detector: Detector, seed: int) -> tuple[float | None, ...] | None:
        frame, y = make(seed)
        outcome = detector(frame, seed)
        return None if outcome is None else (float(np.sum(outcome[0] >= outcome[0][y == 1].min())),)

    return Case(name, ((f"last rank of {planted}", planted + spare, -1),), measure)


def rare_levels() -> Case:
    """AP of wrong numbers beside a category, and how many of its levels `predict` flags whole."""

    def measure(detector: Detector, seed: int) -> tuple[float | None, ...] | None:
        frame, y = cases.category(seed)
        outcome = detector(frame, seed)
        if outcome is None:
            return None
        scores, flags = outcome
        whole = None if flags is None else float(pd.Series(flags).groupby(frame["level"]).all().sum())
        return float(average_precision_score(y, scores)), whole

    return Case("a category, levels down to 1 %", (("AP", 0.85, 1), ("levels flagged whole", 0, -1)), measure)


def same_scores(name: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Case:
    """A column that says nothing new must leave the scores as they are."""

    def measure(detector: Detector, seed: int) -> tuple[float | None, ...] | None:
        frame = cases.dependent(seed)
        before, after = detector(frame, seed), detector(change(frame), seed)
        if before is None or after is None:
            return None
        a, b = before[0], after[0]
        return float(spearmanr(a, b).statistic), float(100 * np.mean(np.abs(b - a)) / np.std(a))

    goals = (("rank correlation", 0.99, 1), ("mean change, % of sd", 1.0, -1))
    return Case(name, goals, measure)


SHARES = (0.005, 0.01, 0.02, 0.05, 0.055, 0.1, 0.2, 0.3, 0.5)
# Rows, columns, share of the group, its distance, goal.
GROUPS = (
    (20_000, 10, 0.024, 3.0, 0.95),
    (20_000, 10, 0.024, 6.0, 0.99),
    (5_000, 10, 0.1, 6.0, 0.85),
    (5_000, 40, 0.024, 6.0, 0.9),
)
CASES = (
    *(
        ranking(f"a 0/1 column, {100 * share:g} % ones", partial(cases.binary, share=share), "AP", 0.85)
        for share in SHARES
    ),
    rare_levels(),
    first_rows("5 % of a column empty, two gross errors", cases.empty_cells, spare=0),
    ranking("20 machines with levels of their own", cases.machines, "AP", 0.9),
    *(
        ranking(
            f"dense group, {100 * share:g} % of {n:,} × {m}, {size:g} sd",
            partial(cases.dense_group, rows=n, columns=m, share=share, size=size),
            "AUROC",
            goal,
        )
        for n, m, share, size, goal in GROUPS
    ),
    first_rows("one cell of 20 at 7, 8, 12 sd", partial(cases.single_cells, columns=20, sizes=(7.0, 8.0, 12.0))),
    first_rows("one cell of 100 at 9, 12 sd", partial(cases.single_cells, columns=100, sizes=(9.0, 12.0))),
    first_rows("ring, rows at its centre", cases.ring),
    first_rows("line, rows off it", cases.line),
    first_rows("sine, rows off it", cases.sine),
    first_rows("loose group, 10 sd away", cases.loose_group),
    first_rows("log-normal amounts, one negative", cases.amounts),
    first_rows("30 gross errors, 10 sd", cases.gross_errors),
    same_scores("a column three times", cases.three_copies),
    same_scores("a column also as 20 levels", cases.quantile_levels),
)


def rows_of(case: Case, seeds: int) -> list[list[str]]:
    """The lines of a case: one for each of its goals."""
    runs = {name: [case.measure(d, seed) for seed in range(seeds)] for name, d in DETECTORS.items()}
    lines = []
    for i, (figure, goal, sign) in enumerate(case.goals):
        values = {name: [one[i] for one in found if one is not None] for name, found in runs.items()}
        known = {name: [v for v in column if v is not None] for name, column in values.items()}
        worst = {name: sign * min(sign * v for v in column) for name, column in known.items() if column}
        met = all(sign * worst[name] >= sign * goal for name in OURS if name in worst)
        texts = [f"{worst[n]:.3g} / {np.mean(known[n]):.3g}" if n in worst else "" for n in DETECTORS]
        lines.append([case.name, figure, f"{'≥' if sign > 0 else '≤'} {goal:g}", "yes" if met else "no", *texts])
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.synthetic_cases", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    chosen = [case for case in CASES if args.only in case.name]
    if not chosen:
        raise SystemExit(f"No case has {args.only!r} in its name.")
    head = ["case", "figure", "goal", "met", *DETECTORS]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|", flush=True)
    met = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in chosen:
            for line in rows_of(case, args.seeds):
                print("| " + " | ".join(line) + " |", flush=True)
                met.append(line[3] == "yes")
    print(f"\n{sum(met)} of {len(met)} goals met; worst / mean over {args.seeds} seeds")


if __name__ == "__main__":
    main()
