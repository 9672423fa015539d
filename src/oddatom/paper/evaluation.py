"""The whole evaluation: data sets, plan, runs, tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from oddatom import __version__
from oddatom.exceptions import DataSetUnavailable
from oddatom.paper import datasets, methods
from oddatom.paper.base import COLUMNS, VIEWS, DataSet, Effort
from oddatom.paper.context import Context
from oddatom.paper.experiments import EXPERIMENTS
from oddatom.paper.fetch import rows
from oddatom.paper.journal import Journal
from oddatom.paper.output import write_results
from oddatom.paper.planning import Plan
from oddatom.paper.runner import run_all


class UnknownName(LookupError):
    """There is no such data set, method, experiment or view, or nothing to run of them."""


def evaluate(
    output: Path,
    *,
    effort: Effort,
    names: Iterable[str] | None,
    method_names: Iterable[str] | None,
    experiments: Iterable[str] | None,
    views: Iterable[str] | None,
    dictionaries: int,
    thin: int = 1,
    near: int | None = None,
    folder: str | None,
    seed: int,
    jobs: int | None,
    command: str,
    machine: str,
    say: Callable[[str], None],
    tell: Callable[[int, int, float], None],
) -> Path:
    """Run what is not yet done, and write the results; return the page that shows them.

    Parameters
    ----------
    output : path
        A folder. One that holds runs already is gone on with.
    effort : {"quick", "full"}
    names, method_names, experiments, views : iterables of str or None
        None means all.
    dictionaries, thin, near : int
        As `Plan` has them.
    folder : str or None
        Of the data sets; None fetches them.
    seed : int
    jobs : int or None
    command, machine : str
        Said in the results.
    say, tell : functions
        Of messages, and of progress: tasks done, tasks in all, seconds left.
    """
    wanted = _chosen(names, datasets.DATASETS, "data set")
    used = _chosen(method_names, methods.METHODS, "method")
    kinds = _chosen(experiments, EXPERIMENTS, "experiment")
    seen = tuple(_chosen(views, {view: view for view in VIEWS}, "view").values())
    if folder is not None and not Path(folder).expanduser().is_dir():
        advice = "Name one that holds the data sets, or none."
        raise DataSetUnavailable(f"there is no folder {folder!r}.", parameter="folder", value=folder, advice=advice)
    there, missing = _available(wanted.values(), folder)
    for name, reason in missing.items():
        say(f"{name} is left out: {reason}")
    if not there:
        advice = "Pass a folder that holds them with --data."
        raise DataSetUnavailable("none of the data sets could be had.", parameter="folder", value=folder, advice=advice)
    plan = Plan(there, list(used.values()), effort, dictionaries, seen, thin, near)
    if not any(EXPERIMENTS[name].plan(plan, pd.DataFrame(columns=list(COLUMNS))) for name in kinds):
        raise UnknownName(
            f"there is nothing to run: of the methods {', '.join(used)} none has an experiment {', '.join(kinds)} on "
            f"{', '.join(data.name for data in there)} in a view {', '.join(seen)}. Choose others."
        )
    journal = Journal(output, {"oddatom": __version__, "seed": seed})
    if journal.runs:
        say(f"{len(journal.runs):,} runs are there already: going on")
    journal.note_command(command)
    try:
        run_all(plan, journal, list(kinds), folder, seed, jobs, tell)
    finally:
        journal.close()
    frame = journal.frame()
    failed = int((frame["error"] != "").sum())
    if failed:
        say(f"{failed} of {len(frame):,} runs failed; runs.parquet says why")
    held, known = set(frame["dataset"]), set(frame["method"])  # also of commands before this one
    sets = [data for data in datasets.DATASETS.values() if data in there or data.name in held]
    context = Context(
        datasets=sets,
        missing={name: reason for name, reason in missing.items() if name not in held},
        methods=[method for name, method in methods.METHODS.items() if name in used or name in known],
        machine=machine,
        command="\n".join(journal.commands),
        effort=effort,
        seed=seed,
    )
    write_results(output, frame, context)
    return output / "index.html"


def _chosen(names: Iterable[str] | None, known: dict[str, Any], what: str) -> dict[str, Any]:
    """Return what was asked for, in the order of what is known."""
    asked = list(known) if names is None else list(names)
    for name in asked or [""]:
        if name not in known:
            raise UnknownName(f"there is no {what} {name!r}. Choose from {', '.join(known)}.")
    return {name: known[name] for name in known if name in asked}


def _available(wanted: Iterable[DataSet], folder: str | None) -> tuple[list[DataSet], dict[str, str]]:
    """Return the sets that can be had, and why the others cannot."""
    there, missing = [], {}
    for data in wanted:
        try:
            rows(data, folder)
        except DataSetUnavailable as error:
            missing[data.name] = str(error)
        else:
            there.append(data)
    return there, missing
