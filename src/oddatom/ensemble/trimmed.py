"""Learning from the rows that a model explains best: surprising rows do not shape it.

Each function learns one part of a member from rows in random order, and after every step looks only at the share
1 − t of them that the part so far explains best.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

LLOYD_STEPS = 4
SWEEPS, POWER_STEPS = 5, 3
C_STEPS = 3
SUBSPACE_STEPS = 4
FEWEST_SERVED = 0.01  # a centroid that serves a smaller share of the rows is dropped
LEAST_ENERGY = 4e-4  # an atom that takes up a smaller share of the deviations is dropped
RIDGE, RIDGE_PER_COLUMN = 0.05, 1e-4  # of the mean variance, added to every variance
ROUNDING = 1e-12  # of 1 + |y|, or of its square: a deviation y − c below it is none, nor is a square of one
WIDE = 64  # columns from which the leading directions come from subspace iteration


def kept(values: np.ndarray, t: float) -> np.ndarray:
    """Return which values are among the share 1 − t of the smallest, at least one; values that tie are kept alike."""
    last = max(int(np.ceil((1.0 - t) * values.size)), 1) - 1
    return values <= np.partition(values, last)[last]


def nearest(Y: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the centroid next to every row, and the squared distance to it, 0 where that is rounding."""
    half = 0.5 * np.einsum("ij,ij->i", C, C) - Y @ C.T
    label = half.argmin(axis=1)
    energy = np.einsum("ij,ij->i", Y, Y)
    distance = energy + 2.0 * np.take_along_axis(half, label[:, None], axis=1)[:, 0]
    return label, np.where(distance > ROUNDING * (1.0 + energy), distance, 0.0)


def deviations(Y: np.ndarray, C: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Return y − c of every row and its centroid; 0 where that is rounding, so that rounding chooses nothing."""
    W = Y - C[label]
    W[np.abs(W) <= ROUNDING * (1.0 + np.abs(Y))] = 0.0
    return W


def learn_centroids(Y: np.ndarray, C: np.ndarray, t: float, history: list[float] | None = None) -> np.ndarray:
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
    """
    for _ in range(LLOYD_STEPS):
        label, distance = nearest(Y, C)
        rows = np.flatnonzero(kept(distance, t))
        if history is not None:
            history.append(float(distance[rows].mean()))
        sums, counts = np.zeros(C.shape), np.bincount(label[rows], minlength=C.shape[0])
        _sum_rows(Y[rows], label[rows], sums)
        serving = counts >= max(FEWEST_SERVED * rows.size, 1.0)
        if not serving.any():
            break
        C = sums[serving] / counts[serving, None]
    return C


def learn_atoms(W: np.ndarray, D: np.ndarray, t: float, history: list[float] | None = None) -> np.ndarray:
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
    """
    for _ in range(SWEEPS):
        chosen, _, residual = code_one(W, D)
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


def code_one(W: np.ndarray, D: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the atom nearest in direction to every row, its gain, and the squared residual."""
    G = W @ D.T
    chosen = np.abs(G).argmax(axis=1)
    gain = np.take_along_axis(G, chosen[:, None], axis=1)[:, 0]
    energy = np.einsum("ij,ij->i", W, W)
    residual = energy - gain * gain
    return chosen, gain, np.where(residual > ROUNDING * energy, residual, 0.0)


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


def learn_spread(W: np.ndarray, n_directions: int, t: float, rng: np.random.RandomState) -> Spread:
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
    """
    n, m = W.shape
    q = min(n_directions, m)
    h = max(1, int((1.0 - t) * n))
    V = None if m <= WIDE else np.linalg.qr(rng.standard_normal((m, q)))[0]
    distance = np.einsum("ij,ij->i", W, W)
    for _ in range(C_STEPS):
        R = W[np.argsort(distance, kind="stable")[:h]]
        total = np.einsum("ij,ij->", R, R) / h
        if V is None:
            values, vectors = np.linalg.eigh(R.T @ R / h)
            directions, leading = vectors[:, ::-1][:, :q].T, np.maximum(values[::-1][:q], 0.0)
        else:
            for _ in range(SUBSPACE_STEPS):
                V = np.linalg.qr(R.T @ (R @ V))[0]
            P = R @ V
            values, vectors = np.linalg.eigh(P.T @ P / h)
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
