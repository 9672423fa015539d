"""The plane or ball of rows of any size, from 1e-150 to 1e150 and beyond: fitted in other units; CSR margins."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from oddatom.boundary.plane import OneClassFit
from oddatom.exceptions import OddAtomError
from oddatom.rows.array.plane_shard import OneClassShard
from oddatom.rows.array.row_space import as_block, fit_rows

CHUNK_ROWS = 16_384  # scored at a time


LOST = 2.0**-500


def fit_linear(X: Any, nu: float, weights: np.ndarray | None = None) -> tuple[OneClassFit, float, np.ndarray]:
    """Solve the SVM of dense or CSR rows X; return it with w in the units of X, the offset, and lam.

    Rows on the margin lie above the offset.
    """
    unit = _unit(X)
    fit, dual_coef = fit_rows(X / unit, nu, weights)
    return fit._replace(w=fit.w * unit), _in_units(fit.rho - fit.tolerance, unit, X, "margin"), dual_coef


def fit_ball(
    X: Any, nu: float, weights: np.ndarray | None = None
) -> tuple[OneClassFit, np.ndarray, float, float, np.ndarray]:
    """Find the smallest ball of dense or CSR rows X; return it, its centre and R², the offset, and lam.

    The offset is that of −‖x − c‖²; rows on the sphere lie above it. Dense rows are centred first, so that rows far
    from the origin lose no digits.
    """
    unit = _unit(X)
    rows = X / unit
    start = np.zeros(X.shape[1])
    if not scipy.sparse.issparse(X):
        rows = np.ascontiguousarray(rows)  # in any other order sums are rounded otherwise
        start = np.average(rows, axis=0, weights=weights)
        rows = rows - start
        rows[np.abs(rows) < LOST] = 0.0  # beside entries of about one: their squares vanish
    fit, dual_coef = fit_rows(rows, nu, weights, curvature=1.0)
    square = max(fit.squared_radius, 0.0)
    offset = _in_units(-square - 2.0 * fit.tolerance, unit, X, "radius")
    return fit, (start + fit.w) * unit, square * unit * unit, offset, dual_coef


def _unit(X: Any) -> float:
    """Return a power of two near the largest entry: dividing by it is exact."""
    return float(np.ldexp(1.0, np.frexp(float(abs(X).max()))[1] - 1))


def _in_units(number: float, unit: float, X: Any, what: str) -> float:
    """Return a number in squares of `unit` in squares of the rows' unit; refuse one that is lost there."""
    with np.errstate(over="ignore"):
        out = float(number * np.float64(unit) * unit)
    top = float(abs(X).max())
    if not np.isfinite(out):
        problem = f"X is too large: its {what} overflows (largest entry {top:.3g})."
        raise OddAtomError(problem, parameter="X", advice="Divide it first.")
    if unit * unit < np.finfo(np.float64).tiny:
        problem = f"X is too small: its {what} vanishes (largest entry {top:.3g})."
        raise OddAtomError(problem, parameter="X", advice="Multiply it first.")
    return out


def sparse_margins(X: Any, w: np.ndarray) -> np.ndarray:
    """Return w·x for every CSR row; one beyond every float is the largest there is. `scores.margin` has dense rows."""
    margins = _margins(X, w)
    beyond = np.flatnonzero(~np.isfinite(margins))
    if beyond.size:
        margins[beyond] = _large_margins(X[beyond], w)
    return margins


def _margins(X: Any, w: np.ndarray) -> np.ndarray:
    """Return w·x for every row, chunk by chunk."""
    margins = np.empty(X.shape[0])
    for start in range(0, X.shape[0], CHUNK_ROWS):
        rows = OneClassShard(as_block(X[start : start + CHUNK_ROWS]))
        rows.svm_margins(w)
        margins[start : start + CHUNK_ROWS] = rows.margins
    return margins


def _large_margins(X: Any, w: np.ndarray) -> np.ndarray:
    """Return w·x of rows whose terms or sum overflow: in units of powers of two, and then no more than the largest."""
    places, indices = np.unique(X.indices, return_inverse=True)
    w = w[places]
    exponents = np.frexp(np.maximum.reduceat(np.abs(X.data), X.indptr[:-1]))[1]  # a row without entries has margin 0
    data = np.ldexp(X.data, -np.repeat(exponents, np.diff(X.indptr)))
    Z = scipy.sparse.csr_array((data, indices, X.indptr), shape=(X.shape[0], places.size))
    plane = np.frexp(np.abs(w).max())[1]
    with np.errstate(over="ignore"):
        margins = np.ldexp(_margins(Z, np.ldexp(w, -plane)), exponents + plane)
    most = np.finfo(np.float64).max
    return np.clip(margins, -most, most)
