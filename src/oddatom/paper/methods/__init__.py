"""The methods of the comparison, one file each: a file that defines `METHOD` is one more."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from oddatom.exceptions import OddAtomError
from oddatom.paper.base import Method


def _found() -> dict[str, Method]:
    methods = [import_module(f"{__name__}.{module.name}").METHOD for module in iter_modules(__path__)]
    return {method.name: method for method in sorted(methods, key=lambda method: (method.order, method.name))}


METHODS: dict[str, Method] = _found()


def find(name: str) -> Method:
    """Return a method by its name."""
    if name not in METHODS:
        problem, advice = f"There is no method {name!r}.", f"Choose from {', '.join(METHODS)}."
        raise OddAtomError(problem, parameter="name", value=name, advice=advice)
    return METHODS[name]
