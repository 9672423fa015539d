"""`oddatom detect`: from a table to a ranked, explained list and a report."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pyarrow as pa

from oddatom import save
from oddatom.cli.console import Console, WrongUse
from oddatom.cli.known import check_can_be_judged, find_judged, judge, read_known
from oddatom.cli.learning import Results, fit_model, results, top_features
from oddatom.cli.listing import LISTED, auto_count, flagged_words, row_records, show_json, show_rows
from oddatom.cli.reporting import need_figures, write_table_report
from oddatom.cli.tables import (
    beside,
    check_places,
    check_streams,
    for_output,
    is_stream,
    open_source,
    read_whole,
    table_writer,
    told,
    with_results,
)
from oddatom.table.table_detector import TableDetector

EXPLAINED = 1_000  # of the rows written, the oddest
FEWEST_ROWS = 39  # that "auto" can flag one of: p-values of fewer are above .05


def run(options: argparse.Namespace, console: Console) -> bool:
    """Return whether any row is flagged."""
    passing = is_stream(options.table)
    output = options.output or ("-" if passing else beside(options.table, ".anomalies.csv"))
    report = None if options.no_report else options.report
    if not report and not options.no_report and not passing:
        report = beside(options.table, ".report.html")
    check_streams(options, output)
    with told(console) as warnings:
        source = open_source(options)
        check_places(output, report, options.model, read=[options.table, *filter(None, [options.known])])
        check_can_be_judged(options.detector, not options.known or options.detector == "oddatom")
        if options.known and options.time is not None:
            raise WrongUse("--known is not for --time: rows in time are not judged by themselves.")
        known = read_known(options.known) if options.known else None
        writer = table_writer(output)
        writer.check(source.schema)
        if report:
            need_figures()
        table = read_whole(source, console)
        judged = None if known is None else find_judged(known, [table], options.table)
        model, placed, own = fit_model(options, table, console)
        X = placed.features
        if judged is not None:
            judge(model, judged, X)
            own = None
        found = results(model, placed, model._stretched(placed, own), own)
        odd = found.first_of_episodes(max(options.top or 0, LISTED))
        listed, rows = odd[:LISTED], _rows_to_write(found, odd, options)
        explained = _rows_to_explain(found, rows, listed, options)
        words = top_features(model, found, explained, X, console)
        why = _of_rows(words, explained, listed).to_pylist()
        values = {"row": rows + 1, **found.columns(rows), "rank": found.ranks()[rows]}
        values["top_features"] = _of_rows(words, explained, rows)
        with writer:
            of_table = table if _writes_all(options) else table.take(rows)
            writer.write(for_output(with_results(of_table, values), output, console))
        if options.model:
            save(model, options.model)
        if report:
            with console.status("writing the report"):
                write_table_report(report, model, table, found, options, warnings)
    facts: dict[str, Any] = {"table": options.table, "rows": len(X), "anomalies": int(found.flagged.sum())}
    if options.json:
        count = auto_count(model)
        facts |= {} if count is None else {"odder_than_chance": count._asdict()}
        written = {"output": output, "report": report, "model": options.model}
        show_json(console, {**facts, **written, "top": row_records(listed, found, why)})
    elif output != "-" and not options.quiet and console.out is not None:
        show_rows(console, listed, found, why)
    _close(console, found, model, {"rows": output, "report": report, "model": options.model}, rows.size)
    return facts["anomalies"] > 0


def _writes_all(options: argparse.Namespace) -> bool:
    """Return whether every row is written, in the order of the table."""
    return options.all or options.explain_all


def _rows_to_write(found: Results, odd: np.ndarray, options: argparse.Namespace) -> np.ndarray:
    """Return the rows to write: all of them, the oddest, or those flagged or listed; the last two from the oddest on.

    Parameters
    ----------
    found : Results
    odd : (n,) int64
        The oddest rows, of an episode one.
    options : Namespace
    """
    if _writes_all(options):
        return np.arange(found.scores.size)
    return odd[: options.top] if options.top else _flagged_and(found, odd[:LISTED])


def _rows_to_explain(found: Results, rows: np.ndarray, listed: np.ndarray, options: argparse.Namespace) -> np.ndarray:
    """Return the rows to explain, rising: those listed, and the oddest of those that are flagged or written alone."""
    if options.explain_all:
        return rows
    return np.union1d((_flagged_and(found, listed) if options.all else rows)[:EXPLAINED], listed)


def _flagged_and(found: Results, rows: np.ndarray) -> np.ndarray:
    """Return the flagged rows and some others, from the oddest on."""
    wanted = found.flagged.copy()
    wanted[rows] = True
    return found.order[wanted[found.order]]


def _of_rows(words: pa.ChunkedArray, explained: np.ndarray, rows: np.ndarray) -> pa.ChunkedArray:
    """Return the words of some rows, given those of the rows that were explained; missing of others."""
    at = np.minimum(np.searchsorted(explained, rows), explained.size - 1)
    return words.take(pa.array(at, mask=explained[at] != rows))


def _close(
    console: Console, found: Results, model: TableDetector, files: dict[str, str | None], n_written: int
) -> None:
    """Say how many rows are flagged and what was written."""
    n = int(found.flagged.sum())
    console.say()
    console.say(flagged_words(n, found.scores.size, auto_count(model), found.n_episodes()))
    if n == 0 and model.threshold_.kind == "auto" and found.scores.size < FEWEST_ROWS:
        console.say(f"Of fewer than {FEWEST_ROWS} rows none can be flagged for certain; top=3 flags the three oddest.")
    if model.threshold_.kind in ("fdr", "p") and n == 0:
        console.say(
            f"p-values of the rows a model was fitted on are cautious: use {model.threshold_.kind} with `oddatom "
            "score` on new rows, or 2% or top=10 here."
        )
    for what, where in files.items():
        if where and where != "-":
            some = what == "rows" and n_written < found.scores.size
            console.say(f"{what}: {where}{f' ({n_written:,} of them; --all writes every row)' if some else ''}")
