"""Formulas that have a twin in numba, for NumPy arrays alone: where a benchmark shows that it pays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from oddatom.arrays.namespaces import is_numpy

F = TypeVar("F", bound=Callable[..., Any])
TWINS: dict[Callable[..., Any], Callable[..., Any]] = {}  # by their formulas; one test compares them all


def twin_of(formula: Callable[..., Any]) -> Callable[[F], F]:
    """Register the decorated function as the twin of a formula: it takes the same, and returns that or its total."""

    def register(twin: F) -> F:
        TWINS[formula] = twin
        return twin

    return register


def fastest(formula: Callable[..., Any], x: Any) -> Callable[..., Any]:
    """Return the twin of a formula where it has one and x is a NumPy array, else the formula."""
    return TWINS.get(formula, formula) if is_numpy(x) else formula
