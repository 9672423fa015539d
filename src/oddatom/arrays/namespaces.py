"""Formulas on any arrays: NumPy's, torch's, or those of a graph that becomes an ONNX file (array API)."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

GRAPH = "ndonnx"  # its arrays have no values: they are operations of a graph


def namespace(*arrays: Any) -> Any:
    """Return the functions of the arrays' library, under the names of the array API."""
    return array_namespace(*arrays)


def is_numpy(x: Any) -> bool:
    """Whether x is an array of NumPy, which numba's twins of a formula take."""
    return is_numpy_array(x)


def like(value: Any, x: Any) -> Any:
    """Return NumPy arrays, and records (NamedTuple) of them, as arrays of x's library on x's device."""
    if is_numpy(x):
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(like(field, x) for field in value))
    if isinstance(value, np.ndarray):
        return namespace(x).asarray(np.ascontiguousarray(value), device=device(x), copy=True)
    return value


def full(value: float, x: Any) -> Any:
    """Return a number as x's library divides by it best: a vector of x's last length unless x is NumPy's.

    Where a graph has a scalar before a product, onnxruntime makes a float32 of it; by a number CUDA multiplies with
    the inverse.
    """
    return value if is_numpy(x) else like(np.full(x.shape[-1], value), x)


def own_rows(X: Any) -> Any:
    """Return rows as float64 in C order, a copy that may be changed in place."""
    if is_numpy(X):
        return np.array(X, dtype=np.float64, order="C")
    xp = namespace(X)
    rows = xp.astype(X, xp.float64, copy=True)
    return rows.contiguous() if hasattr(rows, "contiguous") else rows


def exceeds(Y: Any, limit: float) -> bool:
    """Whether any |y| is above the limit, or may be: a graph does not know."""
    xp = namespace(Y)
    return _is_graph(Y) or (Y.shape[0] > 0 and not max(float(xp.max(Y)), -float(xp.min(Y))) <= limit)


def has_missing(X: Any) -> bool:
    """Whether any number is missing (NaN), or may be: a graph does not know."""
    xp = namespace(X)
    return _is_graph(X) or bool(xp.any(xp.isnan(X)))


def asinh(x: Any) -> Any:
    """Return the inverse hyperbolic sine; that of onnxruntime is of float32, so that a graph has it written out."""
    xp = namespace(x)
    if not _is_graph(x):
        return xp.asinh(x)
    size = xp.abs(x)
    some = xp.where(size < 1e8, size, xp.ones_like(size))  # squares stay finite
    small, large = (
        xp.log(some + xp.sqrt(some * some + 1.0)),
        xp.log(xp.where(size < 1e8, some, size)) + float(np.log(2)),
    )
    return xp.sign(x) * xp.where(size < 1e8, small, large)  # to an absolute 1e-16


def matmul(a: Any, b: Any) -> Any:
    """Return a b; in a graph one operation, which onnxruntime does not take of no rows."""
    return _operation("matmul", a, b) if _is_graph(a) else namespace(a).matmul(a, b)


def largest(x: Any) -> Any:
    """Return the largest entries along the last axis, kept as one of length 1; in a graph one operation."""
    if _is_graph(x):
        return _operation("reduce_max", x, namespace(x).asarray(np.array([-1])))
    return namespace(x).max(x, axis=-1, keepdims=True)


def sum_of_squares(x: Any) -> Any:
    """Return Σ x² along the last axis; of NumPy arrays without an array of the squares."""
    return np.einsum("...i,...i->...", x, x) if is_numpy(x) else namespace(x).sum(x * x, axis=-1)


def _is_graph(x: Any) -> bool:
    return namespace(x).__name__.startswith(GRAPH)


def _operation(name: str, *arrays: Any) -> Any:
    import spox.opset.ai.onnx.v21 as operations  # what ndonnx is made of

    return namespace(arrays[0]).asarray(getattr(operations, name)(*(each.disassemble() for each in arrays)))


def chosen(values: Any, i: Any) -> Any:
    """Return values[b, i_bj] for every b and j: (M, K, …), (M, N) to (M, N, …)."""
    xp = namespace(values, i)
    M, K, *rest = values.shape
    first = like(np.arange(M)[:, None] * K, values)
    flat = xp.take(xp.reshape(values, (M * K, *rest)), xp.reshape(i + first, (-1,)), axis=0)
    return xp.reshape(flat, (M, -1, *rest))
