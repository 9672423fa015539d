"""Learning from the rows that a model explains best: surprising rows do not shape it.

Each function learns one part of a member from rows in random order, and after every step looks only at the share
1 − t of them that the part so far explains best. Where rows have missing cells (`Missing`), scaled rows and deviations
are 0 there, such cells count in no sum, and sums over the cells that a row has are raised to those of a whole row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from oddatom.arrays.namespaces import matmul, namespace

LLOYD_STEPS = 4
SWEEPS, POWER_STEPS = 5, 3
C_STEPS = 3
SUBSPACE_STEPS = 4
FEWEST_SERVED = 0.01  # a centroid that serves a smaller share of the rows is dropped
LEAST_ENERGY = 4e-4  # an atom that takes up a smaller share of the deviations is dropped
RIDGE, RIDGE_PER_COLUMN = 0.05, 1e-4  # of the mean variance, added to every variance
ROUNDING = 1e-12  # of 1 + |y|, or of its square: a deviation y − c below it is none, nor is a square of one
WIDE = 64  # columns from which the leading directions come from subspace iteration
_MEDIAN_SQUARE = 0.454936423119572  # of a standard normal distribution
HIDDEN = 0.1  # how much of an atom's square in missing cells counts: an atom that lies there whole has no large gain


class Missing(NamedTuple):
    """The cells that rows lack.

    Attributes
    ----------
    absent : (n, m) of bool
        Missing cells of columns that members look at.
    whole : (n,)
        What a sum over the cells of a row is multiplied by to be one over all columns.
    """

    absent: np.ndarray
    whole: np.ndarray

    def rows(self, places: np.ndarray) -> Missing:
        """Return those of some rows."""
        return Missing(self.absent[places], self.whole[places])


def find_missing(X: np.ndarray, used: np.ndarray) -> Missing | None:
    """Return the missing cells (NaN) of rows in the columns that are used, (m,) of bool; None where there are none.

    A row without cells counts as that of the medians.
    """
    lacking = np.isnan(X)
    absent = lacking & used & (used & ~lacking).any(axis=1, keepdims=True)
    if not absent.any():
        return None
    n_used, n_absent = np.count_nonzero(used), np.count_nonzero(absent, axis=1)
    return Missing(absent, n_used / np.maximum(n_used - n_absent, 1))


def kept(values: np.ndarray, t: float) -> np.ndarray:
    """Return which values are among the share 1 − t of the smallest, at least one; values that tie are kept alike."""
    last = max(int(np.ceil((1.0 - t) * values.size)), 1) - 1
    return values <= np.partition(values, last)[last]


def nearest(Y: np.ndarray, C: np.ndarray, missing: Missing | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the centroid next to every row, and the squared distance to it, 0 where that is rounding."""
    half = 0.5 * np.einsum("ij,ij->i", C, C) - Y @ C.T
    if missing is not None:
        half -= 0.5 * (missing.absent @ (C * C).T)
    label = half.argmin(axis=1)
    energy = np.einsum("ij,ij->i", Y, Y)
    distance = energy + 2.0 * np.take_along_axis(half, label[:, None], axis=1)[:, 0]
    distance = np.where(distance > ROUNDING * (1.0 + energy), distance, 0.0)
    return label, distance if missing is None else distance * missing.whole


def deviations(Y: np.ndarray, C: np.ndarray, label: np.ndarray, missing: Missing | None = None) -> np.ndarray:
    """Return y − c of every row and its centroid; 0 where that is rounding, so that rounding chooses nothing."""
    W = Y - C[label]
    W[np.abs(W) <= ROUNDING * (1.0 + np.abs(Y))] = 0.0
    if missing is not None:
        W[missing.absent] = 0.0
    return W


