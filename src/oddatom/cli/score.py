"""`oddatom score`: score the rows of a table batch by batch, in constant memory, into a table or as JSON lines."""

from __future__ import annotations

import argparse
from contextlib import nullcontext

import numpy as np

from oddatom.cli.console import Console
from oddatom.cli.json_lines import id_columns, row_lines
from oddatom.cli.known import judge_new_rows
from oddatom.cli.learning import USUAL_ROWS, results, top_features
from oddatom.cli.listing import flagged_words
from oddatom.cli.loading import load_model
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
    """Return whether any row is flagged."""
    output = options.output or _usual_output(options)
    check_streams(options, output)
    n_rows = n_flagged = 0
    moved = False
    usual: np.ndarray | None = None
    with told(console):
        model = load_model(options)
        if options.known:
            judge_new_rows(model, options)
        source = open_source(options)
        check_places(output, read=[options.table, options.model, *filter(None, [options.known])])
        batches = full_batches(source, options.batch)
        if model.threshold_.kind == "fdr":
            console.say(f"false discoveries are controlled in every {options.batch:,} rows")
        writer = None if output is None else table_writer(output)
        if writer is not None:
            writer.check(source.schema)
        with writer or nullcontext():
            for batch in console.progress(batches, "rows", sizes=lambda batch: batch.num_rows):
                X = model.encoder_.transform(batch)
                moved = moved or model._warn_of_drift(X)
                found = results(model.detector_, X)
                values = found.columns()
                if options.explain:
                    usual = X[:USUAL_ROWS].copy() if usual is None else usual
                    values["top_features"] = top_features(model, X, usual, console)
                if writer is not None and output is not None:
                    writer.write(for_output(with_results(batch, values), output, console))
                if options.json:
                    ids = {name: batch.column(name).to_pylist() for name in id_columns(model, batch)}
                    features = values["top_features"].to_pylist() if options.explain else None
                    console.show_lines(row_lines(n_rows + 1, found, ids, features))
                n_rows += len(X)
                n_flagged += int(found.flagged.sum())
    console.say(flagged_words(n_flagged, n_rows))
    if output not in (None, "-"):
        console.say(f"rows: {output}")
    return n_flagged > 0


def _usual_output(options: argparse.Namespace) -> str | None:
    """Return where the table goes: nowhere with --json, as a table came, or to a file beside it."""
    if options.json:
        return None
    return "-" if is_stream(options.table) else beside(options.table, ".scores.csv")
