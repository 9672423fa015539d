"""`oddatom score`: score the rows of a table batch by batch, in constant memory."""

from __future__ import annotations

import argparse

import numpy as np

from oddatom.cli.console import Console
from oddatom.cli.learning import results, top_features
from oddatom.cli.listing import show_json
from oddatom.cli.loading import load_pipeline
from oddatom.cli.tables import beside, open_source, told, with_results
from oddatom.table import TableWriter


def run(options: argparse.Namespace, console: Console) -> bool:
    """Return whether any row is an anomaly."""
    output = options.output or ("-" if options.table == "-" else beside(options.table, ".scores.csv"))
    n_rows = n_flagged = 0
    with told(console):
        pipeline = load_pipeline(options)
        detector = pipeline["detector"]
        if detector.threshold_.kind == "fdr":
            console.say(f"false discoveries are controlled in every {options.batch:,} rows")
        source = open_source(options, batch_rows=options.batch)
        with TableWriter(output) as writer:
            for batch in console.progress(source, "rows", sizes=lambda batch: batch.num_rows):
                X = pipeline["table"].transform(batch)
                found = results(detector, X)
                values = {
                    "score": found.scores,
                    "p_value": np.full(len(X), np.nan) if found.p_values is None else found.p_values,
                    "is_anomaly": found.flagged,
                }
                if options.explain:
                    values["top_features"] = top_features(pipeline, X)
                writer.write(with_results(batch, values))
                n_rows += len(X)
                n_flagged += int(found.flagged.sum())
    if options.json and output != "-":
        show_json(console, {"table": options.table, "rows": n_rows, "anomalies": n_flagged, "output": output})
    console.say(f"{n_flagged:,} of {n_rows:,} rows are anomalies.")
    if output != "-":
        console.say(f"rows: {output}")
    return n_flagged > 0
