"""Fill a report from a table, its encoded rows and a model."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa

from oddatom.cli.learning import Results
from oddatom.cli.parser import learning_words
from oddatom.cli.tables import is_stream
from oddatom.report import RowGroups, RowTimes, gather_content, write_report
from oddatom.table.columns import as_columns
from oddatom.table.decision import ColumnDecision
from oddatom.table.encoding import read_values
from oddatom.table.row_context import Placed, RowContext
from oddatom.table.table_detector import TableDetector

LISTED = 50  # of the oddest rows


def need_figures() -> None:
    """Raise, before any work, where a report could not be drawn."""
    if find_spec("jinja2") is None:
        raise ImportError("a report needs jinja2: pip install 'oddatom[report]', or pass --no-report to detect.")


def write_table_report(
    path: str,
    model: TableDetector,
    table: pa.Table,
    found: Results,
    options: argparse.Namespace,
    warnings: list[str],
) -> None:
    """Write the report.

    Values of columns that are not used (ids, ignored ones) stay out unless --show-ids is given; those that place a row,
    its time and its groups, are shown.
    """
    encoder, context = model.encoder_, model.context_
    used = {decision.name for decision in encoder.columns_ if decision.used}
    places = [] if context is None else context.roles
    others = [name for name in table.column_names if name not in places]
    shown = [*places, *(name for name in others if name in used or options.show_ids)]
    listed = found.first_of_episodes(LISTED)
    name = "standard input" if is_stream(options.table) else Path(options.table).name
    content = gather_content(
        model.detector_,
        found.placed.features,
        model._feature_names,
        model._sources,
        title=f"Odd rows of {name}",
        file_name=name,
        n_columns=len(encoder.columns_),
        decisions=[(d.name, d.kind, d.line().removeprefix(f"{d.name}: ")) for d in encoder.columns_],
        display={name: table.column(name) for name in shown},
        row_numbers=np.arange(1, table.num_rows + 1),
        scores=found.scores,
        p_values=found.p_values,
        how_to=_how_to(options),
        warnings=warnings,
        listed=listed,
        explained=found.rows_to_explain(listed),
        since=found.since(listed),
        table_columns=None if context is None else _table_columns(context, encoder.source_),
        times=_times(context, found.placed),
        groups=_groups(context, found.placed),
        drawn=DrawnColumns(table, [decision for decision in encoder.columns_ if decision.name in shown]),
    )
    write_report(path, content)


class DrawnColumns(Mapping[str, np.ndarray]):
    """The numbers of a table's columns, read when they are asked for.

    Parameters
    ----------
    table : pyarrow.Table
    decisions : sequence of ColumnDecision
        Columns that may be drawn; those that are no numbers are left out.
    """

    def __init__(self, table: pa.Table, decisions: Sequence[ColumnDecision]) -> None:
        self._table = as_columns(table)
        self._styles = {one.name: one.style for one in decisions if one.kind == "number" and one.used}
        self._read: dict[str, np.ndarray] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._read:
            values = self._table.get(self._table.names.index(name))
            self._read[name] = read_values("number", values, self._styles[name])
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._styles  # without reading it

    def __iter__(self) -> Iterator[str]:
        return iter(self._styles)

    def __len__(self) -> int:
        return len(self._styles)


def _table_columns(context: RowContext, sources: Sequence[str]) -> list[str]:
    """Return the column of the table that each feature is about, given those of the encoded columns."""
    places = context.context.names([str(k) for k in range(len(sources))])  # "3: jump" is about the one at place 3
    return [sources[int(place.split(":")[0])] for place in places]


def _times(context: RowContext | None, placed: Placed) -> RowTimes | None:
    """Return when rows were; None where they are in no order."""
    if context is None or context.time is None or context.context.time is None or placed.ordered is None:
        return None
    rules, ordered = context.context.time, placed.ordered
    return RowTimes(ordered.times[ordered.place], rules.dates, rules.window, rules.gap, context.time.name)


def _groups(context: RowContext | None, placed: Placed) -> RowGroups | None:
    """Return the groups of rows; None where there are none."""
    if context is None or context.context.groups is None or placed.groups is None:
        return None
    names = [*context.context.groups.keys, *placed.new_series]
    return RowGroups(placed.groups, names, ", ".join(context.by), placed.new_groups)


def _how_to(options: argparse.Namespace) -> list[tuple[str, str]]:
    """Return what to do with these rows and others; `detect` has learned from them, `report` has a model."""
    table, file = "-" if is_stream(options.table) else options.table, options.model or "model.oddatom"
    kept = shlex.quote(file)
    learn = shlex.join(["oddatom", "fit", table, *learning_words(options), "-m", file])
    return [
        *([] if options.model else [("Keep a model of these rows:", learn)]),
        ("Score new rows with it:", f"oddatom score {kept} new.csv"),
        ("Say what makes a row odd:", f"oddatom explain {kept} new.csv --row 17"),
        ("In Python:", f"import oddatom\nmodel = oddatom.load({file!r})\nscores = model.score_samples(frame)"),
    ]
