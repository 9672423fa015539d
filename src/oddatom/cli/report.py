"""`oddatom report`: the report of a table under a kept model."""

from __future__ import annotations

import argparse

from oddatom.cli.console import Console
from oddatom.cli.learning import results
from oddatom.cli.listing import show_json
from oddatom.cli.loading import load_model
from oddatom.cli.reporting import need_figures, write_table_report
from oddatom.cli.tables import beside, check_places, open_source, read_whole, told


def run(options: argparse.Namespace, console: Console) -> bool:
    """Return whether any row is flagged."""
    output = options.output or beside(options.table, ".report.html")
    with told(console) as warnings:
        model = load_model(options)
        source = open_source(options)
        check_places(output, read=[options.table, options.model])
        need_figures()
        table = read_whole(source, console)
        placed = model._place(table)
        found = results(model, placed, model._follow(placed))
        with console.status("writing the report"):
            write_table_report(output, model, table, found, options, warnings)
    n_flagged = int(found.flagged.sum())
    if options.json:
        show_json(console, {"table": options.table, "rows": table.num_rows, "anomalies": n_flagged, "report": output})
    console.say(f"report: {output}")
    return n_flagged > 0
