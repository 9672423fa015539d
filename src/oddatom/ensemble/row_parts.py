"""The parts of rows: built-in ones of NumPy arrays by the fused kernel, all others by their formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.namespaces import has_missing, namespace
from oddatom.arrays.twins import fastest, twin_of
from oddatom.ensemble.coded import coded_rows, rows_in_units
from oddatom.ensemble.fused import fused_parts
from oddatom.ensemble.histogram import Histogram
from oddatom.ensemble.packed import Packed
from oddatom.ensemble.parts import BUILT_IN, FUSED, PARTS, value
from oddatom.scaling.asinh import AsinhScaling


class RowParts(NamedTuple):
    """Parts of N rows, as they come, in the order of a list of names.

    Attributes
    ----------
    members : (N, M, p)
        Those of each member.
    rows : (N, q)
        Those of the row alone.
    missing : (N,)
        Share of the cells that a row lacks, of the columns that members look at.

    The first two are None where there are no names of their kind, the last where it is known that no cell is missing.
    """

    members: Any
    rows: Any
    missing: Any = None


def split_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of members' parts, which come first, and of the others."""
    return [n for n in names if PARTS[n].of_members], [n for n in names if not PARTS[n].of_members]


def row_parts(
    X: Any, scaling: AsinhScaling, histogram: Histogram, packed: Packed, names: Sequence[str] = BUILT_IN
) -> RowParts:
    """Return the parts of rows X (N×m), by name; the model's arrays are of X's library."""
    return fastest(formula_parts, X)(X, scaling, histogram, packed, names)


def formula_parts(
    X: Any, scaling: AsinhScaling, histogram: Histogram, packed: Packed, names: Sequence[str] = BUILT_IN
) -> RowParts:
    """Return the parts by their formulas."""
    xp = namespace(X)
    members, of_rows = split_names(names)
    in_units = all(PARTS[name].of_units for name in names)
    rows = (rows_in_units if in_units else coded_rows)(X, scaling, histogram, packed)
    by_member = [xp.permute_dims(value(PARTS[name], rows), (1, 0)) for name in members]
    by_row = [value(PARTS[name], rows) for name in of_rows]
    missing = None
    if has_missing(X):
        used = xp.astype(scaling.spread < np.inf, X.dtype)
        lacking = xp.sum(xp.astype(xp.isnan(X), X.dtype) * used, axis=1)
        missing = lacking / xp.clip(xp.sum(used), 1.0, None)
    return RowParts(
        xp.stack(by_member, axis=2) if members else None, xp.stack(by_row, axis=1) if of_rows else None, missing
    )


@twin_of(formula_parts)
def kernel_parts(
    X: np.ndarray, scaling: AsinhScaling, histogram: Histogram, packed: Packed, names: Sequence[str] = BUILT_IN
) -> RowParts:
    """Return the built-in parts, which come first, from one pass over the rows, and others by their formulas."""
    shapes = [(X.shape[0], packed.centroids.shape[0]), (X.shape[0],)]
    members, rows = (np.empty((*shape, len(some))) for shape, some in zip(shapes, split_names(names), strict=True))
    out = RowParts(members, rows, np.empty(X.shape[0]))
    fused_parts(X, scaling, histogram, packed, *out)
    if others := [name for name in names if name not in FUSED]:
        found = formula_parts(X, scaling, histogram, packed, others)
        for whole, some in zip(out[:2], found[:2], strict=True):
            if some is not None:
                whole[..., whole.shape[-1] - some.shape[-1] :] = some
    return out
