"""The steps of `torch_omp` on a CUDA device as one Triton kernel: a block of rows a program, correlations in registers.

`torch_omp` is the same in plain torch, with passes over memory for every step of every row. Here a row is read once:
its correlations with the atoms, which a matrix product has made, and the row itself, for its norm.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

# Tiles of rows × atoms that a program holds beside the s − 1 vectors u: correlations, a row of G, keys, a temporary.
_TILES = 4
# 32-bit registers, of the 32,640 that the 128 threads of a program can have: the fewer a program takes, the more of
# them are at work at once. 8,192 were fastest for 64 atoms and 6 non-zeros.
_WANTED, _MOST = 8_192, 24_576


def rows_per_program(n: int, s: int, dtype: torch.dtype) -> int:
    """Return how many rows a program takes; 0 where not even one fits into its registers."""
    width = triton.next_power_of_2(n) * (s + _TILES) * (dtype.itemsize // 4)
    rows = max(_WANTED // width, min(_MOST // width, 1))
    return 1 << (rows.bit_length() - 1) if rows else 0


def pursue(
    alpha: torch.Tensor,
    Y: torch.Tensor,
    G: torch.Tensor,
    mask: int,
    negligible: float,
    dependent: float,
    indices: torch.Tensor,
    values: torch.Tensor,
    sq_residual: torch.Tensor,
) -> None:
    """Code rows from their correlations alpha = Y Dᵀ and G = D Dᵀ, all C-ordered; see `torch_omp` for the numbers."""
    (N, s), n, m = indices.shape, G.shape[0], Y.shape[1]
    B = rows_per_program(n, s, Y.dtype)
    _pursue[(triton.cdiv(N, B),)](
        alpha, Y, G, indices, values, sq_residual, N, n, m, mask, negligible, dependent,
        S=s, NP=triton.next_power_of_2(n), MP=min(64, triton.next_power_of_2(m)), B=B,
        DOUBLE=Y.dtype == torch.float64, num_warps=4,
    )  # fmt: skip


@triton.jit
def _pursue(
    alpha_ptr, Y_ptr, G_ptr, indices_ptr, values_ptr, sq_ptr, N, n, m, mask, negligible, dependent,
    S: tl.constexpr, NP: tl.constexpr, MP: tl.constexpr, B: tl.constexpr, DOUBLE: tl.constexpr,
):  # fmt: skip
    """One program: rows program_id·B … + B − 1. A row that has stopped goes on with z = 0, which changes nothing."""
    rows = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    inside = rows < N
    columns = tl.arange(0, NP)
    real = columns < n
    tile = rows[:, None] * n + columns[None, :]
    alpha = tl.load(alpha_ptr + tile, mask=inside[:, None] & real[None, :], other=0.0)
    sq_norm = tl.zeros([B], tl.float64)
    for first in range(0, m, MP):
        features = first + tl.arange(0, MP)
        here = inside[:, None] & (features < m)[None, :]
        y = tl.load(Y_ptr + rows[:, None] * m + features[None, :], mask=here, other=0.0).to(tl.float64)
        sq_norm += tl.sum(y * y, axis=1)
    least = negligible * tl.sqrt(sq_norm)
    alive = inside
    us = ()  # u_1 … u_{s−1}
    inverse = ()  # 1/δ_l
    factor = ()  # c_l of step k at k(k − 1)/2 + l
    z = ()
    used = ()
    for k in tl.static_range(S):
        if DOUBLE:
            keys = alpha.to(tl.int64, bitcast=True) & mask
        else:
            keys = alpha.to(tl.int32, bitcast=True) & mask
        keys = tl.where(real[None, :], keys, -1)
        i = tl.argmax(keys, axis=1, tie_break_left=True)
        chosen = columns[None, :] == i[:, None]
        u = tl.load(G_ptr + i[:, None] * n + columns[None, :], mask=real[None, :], other=0.0)
        a = tl.sum(tl.where(chosen, alpha, 0.0), axis=1)
        g = tl.sum(tl.where(chosen, u, 0.0), axis=1)
        delta = g
        for l in tl.static_range(k):
            t = tl.sum(tl.where(chosen, us[l], 0.0), axis=1)
            c = t * inverse[l]
            delta -= c * t
            factor = factor + (c,)
            u -= c[:, None] * us[l]
        alive = alive & (tl.abs(a).to(tl.float64) > least * tl.sqrt(g).to(tl.float64)) & (delta > dependent * g)
        r = tl.where(alive, 1.0 / delta, 0.0)
        step = tl.where(alive, a * r, 0.0)
        sq_norm -= step.to(tl.float64) * a.to(tl.float64)
        tl.store(indices_ptr + rows * S + k, tl.where(alive, i, -1), mask=inside)
        alpha -= step[:, None] * u
        us = us + (u,)
        inverse = inverse + (r,)
        z = z + (step,)
        used = used + (alive,)
    tl.store(sq_ptr + rows, tl.maximum(sq_norm, 0.0).to(alpha.dtype), mask=inside)
    xs = ()  # x_{s−1}, x_{s−2}, …: the unit triangular system Tᵀ x = z, from its end
    for back in tl.static_range(S):
        k = S - 1 - back
        x = z[S - 1 - back]
        for l in tl.static_range(S - back, S):
            x -= factor[l * (l - 1) // 2 + S - 1 - back] * xs[S - 1 - l]
        x = tl.where(used[S - 1 - back], x, 0.0)
        tl.store(values_ptr + rows * S + k, x, mask=inside)
        xs = xs + (x,)
