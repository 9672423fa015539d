"""Cholesky factors inside kernels, where a matrix may turn out not to have one."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def cholesky(M):
    """Return M's Cholesky factor and whether it exists."""
    try:
        return np.linalg.cholesky(M), True
    except Exception:  # numba knows no narrower class
        return M, False
