"""`oddatom detect`: from a table to a ranked, explained list and a report."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from oddatom import save
from oddatom.cli.console import Console
from oddatom.cli.learning import Results, fit_pipeline, results, top_features
from oddatom.cli.listing import LISTED, row_records, show_json, show_rows
from oddatom.cli.reporting import write_table_report
from oddatom.cli.tables import beside, open_source, told, with_results
from oddatom.table import TableWriter


def run(options: argparse.Namespace, console: Console) -> bool:
    """Return whether any row is an anomaly."""
    output = options.output or ("-" if options.table == "-" else beside(options.table, ".anomalies.csv"))
    report = None
    if not options.no_report and (options.report or options.table != "-"):
        report = options.report or beside(options.table, ".report.html")
    with told(console) as warnings:
        table = open_source(options).read()
        pipeline, X = fit_pipeline(options, table, console)
        found = results(pipeline["detector"], X)
        order = found.order()
        _write_rows(output, options, table, X, pipeline, found, order)
        if options.model:
            save(pipeline, options.model)
        if report:
            write_table_report(report, pipeline, table, X, found, options, warnings)
    listed = order[:LISTED]
    features = top_features(pipeline, X[listed])
    n_flagged = int(found.flagged.sum())
    if options.json and output != "-":
        written = {"output": output, "report": report, "model": options.model}
        facts = {"table": options.table, "rows": len(X), "anomalies": n_flagged, **written}
        show_json(console, {**facts, "top": row_records(listed, found, features)})
    elif output != "-" and not options.quiet:
        show_rows(console, listed, found, features)
    _close(console, n_flagged, len(X), output, report, options, pipeline["detector"])
    return n_flagged > 0


def _write_rows(
    output: str,
    options: argparse.Namespace,
    table: Any,
    X: np.ndarray,
    pipeline: Any,
    found: Results,
    order: np.ndarray,
) -> None:
    """Write the rows with the results after their own columns: all, or with --top the oddest alone."""
    kept = order[: options.top] if options.top else None
    rows = slice(None) if kept is None else kept
    values = {
        "score": found.scores[rows],
        "p_value": np.full(len(X), np.nan)[rows] if found.p_values is None else found.p_values[rows],
        "is_anomaly": found.flagged[rows],
        "rank": found.ranks()[rows],
        "top_features": top_features(pipeline, X[rows]),
    }
    with TableWriter(output) as writer:
        writer.write(with_results(table if kept is None else table.take(kept), values))


def _close(
    console: Console, n: int, n_rows: int, output: str, report: str | None, options: argparse.Namespace, detector: Any
) -> None:
    console.say()
    console.say(f"{n:,} of {n_rows:,} rows are anomalies (threshold: {options.threshold}).")
    if detector.threshold_.kind == "fdr" and n == 0:
        console.say(
            "p-values of the rows a model was fitted on are cautious: use fdr with `oddatom score` on new rows."
        )
    for what, where in (("rows", output), ("report", report), ("model", options.model)):
        if where and where != "-":
            console.say(f"{what}: {where}")
