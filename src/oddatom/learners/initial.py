"""First dictionaries: unit rows, drawn at random or taken from the data."""

from __future__ import annotations

from typing import Any

import numpy as np

INITS = ("random", "data")


def initial_dictionary(init: Any, Y: np.ndarray, n_atoms: int, rng: np.random.RandomState) -> np.ndarray:
    """Return n_atoms unit rows: uniform on (0, 1) as in the paper, rows of Y, or the rows given."""
    m = Y.shape[1]
    if isinstance(init, str) and init == "random":
        D = rng.uniform(size=(n_atoms, m))
    elif isinstance(init, str):
        candidates = np.flatnonzero(np.einsum("ij,ij->i", Y, Y) > 0)
        D = Y[rng.choice(candidates, size=n_atoms, replace=candidates.size < n_atoms)].copy()
    else:
        D = np.array(init, dtype=np.float64, order="C")
        bad = np.flatnonzero(~(np.isfinite(D).all(axis=1) & D.any(axis=1)))
        if bad.size:
            raise ValueError(
                f"The 'init' array must hold finite, non-zero atoms. Row {bad[0]} is {D[bad[0]][:5].tolist()}…; "
                "replace it or leave it out."
            )
    return unit_rows(D)


def unit_rows(D: np.ndarray) -> np.ndarray:
    """Return finite, non-zero rows divided by their norms, whatever their size."""
    D = D / np.abs(D).max(axis=1, keepdims=True)
    return D / np.linalg.norm(D, axis=1, keepdims=True)
