"""Scaling of columns and of the whole table, fitted once and applied to new rows unchanged."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.namespaces import exceeds, full, largest, namespace, own_rows

HUGE, LARGEST = 1e100, 1e300  # sizes of a scaled row: squares overflow above the first, sums above the second
LIMIT = float(np.finfo(np.float64).max)
SMALL = 2.0**-500  # an exact factor


class Scaling(NamedTuple):
    """y = ((x − center) / spread) / scale; `scale` is the Frobenius norm of the rows at fit."""

    center: Any  # (m,) or None
    spread: Any
    scale: float

    def apply(self, X: Any) -> Any:
        """Return scaled rows, a new C-ordered float64 array of X's library, which the scaling's arrays are of."""
        Y = own_rows(X)
        if self.center is not None and self.spread is not None:
            Y -= self.center
            Y /= self.spread
        Y /= full(self.scale, Y)
        return Y

    def sized(self, X: Any, huge: float = HUGE) -> tuple[Any, Any]:
        """Return scaled rows in units of their size, a column, for work on squares; None where every size is 1.

        The size is 1 for rows with entries up to `huge`, else their largest entry, and LARGEST at most.
        """
        with np.errstate(over="ignore"):
            Y = self.apply(X)
        if not exceeds(Y, huge):
            return Y, None
        xp = namespace(Y)
        top = largest(xp.abs(Y))
        with np.errstate(all="ignore"):
            small = self.small(X)
            small = small / largest(xp.abs(small))
        Y = xp.where(top > LARGEST, LARGEST * small, Y)
        most = xp.where(top > LARGEST, xp.zeros_like(top) + LARGEST, top)
        size = xp.where(top > huge, most, xp.ones_like(top))
        return Y / size, size

    def small(self, X: Any) -> Any:
        """Return scaled rows times SMALL, a power of two: of rows that overflow where they are just scaled."""
        with np.errstate(over="ignore"):
            center = None if self.center is None else SMALL * self.center
            return namespace(X).clip(self._replace(center=center).apply(SMALL * X), -LIMIT, LIMIT)

    def undo(self, Y: np.ndarray) -> np.ndarray:
        """Return rows in the units of the input."""
        X = Y * self.scale
        if self.center is not None and self.spread is not None:
            X = X * self.spread + self.center
        return X
