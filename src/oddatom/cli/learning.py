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
from oddatom.context.following import Scored, count_episodes, first_of_episodes
from oddatom.decisions import flag
from oddatom.exceptions import OddAtomError
from oddatom.model_io.files import content_of
from oddatom.report.contributions import by_source, oddity_shares
from oddatom.table.columns import as_columns
from oddatom.table.encoder import TableEncoder
from oddatom.table.roles import find_times
from oddatom.table.row_context import Placed, RowContext, rows_to_explain
from oddatom.table.table_detector import TableDetector
from oddatom.table.wording import some

NAMED = {"dl": DLOCSVM, "dpl": DPLOCSVM, "kdl": KDLOCSVM, "kdpl": KDPLOCSVM}
_OF_TABLE = ("columns", "ignore", "id", "max_levels", "dates", "missing", "time", "by", "window")
FOLDS = 5  # of the paper's detectors, for p-values
CHUNK_NUMBERS = 2**20  # in the rows that are explained at once: that takes a dozen arrays of this size
USUAL_ROWS = 2_000  # that rows are compared with, where an explanation needs that
SHOWN_COLUMNS, SHOWN_PERCENT = 3, 5  # columns named per row, and the least share of all but the first


def new_detector(options: argparse.Namespace) -> Any:
    """Return the unfitted detector that the options describe."""
    common = {"threshold": options.threshold, "random_state": options.seed, "n_jobs": options.threads}
    if options.detector == "oddatom":
        return OddAtomDetector(**common)
    return NAMED[options.detector](n_folds=FOLDS, **common)


def fit_model(
    options: argparse.Namespace, table: pa.Table, console: Console
) -> tuple[TableDetector, Placed, np.ndarray | None]:
    """Fit to a table, and say what was made of each column before that takes its time.

    Return the model, the placed rows, and their scores, each by itself, where the detector has them at hand.
    """
    coding = {name: getattr(options, name) for name in _OF_TABLE}
    detector = new_detector(options)
    if table.num_rows < 2:
        problem = "the table has one row: there is nothing to compare it with."
        raise OddAtomError(problem, parameter="table", value=options.table, advice="Pass at least two.")
    if table.num_rows < 2 * FOLDS and options.detector != "oddatom":
        detector.set_params(n_folds=None)
    updatable = getattr(options, "updatable", False)
    if updatable and not hasattr(detector, "partial_fit"):
        raise WrongUse(f"--updatable is for the detectors oddatom and dl. Got --detector {options.detector} instead.")
    if updatable and options.time is not None:
        raise WrongUse("--updatable is not for --time: a model of rows in time learns from all of them at once.")
    if options.time == "":
        coding["time"] = find_time_column(table)
    model = TableDetector(detector, **coding)
    prepared = model._prepare(table)
    encoder, rows = prepared.encoder, prepared.placed.features
    console.say(f"{rows.shape[0]:,} rows, {len(encoder.columns_)} columns:")
    say_columns(console, encoder.columns_)
    for line in [] if prepared.context is None else prepared.context.lines():
        console.say(line)
    if options.model:
        content_of(encoder)  # raises where it is too large for a file
    with console.status("fitting"):
        if updatable:
            prepared.detector.partial_fit(rows)
            model._take(prepared)
            return model, prepared.placed, None
        return model, prepared.placed, model._learn(prepared)


def find_time_column(table: pa.Table) -> str:
    """Return the column that rows are in order of, dates before counters, or the only one of dates."""
    columns = TableEncoder().fit(table).columns_
    in_order = [column.name for column, _ in find_times(columns, as_columns(table))]
    dated = [column.name for column in columns if column.kind == "date"]
    if in_order or len(dated) == 1:
        return (in_order or dated)[0]
    found = "rows are in order of no column." if not dated else f"there are several columns of dates: {some(dated)}."
    raise WrongUse(f"{found} Name the column of times: --time COLUMN.")


