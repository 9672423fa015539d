"""Codes of rows over a given dictionary: sparse ones by matching pursuit, linear ones by a product."""

from collections.abc import Callable

from oddatom.coding.analysis import analysis_codes
from oddatom.coding.batch_omp import Codes, batch_omp, batch_omp_gram
from oddatom.coding.codes import linear_codes, resize, to_csr, without_atoms
from oddatom.coding.correlation import correlation_omp

# Sparse codings by name: functions of rows, atoms, the number of non-zeros, and the atoms' Gram matrix if at hand.
CODINGS: dict[str, Callable[..., Codes]] = {"omp": batch_omp, "correlation": correlation_omp}

__all__ = [
    "CODINGS",
    "Codes",
    "analysis_codes",
    "batch_omp",
    "batch_omp_gram",
    "correlation_omp",
    "linear_codes",
    "resize",
    "to_csr",
    "without_atoms",
]
