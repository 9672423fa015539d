"""Which rows stand for all in Nyström's method. A new way is one function and one line in `LANDMARKS`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from oddatom.kernels.functions import Kernel, check_range

_BLOCK = 4096


def choose_landmarks(
    method: str, kernel: Kernel | None, Y: np.ndarray, n: int, rng: np.random.RandomState
) -> np.ndarray:
    """Return n different rows of Y; for precomputed (kernel None) Y is the Gram matrix."""
    return LANDMARKS[method](kernel, Y, n, rng)


def _columns(kernel: Kernel | None, Y: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """K(Y, Y[indices]), N × len(indices)."""
    if kernel is None:
        return check_range(np.ascontiguousarray(Y[:, indices]))
    return check_range(kernel(Y, np.ascontiguousarray(Y[indices])))


def _diagonal(kernel: Kernel | None, Y: np.ndarray) -> np.ndarray:
    return np.diag(Y).copy() if kernel is None else kernel.diagonal(Y)


def uniform(kernel: Kernel | None, Y: np.ndarray, n: int, rng: np.random.RandomState) -> np.ndarray:
    """Every row alike."""
    return rng.choice(Y.shape[0], n, replace=False)


def kmeans_plus_plus(kernel: Kernel | None, Y: np.ndarray, n: int, rng: np.random.RandomState) -> np.ndarray:
    """One after the other, each with a chance that grows with its squared distance in feature space to those before."""
    N = Y.shape[0]
    diagonal = _diagonal(kernel, Y)
    chosen = _draw((diagonal > 0).astype(float), 1, rng, [])
    distance = np.full(N, np.inf)
    while True:
        last = chosen[-1]
        column = _columns(kernel, Y, np.array([last]))[:, 0]
        distance = np.minimum(distance, np.maximum(diagonal - 2.0 * column + diagonal[last], 0.0))
        distance[chosen] = 0.0
        if len(chosen) == n:
            return np.array(chosen)
        chosen.append(_draw(distance, 1, rng, chosen)[0])


def leverage(kernel: Kernel | None, Y: np.ndarray, n: int, rng: np.random.RandomState) -> np.ndarray:
    """With chances that grow with ridge leverage scores diag(K(K + lam I)⁻¹), estimated from a uniform choice.

    lam is such that the scores of the estimate add up to at most n/2.
    """
    sketch = uniform(kernel, Y, n, rng)
    C = _columns(kernel, Y, sketch)
    values, vectors = np.linalg.eigh(0.5 * (C[sketch] + C[sketch].T))
    keep = values > 1e-10 * max(float(values[-1]), 0.0)
    B = C @ (vectors[:, keep] / np.sqrt(np.where(keep, values, 1.0)[keep]))  # K is about BBᵀ
    squares, rotation = np.linalg.eigh(B.T @ B)
    squares = np.maximum(squares, 0.0)
    diagonal = _diagonal(kernel, Y)
    lam = max(_ridge(squares, 0.5 * n), 1e-12 * float(np.abs(diagonal).sum()), 1e-300)
    inside = np.einsum("ij,ij->i", B @ (rotation / (squares + lam)), B @ rotation)
    outside = np.maximum(diagonal - np.einsum("ij,ij->i", B, B), 0.0) / lam  # what the estimate misses
    return np.array(_draw(np.minimum(np.maximum(inside, 0.0) + outside, 1.0), n, rng, []))


def _ridge(squares: np.ndarray, wanted: float) -> float:
    """lam > 0 with Σ s/(s + lam) = wanted, or nearly 0 where the sum is less anyway."""
    low, high = 1e-12 * max(float(squares.max(initial=0.0)), 1e-300), max(float(squares.sum()), 1e-300)
    for _ in range(100):
        middle = np.sqrt(low * high)
        if float((squares / (squares + middle)).sum()) > wanted:
            low = middle
        else:
            high = middle
    return float(high)


def _draw(weights: np.ndarray, n: int, rng: np.random.RandomState, taken: list[int]) -> list[int]:
    """n different rows with these weights; rows of weight zero only when no others are left."""
    positive = np.flatnonzero(weights > 0)
    if positive.size >= n:
        share = weights[positive] / weights[positive].sum()
        return [int(i) for i in rng.choice(positive, n, replace=False, p=share)]
    free = np.ones(weights.size, bool)
    free[positive] = False
    free[taken] = False
    rest = rng.choice(np.flatnonzero(free), n - positive.size, replace=False)
    return [int(i) for i in (*positive, *rest)]


LANDMARKS: dict[str, Callable[[Kernel | None, np.ndarray, int, np.random.RandomState], np.ndarray]] = {
    "uniform": uniform,
    "kmeans++": kmeans_plus_plus,
    "leverage": leverage,
}
