"""What a fitted attribute must look like: small checks that are put together to the rules of a class.

A size has a name and must be the same wherever the name comes again: `numbers("atoms", "features")` beside
`numbers("atoms")`. "*" is any size.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import scipy.sparse

Sizes = dict[str, int]
Rule = Callable[[Any, str, Sizes], None]
Rules = Mapping[str, Rule]


class Mismatch(Exception):
    """The value at `path` is not what it must be."""

    def __init__(self, path: str, what: str, advice: str = "") -> None:
        super().__init__(f"{shown(path)[1:-1] or 'the model'} {what}")
        self.advice = advice


def shown(value: Any) -> str:
    """Return a value as short text for a message."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} and shape {value.shape}"
    if isinstance(value, str):
        value = value[:120]
    text = " ".join(repr(value).split())  # in one line
    return text if len(text) <= 120 else f"{text[:120]}…"


def demand(fits: Any, path: str, what: str, value: Any = None) -> None:
    """Raise `Mismatch` unless it fits."""
    if not fits:
        raise Mismatch(path, f"must be {what}. Got {shown(value)} instead")


def numbers(
    *shape: str | int,
    dtype: Any = np.float64,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    finite: bool = True,
    nan: bool = False,
    rising: bool = False,
) -> Rule:
    """An array of exactly this dtype and shape, with entries in [least, most] or above a bound.

    `finite=False` allows infinite entries, `nan=True` any. `rising` means that no entry is below the one before.
    """
    dtype = np.dtype(dtype)

    def check(value: Any, path: str, sizes: Sizes) -> None:
        extents = ", ".join(str(extent) for extent in shape)
        demand(
            isinstance(value, np.ndarray) and value.dtype == dtype and value.ndim == len(shape),
            path,
            f"an array of {dtype} and shape ({extents})",
            value,
        )
        for extent, size in zip(shape, value.shape, strict=True):
            wanted = extent if isinstance(extent, int) else sizes.setdefault(extent, size)
            demand(extent == "*" or size == wanted, path, f"of shape ({extents}) with {extent} = {wanted}", value)
        if value.size == 0 or nan:
            return
        low, high = value.min(), value.max()  # nan where there is one
        if dtype.kind == "f":
            fine = np.isfinite(low) and np.isfinite(high) if finite else not np.isnan(low)
            demand(fine, path, f"free of NaN{' and infinity' if finite else ''}", value)
        if least is not None:
            demand(low >= least, path, f"{least} or more in every entry", low)
        if above is not None:
            demand(low > above, path, f"above {above} in every entry", low)
        if most is not None:
            demand(high <= most, path, f"{most} or less in every entry", high)
        if rising:
            demand((value[1:] >= value[:-1]).all(), path, "sorted", value)

    return check


def places(*shape: str | int, below: str, rising: bool = False) -> Rule:
    """An array of int64 from 0 to a size, not included; `rising`: each above the one before."""
    whole = numbers(*shape, dtype=np.int64, least=0)

    def check(value: Any, path: str, sizes: Sizes) -> None:
        whole(value, path, sizes)
        demand(below in sizes, path, f"given with {below}", value)
        if value.size:
            demand(value.max() < sizes[below], path, f"below {below} = {sizes[below]} in every entry", value.max())
        if rising:
            demand((np.diff(value) > 0).all(), path, "rising", value)

    return check


def number(
    *,
    least: float = -np.inf,
    above: float | None = None,
    most: float = np.inf,
    finite: bool = True,
) -> Rule:
    """A float (or an int) in [least, most], or above a bound; `finite=False` allows infinity."""

    def check(value: Any, path: str, sizes: Sizes) -> None:
        fits = type(value) in (float, int) and least <= value <= most and (above is None or value > above)
        bounds = f"from {least} to {most}" if above is None else f"above {above} and at most {most}"
        demand(fits and (np.isfinite(value) or not finite), path, f"a number {bounds}", value)

    return check


def integer(*, least: int = 0, most: str | None = None, name: str | None = None) -> Rule:
    """An int, at most a size met before; `name` gives the size a name."""

    def check(value: Any, path: str, sizes: Sizes) -> None:
        demand(type(value) is int and value >= least, path, f"an integer of at least {least}", value)
        if most is not None:
            demand(value <= sizes[most], path, f"at most {most} = {sizes[most]}", value)
        if name is not None:
            wanted = sizes.setdefault(name, value)
            demand(value == wanted, path, f"{name} = {wanted}", value)

    return check


def any_text(value: Any, path: str, sizes: Sizes) -> None:
    """Text that can be written to a file."""
    demand(type(value) is str, path, "text", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        demand(False, path, "text that can be written as UTF-8", value)


def truth(value: Any, path: str, sizes: Sizes) -> None:
    """True or False."""
    demand(type(value) is bool, path, "true or false", value)


def text(options: Collection[str]) -> Rule:
    """One of some names."""

    def check(value: Any, path: str, sizes: Sizes) -> None:
        demand(type(value) is str and value in options, path, f"one of {', '.join(options)}", value)

    return check


def names(size: str) -> Rule:
    """An array of text."""

    def check(value: Any, path: str, sizes: Sizes) -> None:
        demand(isinstance(value, np.ndarray) and value.dtype == object, path, "an array of names", value)
        wanted = sizes.setdefault(size, value.size)
        demand(value.shape == (wanted,), path, f"as many names as {size} = {wanted}", value)

    return check


def csr(rows: str, columns: str) -> Rule:
    """A sparse array of finite numbers."""

    def check(value: Any, path: str, sizes: Sizes) -> None:
        demand(isinstance(value, scipy.sparse.csr_array), path, "a CSR array", value)
        for extent, size in zip((rows, columns), value.shape, strict=True):
            wanted = sizes.setdefault(extent, size)
            demand(size == wanted, path, f"a CSR array with {extent} = {wanted}", value.shape)
        demand(np.isfinite(value.data).all(), path, "free of NaN and infinity", value.data)

    return check


def optional(rule: Rule) -> Rule:
    """None, or what the rule says."""

    def check(value: Any, path: str, sizes: Sizes) -> None:
        if value is not None:
            rule(value, path, sizes)

    return check


def record(get: Callable[[], type], rules: Rules) -> Rule:
    """An instance of a small class with attributes that follow rules, taken in their order."""

    def check(value: Any, path: str, sizes: Sizes) -> None:
        Class = get()
        demand(type(value) is Class, path, f"a {Class.__name__}", value)
        for name, rule in rules.items():
            rule(getattr(value, name), f"{path}.{name}", sizes)

    return check


def each(rule: Rule, kind: type = list) -> Rule:
    """A list, or a tuple, of what the rule says."""

    def check(value: Any, path: str, sizes: Sizes) -> None:
        demand(type(value) is kind, path, f"a {kind.__name__}", value)
        for k, item in enumerate(value):
            rule(item, f"{path}.{k}", sizes)

    return check
