"""BLAS `dsyrk` for numba: half the work of the `dgemm` behind `np.dot` where the product is symmetric.

The routine is SciPy's; its address travels as an argument, so that compiled kernels can be cached.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import get_cython_function_address, intrinsic

DSYRK = np.int64(get_cython_function_address("scipy.linalg.cython_blas", "dsyrk"))


@intrinsic
def _call(typingctx, address, pointers):
    """Call the Fortran routine at `address` with ten pointers (a tuple of 64-bit integers)."""
    signature = types.void(types.int64, types.UniTuple(types.int64, 10))

    def codegen(context, builder, sig, args):
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer] * 10)
        routine = builder.inttoptr(args[0], kind.as_pointer())
        values = [builder.inttoptr(builder.extract_value(args[1], i), pointer) for i in range(10)]
        builder.call(routine, values)
        return context.get_dummy_value()

    return signature, codegen


@njit(cache=True, nogil=True)
def add_gram(dsyrk, rows, b, out, letters, sizes, factors):
    """Add rows[:b]ᵀ rows[:b] to the lower triangle of `out`; the last three are scratch for the call."""
    m = rows.shape[1]
    letters[0], letters[1] = 85, 78  # 'U', 'N': column order sees the transpose of both arrays
    sizes[0], sizes[1] = m, b
    factors[0] = 1.0
    n, k, one = sizes.ctypes.data, sizes.ctypes.data + 4, factors.ctypes.data
    _call(
        dsyrk,
        (
            letters.ctypes.data, letters.ctypes.data + 1, n, k, one, rows.ctypes.data, n, one, out.ctypes.data, n,
        ),
    )  # fmt: skip
