"""`oddatom paper`: the paper's whole evaluation."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
from pathlib import Path
from typing import Any

from oddatom.cli.console import Console, WrongUse

COMMAND = "oddatom paper"


def run(options: argparse.Namespace, console: Console) -> bool:
    """Run, and write tables and figures into a folder."""
    try:
        from oddatom.paper.evaluation import UnknownName, evaluate
    except ImportError as error:
        missing = error.name or str(error)
        raise ImportError(f"the paper's evaluation needs {missing}: pip install 'oddatom[paper]'.") from None

    def tell(done: int, total: int, seconds: float) -> None:
        console.draw_bar(done, total, f"runs, about {_clock(seconds)} left")

    try:
        index = evaluate(
            Path(options.output),
            effort="full" if options.full else "quick",
            names=options.datasets,
            method_names=options.methods,
            experiments=options.experiments,
            views=options.views,
            dictionaries=options.dictionaries,
            thin=options.thin,
            near=options.near,
            folder=options.data or os.environ.get("ODDATOM_DATA"),
            seed=options.seed,
            jobs=options.jobs,
            command=_command(options),
            machine=_machine(),
            say=console.say,
            tell=tell,
        )
    except KeyboardInterrupt:
        console.say(f"runs so far are kept in {options.output}: the same command goes on from there")
        raise
    except UnknownName as error:
        raise WrongUse(str(error.args[0])) from None
    console.say(f"results: {index}")
    return False


def _command(options: argparse.Namespace) -> str:
    """Return the command that gives these results, without where they go."""
    words: list[Any] = [COMMAND, "--full" if options.full else "--quick"]
    for name in ("datasets", "methods", "experiments", "views"):
        if getattr(options, name):
            words += [f"--{name}", shlex.quote(",".join(getattr(options, name)))]
    if options.dictionaries != 20:
        words += ["--dictionaries", options.dictionaries]
    if options.thin != 1:
        words += ["--thin", options.thin]
    if options.near is not None:
        words += ["--near", options.near]
    if options.seed:
        words += ["--seed", options.seed]
    return " ".join(map(str, words))


def _machine() -> str:
    """Return processor, cores and Python, in words."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def _clock(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 90 else f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"
