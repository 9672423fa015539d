"""Fill a report from a table, its encoded rows and a pipeline."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from oddatom.cli.learning import Results
from oddatom.report import gather_content, write_report


def write_table_report(
    path: str,
    pipeline: Any,
    table: Any,
    X: np.ndarray,
    found: Results,
    options: argparse.Namespace,
    warnings: list[str],
) -> None:
    """Write the report; values of columns that are not used (ids, ignored ones) stay out unless --show-ids is given."""
    encoder = pipeline["table"]
    used = {decision.name for decision in encoder.columns_ if decision.used}
    shown = [name for name in table.column_names if name in used or getattr(options, "show_ids", False)]
    model = getattr(options, "model", None) or "model.oddatom"
    name = "standard input" if options.table == "-" else Path(options.table).name
    how_to = [
        ("Keep a model of these rows:", f"oddatom fit {name} -m {model}"),
        ("Score new rows with it:", f"oddatom score {model} new.csv"),
        ("Say what makes a row odd:", f"oddatom explain {model} new.csv --row 17"),
        ("In Python:", f"import oddatom\nmodel = oddatom.load({model!r})\nscores = model.score_samples(frame)"),
    ]
    content = gather_content(
        pipeline["detector"],
        X,
        list(encoder.get_feature_names_out()),
        encoder.source_,
        title=f"Odd rows of {name}",
        file_name=name,
        n_columns=len(encoder.columns_),
        decisions=[(d.name, d.kind, d.line().removeprefix(f"{d.name}: ")) for d in encoder.columns_],
        display={name: table.column(name) for name in shown},
        row_numbers=np.arange(1, len(X) + 1),
        scores=found.scores,
        p_values=found.p_values,
        how_to=how_to,
        warnings=warnings,
    )
    write_report(path, content)
