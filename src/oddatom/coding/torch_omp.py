"""Batch-OMP on a torch device: the steps of `oddatom.coding.batch_omp`, taken by many rows side by side.

With G = D Dᵀ, α = D r and the k-th chosen atom i of a row,

    c_l = u_l[i] / δ_l  (l < k),    u_k = G_i − Σ_l c_l u_l,    δ_k = G_ii − Σ_l c_l u_l[i],
    z_k = α_i / δ_k,    α ← α − z_k u_k,    ‖r‖² ← ‖r‖² − z_k α_i.

The work is done in the dtype of the rows (‖r‖² in float64). A product Y Dᵀ of float32 rows must be one of float32:
leave TF32 off, as torch does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

from oddatom.arrays.torch_rows import rows_per_block, spans

# As in `oddatom.coding.batch_omp`: closer α than 2⁻⁴⁰ (2⁻²⁰ in float32) tie; fewer roundings than that are nothing;
# an atom with δ_k ≤ ε^0.6 G_ii depends on those chosen.
_INDEX_BITS = 12
_FLOAT32_BITS = 3
_NEGLIGIBLE = 64
_DEPENDENT = 0.6
_INT64_MAX = 2**63 - 1


class TorchCodes(NamedTuple):
    """Sparse codes of N rows on a device: `oddatom.coding.Codes` with tensors."""

    indices: torch.Tensor  # int32 (N, s), −1 where unused
    values: torch.Tensor  # (N, s), 0 where unused
    sq_residual: torch.Tensor  # (N,)


def empty_codes(N: int, s: int, dtype: torch.dtype, device: torch.device) -> TorchCodes:
    """Return room for the codes of N rows."""
    return TorchCodes(
        torch.empty((N, s), dtype=torch.int32, device=device),
        torch.empty((N, s), dtype=dtype, device=device),
        torch.empty(N, dtype=dtype, device=device),
    )


def torch_omp(Y: torch.Tensor, D: torch.Tensor, s: int) -> TorchCodes:
    """Code rows by greedy least squares: min ‖y − x D‖² with ‖x‖₀ ≤ s, one atom at a time.

    Atoms are chosen as `batch_omp` chooses them: of those whose correlations tie the one of lowest index; a row
    stops early when nothing correlates with its residual or the next atom depends on those chosen.

    Parameters
    ----------
    Y : (N, m) tensor, float64 or float32
        Rows to code.
    D : (n, m) tensor on the same device
        Atoms, of norm one.
    s : int
        Non-zeros of a code, at least 1.
    """
    N, n = Y.shape[0], D.shape[0]
    wide = D.to(torch.float64)
    D, G = D.to(Y.dtype), (wide @ wide.T).to(Y.dtype)
    codes = empty_codes(N, s, Y.dtype, Y.device)
    # u_1 … u_s, α and a temporary; two more for the keys of the arg-max; the row in float64
    bytes_per_row = n * ((s + 2) * Y.element_size() + 16) + 8 * Y.shape[1]
    code = _code_block
    if _has_kernel(Y, n, s):
        code, bytes_per_row = _code_block_by_kernel, n * Y.element_size()
    for lo, hi in spans(N, rows_per_block(Y.device, bytes_per_row)):
        code(Y[lo:hi], D, G, *(t[lo:hi] for t in codes))
    return codes


def _has_kernel(Y: torch.Tensor, n: int, s: int) -> bool:
    """Whether the Triton kernel can code these rows."""
    if not Y.is_cuda:
        return False
    try:
        from oddatom.coding.triton_omp import rows_per_program
    except ImportError:  # torch comes without it on some systems
        return False
    return rows_per_program(n, s, Y.dtype) > 0


def _code_block_by_kernel(
    Y: torch.Tensor,
    D: torch.Tensor,
    G: torch.Tensor,
    indices: torch.Tensor,
    values: torch.Tensor,
    sq_residual: torch.Tensor,
) -> None:
    from oddatom.coding.triton_omp import pursue

    eps = torch.finfo(Y.dtype).eps
    mask = _key_layout(G.shape[0], Y)[0] >> (0 if Y.dtype == torch.float64 else 32)
    Y = Y.contiguous()
    with torch.cuda.device(Y.device):
        pursue(Y @ D.T, Y, G, mask, _NEGLIGIBLE * eps, eps**_DEPENDENT, indices, values, sq_residual)


def torch_correlation_omp(Y: torch.Tensor, D: torch.Tensor, s: int) -> TorchCodes:
    """Code the correlations Y Dᵀ with the rows of D Dᵀ as the dictionary, as `correlation_omp` does."""
    (N, m), n = Y.shape, D.shape[0]
    wide = D.to(torch.float64)
    G = wide @ wide.T
    codes = empty_codes(N, s, Y.dtype, Y.device)
    for lo, hi in spans(N, rows_per_block(Y.device, 8 * n + 24 * m)):
        indices, values, sq_residual = (t[lo:hi] for t in codes)
        part = torch_omp(Y[lo:hi] @ D.T.to(Y.dtype), G, s)
        indices.copy_(part.indices)
        values.copy_(part.values)
        sq_residual.copy_(residual(Y[lo:hi], wide, indices, values).square_().sum(dim=1))
    return codes


CODINGS: dict[str, Callable[[torch.Tensor, torch.Tensor, int], TorchCodes]] = {
    "omp": torch_omp,
    "correlation": torch_correlation_omp,
}


def residual(Y: torch.Tensor, D: torch.Tensor, indices: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Return Y − X D in float64."""
    E = Y.to(torch.float64, copy=True)
    for k in range(indices.shape[1]):  # an unused slot subtracts 0 times atom 0
        E.addcmul_(values[:, k, None].to(torch.float64), D.index_select(0, indices[:, k].clamp(min=0)), value=-1)
    return E


