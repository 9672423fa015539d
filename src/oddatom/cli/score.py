"""`oddatom score`: score the rows of a table batch by batch, in constant memory, into a table or as JSON lines."""

from __future__ import annotations

import argparse
import warnings
from contextlib import nullcontext

import numpy as np

from oddatom import load, save
from oddatom.cli.console import Console, WrongUse
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
from oddatom.exceptions import TableWarning
from oddatom.table.row_context import Placed
from oddatom.table.table_detector import TableDetector


def run(options: argparse.Namespace, console: Console) -> bool:
    """Return whether any row is flagged."""
    output = options.output or _usual_output(options)
    check_streams(options, output)
    n_rows = n_flagged = 0
    moved = False
    last = np.empty(0)
    usual: np.ndarray | None = None
    with told(console):
        model = load_model(options)
        if options.remember and not model._in_time:
            raise WrongUse(f"{options.model} keeps no rows: --remember is for models fitted with --time.")
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
                placed = model._place(batch, n_before=n_rows)
                moved = moved or model._warn_of_drift(placed)
                last = _note_times(model, placed, last)
                found = results(model, placed, model._follow(placed, warn=False))
                values = found.columns()
                if options.explain:
                    usual = placed.features[:USUAL_ROWS].copy() if usual is None else usual
                    values["top_features"] = top_features(model, found, slice(None), usual, console)
                if writer is not None and output is not None:
                    writer.write(for_output(with_results(batch, values), output, console))
                if options.json:
                    ids = {name: batch.column(name).to_pylist() for name in id_columns(model, batch)}
                    features = values["top_features"].to_pylist() if options.explain else None
                    console.show_lines(row_lines(n_rows + 1, found, ids, features))
                n_rows += batch.num_rows
                n_flagged += int(found.flagged.sum())
        if options.remember:
            kept = load(options.model)  # with the threshold that it was fitted with
            kept.followed_ = model.followed_
            save(kept, options.model)
    console.say(flagged_words(n_flagged, n_rows))
    if output not in (None, "-"):
        console.say(f"rows: {output}")
    return n_flagged > 0


def _note_times(model: TableDetector, placed: Placed, last: np.ndarray) -> np.ndarray:
    """Return the last time of every series, by its number; warn where rows come that are earlier than the batch before.

    Parameters
    ----------
    model : TableDetector
    placed : Placed
        The rows of a batch.
    last : (n_series,)
        The last times before it.
    """
    if placed.ordered is None or model.context_ is None or model.context_.time is None:
        return last
    series, times = (of_rows[placed.ordered.place] for of_rows in (placed.ordered.series, placed.ordered.times))
    known = np.full(max(last.size, int(series.max()) + 1), -np.inf)
    known[: last.size] = last
    if (times < known[series]).any():
        _warn_of_late_rows(model.context_.time.name)
    np.maximum.at(known, series, times)
    return known


def _warn_of_late_rows(time: str) -> None:
    message = (
        f"rows are not in the order of {time}: each batch is put in order by itself, and other "
        "sizes of batches give other scores. Sort the file, or pass --batch with its number of rows"
    )
    warnings.warn(TableWarning({"late rows": message}), stacklevel=2)


def _usual_output(options: argparse.Namespace) -> str | None:
    """Return where the table goes: nowhere with --json, as a table came, or to a file beside it."""
    if options.json:
        return None
    return "-" if is_stream(options.table) else beside(options.table, ".scores.csv")
