"""Whether F + eta G of a plane has a least value: by how a fit went, and for the dictionary as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse

from oddatom.estimators._grouped import read_coupling
from oddatom.exceptions import UnboundedObjectiveWarning
from oddatom.rows import Source

GROWTH = 2.0  # of the codes' norm from the first sweep to the last
RISE = 1e-3  # of the codes' norm in the last sweep: less is the end of a fit
ROWS = 2000  # looked at, and so at most as many supports
FLOOR = 1e-12  # eigenvalues of D_S D_Sᵀ below this share of the largest count as this share


def bound_findings(detector: Any, source: Source) -> Iterator[tuple[str, type[Warning]]]:
    """Say where the objective of a plane has no least value, or may have none.

    It is F ≥ 0 and eta G: below zero, with codes that still grow, the plane outweighs the rows. So it may before that,
    where `plane_pull` says so of sparse codes that are at hand; of codes in a kernel's space, whose atoms are alike, it
    says so too often.
    """
    norms, total = detector.history_["code_norm"], detector.history_["total"]
    if detector.boundary_ != "plane" or norms.size < 2 or norms[-1] == 0.0:
        return
    advice = "Lower coupling, or set boundary='ball', which is well posed for every coupling."
    name = type(detector).__name__
    if total[-1] < 0.0 and (norms[-1] > (1.0 + RISE) * norms[-2] or norms[-1] > GROWTH * norms[0]):
        yield (
            f"The one-class SVM of {name} outweighs the rows: in {norms.size - 1} sweeps the norm of the codes went "
            f"from {norms[0]:.3g} to {norms[-1]:.3g}, and the objective fell to {total[-1]:.3g}. With a plane it has "
            f"no least value where coupling is large beside the atoms that rows share. {advice}",
            UnboundedObjectiveWarning,
        )
        return
    if detector._shard_kind != "sparse" or hasattr(detector, "kernel") or source.weights is not None:
        return
    if detector.train_codes_ is None:
        return
    n_rows = detector.train_codes_.shape[0]
    eta = read_coupling(name, detector.coupling).eta(float(detector.nu), float(n_rows))
    codes = detector.train_codes_[:, np.flatnonzero(detector.active_atoms_)].tocsr()
    codes.eliminate_zeros()
    pull = plane_pull(detector.components_, codes, eta, n_rows)
    if pull >= 1.0:
        yield (
            f"The objective of {name} may have no least value: rows share atoms that are nearly alike, along which "
            f"codes could grow and the one-class SVM gain {pull:.3g} times what that costs. {advice}",
            UnboundedObjectiveWarning,
        )


def plane_pull(D: np.ndarray, codes: scipy.sparse.csr_array, eta: float, n_rows: float) -> float:
    """Return the largest eta ½‖Σ_j v_j / N‖² beside ½‖V D‖², over codes V with the supports of `codes`.

    Below 1 the objective has a least value, for −G(V) = ½‖Σ_j lam_j v_j‖² is no larger than for equal lam_j. It is
    eta/N² times the largest eigenvalue of Σ_j E_S (D_S D_Sᵀ)⁻¹ E_Sᵀ, S the support of row j and E_S those columns of
    the identity; where all rows have one support, eta/(N sigma²), sigma² the least eigenvalue of D_S D_Sᵀ. Of many rows
    some are looked at, evenly spaced; `n_rows` is their number N, or the sum of their weights.
    """
    chosen = np.unique(np.linspace(0, codes.shape[0] - 1, min(codes.shape[0], ROWS)).astype(np.int64))
    part, n, gram = codes[chosen], D.shape[0], D @ D.T
    sizes, Q = np.diff(part.indptr), np.zeros((n, n))
    for size in np.unique(sizes[sizes > 0]).tolist():
        rows = np.flatnonzero(sizes == size)
        supports = np.sort(part.indices[part.indptr[rows][:, None] + np.arange(size)], axis=1)
        supports, counts = np.unique(supports, axis=0, return_counts=True)
        values, vectors = np.linalg.eigh(gram[supports[:, :, None], supports[:, None, :]])
        values = np.maximum(values, FLOOR * values[:, -1:])
        inverses = np.einsum("cik,ck,cjk->cij", vectors, counts[:, None] / values, vectors)
        at = (supports[:, :, None] * n + supports[:, None, :]).ravel()
        Q += np.bincount(at, inverses.ravel(), n * n).reshape(n, n)
    return eta * float(np.linalg.eigvalsh(Q)[-1]) / chosen.size / n_rows if n else 0.0