def _code_block(
    Y: torch.Tensor,
    D: torch.Tensor,
    G: torch.Tensor,
    indices: torch.Tensor,
    values: torch.Tensor,
    sq_residual: torch.Tensor,
) -> None:
    """Code one block of rows. A row that has stopped goes on with z = 0, which changes nothing."""
    (B, s), n = indices.shape, G.shape[0]
    eps = torch.finfo(Y.dtype).eps
    mask, down = _key_layout(n, Y)
    diagonal = G.diagonal()
    alpha = Y @ D.T
    sq_norm = Y.to(torch.float64).square().sum(dim=1)
    negligible = _NEGLIGIBLE * eps * sq_norm.sqrt()
    alive = torch.ones(B, dtype=torch.bool, device=Y.device)
    U = alpha.new_empty((max(s - 1, 0), B, n))
    factor: list[list[torch.Tensor]] = []  # factor[k][l] = c_l of step k
    inverse: list[torch.Tensor] = []  # 1/δ_k
    z: list[torch.Tensor] = []
    for k in range(s):
        i = _argmax(alpha, mask, down)
        a = alpha.gather(1, i[:, None])[:, 0]
        g = diagonal.index_select(0, i)
        c, delta = [], g
        for l in range(k):
            u = U[l].gather(1, i[:, None])[:, 0]
            c.append(u * inverse[l])
            delta = delta - c[l] * u
        alive = alive & (a.abs() > negligible * g.sqrt()) & (delta > eps**_DEPENDENT * g)
        inverse.append(torch.where(alive, 1.0 / delta, 0.0))
        factor.append(c)
        z.append(torch.where(alive, a * inverse[k], 0.0))
        sq_norm -= z[k].to(torch.float64) * a
        indices[:, k] = torch.where(alive, i, -1)
        if k + 1 < s:
            torch.index_select(G, 0, i, out=U[k])
            for l in range(k):
                U[k].addcmul_(c[l][:, None], U[l], value=-1)
            alpha.addcmul_(z[k][:, None], U[k], value=-1)
    sq_residual.copy_(sq_norm.clamp_(min=0.0))
    x: list[torch.Tensor] = [torch.empty(0)] * s  # the unit triangular system Tᵀ x = z, from its end
    for k in range(s - 1, -1, -1):
        x[k] = z[k]
        for l in range(k + 1, s):
            x[k] = x[k] - factor[l][k] * x[l]
        values[:, k] = x[k] = torch.where(indices[:, k] >= 0, x[k], 0.0)


def _key_layout(n: int, Y: torch.Tensor) -> tuple[int, torch.Tensor]:
    """Return the bits of α that the arg-max compares, and what stands for atom j in the others."""
    bits = max(_INDEX_BITS, (n - 1).bit_length()) if Y.dtype == torch.float64 else 32 + _FLOAT32_BITS
    mask = _INT64_MAX & -(1 << bits)
    return mask, (_INT64_MAX & ~mask) - torch.arange(n, device=Y.device)


def _argmax(alpha: torch.Tensor, mask: int, down: torch.Tensor) -> torch.Tensor:
    """Return the atom of the largest key: the leading bits of |α_j|, then those of j, counted down."""
    keys = alpha.view(torch.int64) & mask if alpha.dtype == torch.float64 else _float32_bits(alpha) & mask
    keys |= down
    top = _INT64_MAX & ~mask
    return top - (keys.amax(dim=1) & top)


def _float32_bits(alpha: torch.Tensor) -> torch.Tensor:
    return alpha.view(torch.int32).to(torch.int64) << 32
