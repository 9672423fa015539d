"""Simulated tables without anomalies, ten families of them, and with 5 % of the rows shifted by six deviations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

SHAPES = ((200, 5), (2000, 1), (2000, 3), (2000, 10), (5000, 30))
SHIFTED_WIDTHS = (1, 2, 3, 5, 10, 30)
SHIFTED_ROWS, SHARE, SHIFT = 2000, 0.05, 6.0


class Table(NamedTuple):
    """A simulated table: its name, rows, and 1 for rows that were shifted."""

    name: str
    X: np.ndarray
    y: np.ndarray


def _gaussian(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    return rng.normal(size=(n, m))


def _correlated(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    place = np.arange(m)
    return rng.normal(size=(n, m)) @ np.linalg.cholesky(0.8 ** np.abs(place[:, None] - place)).T


def _mixture(shares: tuple[float, ...]) -> Callable[[np.random.Generator, int, int], np.ndarray]:
    def draw(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
        centers = 4.0 * rng.normal(size=(len(shares), m))
        return centers[rng.choice(len(shares), n, p=shares)] + rng.normal(size=(n, m))

    return draw


def _factor(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    k = max(1, m // 5)
    return rng.normal(size=(n, k)) @ rng.normal(size=(k, m)) + 0.5 * rng.normal(size=(n, m))


FAMILIES: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "Gaussian": _gaussian,
    "correlated": _correlated,
    "exponential": lambda rng, n, m: rng.exponential(size=(n, m)),
    "log-normal": lambda rng, n, m: rng.lognormal(size=(n, m)),
    "t4": lambda rng, n, m: rng.standard_t(4, size=(n, m)),
    "uniform": lambda rng, n, m: rng.uniform(size=(n, m)),
    "equal groups": _mixture((0.25,) * 4),
    "unequal groups": _mixture((0.6, 0.3, 0.1)),
    "Poisson": lambda rng, n, m: rng.poisson(3.0, size=(n, m)).astype(float),
    "factor": _factor,
}
# Tables with one column that varies beside others that say nothing; checked by tests, not among the 48.
DULL: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "constant": lambda rng, n: np.column_stack([rng.normal(size=n), np.ones(n)]),
    "copy": lambda rng, n: rng.normal(size=(n, 1)) * [1.0, -2.0] + [0.0, 1.0],
    "rare count": lambda rng, n: np.column_stack([rng.lognormal(size=n), rng.poisson(0.02, n) * rng.integers(1, 9, n)]),
}
OF_SEVERAL_COLUMNS = ("correlated", "factor")


def clean_tables(seed: int = 0) -> Iterator[Table]:
    """Yield the 48 tables without anomalies."""
    for k, (family, draw) in enumerate(FAMILIES.items()):
        for n, m in SHAPES:
            if m > 1 or family not in OF_SEVERAL_COLUMNS:
                X = draw(np.random.default_rng([seed, k, n, m]), n, m)
                yield Table(f"{family} {n} × {m}", X, np.zeros(n, np.int64))


def shifted_tables(seed: int = 0) -> Iterator[Table]:
    """Yield the 36 tables with shifted rows: all in one direction, or each in one of its own."""
    for k, family in enumerate(("Gaussian", "equal groups", "factor")):
        for m in SHIFTED_WIDTHS:
            for own in (False, True):
                rng = np.random.default_rng([seed, 100 + k, m, own])
                n_odd = int(SHARE * SHIFTED_ROWS)
                X = FAMILIES[family](rng, SHIFTED_ROWS, m)
                direction = rng.normal(size=(n_odd if own else 1, m))
                X[:n_odd] += SHIFT * direction / np.linalg.norm(direction, axis=1, keepdims=True)
                y = (np.arange(SHIFTED_ROWS) < n_odd).astype(np.int64)
                order = rng.permutation(SHIFTED_ROWS)
                yield Table(f"{family} {SHIFTED_ROWS} × {m}, {'own' if own else 'one'} direction", X[order], y[order])
