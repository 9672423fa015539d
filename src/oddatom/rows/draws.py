"""Random draws of rows that do not depend on their order: by a hash of what a row holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from oddatom.rows import Source

_CHUNK = 65_536  # rows copied at a time
MISSING = np.uint64(0x7FF8000000000000)  # the bits of every NaN


def draw_order(X: np.ndarray, seed: int) -> np.ndarray:
    """Return the rows in a random order that their contents and the seed determine; its head is a random sample.

    The first of several equal rows is placed by the hash of its numbers, the next by that hash and its count, so that
    copies are drawn one by one. Which copy stands where depends on the order of the rows, but copies are alike.

    Parameters
    ----------
    X : (N, m)
        Rows, C-ordered; NaN is a missing value.
    seed : int

    Returns
    -------
    order : int array (N,)
    """
    return _by_key(row_keys(X, seed))


def draw_rows(source: Source, seed: int, n: int) -> np.ndarray:
    """Return the first n rows in the `draw_order` of all rows of a source."""
    return source.take(draw_places(source, seed, n))


def draw_places(source: Source, seed: int, n: int) -> np.ndarray:
    """Return the numbers of these rows; the keys of all rows come here, 8 bytes a row."""
    return _by_key(np.concatenate(source.map(row_keys, seed)))[:n]


def row_keys(X: np.ndarray, seed: int) -> np.ndarray:
    """Return a hash of every row."""
    keys = np.empty(X.shape[0], np.uint64)
    for start in range(0, X.shape[0], _CHUNK):
        rows = slice(start, start + _CHUNK)
        _hash_rows(X[rows] + 0.0, np.uint64(seed), keys[rows])  # −0 + 0 is 0
    return keys


def draw_numbers(X: np.ndarray, seed: int) -> np.ndarray:
    """Return a number in [0, 1) for every row, for X and seed of `draw_order`; copies draw one each."""
    order, keys, _ = _apart(row_keys(X, seed))
    numbers = np.empty(keys.size)
    numbers[order] = (keys >> np.uint64(11)) * 2.0**-53
    return numbers


def _by_key(keys: np.ndarray) -> np.ndarray:
    order, keys, copies = _apart(keys)
    return order[np.argsort(keys, kind="stable")] if copies else order


def _apart(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return the order of the keys, the keys in it, copies given others of their own, and whether there are any."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    again = np.empty(keys.size, bool)
    again[0], again[1:] = False, keys[1:] == keys[:-1]
    if not again.any():
        return order, keys, False
    place = np.arange(keys.size)
    first = np.maximum.accumulate(np.where(again, 0, place))
    _mix_copies(keys, (place - first).astype(np.uint64))
    return order, keys, True


@njit(cache=True, nogil=True)
def _mix(h):
    """One round of SplitMix64."""
    h += np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@njit(cache=True, nogil=True)
def _hash_rows(X, seed, keys):
    bits = X.view(np.uint64)
    start = _mix(seed)
    for j in range(X.shape[0]):
        h = start
        for f in range(X.shape[1]):
            h = _mix(h ^ (bits[j, f] if not np.isnan(X[j, f]) else MISSING))
        keys[j] = h


@njit(cache=True, nogil=True)
def _mix_copies(keys, copy):
    for j in range(keys.size):
        if copy[j] > 0:
            keys[j] = _mix(keys[j] ^ _mix(copy[j]))
