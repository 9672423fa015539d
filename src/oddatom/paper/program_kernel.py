"""The published program's KDL-OCSVM, where rounding decides: K + 1e-10 I, its square root and that root's inverse.

In the basis V of eigenvectors, K = VΛVᵀ, a row is a row of V, and atoms are rows of AᵀV. On the paper's data, divided
by their Frobenius norm, K is close to a matrix of rank one: the inverse root lifts directions of size 1e-5 to 1, and
the steps of the power method, whose length is set without K, become short. Both are part of the published figures.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import njit
from sklearn.linear_model import orthogonal_mp_gram
from sklearn.metrics.pairwise import rbf_kernel

from oddatom.paper.program import POWER_STEPS, Alternation

JITTER = 1e-10


@dataclass
class PublishedKDL(Alternation):
    """KDL-OCSVM with the kernel exp(−kernel_gamma ‖y − z‖²)."""

    kernel_gamma: float = 1.0

    def _open(self, X: np.ndarray) -> None:
        self.scale = float(np.linalg.norm(X)) if self.norm is None else self.norm
        self.Y = np.ascontiguousarray(X / self.scale)
        N, m = X.shape
        self.K, self.V, self.root = _eigen(self.Y.tobytes(), self.Y.shape, self.kernel_gamma)
        self.ones = self.V.sum(axis=0)
        A = np.random.RandomState(self.seed).uniform(size=(N, 2 * m))
        A /= np.linalg.norm(A, axis=0)
        self.D = A.T @ self.V
        self.index, self.value = self._code(self.Y)
        self.E = self.V.copy()
        for slot in range(self.s):
            self.E -= self.value[:, slot, None] * self.D[self.index[:, slot]]

    def _code(self, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """OMP with AᵀK of the rows as data and AᵀKA as dictionary."""
        cross = self.K if Y is self.Y else rbf_kernel(self.Y, Y, gamma=self.kernel_gamma)
        G = (self.D * self.root**2) @ self.D.T
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # atoms that are alike
            codes = orthogonal_mp_gram(G.T @ G, G.T @ ((self.D @ self.V.T) @ cross), n_nonzero_coefs=self.s)
        codes = np.ascontiguousarray(codes.reshape(G.shape[0], -1).T)
        index = np.argsort(codes == 0.0, axis=1, kind="stable")[:, : self.s].astype(np.int32)
        return index, np.take_along_axis(codes, index.astype(np.int64), axis=1)

    def _update(self, i: int, rows: np.ndarray, slots: np.ndarray) -> None:
        R = self.E[rows] + self.value[rows, slots, None] * self.D[i]
        c = self.w[i] * self.lam[rows]
        z = _power(R, self.root, c, self.ones, POWER_STEPS)
        r = R @ (self.root * z) + c
        t = float(np.linalg.norm(r))
        if t < self.beta:
            d, r = self.D[i], np.zeros_like(r)
        else:
            d, r = z / self.root, (1.0 - self.beta / t) * r
        self.D[i] = d
        self.value[rows, slots] = r
        self.E[rows] = R - r[:, None] * d

    def _objective(self) -> float:
        norms = np.sqrt(np.bincount(self.index.ravel(), (self.value**2).ravel(), self.n_atoms))
        return float(0.5 * ((self.E * self.root) ** 2).sum() + self.beta * norms.sum())


@lru_cache(maxsize=2)
def _eigen(rows: bytes, shape: tuple[int, int], gamma: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """K + 1e-10 I, its eigenvectors, and the roots of its eigenvalues: the same for every dictionary."""
    Y = np.frombuffer(rows).reshape(shape)
    K = rbf_kernel(Y, Y, gamma=gamma)
    K[np.diag_indices_from(K)] += JITTER
    values, V = np.linalg.eigh(K)
    return K, V, np.sqrt(np.maximum(values, JITTER / 100))


@njit(cache=True)
def _power(R, root, c, ones, n_steps):
    """Power steps for ‖R Λ^½ z + c‖ from the constant vector, of a length that R alone sets."""
    v = ones
    for _ in range(10):
        v = np.dot(R.T, np.dot(R, v))
        v = v / np.sqrt(np.dot(v, v))
    v = np.dot(R.T, np.dot(R, v))
    length = np.sqrt(np.dot(v, v))
    z = ones / np.sqrt(np.dot(ones, ones))
    for _ in range(n_steps):
        z = z + (2.0 / length) * (root * np.dot(R.T, np.dot(R, root * z) + c))
        z = z / np.sqrt(np.dot(z, z))
    return z
