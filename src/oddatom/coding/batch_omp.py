"""Orthogonal matching pursuit of many rows over one dictionary, from correlations and the Gram matrix.

Each row y gets a code x with at most s non-zeros, found greedily: a step adds the atom i that maximises
|⟨r, d_i⟩|, where r = y − x D, and fits x anew on all the atoms chosen by least squares.

The residual r is never formed. With G = D Dᵀ, α = D r and the k-th chosen atom i, a step is

    c_l = u_l[i] / δ_l  (l < k),    u_k = G_i − Σ_l c_l u_l,    δ_k = G_ii − Σ_l c_l u_l[i],
    z_k = α_i / δ_k,    α ← α − z_k u_k,    ‖r‖² ← ‖r‖² − z_k α_i,

where u_k holds the inner products of all atoms with the part of d_i orthogonal to the atoms before it. The
c_l are a row of the unit triangular factor of G on the support: x solves one triangular system at the end.

Every entry above is a fixed chain of operations on one row. A code does not depend on the other rows, on its
place among them, or on the number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from oddatom.arrays.sums import FUSED
from oddatom.arrays.threads import split

Array = NDArray[Any]

# Rows in one product Y Dᵀ, always padded to it. The tile of the BLAS must divide it, else the last rows of a
# block go through other code and round differently: OpenBLAS takes 6 rows at a time on AVX-512, so 256 rows
# would not do. With several BLAS threads a block is cut, and rows on either side of the cut may differ too.
# The product is of float64 whatever the rows: OpenBLAS rounds float32 by place within the tile on AVX2.
_BLOCK = 48
# Bits of a float64 α that its index displaces in the arg-max, at least: closer than 2⁻⁴⁰ is a tie.
_INDEX_BITS = 12
# Bits of a float32 α left out of the arg-max: closer than 2⁻²⁰ is a tie. The index takes 32 bits more.
_FLOAT32_BITS = 3
# A correlation of fewer than this many roundings of ‖y‖ ‖d_i‖ is none.
_NEGLIGIBLE = 64
# An atom with δ_k ≤ ε^0.6 G_ii depends on those chosen. Any δ_k kept has a relative error of about ε^0.4.
_DEPENDENT = 0.6
_INT64_MAX = 2**63 - 1

_OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": FUSED,
}
_INLINE: dict[str, Any] = {**_OPTIONS, "forceinline": True}


class Codes(NamedTuple):
    """Sparse codes of N rows with at most s non-zeros each.

    Attributes
    ----------
    indices : int32 (N, s)
        Atoms in the order chosen, then −1.
    values : (N, s)
        Their coefficients, then 0.
    sq_residual : (N,)
        ‖y − x D‖², to within a few roundings of ‖y‖².
    """

    indices: NDArray[np.int32]
    values: Array
    sq_residual: Array


def batch_omp(Y: Array, D: Array, n_nonzero: int, *, gram: Array | None = None) -> Codes:
    """Code rows by greedy least squares: min ‖y − x D‖² with ‖x‖₀ ≤ s, one atom at a time.

    A row stops early when nothing correlates with its residual or the next atom depends on those chosen. Of
    atoms whose correlations tie the lower index is taken. Call it inside `threads`: it is BLAS on one thread
    that makes the code of a row the same, bit for bit, in every batch.

    Parameters
    ----------
    Y : (N, m), C-contiguous, float64 or float32
        Rows to code. The work is done in their dtype.
    D : (n, m)
        Atoms, of norm one (a zero atom is never chosen; of others, the longer are preferred).
    n_nonzero : int
        s, at least 1.
    gram : (n, n), optional
        D Dᵀ, when already at hand.
    """
    N, m = Y.shape
    n = D.shape[0]
    if D.shape[1] != m:
        raise ValueError(f"Rows and atoms must have equally many features. Got {m} and {D.shape[1]}.")
    D = np.asarray(D, dtype=np.float64)
    G = np.ascontiguousarray(D @ D.T if gram is None else gram, dtype=Y.dtype)
    codes = _empty_codes(N, n_nonzero, Y.dtype)
    tol, mask = _settings(n, Y.dtype)
    plan = split(N, n * m / 20 + _cost(n, n_nonzero))
    plan.run(_code_blocks, Y, np.ascontiguousarray(D.T), G, tol, mask, *codes)
    return codes


def batch_omp_gram(C: Array, G: Array, sq_norms: Array, n_nonzero: int) -> Codes:
    """Code rows as `batch_omp` does, from inner products alone (so in the feature space of any kernel).

    Parameters
    ----------
    C : (N, n), C-contiguous, float64 or float32
        Inner products of rows and atoms. The work is done in their dtype.
    G : (n, n)
        Inner products of the atoms.
    sq_norms : (N,)
        Squared norms of the rows.
    n_nonzero : int
        s, at least 1.
    """
    N, n = C.shape
    G = np.ascontiguousarray(G, dtype=C.dtype)
    sq_norms = np.ascontiguousarray(sq_norms, dtype=np.float64)
    codes = _empty_codes(N, n_nonzero, C.dtype)
    tol, mask = _settings(n, C.dtype)
    split(N, _cost(n, n_nonzero)).run(_code_correlations, C, sq_norms, G, tol, mask, *codes)
    return codes


def _cost(n: int, s: int) -> float:
    """Return about how many nanoseconds coding one row takes once its correlations are known."""
    return s * (80 + n * (s + 6) / 16)


def _empty_codes(N: int, s: int, dtype: np.dtype) -> Codes:
    return Codes(np.empty((N, s), np.int32), np.empty((N, s), dtype), np.empty(N, dtype))


def _settings(n: int, dtype: np.dtype) -> tuple[NDArray[np.float64], np.int64]:
    """Return the two stopping tolerances, and the bits of α that the arg-max compares."""
    eps = float(np.finfo(dtype).eps)
    bits = max(_INDEX_BITS, (n - 1).bit_length()) if dtype == np.float64 else 32 + _FLOAT32_BITS
    return np.array([_NEGLIGIBLE * eps, eps**_DEPENDENT]), np.int64(_INT64_MAX & -(1 << bits))


@njit(parallel=True, **_OPTIONS)
def _code_blocks(
    Y: Array,
    Dt: Array,
    G: Array,
    tol: Array,
    mask: int,
    ind: Array,
    val: Array,
    sq: Array,
    k: int,
    parallel: bool,
) -> None:
    """Code rows, cut between blocks into k chunks."""
    N = Y.shape[0]
    n_blocks = (N + _BLOCK - 1) // _BLOCK
    if parallel:
        for c in prange(k):
            lo = c * n_blocks // k * _BLOCK
            hi = min(N, (c + 1) * n_blocks // k * _BLOCK)
            _code_blocks_serial(Y, lo, hi, Dt, G, tol, mask, ind, val, sq)
    else:
        for c in range(k):
            lo = c * n_blocks // k * _BLOCK
            hi = min(N, (c + 1) * n_blocks // k * _BLOCK)
            _code_blocks_serial(Y, lo, hi, Dt, G, tol, mask, ind, val, sq)


@njit(**_OPTIONS)
def _code_blocks_serial(
    Y: Array, lo: int, hi: int, Dt: Array, G: Array, tol: Array, mask: int, ind: Array, val: Array, sq: Array
) -> None:
    """Code rows lo to hi, from products of whole blocks."""
    m, n = Dt.shape
    work = _workspace(n, ind.shape[1], G.dtype)
    C = np.empty((_BLOCK, n))
    rows = np.zeros((_BLOCK, m))
    sq_norms = np.empty(_BLOCK)
    for start in range(lo, hi, _BLOCK):
        size = min(_BLOCK, hi - start)
        for b in range(size):
            for p in range(m):
                rows[b, p] = Y[start + b, p]
        np.dot(rows, Dt, C)
        for b in range(size):
            sq_norms[b] = _sq_norm(Y, start + b)
        for b in range(size):
            sq[start + b] = _code_row(C, b, sq_norms[b], G, tol, mask, work, ind, val, start + b)


@njit(parallel=True, **_OPTIONS)
def _code_correlations(
    C: Array,
    sq_norms: Array,
    G: Array,
    tol: Array,
    mask: int,
    ind: Array,
    val: Array,
    sq: Array,
    k: int,
    parallel: bool,
) -> None:
    """Code rows of correlations, cut into k chunks."""
    N = C.shape[0]
    if parallel:
        for c in prange(k):
            _code_correlations_serial(C, c * N // k, (c + 1) * N // k, sq_norms, G, tol, mask, ind, val, sq)
    else:
        for c in range(k):
            _code_correlations_serial(C, c * N // k, (c + 1) * N // k, sq_norms, G, tol, mask, ind, val, sq)


@njit(**_OPTIONS)
def _code_correlations_serial(
    C: Array,
    lo: int,
    hi: int,
    sq_norms: Array,
    G: Array,
    tol: Array,
    mask: int,
    ind: Array,
    val: Array,
    sq: Array,
) -> None:
    """Code rows lo to hi of correlations."""
    work = _workspace(G.shape[0], ind.shape[1], G.dtype)
    for b in range(lo, hi):
        sq[b] = _code_row(C, b, sq_norms[b], G, tol, mask, work, ind, val, b)


@njit(**_INLINE)
def _workspace(n: int, s: int, dtype: Any) -> tuple[Array, Array, Array, Array]:
    """Return U (rows u_k), T (rows c; 1/δ_k on the diagonal), z and α."""
    return np.empty((s, n), dtype), np.empty((s, max(s, 3)), dtype), np.empty(s, dtype), np.empty(n, dtype)


@njit(**_INLINE)
def _code_row(
    C: Array,
    b: int,
    sq_norm: float,
    G: Array,
    tol: Array,
    mask: int,
    work: Any,
    ind: Array,
    val: Array,
    row: int,
) -> float:
    """Code one row from its correlations C_b; return its squared residual."""
    U, T, z, alpha = work
    s = ind.shape[1]
    top = _INT64_MAX & ~mask
    negligible = tol[0] * np.sqrt(sq_norm)
    n_chosen = 0
    key = _copy_argmax(alpha, C, b, mask)
    for k in range(s):
        i = top - (key & top)
        g = G[i, i]
        if not np.abs(alpha[i]) > negligible * np.sqrt(g):
            break
        delta = g
        for l in range(k):
            u = U[l, i]
            c = u * T[l, l]
            T[k, l] = c
            delta -= c * u
        # An atom chosen before stops here too: its own term leaves a rounding, and no later term adds to it.
        if not delta > tol[1] * g:
            break
        T[k, k] = G.dtype.type(1) / delta
        z[k] = alpha[i] * T[k, k]
        sq_norm -= np.float64(z[k]) * alpha[i]
        ind[row, k] = i
        n_chosen = k + 1
        if n_chosen < s:
            _orthogonalise(U, k, G, i, T)
            key = _update_argmax(alpha, z[k], U, k, mask)
    _solve(T, z, n_chosen, ind, val, row)
    return max(sq_norm, 0.0)


@njit(**_INLINE)
def _copy_argmax(alpha: Array, C: Array, b: int, mask: int) -> int:
    """α ← C_b; return the largest key: the leading bits of |α_j|, then those of j, counted down."""
    top = _INT64_MAX & ~mask
    key = 0
    for j in range(alpha.shape[0]):
        a = alpha.dtype.type(C[b, j])
        alpha[j] = a
        key = max(key, (_bits(a) & mask) | (top - j))
    return key


@njit(**_INLINE)
def _update_argmax(alpha: Array, z: float, U: Array, k: int, mask: int) -> int:
    """α ← α − z u_k; return the largest key."""
    top = _INT64_MAX & ~mask
    key = 0
    for j in range(alpha.shape[0]):
        a = alpha[j] - z * U[k, j]
        alpha[j] = a
        key = max(key, (_bits(a) & mask) | (top - j))
    return key


@njit(**_INLINE)
def _orthogonalise(U: Array, k: int, G: Array, i: int, T: Array) -> None:
    """u_k ← G_i − Σ_{l<k} T_kl u_l, four terms in one pass."""
    n = U.shape[1]
    r = k % 4
    c0, c1, c2 = T[k, 0], T[k, 1], T[k, 2]
    if r == 0:
        for j in range(n):
            U[k, j] = G[i, j]
    elif r == 1:
        for j in range(n):
            U[k, j] = G[i, j] - c0 * U[0, j]
    elif r == 2:
        for j in range(n):
            U[k, j] = G[i, j] - c0 * U[0, j] - c1 * U[1, j]
    else:
        for j in range(n):
            U[k, j] = G[i, j] - c0 * U[0, j] - c1 * U[1, j] - c2 * U[2, j]
    for l in range(r, k, 4):
        c0, c1, c2, c3 = T[k, l], T[k, l + 1], T[k, l + 2], T[k, l + 3]
        for j in range(n):
            U[k, j] = U[k, j] - c0 * U[l, j] - c1 * U[l + 1, j] - c2 * U[l + 2, j] - c3 * U[l + 3, j]


@njit(**_INLINE)
def _solve(T: Array, z: Array, n_chosen: int, ind: Array, val: Array, row: int) -> None:
    """Solve the unit triangular system Tᵀ x = z for the coefficients, and pad the row."""
    for k in range(n_chosen - 1, -1, -1):
        x = z[k]
        for l in range(k + 1, n_chosen):
            x -= T[l, k] * val[row, l]
        val[row, k] = x
    for k in range(n_chosen, ind.shape[1]):
        ind[row, k] = -1
        val[row, k] = 0


@njit(**_INLINE)
def _sq_norm(Y: Array, row: int) -> float:
    """Return ‖Y_row‖², summed in float64 so that small float32 rows do not vanish."""
    m = Y.shape[1]
    a0 = a1 = a2 = a3 = 0.0
    for p in range(0, m - 3, 4):
        a0 += np.float64(Y[row, p]) ** 2
        a1 += np.float64(Y[row, p + 1]) ** 2
        a2 += np.float64(Y[row, p + 2]) ** 2
        a3 += np.float64(Y[row, p + 3]) ** 2
    for p in range(m - m % 4, m):
        a0 += np.float64(Y[row, p]) ** 2
    return (a0 + a1) + (a2 + a3)


@intrinsic
def _bits(typingctx: Any, x: Any) -> Any:
    """Return the bits of a float as an int64, those of a float32 in the high half: |x| sorts as they do."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        int64 = context.get_value_type(types.int64)
        if x == types.float64:
            return builder.bitcast(args[0], int64)
        low = builder.bitcast(args[0], context.get_value_type(types.int32))
        return builder.shl(builder.zext(low, int64), int64(32))

    return types.int64(x), codegen
