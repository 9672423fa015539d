"""The paper's data sets, one file each: a file that defines `DATA` and `ORDER`, its place in the paper, is one more."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from oddatom.exceptions import OddAtomError
from oddatom.paper.base import DataSet

__all__ = ["DATASETS", "find"]

_modules = [import_module(f"{__name__}.{info.name}") for info in iter_modules(__path__) if info.name[0] != "_"]
_modules.sort(key=lambda module: (module.DATA.small, module.ORDER))

DATASETS: dict[str, DataSet] = {module.DATA.name: module.DATA for module in _modules}


def find(name: str) -> DataSet:
    """Return a data set by its name."""
    if name not in DATASETS:
        problem, advice = f"There is no data set {name!r}.", f"Choose from {', '.join(DATASETS)}."
        raise OddAtomError(problem, parameter="name", value=name, advice=advice)
    return DATASETS[name]
