"""The whole evaluation: data sets, plan, runs, tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from oddatom import __version__
from oddatom.exceptions import DataSetUnavailable
from oddatom.paper import datasets, methods
from oddatom.paper.base import VIEWS, DataSet, Effort
from oddatom.paper.context import Context
from oddatom.paper.experiments import EXPERIMENTS
from oddatom.paper.fetch import rows
from oddatom.paper.journal import Journal
from oddatom.paper.output import write_results
from oddatom.paper.planning import Plan
from oddatom.paper.runner import run_all


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
    there, missing = _available(wanted.values(), folder)
    for name, reason in missing.items():
        say(f"{name} is left out: {reason}")
    if not there:
        raise DataSetUnavailable("none of the data sets could be had. Pass a folder that holds them with --data.")
    plan = Plan(there, list(used.values()), effort, dictionaries, seen, thin, near)
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
    context = Context(
        datasets=there,
        missing=missing,
        methods=list(used.values()),
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
    for name in asked:
        if name not in known:
            raise LookupError(f"there is no {what} {name!r}. Choose from {', '.join(known)}.")
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
