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

    def is_same(self, other: RowMap) -> bool:
        """Whether both are made of the very same scaling and coordinates."""
        return self.scaling is other.scaling and self.kernel_map is other.kernel_map

    def width(self, n_features: int) -> int:
        """Return the number of columns of the learner's rows."""
        return n_features if self.kernel_map is None else self.kernel_map.T.shape[1]
