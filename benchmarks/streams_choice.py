"""Choose the constants of stretches (`oddatom.context.stretch.RULE`) on files that do not judge them.

python -m benchmarks.streams_choice

The labelled files of `benchmarks.streams` come from three sources: the pump, the advertising series and the traffic
series. For each source the constants with the best mean AP over the other two are found in a grid, and judged on it.
"""

from __future__ import annotations

import itertools
import warnings
from typing import NamedTuple

import numpy as np
from joblib import parallel_config
from sklearn.metrics import average_precision_score

from benchmarks._stream_tables import read_stream, stream_files
from benchmarks.streams import PUMP_ROWS, ours
from oddatom.context.following import own_scores
from oddatom.context.ordered import Ordered
from oddatom.context.stretch import RULE, StretchRule, with_stretches

GRID = [StretchRule(*one) for one in itertools.product((0.3, 0.6, 1.0), (0.0, 1.0, 2.0, 3.0), (0.25, 0.5, 1.0))]


class Case(NamedTuple):
    """A file: its source, labels, the rows in order, their scores by themselves, and the window."""

    source: str
    y: np.ndarray
    ordered: Ordered
    own: np.ndarray
    window: int


def read_cases() -> list[Case]:
    """Fit a model to every file, and score its rows each by itself."""
    cases = []
    pump, series = stream_files()
    for path in [*pump, *series]:
        table, time, y = read_stream(path)
        n_train = PUMP_ROWS if path in pump else 0
        model = ours(time=time).fit(table[: n_train or None])
        placed = model._place(table[n_train:])
        source = "pump" if path in pump else "advertising" if path.name.startswith("exchange") else "traffic"
        scores = own_scores(model.detector_.score_samples(placed.features), placed.ordered, placed.before)
        cases.append(Case(source, y[n_train:], placed.ordered, scores, model.context_.context.time.window))
    return cases


def precision(case: Case, rule: StretchRule) -> float:
    """AP of the scores with stretches."""
    scores, _ = with_stretches(case.own, case.ordered.start, case.ordered.first, case.window, rule)
    return float(average_precision_score(case.y, -scores[case.ordered.place]))


def main() -> None:
    with parallel_config(backend="sequential"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = read_cases()
    if not cases:
        print("No files: put a folder `streams` beside the sets, or set ODDATOM_DATA.")
        return
    sources = list(dict.fromkeys(case.source for case in cases))
    table = np.array([[precision(case, rule) for case in cases] for rule in [*GRID, RULE]])
    by_source = np.column_stack([table[:, [c.source == s for c in cases]].mean(axis=1) for s in sources])
    alone = [
        np.mean([average_precision_score(c.y, -c.own[c.ordered.place]) for c in cases if c.source == s])
        for s in sources
    ]
    print("| judged on | chosen on the others: power, bonus, half-life | AP | in force | AP | each row by itself |")
    print("|---|---|---|---|---|---|")
    for k, source in enumerate(sources):
        best = int(np.delete(by_source[:-1], k, axis=1).mean(axis=1).argmax())
        chosen, force = (", ".join(f"{value:g}" for value in rule) for rule in (GRID[best], RULE))
        print(f"| {source} | {chosen} | {by_source[best, k]:.3f} | {force} | {by_source[-1, k]:.3f} | {alone[k]:.3f} |")
    best = int(by_source[:-1].mean(axis=1).argmax())
    print(f"\nBest on all: {GRID[best]}, AP {by_source[best].round(3)}; in force {by_source[-1].round(3)}.")


if __name__ == "__main__":
    main()
