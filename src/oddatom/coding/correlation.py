"""The paper's coding for kernels: matching pursuit on correlations, OMP(AᵀK̃, AᵀKA, s)."""

from __future__ import annotations

import numpy as np

from oddatom.coding.analysis import analysis_codes
from oddatom.coding.batch_omp import Codes, batch_omp


def correlation_omp(Y: np.ndarray, D: np.ndarray, n_nonzero: int, *, gram: np.ndarray | None = None) -> Codes:
    """Code the correlations Y Dᵀ of rows and atoms with the rows of D Dᵀ as the dictionary, instead of Y with D.

    Plain matching pursuit: the rows of D Dᵀ are taken as they are, not divided by their norms. In a feature space
    Y Dᵀ is (AᵀK̃)ᵀ and D Dᵀ is AᵀKA. `sq_residual` is ‖y − x D‖² all the same.
    """
    G = np.ascontiguousarray(D @ D.T if gram is None else gram)
    codes = batch_omp(analysis_codes(Y, D), G, n_nonzero)
    E = Y.copy()
    for k in range(codes.indices.shape[1]):
        chosen = codes.indices[:, k] >= 0
        E[chosen] -= codes.values[chosen, k, None] * D[codes.indices[chosen, k]]
    return Codes(codes.indices, codes.values, np.einsum("ij,ij->i", E, E))
