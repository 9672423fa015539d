"""Kernels give the same digits wherever their arrays lie in memory, side by side or far apart.

A compiler that may order sums asks how near arrays lie before it takes several terms at once; none of ours may.
"""

import numpy as np
import pytest

from oddatom.boundary import interior_point
from oddatom.pairs import box_qp
from oddatom.rows.array import _pair_kernels
from oddatom.rows.array import _plane_kernels as _one_class_kernels
from oddatom.rows.array import _sparse_kernels as _local_kernels

ROWS, ATOMS_A_ROW, LISTED = 30, 2, 9


def numbers(*shape):
    return np.random.default_rng(sum(shape)).uniform(0.1, 0.9, shape)


def calls(m):
    """Calls of kernels that add up and store, for m columns."""
    E, Y, U = numbers(ROWS, m) - 0.5, numbers(m, ROWS).T.copy(), numbers(3 * m, m) - 0.5
    flat, pos = numbers(ROWS * ATOMS_A_ROW), np.arange(LISTED) * 3 * ATOMS_A_ROW
    old, new, a, L = numbers(m), numbers(m, 1).ravel() - 0.3, numbers(ROWS), np.tril(numbers(m, m)) + np.eye(m)
    W = np.zeros((LISTED, m))
    u, v = np.ones(3 * m), [numbers(3 * m, k + 1)[:, k].copy() for k in range(7)]
    return {
        "target": (
            _pair_kernels._target_rows,
            (E, Y, flat, a, pos, ATOMS_A_ROW, 0, LISTED, old, new, 0.3, 0.2, 0.1, np.zeros(LISTED), W, np.zeros(2)),
        ),
        "new codes": (
            _pair_kernels._commit_rows,
            (E, flat, pos, ATOMS_A_ROW, 0, LISTED, Y[:LISTED], old, new[::-1], new),
        ),
        "measure": (_pair_kernels.measure, (U, old, v[0], 0.2, np.zeros(m))),
        "ascend": (_pair_kernels.ascend, (U, old, 0.1, v[0], np.zeros(m))),
        "atom": (
            _local_kernels._commit_rows,
            (E, flat.reshape(ROWS, ATOMS_A_ROW), a, pos, ATOMS_A_ROW, old, new, 0.4, 0.3),
        ),
        "gap": (box_qp._gap, (U, old, new, v[0], v[1], np.zeros(m))),
        "box start": (box_qp._start, (v[0] - 0.5, v[1], v[2])),
        "box rows": (box_qp._scaled_rows, (U, v[0], v[1], v[2], v[3], np.zeros((3 * m, m)))),
        "box target": (box_qp._correct, (v[0], v[1], v[2], v[3], 0.2, v[4], v[5])),
        "box steps": (box_qp._multiplier_steps, (v[0], v[1], v[2], v[3], v[4], v[5])),
        "box triangle": (box_qp._solve_factored, (L, old)),
        "triangle": (interior_point._solve_factored, (L, new + 1.0, old, np.zeros(m))),
        "start": (interior_point._start, (v[0], u, 0.3, v[1], v[2], v[3])),
        "weights": (interior_point._weights, (u, v[0], v[1], v[2], v[3], 0.1, v[4], v[5])),
        "targets": (interior_point._correct, (u, v[0], v[1], v[2], v[3], 0.2, v[4])),
        "steps": (interior_point._multiplier_steps, (u, v[0], v[1], v[2], v[3], v[4], v[5])),
        "measures": (interior_point._measures, (u, v[0], v[1], v[2], v[3], 0.1)),
        "hinge": (_one_class_kernels.smooth_value, (v[0], v[1], 0.1, 0.2, 0.3, 0.05)),
    }


def copies(arrays, order, gap):
    """Copies in one piece of memory, in this order, `gap` bytes apart."""
    memory = np.zeros(sum(array.nbytes + gap for array in arrays) + 64, np.uint8)
    at = -memory.ctypes.data % 64
    placed = list(arrays)
    for i in order:
        end = at + arrays[i].nbytes
        placed[i] = memory[at:end].view(arrays[i].dtype).reshape(arrays[i].shape)
        placed[i][...] = arrays[i]
        at = end + gap
    return placed


def digits(kernel, arguments, rng, gap):
    """What the kernel returns and leaves in its arrays."""
    where = [i for i, value in enumerate(arguments) if isinstance(value, np.ndarray)]
    placed = copies([arguments[i] for i in where], rng.permutation(len(where)), gap)
    given = list(arguments)
    for i, array in zip(where, placed, strict=True):
        given[i] = array
    result = kernel(*given)
    return [np.array([] if result is None else result, float).tobytes(), *(array.tobytes() for array in placed)]


@pytest.mark.parametrize("m", [4, 7, 16, 40])
@pytest.mark.parametrize("name", calls(4))
def test_place_in_memory_changes_no_digit(name, m):
    kernel, arguments = calls(m)[name]
    rng = np.random.default_rng(0)
    apart = digits(kernel, arguments, rng, gap=4096)
    for trial in range(60):
        assert digits(kernel, arguments, rng, gap=(0, 8, 32, 64)[trial % 4]) == apart