class Results(NamedTuple):
    """What a model says of rows.

    Attributes
    ----------
    scores : (N,)
        Higher = more normal.
    order : (N,) int64
        Rows from the oddest on; those that tie keep their order.
    p_values : (N,) or None
    flagged : (N,) of bool
    placed : Placed
    scored : Scored or None
        Of rows in time.
    context : RowContext or None
    """

    scores: np.ndarray
    order: np.ndarray
    p_values: np.ndarray | None
    flagged: np.ndarray
    placed: Placed
    scored: Scored | None = None
    context: RowContext | None = None

    def rows_to_explain(self, rows: Any) -> np.ndarray:
        """Return the features that the scores of some rows are due to."""
        return rows_to_explain(self.context, self.placed, self.scored, rows)

    def since(self, rows: Any) -> np.ndarray | None:
        """Return how many rows ago the row was that a score is mainly due to; None of rows that are not in time."""
        return None if self.scored is None else self.scored.since[rows]

    def first_of_episodes(self, most: int | None = None) -> np.ndarray:
        """Return rows from the oddest on; of rows in time no two of a series that are less than a window apart.

        Parameters
        ----------
        most : int, optional
            So many rows are enough.
        """
        if self.scored is None or self.placed.ordered is None:
            return self.order[:most]
        return first_of_episodes(self.order, self.placed.ordered, self.scored, self.flagged, most)

    def n_episodes(self) -> int | None:
        """Return in how many stretches flagged rows are; None of rows that are not in time."""
        if self.scored is None or self.placed.ordered is None:
            return None
        return count_episodes(self.flagged, self.placed.ordered, self.scored.window)

    def ranks(self) -> np.ndarray:
        """1 for the oddest row."""
        ranks = np.empty(self.scores.size, np.int64)
        ranks[self.order] = np.arange(1, self.scores.size + 1)
        return ranks

    def columns(self, rows: Any = slice(None)) -> dict[str, Any]:
        """Return columns for a table, of some rows."""
        p_values = pa.nulls(self.scores[rows].size, pa.float64()) if self.p_values is None else self.p_values[rows]
        return {"score": self.scores[rows], "p_value": p_values, "is_anomaly": self.flagged[rows]}


def results(model: TableDetector, placed: Placed, scored: Scored | None, own: np.ndarray | None = None) -> Results:
    """Return what a model says of rows. With threshold ("fdr", q) they are judged together.

    Parameters
    ----------
    model : TableDetector
    placed : Placed
    scored : Scored or None
        Of rows in time, from `model._follow`.
    own : (N,), optional
        Scores of the rows, each by itself, where they are known.
    """
    detector = model.detector_
    scores = scored.scores if scored is not None else detector.score_samples(placed.features) if own is None else own
    order = np.argsort(scores, kind="stable")
    p_values = None
    if getattr(detector, "conformal_", None) is not None:
        if scored is not None or getattr(detector, "_p_follows_score", False):
            p_values = np.empty(scores.size)
            p_values[order] = detector.conformal_.p_values(scores[order])  # in order they are found five times as fast
        else:
            p_values = detector.p_values(placed.features)
    flagged = flag(scores, detector.offset_, detector.threshold_, p_values)
    return Results(scores, order, p_values, flagged, placed, scored, model.context_)


def column_shares(model: TableDetector, X: np.ndarray, usual: np.ndarray) -> tuple[tuple[str, ...], np.ndarray, str]:
    """Return the columns of the table, the share that each has in the oddity of every row, and how to read it.

    Parameters
    ----------
    model : TableDetector
        Fitted.
    X : (N, m)
        Features of rows.
    usual : (n, m)
        Of rows to compare with, where an explanation needs that.
    """
    shares, note = oddity_shares(model.detector_, X, usual)
    sources = model._sources
    return *by_source(np.zeros((X.shape[0], len(sources))) if shares is None else shares, sources), note


def top_features(
    model: TableDetector, found: Results, rows: Any, usual: np.ndarray, console: Console
) -> pa.ChunkedArray:
    """Return for some rows the columns that make them odd: "age 61 %, height 20 %"; with "3 rows ago" in time."""
    X = found.rows_to_explain(rows)
    size = max(CHUNK_NUMBERS // X.shape[1], 1)
    chunks = [X[start : start + size] for start in range(0, X.shape[0], size)]
    out = []
    for chunk in console.progress(chunks, "rows explained", sizes=len, total=X.shape[0]):
        columns, shares, _ = column_shares(model, chunk, usual[:USUAL_ROWS])
        out.append(in_words(columns, shares))
    words = pa.chunked_array(out, pa.string())
    since = found.since(rows)
    if since is None or not since.any():
        return words
    ago = [f"; {n:,} row{'s' if n > 1 else ''} ago" if n else "" for n in since.tolist()]
    return pc.binary_join_element_wise(words, pa.array(ago, pa.string()), "")


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
