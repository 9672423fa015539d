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
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

LEARNING = ("detect", "fit")
ENSEMBLE = (("oddatom.ensemble.fused", "_rows"), ("oddatom.boundary.interior_point", "_solve"))
LEARNERS = {  # the kernels that are compiled last, by detector
    "dl": ("oddatom.rows.array._hinge_kernels", "commit"),
    "dpl": ("oddatom.rows.array._pair_kernels", "commit"),
    "kdl": ("oddatom.rows.array._hinge_kernels", "commit"),
    "kdpl": ("oddatom.rows.array._pair_kernels", "commit"),
}
SECONDS, OF_LEARNERS = 15, 30  # on two cores
_LAST = "from oddatom.cli.plane_kernels import compile_plane; compile_plane()"


def is_compiled(module: str, name: str) -> bool:
    """Return whether a kernel is on disk, and no older than its source."""
    try:
        found = import_module(module)
    except RuntimeError as error:  # numba's, which finds no folder that it may write in
        raise OSError(f"numba has no folder for its kernels ({error}). Set NUMBA_CACHE_DIR to one.") from None
    kept = getattr(found, name).stats.cache_path
    written = Path(str(found.__file__)).stat().st_mtime
    files = [] if kept is None else Path(kept).glob(f"{module.rpartition('.')[2]}.{name}-*.nbi")
    return any(file.stat().st_mtime >= written for file in files)


@contextmanager
def compiling(command: str, options: argparse.Namespace, console: Any) -> Iterator[None]:
    """Run a command; where it is the first that learns, say that it compiles, and compile a part side by side.

    Parameters
    ----------
    command : str
    options : Namespace
        Of the command. Where its table is not there, nothing is said: it will not get far.
    console : Console
    """
    if command not in LEARNING or not _can_start(options):
        yield
        return
    ensemble = options.detector == "oddatom"
    missing = [one for one in (ENSEMBLE if ensemble else [LEARNERS[options.detector]]) if not is_compiled(*one)]
    if missing:
        console.say(f"compiling once, about {SECONDS if ensemble else OF_LEARNERS} s")
    if len(missing) < len(ENSEMBLE) or (os.cpu_count() or 1) < 2:
        yield
        return
    none = subprocess.DEVNULL
    helper = subprocess.Popen([sys.executable, "-P", "-c", _LAST], stdin=none, stdout=none, stderr=none)
    try:
        yield
    finally:
        helper.terminate()
        helper.wait()


def _can_start(options: argparse.Namespace) -> bool:
    """Return whether the table is there, and what reads it."""
    return (options.table == "-" or os.path.exists(options.table)) and find_spec("pyarrow") is not None
