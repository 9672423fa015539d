"""From options to a fitted pipeline of encoder and detector, and from encoded rows to results."""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np

from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM, OddAtomDetector
from oddatom.cli.console import Console, printable
from oddatom.decisions import benjamini_hochberg
from oddatom.report.contributions import by_source, oddity_shares
from oddatom.table import make_detector

NAMED = {"dl": DLOCSVM, "dpl": DPLOCSVM, "kdl": KDLOCSVM, "kdpl": KDPLOCSVM}
FOLDS = 5  # of the paper's detectors, for p-values
CHUNK_ROWS = 65_536
SHOWN_COLUMNS, SHOWN_SHARE = 3, 0.05  # columns named per row, and the least share of its oddity that counts


def make_pipeline(options: argparse.Namespace) -> Any:
    """Return the unfitted pipeline that the options describe."""
    common = {"threshold": options.threshold, "random_state": options.seed, "n_jobs": options.threads}
    if options.detector == "oddatom":
        detector: Any = OddAtomDetector(**common)
    else:
        detector = NAMED[options.detector](score="description_length", scaling="robust", calibration=FOLDS, **common)
    return make_detector(detector, columns=options.columns, ignore=options.ignore, id=options.id)


def fit_pipeline(options: argparse.Namespace, table: Any, console: Console) -> tuple[Any, np.ndarray]:
    """Fit to a table, say what was made of each column; return the pipeline and the encoded rows."""
    pipeline = make_pipeline(options)
    encoder, detector = pipeline["table"], pipeline["detector"]
    X = encoder.fit_transform(table)
    console.say(f"{X.shape[0]:,} rows, {len(encoder.columns_)} columns:")
    for line in encoder.describe():
        console.say(f"  {printable(line, 160)}")
    if X.shape[0] < 2:
        raise ValueError("the table has one row: there is nothing to compare it with. Pass at least two.")
    detector.fit(X)
    return pipeline, X


class Results(NamedTuple):
    """What a detector says of rows: scores, p-values (None where it has none), labels; higher score = more normal."""

    scores: np.ndarray
    p_values: np.ndarray | None
    flagged: np.ndarray

    def ranks(self) -> np.ndarray:
        """1 for the oddest row; rows that tie keep their order."""
        ranks = np.empty(self.scores.size, np.int64)
        ranks[self.order()] = np.arange(1, self.scores.size + 1)
        return ranks

    def order(self) -> np.ndarray:
        """Rows from the oddest on."""
        return np.argsort(self.scores, kind="stable")


def results(detector: Any, X: np.ndarray) -> Results:
    """Score encoded rows. With threshold ("fdr", q) they are judged together."""
    scores = detector.score_samples(X)
    p_values = detector.p_values(X) if getattr(detector, "conformal_", None) is not None else None
    if detector.threshold_.kind == "fdr":
        return Results(scores, p_values, benjamini_hochberg(p_values, detector.threshold_.level))
    return Results(scores, p_values, scores < detector.offset_)


def column_shares(pipeline: Any, X: np.ndarray, usual: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the columns of the table and the share that each has in the oddity of every row.

    Parameters
    ----------
    pipeline : fitted
    X : (N, m)
        Encoded rows.
    usual : (n, m)
        Encoded rows to compare with, where an explanation needs that.
    """
    shares, _ = oddity_shares(pipeline["detector"], X, usual)
    sources = pipeline["table"].source_
    return by_source(np.zeros((X.shape[0], len(sources))) if shares is None else shares, sources)


def top_features(pipeline: Any, X: np.ndarray) -> list[str]:
    """Return for every encoded row the columns that make it odd: "age 61 %, height 20 %"."""
    out: list[str] = []
    for start in range(0, X.shape[0], CHUNK_ROWS):
        columns, shares = column_shares(pipeline, X[start : start + CHUNK_ROWS], X[:CHUNK_ROWS])
        out += in_words(columns, shares)
    return out


def in_words(columns: tuple[str, ...], shares: np.ndarray) -> list[str]:
    """Name the columns with the largest shares of each row."""
    n = min(SHOWN_COLUMNS, len(columns))
    first = np.argsort(-shares, axis=1, kind="stable")[:, :n]
    percent = np.rint(100 * np.take_along_axis(shares, first, axis=1)).astype(int)
    least = round(100 * SHOWN_SHARE)
    return [
        ", ".join(f"{columns[f]} {p} %" for f, p in zip(row, percents, strict=True) if p >= least)
        for row, percents in zip(first.tolist(), percent.tolist(), strict=True)
    ]
