"""The experiments of the paper and those it lacks, one file each: a file with `ORDER`, `plan` and `run` is one more."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def _found() -> dict[str, Any]:
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    return {module.__name__.rpartition(".")[2]: module for module in sorted(modules, key=lambda module: module.ORDER)}


EXPERIMENTS: dict[str, Any] = _found()
