"""Fill a report from a table, its encoded rows and a model."""

from __future__ import annotations

import argparse
import shlex
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa

from oddatom.cli.learning import Results
from oddatom.cli.tables import is_stream
from oddatom.report import gather_content, write_report
from oddatom.table.table_detector import TableDetector


def need_figures() -> None:
    """Raise, before any work, where a report could not be drawn."""
    for name in ("matplotlib", "jinja2"):
        if find_spec(name) is None:
            raise ImportError(f"a report needs {name}: pip install 'oddatom[report]', or pass --no-report to detect.")


def write_table_report(
    path: str,
    model: TableDetector,
    table: pa.Table,
    X: np.ndarray,
    found: Results,
    options: argparse.Namespace,
    warnings: list[str],
) -> None:
    """Write the report; values of columns that are not used (ids, ignored ones) stay out unless --show-ids is given."""
    encoder = model.encoder_
    used = {decision.name for decision in encoder.columns_ if decision.used}
    shown = [name for name in table.column_names if name in used or options.show_ids]
    name = "standard input" if is_stream(options.table) else Path(options.table).name
    content = gather_content(
        model.detector_,
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
        how_to=_how_to("-" if is_stream(options.table) else options.table, options.model),
        warnings=warnings,
    )
    write_report(path, content)


def _how_to(table: str, model: str | None) -> list[tuple[str, str]]:
    file = model or "model.oddatom"
    data, kept = shlex.quote(table), shlex.quote(file)
    return [
        *([] if model else [("Keep a model of these rows:", f"oddatom fit {data} -m {kept}")]),
        ("Score new rows with it:", f"oddatom score {kept} new.csv"),
        ("Say what makes a row odd:", f"oddatom explain {kept} new.csv --row 17"),
        ("In Python:", f"import oddatom\nmodel = oddatom.load({file!r})\nscores = model.score_samples(frame)"),
    ]
