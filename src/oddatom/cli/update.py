"""`oddatom update`: let a kept model learn from new rows, and forget some of the earlier ones."""

from __future__ import annotations

import argparse

from oddatom import save
from oddatom.cli.console import Console, WrongUse
from oddatom.cli.known import judge, read_known
from oddatom.cli.listing import show_json
from oddatom.cli.loading import load_model
from oddatom.cli.tables import check_places, open_source, read_whole, told


def run(options: argparse.Namespace, console: Console) -> bool:
    """Return False: updating finds nothing. The model is written whole, or not at all."""
    output = options.output or options.model
    with told(console):
        model = load_model(options)
        detector = model.detector_
        if not hasattr(detector, "partial_fit"):
            raise WrongUse(
                f"{options.model} holds {type(detector).__name__}, which learns from all rows at once. Fit again, or "
                "use the detector oddatom or dl."
            )
        if getattr(detector, "memory_", None) is None and options.decay > 0.0:
            raise WrongUse(
                f"{options.model} keeps no rows that new ones could join. Fit it with --updatable, or pass --decay 0 "
                "to learn from the new rows alone."
            )
        known = read_known(options.known) if options.known else None
        source = open_source(options)
        check_places(output, read=[options.table, *([] if output == options.model else [options.model])])
        table = read_whole(source, console)
        with console.status("learning; the very first run compiles for about half a minute"):
            model.partial_fit(table, decay=options.decay)
        n_judged = 0 if known is None else judge(model, known, [(0, table)], options.table, detector.memory_.rows)
        save(model, output)
    n_rows = len(detector.memory_.rows)
    if options.json:
        facts = {"table": options.table, "rows": table.num_rows, "rows kept": n_rows, "judged": n_judged}
        show_json(console, {**facts, "model": output})
    console.say(f"learned from {table.num_rows:,} new rows; the model keeps {n_rows:,}.")
    console.say(f"model: {output}")
    return False
