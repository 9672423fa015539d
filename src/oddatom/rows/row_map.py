"""What makes raw rows into the rows of a learner: scaling, and a kernel's coordinates where there is a kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oddatom.kernels.coordinates import KernelMap
from oddatom.scaling.linear import Scaling


class RowMap(NamedTuple):
    """Takes rows x to y = scaling(x), or on to the coordinates of y in the kernel's feature space; can be pickled."""

    scaling: Scaling
    kernel_map: KernelMap | None = None

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the learner's rows, a new C-ordered float64 array."""
        Y = self.scaling.apply(X)
        return Y if self.kernel_map is None else np.ascontiguousarray(self.kernel_map.apply(Y))
