"""Statistics of columns that scalings are fitted from, wherever the rows are, and the fit of a scaling to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from oddatom.exceptions import OddAtomError
from oddatom.scaling.linear import Scaling
from oddatom.scaling.robust import robust
from oddatom.scaling.standard import standard


class Columns(ABC):
    """m columns of rows that are somewhere. Statistics are in units of a power of two (exact) by column.

    In these units all entries are within ±2: neither sums nor squares overflow or vanish.

    Parameters
    ----------
    low, high : (m,)
        Least and largest entry.
    """

    def __init__(self, low: np.ndarray, high: np.ndarray) -> None:
        self.low, self.high = low, high
        self.unit = np.ldexp(1.0, np.frexp(np.maximum(np.abs(low), np.abs(high)))[1] - 1)

    @abstractmethod
    def mean(self) -> np.ndarray:
        """Return the means."""

    @abstractmethod
    def deviation(self) -> np.ndarray:
        """Return the standard deviations."""

    @abstractmethod
    def quantiles(self, shares: Sequence[float]) -> np.ndarray:
        """Return quantiles, (len(shares), m), interpolated as NumPy does."""

    @abstractmethod
    def norm(self, scaling: Scaling) -> float:
        """Return the Frobenius norm of the rows scaled."""


# A scaling is one file with one function of columns that returns center and spread, in the columns' units.
SCALINGS: dict[str, Callable[[Columns], tuple[np.ndarray, np.ndarray]]] = {"standard": standard, "robust": robust}
Kind = str | Scaling | None  # what `fit_columns` takes


def fit_columns(columns: Columns, kind: Kind) -> Scaling:
    """Fit a scaling: the Frobenius norm of the scaled rows is one (zero if they are).

    `kind` is a name in SCALINGS, None for no center and spread, or a scaling whose center and spread are to stay.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(kind, Scaling):
            center, spread = kind.center, kind.spread
        else:
            center, spread = (None, None) if kind is None else _center_and_spread(columns, kind)
        scale = columns.norm(Scaling(center, spread, 1.0))
    if not np.isfinite(scale):
        problem = "X is too large: its Frobenius norm overflows."
        raise OddAtomError(problem, parameter="X", advice="Divide the data by a power of ten first.")
    return Scaling(center, spread, scale or 1.0)


def _center_and_spread(columns: Columns, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Center and spread of each column; a constant one has its value and 1, so that it comes out as zeros."""
    center, spread = SCALINGS[kind](columns)
    spread = np.maximum(spread, 10 * np.finfo(np.float64).eps)  # what is below is rounding: do not blow it up
    spread = np.maximum(spread * columns.unit, np.finfo(np.float64).smallest_subnormal)  # half of that is nothing
    constant = columns.low == columns.high
    return np.where(constant, columns.low, center * columns.unit), np.where(constant, 1.0, spread)
