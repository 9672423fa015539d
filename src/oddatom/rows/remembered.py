"""Batches over time: which rows of earlier batches a model still learns from.

Every row draws a number u in [0, 1) by what it holds, its clock. Each batch that comes after it divides its clock by
`decay`; a row is learned from as long as its clock is at most the limit, at first 1. So a row that is a batches old is
still there with probability decay^a, whatever happened between. When more rows are left than a model remembers, those
with the least clocks stay and the limit falls to the largest of these: rows old and new are thinned alike, and the
chances of two rows keep their ratio. Each batch raises the limit by 1/decay again, up to 1.

Rows are kept, and not sums over them, because codes, the SVM, quantiles and p-values need rows: a model after
`partial_fit` is that of a `fit` on rows that are known, in every part. No draw depends on the order of rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oddatom.rows.draws import draw_numbers

MEMORY_ROWS = 20_000
MEMORY_NUMBERS = 2**24  # 128 MB, of wide rows


class Memory(NamedTuple):
    """Rows of the batches so far, each with its clock.

    Attributes
    ----------
    rows : (k, m)
        In the units of the input, in the order in which they came.
    clocks : (k,)
        u · decay^−a of a row that is a batches old.
    limit : float
        No clock is larger; at most 1.
    n_batches : int
        Batches so far.
    seed : int
        Of the draws.
    """

    rows: np.ndarray
    clocks: np.ndarray
    limit: float
    n_batches: int
    seed: int

    @classmethod
    def begun(cls, X: np.ndarray, seed: int, most: int) -> Memory:
        """Return the memory of a first batch X (N×m), a copy of at most so many rows."""
        memory = cls(X, _clocks(X, seed, 0), 1.0, 1, seed).bounded(most)
        return memory._replace(rows=np.array(memory.rows, order="C"))

    def joined(self, X: np.ndarray, decay: float) -> Memory:
        """Return the memory after another batch X (N×m); it may hold any number of rows.

        Parameters
        ----------
        X : (N, m)
            Finite.
        decay : float
            Share of the earlier rows to keep, in [0, 1]; 0 leaves none.
        """
        new = _clocks(X, self.seed, self.n_batches)
        with np.errstate(over="ignore"):
            old = self.clocks / decay if decay > 0.0 else np.full(self.clocks.size, np.inf)
        limit = min(1.0, self.limit / decay) if decay > 0.0 else 1.0
        stay, enter = old <= limit, new <= limit
        rows = np.ascontiguousarray(np.concatenate([self.rows[stay], X[enter]]))
        return Memory(rows, np.concatenate([old[stay], new[enter]]), limit, self.n_batches + 1, self.seed)

    def bounded(self, most: int) -> Memory:
        """Return the memory with the rows of the least clocks, at most so many."""
        if self.clocks.size <= most:
            return self
        least = np.sort(np.argsort(self.clocks, kind="stable")[:most])
        clocks = self.clocks[least]
        return self._replace(rows=self.rows[least], clocks=clocks, limit=float(clocks.max()))


def most_rows(X: np.ndarray) -> int:
    """Return how many rows as wide as X are remembered."""
    return max(2, min(MEMORY_ROWS, MEMORY_NUMBERS // X.shape[1]))


def _clocks(X: np.ndarray, seed: int, n_batches: int) -> np.ndarray:
    """Return the numbers that the rows of a batch draw; a row that comes again in another draws another."""
    return draw_numbers(np.ascontiguousarray(X), (seed + (n_batches + 1) * 2**32) % 2**64)  # seeds are below 2³¹
