"""Dispatch an input to its source: an array in memory, a Dask collection, files, or rows on a device."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse

from oddatom.estimators._validation import check_rows, takes_missing, without_mask
from oddatom.estimators._weights import check_weights, refuse_weights
from oddatom.exceptions import OddAtomError, ParameterError
from oddatom.rows import Source
from oddatom.rows import blocks as passes
from oddatom.rows.array import ArraySource
from oddatom.rows.checks import check_columns
from oddatom.rows.device import find
from oddatom.rows.files.file_source import FileSource, too_large


@contextmanager
def opened(detector: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Iterator[tuple[Source, tuple[Any, Any]]]:
    """Open rows for `fit`; yield their source, and X and y as callbacks are to see them.

    Rows of weight 0 are left out.
    """
    source = _open(detector, X)
    if source is None:
        rows = check_rows(detector, X, reset=True)
        rows, y, weights = check_weights(detector, sample_weight, rows, y)
        yield ArraySource(rows, weights), (rows, y)
        return
    try:
        refuse_weights(detector, sample_weight, f"rows elsewhere ({type(X).__name__}, device={detector.device!r})")
        if source.shape[0] < 2:
            problem = f"Found {source.shape[0]} rows where {type(detector).__name__} needs at least 2."
            raise OddAtomError(problem, parameter="X", advice="Look at what was passed.")
        if source.n_features < 1:
            problem = f"Found no columns where {type(detector).__name__} needs at least 1."
            raise OddAtomError(problem, parameter="X")
        _take_names(detector, source)
        yield source, (X, y)
    finally:
        if source is not X:
            source.close()


def score_elsewhere(detector: Any, X: Any) -> Any:
    """Return the scores of rows that are not one array here (of Dask collections lazy ones), or None."""
    if _is_dask(X):
        from oddatom.rows.dask.lazy import lazy_scores

        return lazy_scores(detector, X)
    source = X if isinstance(X, Source) else _open_files(detector, X)
    if source is not None:
        try:
            check_columns(detector, source.n_features, source.feature_names)
            return np.concatenate([np.empty(0), *source.map(passes.scores, detector)])
        finally:
            if source is not X:
                source.close()
    X = without_mask(detector, X)
    if detector.device != "cpu":
        device = find.score_device(detector.device) if _fits_a_device(detector) else None
        if device is not None:
            from oddatom.rows.device.tensor_source import TensorSource

            rows = TensorSource(X, device, stream=True, missing=takes_missing(detector))
            check_columns(detector, rows.n_features, rows.feature_names)
            return detector._device_scores(rows.tensor, device).cpu().numpy()
    return None


def _open(detector: Any, X: Any) -> Source | None:
    """Open what is not one array here; what such rows do not go with is refused before any is read."""
    if isinstance(X, Source):
        check_elsewhere(detector)
        return X
    if _is_dask(X):
        check_elsewhere(detector)
        from oddatom.rows.dask.cluster_source import ClusterSource

        return ClusterSource(X, device=detector.device)
    X = without_mask(detector, X)
    if _paths(X) is None and detector.device != "cpu":
        skipped = detector.device == "auto" and not _fits_a_device(detector)
        device = None if skipped else find.fit_device(detector.device)
        if device is not None:
            check_elsewhere(detector)
            from oddatom.rows.device.tensor_source import TensorSource

            return TensorSource(X, device, missing=takes_missing(detector))
    if _paths(X) is not None or _beyond_memory(X):
        check_elsewhere(detector)
    return _open_files(detector, X)


def check_elsewhere(detector: Any) -> None:
    """Refuse parameters that need all rows as an array here."""
    name = type(detector).__name__
    if getattr(detector, "n_folds", None) is not None:
        raise ParameterError(
            name,
            "n_folds",
            f"must be None where rows are on a cluster, in files or on a device. Got {detector.n_folds} instead",
            value=detector.n_folds,
            advice="for p-values pass an array, with device='cpu'.",
        )
    if getattr(detector, "kernel", None) == "precomputed":
        raise ParameterError(
            name,
            "kernel",
            "must not be 'precomputed' where rows are on a cluster, in files or on a device.",
            value="precomputed",
            advice="Pass the rows and the kernel's name, or the matrix as an array with device='cpu'.",
        )


def _fits_a_device(detector: Any) -> bool:
    """Whether a GPU can take this detector; device="auto" leaves others on the CPU."""
    kernel = getattr(detector, "kernel", None)
    return getattr(detector, "n_folds", None) is None and kernel != "precomputed" and not callable(kernel)


def _paths(X: Any) -> list[Any] | None:
    """Return X as a list of paths, if that is what it is."""
    paths = [X] if isinstance(X, str | os.PathLike) else X
    found = isinstance(paths, list | tuple) and paths and all(isinstance(path, str | os.PathLike) for path in paths)
    return list(paths) if found else None


def _open_files(detector: Any, X: Any) -> Source | None:
    """Open the paths of files, on the cluster where a client is there; memory maps and sparse rows beyond memory."""
    paths = _paths(X)
    if paths is not None:
        if _has_client():
            from oddatom.rows.dask.cluster_source import ClusterSource

            return ClusterSource(paths, device=detector.device)
        return FileSource(paths, missing=takes_missing(detector))  # on the CPU, whatever `device` says
    return FileSource(X, missing=takes_missing(detector)) if _beyond_memory(X) else None


def _beyond_memory(X: Any) -> bool:
    """Whether X is a memory map, or sparse rows, too large to be worked on as one array."""
    return ((isinstance(X, np.memmap) and X.ndim == 2) or scipy.sparse.issparse(X)) and too_large(X.shape)


def _has_client() -> bool:
    """Whether there is a client of a cluster, and this is not one of its tasks, which would wait for itself."""
    if "distributed" not in sys.modules:
        return False
    from distributed import get_client, get_worker

    try:
        get_worker()
    except ValueError:
        pass
    else:
        return False
    try:
        get_client()
    except ValueError:
        return False
    return True


def _is_dask(X: Any) -> bool:
    """Whether X is a Dask array or frame; other collections of Dask's are refused."""
    if type(X).__module__.split(".")[0] not in ("dask", "dask_expr") or not hasattr(X, "__dask_graph__"):
        return False
    kind = type(X)  # a Delayed has every attribute
    table = hasattr(kind, "to_delayed") and (hasattr(kind, "chunks") or hasattr(kind, "columns"))
    if not table or (hasattr(kind, "columns") and X.ndim == 1):
        raise TypeError(
            f"Of Dask's collections the detectors take arrays and frames. Got a {type(X).__name__} instead; pass "
            "frame[[name]] for one column, or make an array of it."
        )
    return True


def _take_names(detector: Any, source: Source) -> None:
    detector.n_features_in_ = source.n_features
    vars(detector).pop("feature_names_in_", None)
    if source.feature_names is not None:
        detector.feature_names_in_ = np.array(source.feature_names, dtype=object)
