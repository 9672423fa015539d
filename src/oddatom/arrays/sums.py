"""Sums in an order of their own, which neither the compiler nor the place of an array in memory changes.

A sum that the compiler may re-associate (`fastmath="reassoc"`) runs in one order where its function stands alone and in
another within a caller, and which of the two is called depends on what came from numba's cache. So a sum says its
order itself, in four lanes. (A change here reaches kernels that numba has cached only when their own files change.)
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

# A product and a sum may be rounded once, and a zero have either sign; sums stay in the order written.
FUSED = {"contract", "nsz"}
LANES = 4


@intrinsic
def _whole_vectors(typingctx: Any, x: Any, y: Any, n: Any) -> Any:
    """Return the sum of x_f y_f over f < n, a multiple of four, and a lane for each of four f."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.DoubleType(), LANES)
        data = [context.make_array(kind)(context, builder, each).data for kind, each in zip((x, y), args, strict=False)]
        total = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * LANES))
        count = builder.udiv(args[2], ir.Constant(args[2].type, LANES))
        with cgutils.for_range(builder, count) as loop:
            start = builder.mul(loop.index, ir.Constant(loop.index.type, LANES))
            a, b = (builder.load(builder.bitcast(builder.gep(p, [start]), vector.as_pointer()), align=8) for p in data)
            product = builder.fmul(a, b, flags=["contract"])
            builder.store(builder.fadd(builder.load(total), product, flags=["contract"]), total)
        lanes = [builder.extract_element(builder.load(total), ir.Constant(ir.IntType(32), k)) for k in range(LANES)]
        return builder.fadd(builder.fadd(lanes[0], lanes[1]), builder.fadd(lanes[2], lanes[3]))

    rows = all(isinstance(each, types.Array) and each.ndim == 1 and each.dtype == types.float64 for each in (x, y))
    if not rows or x.layout != "C" or y.layout != "C":
        return None  # no such signature
    return types.float64(x, y, types.intp), codegen


@njit(cache=True, nogil=True, fastmath=FUSED)
def dot(x, y):
    """Return Σ x_f y_f over the length of y; rows that are contiguous."""
    n = y.size
    t = _whole_vectors(x, y, n - n % LANES)
    for f in range(n - n % LANES, n):
        t += x[f] * y[f]
    return t
