"""Weights of rows: `sample_weight` of a fit, checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import update_wrapper
from types import FunctionType, MethodType
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight

from oddatom.exceptions import OddAtomError

LEAST, MOST = 1e-100, 1e100
_WEIGHT_0 = "give rows that are not to count the weight 0."
Fit = TypeVar("Fit", bound=Callable)


def offer_weights(fit: Fit) -> Fit:
    """Leave `sample_weight` out of the signature of `fit` where the settings of a detector refuse weights.

    scikit-learn reads the signature to see whether an estimator takes them. Weights that are passed all the same meet
    the error that says why.
    """
    return cast(Fit, _Offered(fit))


class _Offered:
    """Descriptor of `fit`: the same function, with and without `sample_weight` in its signature."""

    def __init__(self, fit: Any) -> None:
        self.fit = fit
        self.plain = FunctionType(fit.__code__, fit.__globals__, fit.__name__, fit.__defaults__, fit.__closure__)
        update_wrapper(self.plain, fit)
        signature = inspect.signature(fit)
        kept = [each for each in signature.parameters.values() if each.name != "sample_weight"]
        self.plain.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]

    def __get__(self, detector: Any, kind: type | None = None) -> Any:
        if detector is None:
            return self.fit
        try:
            detector._check_weighted()
        except ValueError:
            return MethodType(self.plain, detector)
        return MethodType(self.fit, detector)


def check_weights(detector: Any, sample_weight: Any, X: Any, y: Any = None) -> tuple[Any, Any, np.ndarray | None]:
    """Return the rows that have weight, their labels and their weights; None where all have the weight one."""
    if sample_weight is None:
        return X, y, None
    name = type(detector).__name__
    if np.ma.is_masked(sample_weight):
        first = int(np.argmax(np.ma.getmaskarray(sample_weight)))
        raise _wrong(name, f"must not be masked. Got a masked one for row {first}", _WEIGHT_0)
    if getattr(getattr(sample_weight, "dtype", None), "kind", "") == "c":
        raise _wrong(name, "must be real numbers. Got complex ones", "pass their sizes.")
    try:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, copy=True)
        if not np.isfinite(weights).all():  # of one number for all rows
            raise ValueError(f"weights of {weights[0]:g}")
    except (ValueError, TypeError) as error:
        raise _trouble(name, sample_weight, X.shape[0], error) from None
    if (weights < 0.0).any():
        worst = int(np.argmin(weights))
        raise _wrong(name, f"must not be negative. Got {weights[worst]:g} for row {worst}", _WEIGHT_0)
    kept = weights > 0.0
    if kept.sum() < 2:
        raise _wrong(name, f"must be positive for at least two rows. Got {int(kept.sum())} such rows.")
    extreme = weights[kept & ((weights < LEAST) | (weights > MOST))]
    if extreme.size:
        problem = f"must lie between {LEAST:g} and {MOST:g}, or be 0. Got {extreme[0]:g}"
        raise _wrong(name, problem, "divide all weights by their mean.")
    if not kept.all():
        X, weights = X[kept], weights[kept]
        y = y if y is None else _safe_indexing(y, np.flatnonzero(kept))
    return X, y, None if (weights == 1.0).all() else weights


def _wrong(name: str, problem: str, advice: str = "") -> OddAtomError:
    return OddAtomError(
        f"The 'sample_weight' of {{owner}} {problem}", parameter="sample_weight", advice=advice, owner=name
    )


def _trouble(name: str, sample_weight: Any, n_rows: int, error: Exception) -> OddAtomError:
    """Return what is wrong with weights that scikit-learn refuses, and what to do about it."""
    try:
        weights = np.asarray(sample_weight, np.float64)
    except (ValueError, TypeError):
        said = str(error).rstrip(".")
        return _wrong(name, f"must be numbers: {said}.", f"Pass one for each of the {n_rows:,} rows.")
    if weights.shape not in ((), (n_rows,)):
        problem = f"must have the shape ({n_rows},), a number for each row. Got the shape {weights.shape} instead"
        return _wrong(name, problem, "pass one weight for each row of X, in their order.")
    bad = np.flatnonzero(~np.isfinite(weights))
    if bad.size == 0:
        return OddAtomError(str(error), parameter="sample_weight", owner=name)
    more = f" and {bad.size - 1:,} more" if bad.size > 1 and weights.ndim else ""
    where = f"for row {bad[0]}{more}" if weights.ndim else "for all rows"
    return _wrong(name, f"must not be NaN or infinite. Got {weights.flat[bad[0]]:g} {where}", _WEIGHT_0)


def refuse_weights(detector: Any, sample_weight: Any, where: str) -> None:
    """Say that weights are for rows in memory alone."""
    if sample_weight is not None:
        name = type(detector).__name__
        raise OddAtomError(
            f"{{owner}} takes 'sample_weight' of rows in memory. Got it with {where}",
            parameter="sample_weight",
            advice="pass an array, or repeat rows.",
            owner=name,
        )
