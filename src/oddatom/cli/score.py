"""`oddatom score`: score the rows of a table batch by batch, in constant memory."""

from __future__ import annotations

import argparse

import numpy as np

from oddatom.cli.console import Console
from oddatom.cli.learning import USUAL_ROWS, results, top_features
from oddatom.cli.listing import show_json
from oddatom.cli.loading import load_pipeline
from oddatom.cli.tables import (
    beside,
    check_places,
    check_streams,
    for_output,
    full_batches,
    is_stream,
    open_source,
    table_writer,
    told,
    with_results,
)


def run(options: argparse.Namespace, console: Console) -> bool:
    """Return whether any row is an anomaly."""
    output = options.output or ("-" if is_stream(options.table) else beside(options.table, ".scores.csv"))
    check_streams(options, output)
    n_rows = n_flagged = 0
    usual: np.ndarray | None = None
    with told(console):
        pipeline = load_pipeline(options)
        source = open_source(options)
        check_places(output, read=[options.table, options.model])
        batches = full_batches(source, options.batch)
        if pipeline["detector"].threshold_.kind == "fdr":
            console.say(f"false discoveries are controlled in every {options.batch:,} rows")
        writer = table_writer(output)
        writer.check(source.schema)
        with writer:
            for batch in console.progress(batches, "rows", sizes=lambda batch: batch.num_rows):
                X = pipeline["table"].transform(batch)
                found = results(pipeline["detector"], X)
                values = found.columns()
                if options.explain:
                    usual = X[:USUAL_ROWS].copy() if usual is None else usual
                    values["top_features"] = top_features(pipeline, X, usual, console)
                writer.write(for_output(with_results(batch, values), output, console))
                n_rows += len(X)
                n_flagged += int(found.flagged.sum())
    if options.json:
        show_json(console, {"table": options.table, "rows": n_rows, "anomalies": n_flagged, "output": output})
    console.say(f"{n_flagged:,} of {n_rows:,} rows are anomalies.")
    if output != "-":
        console.say(f"rows: {output}")
    return n_flagged > 0
