"""Rows that are refused, wherever they are: the errors are the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oddatom.exceptions import OddAtomError

SHOWN = 10  # columns that are named


def not_finite(
    columns: np.ndarray, names: Sequence[str] | None, owner: str = "The detector", *, missing: bool = False
) -> OddAtomError:
    """Return the error that some columns, given by number, hold infinity, or NaN where that is no missing value."""
    known = () if names is None else names
    listed = ", ".join(repr(str(known[i])) if i < len(known) else str(i) for i in columns[:SHOWN])
    more = f" and {len(columns) - SHOWN} more" if len(columns) > SHOWN else ""
    where = f"in column{'s' if len(columns) > 1 else ''} {listed}{more}."
    if missing:
        return OddAtomError(
            f"Input X contains infinity {where}",
            parameter="X",
            advice=f"{owner} takes finite numbers, and NaN for missing ones: replace infinity by what it stands for.",
            owner=owner,
        )
    return OddAtomError(
        f"Input X contains NaN or infinity {where}",
        parameter="X",
        advice=f"{owner} needs finite numbers: fill missing values in (for instance with "
        "sklearn.impute.SimpleImputer), drop those rows or columns, or use oddatom.OddAtomDetector or TableDetector, "
        "which take missing values.",
        owner=owner,
    )


def check_columns(detector: Any, n_features: int, names: Sequence[str] | None) -> None:
    """Refuse rows whose columns are not those of the fit."""
    wanted = getattr(detector, "feature_names_in_", None)
    if names is not None and wanted is not None and list(wanted) != list(names):
        odd = [name for name in names if name not in set(wanted)] or [name for name in wanted if name not in set(names)]
        moved = [name for name, other in zip(names, wanted, strict=False) if name != other]
        raise OddAtomError(
            f"The columns must be those of the fit, in their order; {[*odd, *moved, *names][0]!r} is not in its place.",
            parameter="X",
            advice=f"Pass {', '.join(map(repr, list(wanted)[:SHOWN]))}.",
        )
    if n_features != detector.n_features_in_:
        owner = type(detector).__name__
        raise OddAtomError(
            f"X has {n_features} features, but {{owner}} is expecting {detector.n_features_in_} features as input.",
            parameter="X",
            owner=owner,
        )
