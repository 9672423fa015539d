"""`partial_fit`: the rows that a detector learns from after a batch, and what it refuses."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from oddatom.estimators._routing import _is_dask
from oddatom.estimators._validation import check_rows
from oddatom.exceptions import OddAtomError, OddAtomWarning, ParameterError
from oddatom.rows import Source
from oddatom.rows.remembered import Memory, most_rows

DECAY = 0.9


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
        detector.memory_ = Memory.begun(X, int(rng.randint(2**31 - 1)), most_rows(X))
        return
    memory = memory.joined(X, decay)
    _check_enough(detector, X.shape[0], memory.clocks.size, decay)
    yield memory.rows
    detector.memory_ = memory.bounded(most_rows(X))


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
            f"After a batch of {n_new} row{'s' if n_new != 1 else ''}, with decay={decay:g}, {{owner}} has {n_rows} to "
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
            f"{{owner}}.partial_fit takes rows in memory. Got a {type(X).__name__} instead",
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
