"""The published program's alternations: what they do where they differ from the paper, for the view "published".

Codes by OMP once, their support fixed; six sweeps; after each, libsvm on the codes, stopped early. An atom is found by
50 damped power steps from the constant vector, a pair by 200 subgradient steps from it; neither is run to its end, and
pairs are never trimmed. The exact learners are in `oddatom.learners`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit

from oddatom.boundary.libsvm import MAX_ITER, TOL
from oddatom.boundary.libsvm_smo import walk
from oddatom.coding import batch_omp
from oddatom.learners.initial import random_atoms

SWEEPS = 6
POWER_STEPS = 50
PAIR_STEPS = 200


@dataclass
class Alternation(ABC):
    """One learner of the published program, fitted to rows.

    Attributes
    ----------
    s, nu, beta : int, float, float
    seed : int
        Of the first dictionary: uniform on (0, 1), 2m unit atoms.
    sweeps : int
    norm : float or None
        What rows are divided by; None means the Frobenius norm of those fitted.
    history : dict
        The sums F, G and both after every sweep, and both after every atom ("inner").
    """

    s: int
    nu: float
    beta: float
    seed: int
    sweeps: int = SWEEPS
    norm: float | None = None
    history: dict[str, list[float]] = field(default_factory=lambda: {"F": [], "G": [], "total": [], "inner": []})

    def fit(self, X: np.ndarray, watched: bool = False) -> Any:
        """Alternate; `watched` fills in the history, which takes a while."""
        self._open(X)
        self._svm()
        for _ in range(self.sweeps):
            for i in range(self.n_atoms):
                rows, slots = self._uses(i)
                if rows.size:
                    self._update(i, rows, slots)
                if watched:
                    self.history["inner"].append(self._objective() + self._svm_objective())
            self._svm()
            F, G = self._objective(), self._svm_objective()
            for name, value in (("F", F), ("G", G), ("total", F + G)):
                self.history[name].append(value)
        return self

    @property
    def decision(self) -> np.ndarray:
        """Decision values of the training rows, on the codes as the last sweep left them."""
        return self._margins(self.index, self.value) - self.rho

    @property
    def n_atoms(self) -> int:
        """Number of atoms."""
        return int(self.D.shape[0])

    @property
    def n_active(self) -> int:
        """Number of atoms that some row uses."""
        return int(np.unique(self.index[self.value != 0.0]).size)

    def decide(self, X: np.ndarray) -> np.ndarray:
        """Decision values of new rows: coded by OMP, atoms trimmed by what the batch as a whole makes of them."""
        Y = X / self.scale
        index, value = self._code(Y)
        self._trim(Y, index, value)
        return self._margins(index, value) - self.rho

    @abstractmethod
    def _update(self, i: int, rows: np.ndarray, slots: np.ndarray) -> None:
        """Update an atom and its codes."""

    def _open(self, X: np.ndarray) -> None:
        self.scale = float(np.linalg.norm(X)) if self.norm is None else self.norm
        self.Y = np.ascontiguousarray(X / self.scale)
        self.D = random_atoms(2 * X.shape[1], self.Y.shape[1], np.random.RandomState(self.seed))
        self.index, self.value = self._code(self.Y)
        self.E = self.Y - _product(self.index, self.value, self.D)

    def _code(self, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        codes = batch_omp(Y, self.D, self.s)
        return np.maximum(codes.indices, 0), codes.values.copy()

    def _trim(self, Y: np.ndarray, index: np.ndarray, value: np.ndarray) -> None:
        return

    def _uses(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        rows, slots = np.nonzero((self.index == i) & (self.value != 0.0))
        return rows, slots

    def _margins(self, index: np.ndarray, value: np.ndarray) -> np.ndarray:
        return np.einsum("js,js->j", value, self.w[index])

    def _svm(self) -> None:
        """libsvm's plane, offset and multipliers, divided by nu N."""
        a, rho, _ = walk(self.index, self.value, self.n_atoms, self.nu, TOL, MAX_ITER)
        C = self.nu * a.size
        self.lam, self.rho = a / C, rho / C
        self.w = np.bincount(self.index.ravel(), (self.value * self.lam[:, None]).ravel(), self.n_atoms)

    def _svm_objective(self) -> float:
        slack = np.maximum(self.rho - self._margins(self.index, self.value), 0.0).mean()
        return float(0.5 * self.w @ self.w - self.rho + slack / self.nu)

    def _objective(self) -> float:
        norms = np.sqrt(np.bincount(self.index.ravel(), (self.value**2).ravel(), self.n_atoms))
        return float(0.5 * np.vdot(self.E, self.E) + self.beta * norms.sum())


