"""The ensemble's scores of rows on a torch device, a block of rows at a time: the formulas of `ensemble/parts`."""

from __future__ import annotations

from typing import Any

import torch

from oddatom.arrays.torch_rows import DeviceRows
from oddatom.ensemble.model import Ensemble


def score_rows(ensemble: Ensemble, rows: Any, device: torch.device, name: str = "joined") -> torch.Tensor:
    """Return one of the scores of rows (N×m), a float64 tensor on the device; rows elsewhere are copied in blocks.

    No more than a block's parts are ever held. Whether a block has missing values is asked of the device.
    """
    source = DeviceRows(rows, device, None, stream=True)
    (M, K, m), n, q = (
        ensemble.packed.centroids.shape,
        ensemble.packed.atoms.shape[1],
        ensemble.packed.directions.shape[1],
    )
    judged = 0 if ensemble.feedback is None else 4 * (ensemble.feedback.labels.size + m)
    out = torch.empty(source.shape[0], dtype=torch.float64, device=device)
    there = ensemble.like(out)
    for lo, hi, block in source.blocks(8 * (M * (max(K, q, n) + 8 * m + 12) + 8 * m + judged)):
        X = block.to(torch.float64).contiguous()
        out[lo:hi] = there.judged_score(there.z_scores(there.parts(X)), name, there.likeness(X))
    return out
