"""`oddatom update`: let a kept model learn from new rows, and forget some of the earlier ones."""

from __future__ import annotations

import argparse

from oddatom import save
from oddatom.cli.console import Console, WrongUse
from oddatom.cli.known import check_can_be_judged, find_judged, judge, read_known
from oddatom.cli.listing import show_json
from oddatom.cli.loading import load_model
from oddatom.cli.tables import check_places, open_source, read_whole, told


def run(options: argparse.Namespace, console: Console) -> bool:
    """Return False: updating finds nothing. The model is written whole, or not at all."""
    output = options.output or options.model
    with told(console):
        model = load_model(options)
        detector = model.detector_
        if model._in_time:
            raise WrongUse(f"{options.model} was fitted with --time, and so learns from all rows at once. Fit again.")
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
        check_can_be_judged(type(detector).__name__, not options.known or hasattr(detector, "feedback"))
        known = read_known(options.known) if options.known else None
        source = open_source(options)
        others = [options.model] if output != options.model else []
        check_places(output, read=[options.table, *others, *filter(None, [options.known])])
        table = read_whole(source, console)
        judged = None if known is None else find_judged(known, [table], options.table)
        with console.status("learning"):
            model.partial_fit(table, decay=options.decay)
        if judged is not None:
            judge(model, judged)
        save(model, output)
    n_kept, n_new = len(detector.memory_.rows), table.num_rows
    n_judged = 0 if judged is None else len(judged.labels)
    if options.json:
        facts = {"table": options.table, "rows": n_new, "rows_kept": n_kept, "judged": n_judged, "model": output}
        show_json(console, facts)
    said = f", {n_judged:,} of them judged" if n_judged else ""
    console.say(f"learned from {n_new:,} new row{'s' if n_new != 1 else ''}{said}; the model keeps {n_kept:,}.")
    console.say(f"model: {output}")
    return False