def learn_centroids(
    Y: np.ndarray, C: np.ndarray, t: float, history: list[float] | None = None, missing: Missing | None = None
) -> np.ndarray:
    """Lloyd's steps on the rows within the (1 − t) quantile of distance; centroids that serve few are dropped.

    Parameters
    ----------
    Y : (n, m)
        Rows.
    C : (K, m)
        First centroids.
    t : float
        Share of the rows to leave out.
    history : list of float, optional
        Gets the mean square that is left of the kept rows, before every step.
    missing : Missing, optional
    """
    for _ in range(LLOYD_STEPS):
        label, distance = nearest(Y, C, missing)
        rows = np.flatnonzero(kept(distance, t))
        if history is not None:
            history.append(float(distance[rows].mean()))
        sums, counts = np.zeros(C.shape), np.bincount(label[rows], minlength=C.shape[0])
        _sum_rows(Y[rows], label[rows], sums)
        serving = counts >= max(FEWEST_SERVED * rows.size, 1.0)
        if not serving.any():
            break
        present = np.repeat(counts[:, None].astype(np.float64), C.shape[1], axis=1)
        if missing is not None:
            lacking = np.zeros(C.shape)
            _sum_rows(missing.absent[rows].astype(np.float64), label[rows], lacking)
            present -= lacking
        C = np.where(present > 0, sums / np.maximum(present, 1), C)[serving]
    return C


def learn_atoms(
    W: np.ndarray, D: np.ndarray, t: float, history: list[float] | None = None, missing: Missing | None = None
) -> np.ndarray:
    """Atoms of deviations W ≈ c d, one a row: each is the leading direction of the kept rows that choose it.

    Atoms with little energy are dropped, as the row penalty would.

    Parameters
    ----------
    W : (n, m)
        Deviations from the centroids.
    D : (n_atoms, m)
        First atoms, unit rows.
    t : float
        Share of the rows to leave out.
    history : list of float, optional
        Gets the mean square that is left of the kept rows, before every step.
    missing : Missing, optional
    """
    for _ in range(SWEEPS):
        chosen, _, residual = code_one(W, D, missing)
        rows = np.flatnonzero(kept(residual, t))
        if history is not None:
            history.append(float(residual[rows].mean()))
        chosen, R = chosen[rows], W[rows]
        V, energy = np.empty(D.shape), np.empty(D.shape[0])
        for _ in range(POWER_STEPS):
            _power_step(R, chosen, D, V, energy)
            norms = np.linalg.norm(V, axis=1, keepdims=True)
            D = np.where(norms > 0.0, V / np.where(norms > 0.0, norms, 1.0), D)
        _power_step(R, chosen, D, V, energy)
        strong = (energy > 0.0) & (energy >= LEAST_ENERGY * np.einsum("ij,ij->", R, R))
        if not strong.any():
            break
        D = D[strong]
    return D


