"""Compile the kernels of the plane that a fit of `OddAtomDetector` ends with, in a process of their own."""

from __future__ import annotations

import numpy as np

from oddatom.arrays.block import Block
from oddatom.boundary.plane import fit_one_class
from oddatom.passes.group import ShardGroup
from oddatom.rows.array import OneClassShard

N_ROWS, N_PARTS = 4096, 5


def compile_plane() -> None:
    """Fit a plane to rows of as many parts."""
    rows = np.random.default_rng(0).random((N_ROWS, N_PARTS))
    fit_one_class(ShardGroup([OneClassShard(Block.dense(rows))]), N_PARTS, 0.1)
