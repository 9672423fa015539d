"""Rows of data on their way to a torch device, in blocks, and small answers on their way back."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from oddatom.exceptions import OddAtomError

DTYPES = (torch.float64, torch.float32)
# Room for what one pass makes of a block of rows. A block's size hangs on nothing else, such as the memory that
# happens to be free: sums over blocks are the same, bit for bit, in every run.
WORK_BYTES = {"cpu": 2**22, "cuda": 2**29}


def find_device(device: str | torch.device) -> torch.device:
    """Return the device by its name, with its number."""
    try:
        found = torch.device(device)
    except RuntimeError:  # not a name that torch knows
        found = torch.device("meta")
    if found.type not in WORK_BYTES:
        problem = f"The 'device' parameter must be 'cpu', 'cuda' or 'cuda:k'. Got {str(device)!r} instead."
        raise OddAtomError(problem, parameter="device", value=device)
    if found.type == "cpu":
        return torch.device("cpu")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if (found.index or 0) >= count:
        raise OddAtomError(
            f"The 'device' parameter must name a device that torch can use. Got {str(device)!r} instead, and torch "
            f"finds {count or 'no'} CUDA device{'s' if count > 1 else ''} here",
            parameter="device",
            value=device,
            advice=f"pass {'cuda:0' if count else 'cpu'!r}.",
        )
    return torch.device("cuda", torch.cuda.current_device() if found.index is None else found.index)


def rows_per_block(device: torch.device, bytes_per_row: int) -> int:
    """Return how many rows a pass takes at a time."""
    return max(1, WORK_BYTES[device.type] // max(1, bytes_per_row))


def spans(n: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut 0 … n into spans of `size`."""
    for lo in range(0, n, size):
        yield lo, min(n, lo + size)


def to_host(*tensors: torch.Tensor) -> list[np.ndarray]:
    """Return small tensors as float64 arrays, in one copy (and one wait for the device)."""
    flat = torch.cat([t.reshape(-1).to(torch.float64) for t in tensors]).cpu().numpy()
    ends = np.cumsum([t.numel() for t in tensors])[:-1]
    return [part.reshape(tuple(t.shape)) for part, t in zip(np.split(flat, ends), tensors, strict=True)]


def from_host(x: Any, device: torch.device) -> torch.Tensor:
    """Return a copy of a small array as a float64 tensor on the device."""
    return torch.tensor(np.asarray(x, dtype=np.float64), device=device)


def gram(Z: torch.Tensor, chunk: int = 8192) -> torch.Tensor:
    """Return ZᵀZ of a tall Z: products of chunks, which fill a GPU, then their sum."""
    whole = Z.shape[0] // chunk * chunk
    out = Z[whole:].T @ Z[whole:]
    if whole:
        parts = Z[:whole].view(-1, chunk, Z.shape[1])
        out += torch.bmm(parts.mT, parts).sum(dim=0)
    return out


def cross(A: torch.Tensor, B: torch.Tensor, chunk: int = 8192) -> torch.Tensor:
    """Return AᵀB of two tall matrices: products of chunks, which fill a GPU, then their sum."""
    whole = A.shape[0] // chunk * chunk
    out = A[whole:].T @ B[whole:]
    if whole:
        left, right = (Z[:whole].reshape(-1, chunk, Z.shape[1]) for Z in (A, B))
        out += torch.bmm(left.mT, right).sum(dim=0)
    return out


class DeviceRows:
    """The rows Y (N×m), handed out as blocks on a device.

    An array or tensor that is on the device already, with this dtype and in C order, is used as it is. With
    `stream` it stays where it is, and blocks of it are copied when they are asked for: for Y larger than the device,
    fastest from pinned memory.
    """

    def __init__(self, Y: Any, device: torch.device, dtype: torch.dtype | None, *, stream: bool = False) -> None:
        tensor = Y.detach() if isinstance(Y, torch.Tensor) else from_numpy(np.asarray(Y))
        if tensor.ndim != 2:
            raise no_table(tensor.ndim)
        if dtype is None:
            dtype = tensor.dtype if tensor.dtype in DTYPES else torch.float64
        if dtype not in DTYPES:
            problem = f"The 'dtype' parameter must be torch.float64 or torch.float32. Got {dtype} instead"
            raise OddAtomError(problem, parameter="dtype", value=dtype, advice="None takes that of the rows.")
        self.device, self.dtype = device, dtype
        self.tensor = tensor if stream else tensor.to(device, dtype).contiguous()

    @property
    def shape(self) -> tuple[int, int]:
        """(N, m)."""
        return self.tensor.shape[0], self.tensor.shape[1]

    def blocks(self, bytes_per_row: int = 0) -> Iterator[tuple[int, int, torch.Tensor]]:
        """Yield (lo, hi, Y[lo:hi] on the device); all rows at once if they are there and a row needs no room."""
        N, m = self.shape
        resident = self.tensor.device == self.device and self.tensor.dtype == self.dtype
        if not resident:
            bytes_per_row += m * (self.tensor.element_size() + self.dtype.itemsize)
        size = rows_per_block(self.device, bytes_per_row) if bytes_per_row else max(N, 1)
        for lo, hi in spans(N, size):
            yield lo, hi, self.tensor[lo:hi].to(self.device, self.dtype, non_blocking=True)


def no_table(n_dimensions: int) -> OddAtomError:
    """Return the error that rows have another number of dimensions than two."""
    problem = f"Rows must come as a table, n_samples × n_features. Got {n_dimensions} dimensions instead"
    return OddAtomError(problem, parameter="X", value=n_dimensions, advice="reshape them.")


def from_numpy(Y: np.ndarray) -> torch.Tensor:
    """Return a tensor on the array's memory, which is only ever read."""
    Y = np.ascontiguousarray(Y, dtype=Y.dtype.newbyteorder("="))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")  # a memory map, say
        return torch.from_numpy(Y)