class PublishedDL(Alternation):
    """DL-OCSVM."""

    def _update(self, i: int, rows: np.ndarray, slots: np.ndarray) -> None:
        R = self.E[rows] + self.value[rows, slots, None] * self.D[i]
        c = self.w[i] * self.lam[rows]
        d = damped_power(R.T @ R, R.T @ c, POWER_STEPS)
        r = R @ d + c
        t = float(np.linalg.norm(r))
        if t < self.beta:
            d, r = self.D[i], np.zeros_like(r)
        else:
            r *= 1.0 - self.beta / t
        self.D[i] = d
        self.value[rows, slots] = r
        self.E[rows] = R - r[:, None] * d

    def _trim(self, Y: np.ndarray, index: np.ndarray, value: np.ndarray) -> None:
        """Drop atoms whose residual over the batch has a largest singular value below beta."""
        E = Y - _product(index, value, self.D)
        for i in range(self.n_atoms):
            rows, slots = np.nonzero((index == i) & (value != 0.0))
            R = E.copy()
            R[rows] += value[rows, slots, None] * self.D[i]
            if rows.size and np.linalg.eigvalsh(R.T @ R)[-1] < self.beta**2:
                value[rows, slots] = 0.0


@dataclass
class PublishedDPL(Alternation):
    """DPL-OCSVM. New rows are coded by OMP."""

    gamma: float = 0.0

    def _open(self, X: np.ndarray) -> None:
        super()._open(X)
        counts = np.bincount(self.index[self.value != 0.0], minlength=self.n_atoms)
        self.alpha = self.gamma * counts / np.linalg.norm(counts)
        codes = np.zeros((self.Y.shape[0], self.n_atoms))
        np.add.at(codes, (np.arange(codes.shape[0])[:, None], self.index), self.value)
        self.P = np.linalg.lstsq(self.Y, codes, rcond=None)[0].T.copy()

    def _update(self, i: int, rows: np.ndarray, slots: np.ndarray) -> None:
        R = self.E[rows] + self.value[rows, slots, None] * self.D[i]
        Y = self.Y[rows]
        c = self.w[i] * self.lam[rows]
        self.D[i], self.P[i] = _subgradient(Y, R, c, self.P[i], self.alpha[i], self.beta, PAIR_STEPS)
        x = Y @ self.P[i]
        self.value[rows, slots] = x
        self.E[rows] = R - x[:, None] * self.D[i]

    def _objective(self) -> float:
        absolute = np.bincount(self.index.ravel(), np.abs(self.value).ravel(), self.n_atoms)
        return super()._objective() + float(self.alpha @ absolute)


@njit(cache=True)
def damped_power(M, g, n_steps):
    """Raise dᵀMd + 2gᵀd over ‖d‖ = 1 from the constant vector: d ← d + (Md + g)/‖M‖_F, normalised."""
    m = g.size
    d = np.full(m, 1.0 / np.sqrt(m))
    size = np.sqrt((M * M).sum())
    if size > 0.0:
        for _ in range(n_steps):
            d = d + (np.dot(M, d) + g) / size
            d = d / np.sqrt(np.dot(d, d))
    return d


@njit(cache=True)
def _subgradient(Y, R, c, p, alpha, beta, n_steps):
    """Alternate a subgradient step in p with one in d, x = Y p:  ½‖x dᵀ − R‖² − c·x + beta‖x‖ + alpha‖x‖₁."""
    m = p.size
    d = np.full(m, 1.0 / np.sqrt(m))
    p = p.copy()
    S, T, h = np.dot(Y.T, Y), np.dot(Y.T, R), np.dot(Y.T, c)
    RR = np.dot(R.T, R)
    size_p, size_d = np.sqrt((S * S).sum()), np.sqrt((RR * RR).sum())
    for _ in range(n_steps):
        x = np.dot(Y, p)
        norm = np.sqrt(np.dot(x, x))
        Sp = np.dot(S, p)
        step = Sp - np.dot(T, d) - h + alpha * np.dot(Y.T, np.sign(x))
        if norm > 0.0:
            step = step + (beta / norm) * Sp
        toward = np.dot(T.T, p)
        if size_p > 0.0:
            p = p - step / size_p
        if size_d > 0.0:
            d = d + toward / size_d
            d = d / np.sqrt(np.dot(d, d))
    return d, p


def _product(index: np.ndarray, value: np.ndarray, D: np.ndarray) -> np.ndarray:
    """X D for codes in slots."""
    out = np.zeros((index.shape[0], D.shape[1]))
    for slot in range(index.shape[1]):
        out += value[:, slot, None] * D[index[:, slot]]
    return out