def code_one(W: np.ndarray, D: np.ndarray, missing: Missing | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the atom nearest in direction to every row, its gain, and the squared residual."""
    G = W @ D.T
    energy = np.einsum("ij,ij->i", W, W)
    if missing is None:
        chosen = np.abs(G).argmax(axis=1)
        gain = np.take_along_axis(G, chosen[:, None], axis=1)[:, 0]
        residual = energy - gain * gain
        return chosen, gain, np.where(residual > ROUNDING * energy, residual, 0.0)
    square = 1.0 - (1.0 - HIDDEN) * (missing.absent @ (D * D).T)  # of an atom in the cells that are there
    chosen = (np.abs(G) / np.sqrt(square)).argmax(axis=1)
    gain = np.take_along_axis(G / square, chosen[:, None], axis=1)[:, 0]
    E = np.where(missing.absent, 0.0, W - gain[:, None] * D[chosen])
    residual = np.einsum("ij,ij->i", E, E)
    return chosen, gain, np.where(residual > ROUNDING * energy, residual, 0.0) * missing.whole


class Spread(NamedTuple):
    """Covariance Σ_k λ_k v_k v_kᵀ + σ² (I − Σ_k v_k v_kᵀ): leading directions and one variance for the rest.

    Attributes
    ----------
    directions : (q, m)
        v_k, unit rows.
    variances : (q,)
        λ_k.
    rest : float
        σ².
    """

    directions: np.ndarray
    variances: np.ndarray
    rest: float

    def distance(self, W: np.ndarray) -> np.ndarray:
        """Return the squared Mahalanobis distance of every row from 0."""
        P = (W @ self.directions.T) ** 2
        along = np.maximum(np.einsum("ij,ij->i", W, W) - P.sum(axis=1), 0.0)
        return along / self.rest + P @ (1.0 / self.variances)

    def terms(self, W: np.ndarray) -> np.ndarray:
        """Return w_f (Σ⁻¹ w)_f of every row, which sum to the squared distance."""
        gain = 1.0 / self.variances - 1.0 / self.rest
        return mahalanobis_terms(W, self.directions, gain, 1.0 / self.rest)


def mahalanobis_terms(W: Any, directions: Any, gain: Any, precision: Any) -> Any:
    """Return w_f (Σ⁻¹ w)_f, Σ⁻¹ = precision·I + Σ_k gain_k v_k v_kᵀ, of rows W (…, m) and directions v (…, q, m)."""
    xp = namespace(W)
    along = matmul(W, xp.matrix_transpose(directions)) * gain
    return W * (W * precision + matmul(along, directions))


def robust_variances(W: np.ndarray, missing: Missing) -> np.ndarray:
    """Return the variance around 0 of every column, by the median of the squares of the cells that are there."""
    present = [w[~absent] for w, absent in zip(W.T, missing.absent.T, strict=True)]
    return np.array([float(np.median(w * w)) / _MEDIAN_SQUARE if w.size else 0.0 for w in present])


def learn_spread(
    W: np.ndarray, n_directions: int, t: float, rng: np.random.RandomState, added: np.ndarray | None = None
) -> Spread:
    """C-steps: the covariance around 0 of the share 1 − t of the rows nearest under the covariance before.

    Parameters
    ----------
    W : (n, m)
        Deviations.
    n_directions : int
        Leading directions to tell apart; the others share a variance.
    t : float
        Share of the rows to leave out.
    rng : RandomState
        Draws where subspace iteration begins.
    added : (m,), optional
        Added to the variances: what missing cells, which are filled in, would vary by.
    """
    m = W.shape[1]
    q = min(n_directions, m)
    V = None if m <= WIDE else np.linalg.qr(rng.standard_normal((m, q)))[0]
    distance = np.einsum("ij,ij->i", W, W)
    for _ in range(C_STEPS):
        R = W[kept(distance, t)]
        h = R.shape[0]
        own = np.zeros(m) if added is None else added
        total = np.einsum("ij,ij->", R, R) / h + own.sum()
        if V is None:
            values, vectors = np.linalg.eigh(R.T @ R / h + np.diag(own))
            directions, leading = vectors[:, ::-1][:, :q].T, np.maximum(values[::-1][:q], 0.0)
        else:
            for _ in range(SUBSPACE_STEPS):
                V = np.linalg.qr(R.T @ (R @ V) + h * own[:, None] * V)[0]
            P = R @ V
            values, vectors = np.linalg.eigh(P.T @ P / h + V.T @ (own[:, None] * V))
            V = V @ vectors[:, ::-1]
            directions, leading = V.T, np.maximum(values[::-1], 0.0)
        mean = total / m
        ridge = mean * (RIDGE + RIDGE_PER_COLUMN * m) if mean > 0.0 else 1.0
        rest = max(total - leading.sum(), 0.0) / (m - q) if m > q else 0.0
        spread = Spread(np.ascontiguousarray(directions), leading + ridge, rest + ridge)
        distance = spread.distance(W)
    return spread


@njit(cache=True, nogil=True)
def _sum_rows(R, label, sums):
    """Add every row of R to the row of `sums` that its label names."""
    for j in range(R.shape[0]):
        for f in range(R.shape[1]):
            sums[label[j], f] += R[j, f]


@njit(cache=True, nogil=True)
def _power_step(R, chosen, D, V, energy):
    """Put Σ (r·d_i) r over the rows r that choose atom i into V_i, and Σ (r·d_i)² into energy_i."""
    V[:] = 0.0
    energy[:] = 0.0
    for j in range(R.shape[0]):
        i = chosen[j]
        t = 0.0
        for f in range(R.shape[1]):
            t += R[j, f] * D[i, f]
        energy[i] += t * t
        for f in range(R.shape[1]):
            V[i, f] += t * R[j, f]
