"""The first run compiles the numeric kernels: say so at once, and compile those needed last in a second process.

numba keeps them on disk, a file for each, which appears when it is whole: whoever comes first writes it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

COMMANDS = {"detect": 15, "fit": 15, "update": 15, "score": 10, "explain": 10, "report": 10}  # seconds on two cores
LEARNING = ("detect", "fit", "update")
_LAST = "from oddatom.cli.compiling import compile_boundary; compile_boundary()"


def is_compiled() -> bool:
    """Return whether the kernel that takes longest is on disk, and no older than its source."""
    from oddatom.ensemble import fused

    kept = fused._rows.stats.cache_path
    if kept is None:
        return False
    written = Path(fused.__file__).stat().st_mtime
    return any(file.stat().st_mtime >= written for file in Path(kept).glob("fused._rows-*.nbi"))


@contextmanager
def compiling(command: str, options: argparse.Namespace, console: Any) -> Iterator[None]:
    """Run a command; where it is the first, say that it compiles, and compile a part side by side.

    Parameters
    ----------
    command : str
    options : Namespace
        Of the command. Where its table is not there, nothing is said: it will not get far.
    console : Console
    """
    if command not in COMMANDS or not _gets_far(options) or is_compiled():
        yield
        return
    console.say(f"compiling once, about {COMMANDS[command]} s")
    if command not in LEARNING or (os.cpu_count() or 1) < 2:
        yield
        return
    none = subprocess.DEVNULL
    helper = subprocess.Popen([sys.executable, "-c", _LAST], stdin=none, stdout=none, stderr=none)
    try:
        yield
    finally:
        helper.terminate()
        helper.wait()


def _gets_far(options: argparse.Namespace) -> bool:
    """Return whether the table is there, and what reads it."""
    return (options.table == "-" or os.path.exists(options.table)) and find_spec("pyarrow") is not None


def compile_boundary() -> None:
    """Fit a plane, as the last step of a fit of `OddAtomDetector` does."""
    import numpy as np

    from oddatom.arrays.block import Block
    from oddatom.boundary.plane import fit_one_class
    from oddatom.passes.group import ShardGroup
    from oddatom.rows.array import OneClassShard

    rows = np.random.default_rng(0).random((4096, 5))
    fit_one_class(ShardGroup([OneClassShard(Block.dense(rows))]), 5, 0.1)
