"""From options to a fitted `TableDetector`, and from encoded rows to results."""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oddatom import DLOCSVM, DPLOCSVM, KDLOCSVM, KDPLOCSVM, OddAtomDetector
from oddatom.cli.console import Console, WrongUse
from oddatom.cli.listing import say_columns
from oddatom.decisions import flag
from oddatom.exceptions import OddAtomError
from oddatom.model_io.files import content_of
from oddatom.report.contributions import by_source, oddity_shares
from oddatom.table.encoder import TableEncoder
from oddatom.table.table_detector import TableDetector, join_fitted, learn_columns

NAMED = {"dl": DLOCSVM, "dpl": DPLOCSVM, "kdl": KDLOCSVM, "kdpl": KDPLOCSVM}
FOLDS = 5  # of the paper's detectors, for p-values
CHUNK_NUMBERS = 2**20  # in the rows that are explained at once: that takes a dozen arrays of this size
USUAL_ROWS = 2_000  # that rows are compared with, where an explanation needs that
SHOWN_COLUMNS, SHOWN_PERCENT = 3, 5  # columns named per row, and the least share of all but the first


def new_detector(options: argparse.Namespace) -> Any:
    """Return the unfitted detector that the options describe."""
    common = {"threshold": options.threshold, "random_state": options.seed, "n_jobs": options.threads}
    if options.detector == "oddatom":
        return OddAtomDetector(**common)
    return NAMED[options.detector](scoring="description_length", scaling="robust", n_folds=FOLDS, **common)


def fit_model(options: argparse.Namespace, table: pa.Table, console: Console) -> tuple[TableDetector, np.ndarray]:
    """Fit to a table, say what was made of each column before that takes its time; return model and encoded rows."""
    coding = {name: getattr(options, name) for name in ("columns", "ignore", "id", "max_levels", "dates", "missing")}
    encoder, detector = TableEncoder(**coding), new_detector(options)
    if table.num_rows < 2:
        problem = "the table has one row: there is nothing to compare it with."
        raise OddAtomError(problem, parameter="table", value=options.table, advice="Pass at least two.")
    if table.num_rows < 2 * FOLDS and options.detector != "oddatom":
        detector.set_params(n_folds=None)
    if getattr(options, "updatable", False) and not hasattr(detector, "partial_fit"):
        raise WrongUse(f"--updatable is for the detectors oddatom and dl. Got --detector {options.detector} instead.")
    learn_columns(encoder, detector, lambda: encoder.fit(table))
    X = encoder.transform(table)
    console.say(f"{X.shape[0]:,} rows, {len(encoder.columns_)} columns:")
    say_columns(console, encoder.columns_)
    if options.model:
        content_of(encoder)  # raises where it is too large for a file
    with console.status("fitting; the very first run compiles for about half a minute"):
        learn = detector.partial_fit if getattr(options, "updatable", False) else detector.fit
        learn(X)
    return join_fitted(encoder, detector, X), X


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

    def columns(self, rows: Any = slice(None)) -> dict[str, Any]:
        """Return columns for a table, of some rows."""
        p_values = pa.nulls(self.scores[rows].size, pa.float64()) if self.p_values is None else self.p_values[rows]
        return {"score": self.scores[rows], "p_value": p_values, "is_anomaly": self.flagged[rows]}


def results(detector: Any, X: np.ndarray) -> Results:
    """Score encoded rows. With threshold ("fdr", q) they are judged together."""
    scores = detector.score_samples(X)
    p_values = detector.p_values(X) if getattr(detector, "conformal_", None) is not None else None
    return Results(scores, p_values, flag(scores, detector.offset_, detector.threshold_, p_values))


def column_shares(model: TableDetector, X: np.ndarray, usual: np.ndarray) -> tuple[tuple[str, ...], np.ndarray, str]:
    """Return the columns of the table, the share that each has in the oddity of every row, and how to read it.

    Parameters
    ----------
    model : TableDetector
        Fitted.
    X : (N, m)
        Encoded rows.
    usual : (n, m)
        Encoded rows to compare with, where an explanation needs that.
    """
    shares, note = oddity_shares(model.detector_, X, usual)
    sources = model.encoder_.source_
    return *by_source(np.zeros((X.shape[0], len(sources))) if shares is None else shares, sources), note


def top_features(model: TableDetector, X: np.ndarray, usual: np.ndarray, console: Console) -> pa.ChunkedArray:
    """Return for every encoded row the columns that make it odd: "age 61 %, height 20 %"."""
    size = max(CHUNK_NUMBERS // X.shape[1], 1)
    chunks = [X[start : start + size] for start in range(0, X.shape[0], size)]
    out = []
    for chunk in console.progress(chunks, "rows explained", sizes=len, total=X.shape[0]):
        columns, shares, _ = column_shares(model, chunk, usual[:USUAL_ROWS])
        out.append(in_words(columns, shares))
    return pa.chunked_array(out, pa.string())


def in_words(columns: tuple[str, ...], shares: np.ndarray) -> pa.Array:
    """Name the columns with the largest shares of each row; the first of those that tie."""
    left, rows = shares.copy(), np.arange(shares.shape[0])
    parts = []
    for k in range(min(SHOWN_COLUMNS, len(columns))):
        first = left.argmax(axis=1)
        percent = np.rint(100 * left[rows, first]).astype(int)
        left[rows, first] = -1.0
        used, where = np.unique(first * 101 + percent, return_inverse=True)
        comma, least = (", ", SHOWN_PERCENT) if k else ("", 1)
        named = [f"{comma}{columns[c // 101]} {c % 101} %" if c % 101 >= least else "" for c in used.tolist()]
        parts.append(pa.array(named).take(pa.array(where)))
    return pc.binary_join_element_wise(*parts, "")
