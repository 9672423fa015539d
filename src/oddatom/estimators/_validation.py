"""Checks of input and parameters: every error names the value and says what to do about it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils._param_validation import Interval, InvalidParameterError
from sklearn.utils.validation import validate_data

from oddatom.arrays.memory import usable_memory
from oddatom.exceptions import OddAtomError, ParameterError
from oddatom.rows.checks import not_finite

DEVICE = [str]  # see `check_parameters`; whether it is there is seen where rows are taken to it
N_JOBS = [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None]


def check_parameters(estimator: Any, advice: dict[str, str]) -> None:
    """scikit-learn's check of `_parameter_constraints`, its sentence ended by what to do."""
    owner = type(estimator).__name__
    try:
        estimator._validate_params()
    except ParameterError:
        raise
    except InvalidParameterError as error:
        for name in estimator.get_params(deep=False):
            start = f"The {name!r} parameter of {owner} "
            if str(error).startswith(start):
                problem, value = str(error).removeprefix(start), getattr(estimator, name)
                raise ParameterError(owner, name, problem, value=value, advice=advice.get(name, "")) from None
        raise
    device = getattr(estimator, "device", "cpu")
    if re.fullmatch(r"cpu|auto|cuda(:[0-9]+)?", device) is None:
        raise ParameterError(
            owner, "device", f"must be 'cpu', 'auto', 'cuda' or 'cuda:k'. Got {device!r} instead.", value=device
        )


def fitted_attributes(estimator: Any) -> dict[str, Any]:
    """Return the fitted attributes of an estimator by name."""
    return {name: value for name, value in vars(estimator).items() if name.endswith("_") and not name.startswith("_")}


@contextmanager
def old_model_on_error(estimator: Any) -> Iterator[None]:
    """Whatever ends the body early (bad input, Ctrl-C), leave the estimator as fitted, or unfitted, as it was."""
    before = fitted_attributes(estimator)
    try:
        yield
    except BaseException:
        for name in fitted_attributes(estimator):
            delattr(estimator, name)
        vars(estimator).update(before)
        raise


def check_rows(estimator: Any, X: Any, *, reset: bool, accept_sparse: bool = False) -> Any:
    """Return X as float64 rows; sparse input, where accepted, as CSR, else dense; a tensor from its device.

    They are finite, but for NaN where the estimator takes it for a missing value.
    """
    missing = takes_missing(estimator)
    owner = type(estimator).__name__
    if isinstance(X, str | os.PathLike):
        raise _is_path(estimator, os.fspath(X))
    X = without_mask(estimator, X)
    if hasattr(X, "detach") and type(X).__module__.split(".")[0] == "torch":
        X = X.detach().cpu().numpy()
    try:
        rows = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=np.float64,
            accept_sparse="csr" if accept_sparse or _takes_sparse(estimator, X) else False,
            ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )
    except (ValueError, TypeError) as error:
        if "could not convert string" in str(error) or _other_columns(X):
            raise OddAtomError(f"{error}.", parameter="X", advice=_text_advice(X), owner=owner) from None
        if "features" not in str(error) or scipy.sparse.issparse(X) or not _refused(X, missing).any():
            raise
        rows = np.asarray(X, np.float64)  # of the two mistakes NaN is named first, as scikit-learn does
    if scipy.sparse.issparse(rows):
        if not rows.has_canonical_format:
            rows = rows.copy()  # it may be the caller's own
            rows.sum_duplicates()
        bad = np.unique(rows.indices[_refused(rows.data, missing)])
    else:
        # A finite sum means finite entries; an infinite one may also be an overflow, so look closer then.
        with np.errstate(over="ignore", invalid="ignore"):
            suspect = not np.isfinite(rows.sum())
        bad = np.flatnonzero(_refused(rows, missing).any(axis=0)) if suspect else np.empty(0, int)
    if bad.size:
        raise not_finite(bad, getattr(estimator, "feature_names_in_", None), owner, missing=missing)
    return rows if accept_sparse or not scipy.sparse.issparse(rows) else _dense(rows)


def _refused(values: Any, missing: bool) -> np.ndarray:
    """Return which values are no finite numbers, nor missing ones where NaN is that."""
    numbers = np.asarray(values, np.float64)
    return np.isinf(numbers) if missing else ~np.isfinite(numbers)


def takes_missing(estimator: Any) -> bool:
    """Whether NaN is a missing value to the estimator."""
    return bool(estimator.__sklearn_tags__().input_tags.allow_nan)


def without_mask(estimator: Any, X: Any) -> Any:
    """Return X; a masked array with NaN for masked values, or an error where the estimator takes no missing ones."""
    if not isinstance(X, np.ma.MaskedArray) or not np.ma.is_masked(X):
        return X
    if takes_missing(estimator):
        return np.ma.filled(np.ma.asarray(X, np.float64), np.nan)
    where = np.argwhere(np.ma.getmaskarray(X))
    cell = ", column ".join(map(str, where[0]))
    owner = type(estimator).__name__
    raise OddAtomError(
        f"Input X is a masked array with {len(where):,} masked value{'s' if len(where) > 1 else ''}, the first in row "
        f"{cell}.",
        parameter="X",
        advice=f"{owner} needs a number in every cell: fill them in (for instance with X.filled) or drop those rows "
        "(numpy.ma.compress_rows).",
        owner=owner,
    )


def _is_path(estimator: Any, path: str) -> OddAtomError:
    """Return the error that a path is in place of rows."""
    name = type(estimator).__name__
    if hasattr(estimator, "device"):
        takes = "Of files {owner} has fit, score_samples, decision_function and predict."
        problem = f"{takes} Got the path {path!r} for another method"
    else:  # it works here, on rows in memory alone
        problem = f"{{owner}} takes rows in memory, no files. Got the path {path!r}"
    advice = "read its rows first, for instance with pandas.read_parquet or pandas.read_csv."
    return OddAtomError(problem, parameter="X", value=path, advice=advice, owner=name)


def _takes_sparse(estimator: Any, X: Any) -> bool:
    return scipy.sparse.issparse(X) and estimator.__sklearn_tags__().input_tags.sparse


def _dense(rows: Any) -> np.ndarray:
    """Return sparse rows as an array, if that fits in memory."""
    needed, there = 8 * rows.shape[0] * rows.shape[1], usable_memory()
    if 2 * needed > there:
        raise MemoryError(
            f"{rows.shape[0]:,} × {rows.shape[1]:,} sparse rows take {needed / 1e9:.3g} GB as dense numbers, of "
            f"{there / 1e9:.3g} GB that this process may use. Pass fewer rows at a time; fit takes them all."
        )
    return np.ascontiguousarray(rows.toarray())


def _other_columns(X: Any) -> list[str]:
    """Names of a frame's columns that hold no numbers."""
    names = []
    for name in getattr(X, "columns", ()):
        try:
            values = np.asarray(X[name])
            if values.dtype.kind in "mM":
                raise TypeError("dates")
            np.asarray(values, dtype=np.float64)
        except (ValueError, TypeError):
            names.append(repr(str(name)))
    return names


def _text_advice(X: Any) -> str:
    """Name the columns of a frame that hold no numbers, and say what to do with them."""
    what = (
        "Encode them as numbers first (text for instance with sklearn.preprocessing.OneHotEncoder), leave them out, or "
        "use oddatom.TableDetector, which takes tables with text, dates and missing values."
    )
    names = _other_columns(X)
    return f"Columns that do not hold numbers: {', '.join(names[:10])}. {what}" if names else what
