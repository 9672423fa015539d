"""`oddatom fit`: learn a model from a table and keep it."""

from __future__ import annotations

import argparse

from oddatom import save
from oddatom.cli.console import Console
from oddatom.cli.learning import fit_model
from oddatom.cli.listing import show_json
from oddatom.cli.tables import check_places, open_source, read_whole, told


def run(options: argparse.Namespace, console: Console) -> bool:
    """Return False: fitting finds nothing."""
    with told(console):
        source = open_source(options)
        check_places(options.model, read=[options.table])
        model, placed, _ = fit_model(options, read_whole(source, console), console)
        save(model, options.model)
    if options.json:
        show_json(console, {"table": options.table, "rows": len(placed.features), "model": options.model})
    console.say(f"model: {options.model}")
    return False
