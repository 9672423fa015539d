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

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from oddatom.ensemble.draws import draw_numbers
from oddatom.estimators._routing import _is_dask
from oddatom.estimators._validation import check_rows
from oddatom.exceptions import OddAtomError, OddAtomWarning, ParameterError
from oddatom.rows import Source

MEMORY_ROWS = 20_000
MEMORY_NUMBERS = 2**24  # 128 MB, of wide rows
DECAY = 0.9


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


@contextmanager
def batch(detector: Any, X: Any, decay: Any) -> Iterator[np.ndarray]:
    """Yield the rows to learn from after a batch X; the detector remembers them when the body has gone well.

    They are those of X where the detector remembers none: it is not fitted, or by `fit`.
    """
    decay = _check_decay(detector, decay)
    _check_here(detector, X)
    first = not _is_fitted(detector)
    X = check_rows(detector, X, reset=first)
    memory: Memory | None = getattr(detector, "memory_", None)
    if memory is None:
        _check_enough(detector, X.shape[0], X.shape[0], decay)
        if not first and decay > 0.0:
            warnings.warn(
                f"This {type(detector).__name__} remembers no rows, as fit keeps none: it learns from X alone. Begin "
                "with partial_fit instead of fit to have X joined to earlier rows, or pass decay=0.",
                OddAtomWarning,
                stacklevel=4,  # the generator, its context manager, partial_fit
            )
        yield X
        # Drawn only now, and from a copy: the fit is to draw what it draws without a memory.
        rng = check_random_state(copy.deepcopy(detector.random_state))
        detector.memory_ = Memory.begun(X, int(rng.randint(2**31 - 1)), _most(X))
        return
    memory = memory.joined(X, decay)
    _check_enough(detector, X.shape[0], memory.clocks.size, decay)
    yield memory.rows
    detector.memory_ = memory.bounded(_most(X))


def _most(X: np.ndarray) -> int:
    """Return how many rows as wide as X are remembered."""
    return max(2, min(MEMORY_ROWS, MEMORY_NUMBERS // X.shape[1]))


def _clocks(X: np.ndarray, seed: int, n_batches: int) -> np.ndarray:
    """Return the numbers that the rows of a batch draw; a row that comes again in another draws another."""
    return draw_numbers(np.ascontiguousarray(X), (seed + (n_batches + 1) * 2**32) % 2**64)  # seeds are below 2³¹


def _is_fitted(detector: Any) -> bool:
    try:
        check_is_fitted(detector)
    except NotFittedError:
        return False
    return True


def _check_enough(detector: Any, n_new: int, n_rows: int, decay: float) -> None:
    if n_rows < 2:
        name = type(detector).__name__
        raise OddAtomError(
            f"After a batch of {n_new} row{'s' if n_new != 1 else ''}, with decay={decay:g}, {name} has {n_rows} to "
            "learn from where it needs at least 2.",
            parameter="X",
            advice="Pass more rows at a time, or a larger decay.",
            owner=name,
        )


def _check_decay(detector: Any, decay: Any) -> float:
    if isinstance(decay, bool) or not isinstance(decay, Real) or not 0.0 <= float(decay) <= 1.0:
        raise ParameterError(
            f"{type(detector).__name__}.partial_fit",
            "decay",
            f"must be a float in the range [0.0, 1.0]. Got {decay!r} instead.",
            value=decay,
            advice=f"It is the share of earlier rows that a batch leaves in memory; {DECAY} is usual.",
        )
    return float(decay)


def _check_here(detector: Any, X: Any) -> None:
    """Refuse rows that are not in memory, and devices."""
    name = type(detector).__name__
    if isinstance(X, Source) or _is_dask(X):
        raise OddAtomError(
            f"{name}.partial_fit takes rows in memory. Got a {type(X).__name__} instead",
            parameter="X",
            advice="pass it block by block, for instance X.compute().",
            owner=name,
        )
    if detector.device != "cpu":
        raise ParameterError(
            name,
            "device",
            f"must be 'cpu' for partial_fit. Got {detector.device!r} instead",
            value=detector.device,
            advice="fit takes all rows to a device at once.",
        )
