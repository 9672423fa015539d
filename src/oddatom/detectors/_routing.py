"""Which rows go where: arrays stay here; Dask collections, files, tensors and devices get a `Source`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse

from oddatom.sources import Source


@contextmanager
def opened(detector: Any, X: Any) -> Iterator[Source | None]:
    """Open rows that are not to be worked on as one array here (None of others), for `fit`."""
    source = _open(detector, X)
    if source is None:
        yield None
        return
    try:
        if source.shape[0] < 2:
            raise ValueError(
                f"Found {source.shape[0]} rows where {type(detector).__name__} needs at least 2. Look at what was "
                "passed."
            )
        if source.n_features < 1:
            raise ValueError(f"Found no columns where {type(detector).__name__} needs at least 1.")
        _take_names(detector, source)
        yield source
    finally:
        source.close()


def score_elsewhere(detector: Any, X: Any) -> Any:
    """Return the scores of rows that are not one array here (of Dask collections lazy ones), or None."""
    if _is_dask(X):
        from oddatom.cluster.lazy import lazy_scores

        return lazy_scores(detector, X)
    if _is_tensor(X) or detector.device != "cpu":
        from oddatom.sources.devices import score_device

        device = score_device(detector.device)
        if device is None:
            return None
        from oddatom.sources.tensors import score_tensor

        return score_tensor(detector, X, device)
    source = _open_files(X, detector.device)
    if source is None:
        return None
    try:
        check_columns(detector, source)
        from oddatom.sources import passes

        return np.concatenate([np.empty(0), *source.map(passes.scores, detector)])
    finally:
        source.close()


def check_columns(detector: Any, source: Source) -> None:
    """Refuse rows whose columns are not those of the fit."""
    names, wanted = source.feature_names, getattr(detector, "feature_names_in_", None)
    if names is not None and wanted is not None and list(wanted) != list(names):
        extra = [n for n in names if n not in set(wanted)] or [n for n in wanted if n not in set(names)] or names
        raise ValueError(
            f"The columns must be those of the fit, in their order; {extra[0]!r} is not in its place. Pass "
            f"{', '.join(map(repr, list(wanted)[:10]))}."
        )
    if source.n_features != detector.n_features_in_:
        raise ValueError(
            f"X has {source.n_features} features, but {type(detector).__name__} is expecting "
            f"{detector.n_features_in_} features as input."
        )


def _open(detector: Any, X: Any) -> Source | None:
    if _is_dask(X):
        from oddatom.cluster.source import ClusterSource

        return ClusterSource(X, device=detector.device)
    if detector.device != "cpu":
        from oddatom.sources.devices import fit_device

        device = fit_device(detector.device)
        if device is not None:
            from oddatom.sources.tensors import TensorSource

            return TensorSource(X, device)
    return _open_files(X, detector.device)


def _open_files(X: Any, device: str) -> Source | None:
    """Open the paths of files, on the cluster where a client is there; memory maps and sparse rows beyond memory."""
    paths = [X] if isinstance(X, str | os.PathLike) else X
    if isinstance(paths, list | tuple) and paths and all(isinstance(path, str | os.PathLike) for path in paths):
        if _has_client():
            from oddatom.cluster.source import ClusterSource

            return ClusterSource(paths, device=device)
        from oddatom.sources.files import FileSource

        return FileSource(paths)
    if (isinstance(X, np.memmap) and X.ndim == 2) or scipy.sparse.issparse(X):
        from oddatom.sources.files import FileSource, too_large

        return FileSource(X) if too_large(X.shape) else None
    return None


def _has_client() -> bool:
    if "distributed" not in sys.modules:
        return False
    from distributed import get_client

    try:
        get_client()
    except ValueError:
        return False
    return True


def _is_dask(X: Any) -> bool:
    return hasattr(X, "__dask_graph__")


def _is_tensor(X: Any) -> bool:
    return type(X).__module__.split(".")[0] == "torch" and hasattr(X, "detach")


def _take_names(detector: Any, source: Source) -> None:
    detector.n_features_in_ = source.n_features
    vars(detector).pop("feature_names_in_", None)
    if source.feature_names is not None:
        detector.feature_names_in_ = np.array(source.feature_names, dtype=object)
