"""The tables of the evaluation, one file each: a file that defines `ORDER` and `build(runs, context)` is one more."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from oddatom.paper.context import Context
from oddatom.paper.tables._table import Table

__all__ = ["TABLES", "Build", "Table"]

Build = Callable[[Any, Context], Table | None]  # runs: DataFrame with `base.COLUMNS`; None: no runs for it

_modules = {
    info.name: import_module(f"{__name__}.{info.name}") for info in iter_modules(__path__) if info.name[0] != "_"
}

TABLES: dict[str, Build] = {
    name: module.build for name, module in sorted(_modules.items(), key=lambda pair: (pair[1].ORDER, pair[0]))
}
