"""Codes of rows in other forms: of larger rows, of no atoms, as a sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from oddatom.arrays.namespaces import like, namespace
from oddatom.coding.batch_omp import Codes


def resize(codes: Any, size: Any) -> Any:
    """Return the codes of rows times their sizes, a column of the codes' library; None means 1."""
    if size is None:
        return codes
    with np.errstate(over="ignore"):  # and not by size²: 0 · inf is no number
        square = codes.sq_residual * size[:, 0] * size[:, 0]
        return codes._replace(values=codes.values * size, sq_residual=square)


def without_atoms(Y: np.ndarray) -> Codes:
    """Return the codes of rows where no atom is left."""
    nothing = np.full((Y.shape[0], 1), -1, np.int32)
    return Codes(nothing, np.zeros(nothing.shape), np.einsum("ij,ij->i", Y, Y))


def to_csr(codes: Codes, n: int) -> scipy.sparse.csr_array:
    """Return codes over n atoms as a sparse matrix (N, n)."""
    kept = (codes.indices >= 0) & (codes.values != 0)
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    if indptr[-1] <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)  # as the indices are: scikit-learn's trees take no others
    out = scipy.sparse.csr_array((codes.values[kept], codes.indices[kept], indptr), shape=(codes.indices.shape[0], n))
    out.sort_indices()
    return out


def linear_codes(values: Any, n_atoms: int) -> Codes:
    """Return the linear codes P y of rows, (N, n) of any library, as codes with a slot for every atom.

    Residuals are 0: they are not worked out.
    """
    xp = namespace(values)
    nothing = xp.zeros_like(xp.sum(values, axis=-1, keepdims=True))
    if n_atoms == 0:
        return Codes(xp.zeros_like(nothing, dtype=xp.int64) - 1, nothing, nothing[:, 0])
    atoms = xp.zeros_like(values, dtype=xp.int64) + like(np.arange(n_atoms), values)
    return Codes(atoms, values, nothing[:, 0])
