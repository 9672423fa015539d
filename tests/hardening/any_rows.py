"""Rows of any size, type and layout that NumPy can hold, by name, so that a failure reads as a call."""

import os
import tempfile
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

MOST = np.finfo(np.float64).max


def normal(rng, N):
    return rng.normal(size=N)


def positive(rng, N):
    return rng.gamma(2.0, size=N)


def zero(rng, N):
    return np.zeros(N)


def constant(rng, N):
    return np.full(N, rng.choice([0.1, -3.0, 1e300, -1e-300, 5e-324]))


def few_values(rng, N):
    return rng.choice(rng.normal(size=3), N)


def binary(rng, N):
    return (rng.random(N) < rng.choice([0.05, 0.5])).astype(float)


def heavy(rng, N):
    return rng.standard_cauchy(N)


def huge(rng, N):
    return 1e300 * rng.uniform(-1, 1, N)


def tiny(rng, N):
    return 1e-300 * rng.uniform(-1, 1, N)


def denormal(rng, N):
    return 5e-324 * rng.integers(-9, 10, N)


def every_size(rng, N):
    return rng.choice([-1.0, 1.0], N) * 10.0 ** rng.uniform(-300, 300, N)


def mostly_zero(rng, N):
    return np.where(rng.random(N) < 0.1, every_size(rng, N), 0.0)


def last_digit(rng, N):
    """Numbers that differ in the last digit alone."""
    return 1.0 + rng.integers(0, 3, N) * np.finfo(float).eps


COLUMNS = {
    function.__name__: function
    for function in (
        normal, positive, zero, constant, few_values, binary, heavy, huge, tiny, denormal, every_size, mostly_zero,
        last_digit,
    )
}  # fmt: skip
DTYPES = ("f8", "f4", "f2", "longdouble", "i8", "i4", "i1", "u1", "u8", "?", "object", "mixed")
LAYOUTS = ("C", "F", "strided", "reversed", "read-only", "map", "big-endian", "unaligned", "list")


class Rows(NamedTuple):
    """How rows are made: the same every time they are asked for.

    Attributes
    ----------
    N, m : int
    kinds : tuple of str
        Of COLUMNS, taken in turn.
    seed : int
    power : int
        All are multiplied by 10 to this power.
    alike : float
        The share of the rows that are copies of the first.
    collinear : bool
        Whether every other column is half of its neighbour, nearly.
    dtype, layout : str
        Of DTYPES and LAYOUTS.
    """

    N: int
    m: int
    kinds: tuple[str, ...] = ("normal",)
    seed: int = 0
    power: int = 0
    alike: float = 0.0
    collinear: bool = False
    dtype: str = "f8"
    layout: str = "C"

    def given(self):
        """The rows in their type and layout."""
        return laid_out(self._typed(), self.layout)

    def plain(self):
        """The same numbers as a float64 array of its own, in C order."""
        return np.array(self._typed().astype(np.float64), order="C")

    def _typed(self):
        rng = np.random.default_rng(self.seed)
        X = np.column_stack([COLUMNS[self.kinds[f % len(self.kinds)]](rng, self.N) for f in range(self.m)])
        if self.collinear:
            X[:, 1::2] = 0.5 * X[:, : X.shape[1] - 1 : 2] * (1 + 1e-12 * rng.normal(size=X[:, 1::2].shape))
        X[rng.random(self.N) < self.alike] = X[0]
        with np.errstate(over="ignore", under="ignore"):
            X = np.clip(X * 10.0 ** (self.power / 2) * 10.0 ** (self.power / 2), -MOST, MOST)
            return typed(X, self.dtype)


def typed(X, dtype):
    """Rows in another type: clipped to what it holds, whole numbers of a few dozen where it holds no others."""
    if dtype in ("object", "mixed"):
        out = np.empty(X.shape, dtype=object)
        for place, value in np.ndenumerate(X):
            makes = (float, np.float32, lambda x: int(np.clip(x, -9, 9))) if dtype == "mixed" else (float,)
            out[place] = makes[sum(place) % len(makes)](np.clip(value, -1e30, 1e30) if dtype == "mixed" else value)
        return out
    kind = np.dtype(dtype)
    if kind.kind == "f":
        most = min(float(np.finfo(kind).max), MOST)
        return np.clip(X, -most, most).astype(kind)
    if kind.kind == "b":
        return X > 0
    least = 0 if kind.kind == "u" else -100
    return np.clip(np.round(np.clip(X, -1e6, 1e6) * 20), least, 100).astype(kind)


def laid_out(X, layout):
    """The same numbers in another layout."""
    N, m = X.shape
    if layout == "F":
        return np.asfortranarray(X)
    if layout == "strided":
        wide = np.zeros((2 * N, 3 * m), X.dtype)
        wide[::2, ::3] = X
        return wide[::2, ::3]
    if layout == "reversed":
        return X[::-1, ::-1].copy()[::-1, ::-1]
    if layout == "read-only":
        X = X.copy()
        X.flags.writeable = False
        return X
    if layout == "map" and X.dtype != object:
        handle, path = tempfile.mkstemp()
        os.close(handle)
        X.tofile(path)
        mapped = np.memmap(path, X.dtype, "r", shape=X.shape)
        os.unlink(path)
        return mapped
    if layout == "big-endian" and X.dtype != object:
        return X.astype(X.dtype.newbyteorder(">"))
    if layout == "unaligned" and X.dtype != object:
        room = np.zeros(X.nbytes + 1, np.uint8)
        out = room[1:].view(X.dtype).reshape(X.shape)
        out[...] = X
        return out
    if layout == "list":
        return X.tolist()
    return X.copy()


def rows():
    """A strategy of `Rows`."""
    return st.builds(
        Rows,
        N=st.one_of(st.integers(2, 12), st.integers(1, 40)),
        m=st.integers(1, 8),
        kinds=st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=3).map(tuple),
        seed=st.integers(0, 2**20),
        power=st.one_of(st.just(0), st.integers(-320, 300)),
        alike=st.sampled_from([0.0, 0.0, 0.5, 0.9, 1.0]),
        collinear=st.booleans(),
        dtype=st.one_of(st.just("f8"), st.sampled_from(DTYPES)),
        layout=st.sampled_from(LAYOUTS),
    )
