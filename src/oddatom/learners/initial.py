"""First dictionaries: unit rows, drawn at random or taken from the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oddatom.exceptions import OddAtomError

INITS = ("random", "data")
HELD = 2**27  # numbers of coefficients that are held at a time


def initial_dictionary(
    init: Any,
    width: int,
    n_atoms: int,
    rng: np.random.RandomState,
    nonzero: Callable[[], np.ndarray],
    take: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return n_atoms unit rows: uniform on (0, 1) as in the paper, rows of the data, or the rows given.

    Parameters
    ----------
    init : "random", "data" or (n_atoms, width)
    width, n_atoms : int
    rng : RandomState
    nonzero : function
        Returns which of the learner's rows are not zero.
    take : function
        Returns the learner's rows by their numbers.
    """
    if isinstance(init, str) and init == "random":
        return random_atoms(n_atoms, width, rng)
    if isinstance(init, str):
        candidates = np.flatnonzero(nonzero())
        return unit_rows(take(rng.choice(candidates, size=n_atoms, replace=candidates.size < n_atoms)))
    D = np.array(init, dtype=np.float64, order="C")
    if (bad := _first_bad(D)) is not None:
        problem = f"The 'init' array must hold finite, non-zero atoms. Row {bad} is {D[bad][:5].tolist()}…"
        raise OddAtomError(problem, parameter="init", advice="replace it or leave it out.")
    return unit_rows(D)


def random_atoms(n_atoms: int, width: int, rng: np.random.RandomState) -> np.ndarray:
    """Return unit rows, uniform on (0, 1) before they are made so, as in the paper."""
    return unit_rows(rng.uniform(size=(n_atoms, width)))


def combined_rows(
    init: Any,
    n_rows: int,
    n_atoms: int,
    rng: np.random.RandomState,
    combine: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return n_atoms unit rows A Φ: A uniform as in the paper, or the coefficients given; for kernels.

    Parameters
    ----------
    init : "random" or (n_atoms, n_rows)
    n_rows, n_atoms : int
    rng : RandomState
    combine : function
        Returns A Φ for coefficients A over all rows. It is called with at most HELD numbers at a time.
    """
    given = None if isinstance(init, str) else np.array(init, dtype=np.float64)
    step = max(1, HELD // n_rows)
    pieces = []
    for start in range(0, n_atoms, step):
        stop = min(start + step, n_atoms)
        pieces.append(combine(rng.uniform(size=(stop - start, n_rows)) if given is None else given[start:stop]))
    D = np.concatenate(pieces)
    if (bad := _first_bad(D)) is not None:
        problem = f"The 'init' coefficients must make finite, non-zero atoms. Atom {bad} is not"
        raise OddAtomError(problem, parameter="init", advice="replace its row.")
    return unit_rows(D)


def _first_bad(D: np.ndarray) -> int | None:
    """Return the first row that cannot be made a unit row."""
    bad = np.flatnonzero(~(np.isfinite(D).all(axis=1) & D.any(axis=1)))
    return int(bad[0]) if bad.size else None


def unit_rows(D: np.ndarray) -> np.ndarray:
    """Return finite, non-zero rows divided by their norms, whatever their size."""
    D = D / np.abs(D).max(axis=1, keepdims=True)
    return D / np.linalg.norm(D, axis=1, keepdims=True)
