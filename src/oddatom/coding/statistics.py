"""How training rows use the atoms, and what they leave: what a score may know besides a row's code and the plane."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from oddatom.arrays.quantiles import weighted_quantile
from oddatom.coding.batch_omp import Codes
from oddatom.coding.histograms import CodeHistograms

_FLOOR = 1e-10  # a variance below this share of a row's mean square is rounding


class CodeStatistics(NamedTuple):
    """Of the N training rows, coded as new rows are.

    Attributes
    ----------
    usage : (n,)
        π_i = (N_i + ½)/(N + 1), N_i the number of rows that use atom i.
    variance : (n,)
        s_i², the mean square of atom i's coefficient where used; that of all atoms' where it never is.
    noise : float
        s_e², the median of ‖y − x D‖² by free dimension, of which there are m − s, at least one.
        It follows the normal rows while they are more than half.
    histograms : CodeHistograms or None
        Of the codes that scoring="loda" takes; None with other scores.
    """

    usage: np.ndarray
    variance: np.ndarray
    noise: float
    histograms: CodeHistograms | None = None


def code_statistics(codes: Codes, n_atoms: int, n_columns: int, weights: np.ndarray | None = None) -> CodeStatistics:
    """Return the statistics of codes; neither variance is below 1e-10 of the rows' mean square, so none is zero.

    Parameters
    ----------
    codes : Codes of N training rows
    n_atoms, n_columns : int
        n and m.
    weights : (N,), optional
        Of the rows: the statistics are those of rows that are repeated so often.
    """
    if weights is not None:
        return _weighted(codes, n_atoms, n_columns, weights)
    return statistics_of(*code_sums(codes, n_atoms), codes.sq_residual, codes.indices.shape[1], n_columns)


def code_sums(codes: Codes, n_atoms: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of rows that use each atom, and the sum of squares of its coefficients."""
    counts, squares = np.zeros(n_atoms, np.int64), np.zeros(n_atoms)
    _sums(codes.indices, codes.values, counts, squares)
    return counts, squares


def statistics_of(
    counts: np.ndarray,
    squares: np.ndarray,
    sq_residual: np.ndarray,
    s: int,
    n_columns: int,
    *,
    overwrite: bool = False,
) -> CodeStatistics:
    """Return the statistics of rows by their sums, see `code_sums`, and residuals; s is how many slots a code has.

    With `overwrite` the residuals are put in another order, instead of a copy of them.
    """
    noise = float(np.median(sq_residual, overwrite_input=overwrite)) / max(n_columns - s, 1)
    return _made(counts, squares, float(sq_residual.sum()), noise, sq_residual.size)


def _weighted(codes: Codes, n_atoms: int, n_columns: int, weights: np.ndarray) -> CodeStatistics:
    weights = weights * max(1.0, weights.size / float(weights.sum()))  # ½ is beside whole rows
    used = codes.indices >= 0
    atoms, by_slot = codes.indices[used], np.broadcast_to(weights[:, None], used.shape)[used]
    counts = np.bincount(atoms, by_slot, n_atoms)
    squares = np.bincount(atoms, by_slot * codes.values[used] ** 2, n_atoms)
    noise = weighted_quantile(codes.sq_residual, weights, 0.5) / max(n_columns - codes.indices.shape[1], 1)
    return _made(counts, squares, float(weights @ codes.sq_residual), noise, float(weights.sum()))


def _made(counts: np.ndarray, squares: np.ndarray, left: float, noise: float, N: float) -> CodeStatistics:
    floor = _FLOOR * max((float(squares.sum()) + left) / N, np.finfo(np.float64).tiny / _FLOOR)
    pooled = float(squares.sum()) / max(float(counts.sum()), np.finfo(np.float64).tiny)
    variance = np.where(counts > 0, squares / np.where(counts > 0, counts, 1), pooled)
    return CodeStatistics((counts + 0.5) / (N + 1.0), np.maximum(variance, floor), max(noise, floor))


@njit(cache=True, nogil=True)
def _sums(indices, values, counts, squares):
    for j in range(indices.shape[0]):
        for k in range(indices.shape[1]):
            i = indices[j, k]
            if i >= 0:
                counts[i] += 1
                squares[i] += values[j, k] * values[j, k]
