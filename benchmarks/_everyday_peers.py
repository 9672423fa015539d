"""The detectors of the everyday benchmark: OddAtomDetector and isotree on the table as it is, the others on numbers."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from benchmarks._peers import DETECTORS, OURS, choose

ISOTREE = "isotree"
# At the defaults of their libraries, on `one_hot`.
ON_NUMBERS = ("k-NN", "IsolationForest", "ECOD", "MCD")
NAMES = (OURS, ISOTREE, *ON_NUMBERS)
RARE_LEVEL = 0.01
MAX_LEVELS = 30


def one_hot(frame: pd.DataFrame) -> np.ndarray:
    """Numbers for detectors that need them, standardised.

    Empty numbers become the median. A category becomes one 0/1 column for each of its levels with at least 1 % of the
    rows, the 30 most common at most; text that differs in half of the rows is left out.
    """
    blocks = []
    for _, column in frame.items():
        if is_numeric_dtype(column):
            middle = column.median() if column.notna().any() else 0.0
            blocks.append(column.fillna(middle).to_numpy(dtype=float)[:, None])
        elif not _free_text(column):
            shares = column.value_counts(normalize=True)
            levels = shares.index[shares >= RARE_LEVEL][:MAX_LEVELS]
            blocks += [(column == level).to_numpy(dtype=float)[:, None] for level in levels]
    X = np.hstack(blocks)
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def _free_text(column: pd.Series) -> bool:
    return column.nunique() >= 0.5 * len(column)


def isotree_scores(frame: pd.DataFrame, seed: int) -> np.ndarray:
    """Scores of isotree, which takes categories and missing values, on one thread."""
    import isotree

    text = [name for name in frame if not is_numeric_dtype(frame[name])]
    table = frame.drop(columns=[name for name in text if _free_text(frame[name])])
    table = table.astype({name: "category" for name in text if name in table})
    return isotree.IsolationForest(random_seed=seed + 1, nthreads=1).fit(table).predict(table)


def fit_ours(frame: pd.DataFrame, seed: int) -> Any:
    """The fitted pipeline of encoder and OddAtomDetector."""
    from oddatom import OddAtomDetector, make_detector

    return make_detector(OddAtomDetector(random_state=seed)).fit(frame)


def peer_scores(names: list[str], frame: pd.DataFrame, seed: int) -> dict[str, Callable[[], np.ndarray]]:
    """For each of the other detectors a function that returns its scores, higher = more anomalous."""
    numbers = one_hot(frame)
    out: dict[str, Callable[[], np.ndarray]] = {}
    for name in names:
        if name == ISOTREE:
            out[name] = lambda: isotree_scores(frame, seed)
        elif name != OURS:
            detector = next(d for d in DETECTORS if d.name == name)
            out[name] = lambda d=detector: np.asarray(d.scores(d.make(seed), numbers, None))
    return out


def choose_names(only: list[str]) -> list[str]:
    """The detectors to run; isotree is left out where it is not installed, unless it was asked for."""
    names = [name for name in NAMES if not only or name in only]
    if ISOTREE in names and find_spec(ISOTREE) is None:
        if only:
            raise SystemExit("isotree is not installed: pip install isotree.")
        print("isotree is not installed and is left out (pip install isotree)", flush=True)
        names.remove(ISOTREE)
    if from_peers := [name for name in names if name != ISOTREE]:
        choose(from_peers, [])
    return names
