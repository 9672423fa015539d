"""Scores of rows on a torch device: scaled, coded and scored a block at a time; only scores come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from oddatom.arrays.namespaces import like
from oddatom.arrays.torch_rows import from_host
from oddatom.coding.statistics import CodeStatistics
from oddatom.kernels.coordinates import KernelMap
from oddatom.rows.device.torch_codes import RowCoder, device_rows
from oddatom.scaling.linear import LIMIT, Scaling
from oddatom.scores import OF_LINEAR_CODES, score
from oddatom.scores.center_distance import row_distances
from oddatom.scores.margin import linear_formula


def score_rows(
    X: torch.Tensor,
    scaling: Scaling,
    components: np.ndarray,
    coef: np.ndarray,
    n_nonzero: int,
    statistics: CodeStatistics,
    names: Sequence[str] = ("margin",),
    coding: str = "omp",
    *,
    kernel_map: KernelMap | None = None,
    analysis: np.ndarray | None = None,
    device: torch.device | None = None,
) -> dict[str, torch.Tensor]:
    """Return scores of raw rows by name, float64 tensors on the device: higher = more normal.

    Parameters
    ----------
    X : (N, m) tensor, float64 or float32
        Finite rows in the units of the training rows. The pursuit works in their dtype.
    scaling, components, coef, n_nonzero, statistics : the detector's
    names : sequence of SCORES
    coding : {"omp", "correlation"}
    kernel_map : KernelMap or None
    analysis : (n, m) or None
        P, where "margin", "distance" and "loda" are those of linear codes Py.
    device : torch.device or None
        None takes that of X; rows that are elsewhere are copied in blocks.
    """
    coder = RowCoder(device_rows(X, device), scaling, components, n_nonzero, coding, kernel_map)
    w = from_host(coef, coder.source.device)
    there = like(statistics, w)
    atoms = None if analysis is None else from_host(analysis, coder.source.device)
    out = {name: torch.empty(coder.source.shape[0], dtype=torch.float64, device=w.device) for name in names}
    sparse = [name for name in names if name not in OF_LINEAR_CODES or atoms is None]
    for lo, hi, rows in coder.blocks():
        if atoms is not None and "margin" in names:
            out["margin"][lo:hi] = _linear_margins(coder, rows, atoms.T @ w)
        if atoms is not None and "distance" in names:
            out["distance"][lo:hi] = row_distances(coder.linear_codes(rows, atoms).values, w)
        if atoms is not None and "loda" in names:
            codes: Any = coder.linear_codes(rows, atoms)
            out["loda"][lo:hi] = score("loda", codes, w, there)
        codes = coder.codes(rows) if sparse else None
        for name in sparse:
            out[name][lo:hi] = score(name, codes, w, there)
    return out


def _linear_margins(coder: RowCoder, X: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """v·y of raw rows; y are their coordinates where there is a kernel."""
    if coder.kernel_map is not None:
        return coder.kernel_map.margin(coder.kernel_rows(X), v).clamp_(-LIMIT, LIMIT)
    return linear_formula(X.to(torch.float64), coder.scaling, v)
