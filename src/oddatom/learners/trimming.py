"""The trimming of the batch algorithms: codes of a batch, less the atoms that the batch as a whole does not need."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from oddatom.passes import PairPasses, ShardGroup, SweepPasses
from oddatom.penalties import Penalty

OVER = ("atom", "batch")


def trim_batch(
    group: ShardGroup[SweepPasses],
    D: np.ndarray,
    s: int,
    penalty: Penalty,
    coding: str = "omp",
    rows: np.ndarray | None = None,
) -> scipy.sparse.csr_array:
    """OMP with D, then zero the row of every atom whose sigma_1(E + x d) the penalty shrinks to zero.

    E stays as the pursuit left it: Algorithm 3 does not update it while it trims. E + x d is that of the rows that use
    the atom; given the batch's rows, that of all of them, as the algorithm's text has it.
    """
    counts, _ = group.sum(SweepPasses.encode, D, s, coding)
    group.map(SweepPasses.start_sweeps, D)
    codes = scipy.sparse.vstack(group.map(SweepPasses.codes), format="csr")
    E = None if rows is None else rows - codes @ D
    EE = None if E is None else E.T @ E
    keep = np.zeros(D.shape[0])
    for i in np.flatnonzero(counts).tolist():
        if E is None or EE is None:
            A, _, _ = group.sum(SweepPasses.moments, i, D[i], 0.0)
        else:
            x = codes[:, [i]].toarray()[:, 0]
            cross = np.outer(x @ E, D[i])
            A = EE + cross + cross.T + float(x @ x) * np.outer(D[i], D[i])
        sigma = float(np.sqrt(max(np.linalg.eigvalsh(A)[-1], 0.0)))
        keep[i] = penalty.prox(sigma) > 0.0
    return codes @ scipy.sparse.diags_array(keep)


def trim_pairs(
    group: ShardGroup[PairPasses], D: np.ndarray, P: np.ndarray, s: int, tol: float, coding: str = "omp"
) -> scipy.sparse.csr_array:
    """OMP with D, then zero the row of every atom whose analysis atom finds nothing in the batch: ‖Y p_i‖ < tol."""
    group.map(SweepPasses.encode, D, s, coding)
    (squares,) = group.sum(PairPasses.analysis_squares, P)
    codes = scipy.sparse.vstack(group.map(SweepPasses.codes), format="csr")
    return codes @ scipy.sparse.diags_array((np.sqrt(np.maximum(squares, 0.0)) >= tol).astype(float))
