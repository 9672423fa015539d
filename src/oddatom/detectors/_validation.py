"""Checks of input and parameters: every error names the value and says what to do about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import validate_data


def check_parameters(estimator: Any, advice: dict[str, str]) -> None:
    """scikit-learn's check of `_parameter_constraints`, its sentence ended by what to do."""
    try:
        estimator._validate_params()
    except InvalidParameterError as error:
        for name, help_ in advice.items():
            if str(error).startswith(f"The {name!r} parameter"):
                raise InvalidParameterError(f"{error} {help_}") from None
        raise


def check_rows(estimator: Any, X: Any, *, reset: bool, accept_sparse: bool = False) -> Any:
    """Return X as finite float64 rows; sparse input, where accepted, as CSR."""
    try:
        rows = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=np.float64,
            accept_sparse="csr" if accept_sparse else False,
            ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )
    except ValueError as error:
        if "could not convert string" in str(error):
            raise ValueError(f"{error}. {_text_advice(X)}") from None
        raise
    if scipy.sparse.issparse(rows):
        # Fewer than 2^31 entries fit in memory here; the kernels take 32-bit column numbers.
        if not rows.has_canonical_format:
            rows = rows.copy()  # it may be the caller's own
            rows.sum_duplicates()
        bad = np.unique(rows.indices[~np.isfinite(rows.data)])
    else:
        # A finite sum means finite entries; an infinite one may also be an overflow, so look closer then.
        with np.errstate(over="ignore", invalid="ignore"):
            suspect = not np.isfinite(rows.sum())
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=0)) if suspect else np.empty(0, int)
    if bad.size:
        names = getattr(estimator, "feature_names_in_", None)
        listed = ", ".join(repr(str(names[i])) if names is not None else str(i) for i in bad[:10])
        more = f" and {bad.size - 10} more" if bad.size > 10 else ""
        raise ValueError(
            f"Input X contains NaN or infinity in column{'s' if bad.size > 1 else ''} {listed}{more}. "
            f"{type(estimator).__name__} needs finite numbers: fill missing values in (for instance with "
            "sklearn.impute.SimpleImputer) or drop those rows or columns."
        )
    return rows


def _text_advice(X: Any) -> str:
    """Name the columns of a frame that hold text, and say what to do with them."""
    what = "Encode text as numbers first (for instance with sklearn.preprocessing.OneHotEncoder) or leave it out."
    columns = getattr(X, "columns", None)
    if columns is None:
        return what
    text = []
    for name in columns:
        try:
            np.asarray(X[name], dtype=np.float64)
        except (ValueError, TypeError):
            text.append(repr(str(name)))
    return f"Columns that do not hold numbers: {', '.join(text[:10])}. {what}" if text else what
