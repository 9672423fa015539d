"""The other detectors of the stream benchmark: on rows, on windows of rows, and one of a library for series."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from benchmarks._peers import DETECTORS, choose

WINDOW = 24
SEEDS = 3  # of detectors that are random; figures are means over them
EXPLAINED_VARIANCE = 0.9
SERIES_LIBRARY, SERIES_DETECTOR = "aeon", "KMeansAD (aeon)"
ROWS, WINDOWS = "rows", f"windows of {WINDOW}"
_NAMES = ("IsolationForest", "k-NN", "ECOD")  # k-NN: distance to the 5th neighbour


def windows(X: np.ndarray, length: int) -> np.ndarray:
    """Each row with the `length - 1` rows before it, oldest first, flattened.

    X of shape (n, m) gives (n, length * m). Before the first row stand copies of it.
    """
    padded = np.concatenate([np.repeat(X[:1], length - 1, axis=0), X])
    views = np.lib.stride_tricks.sliding_window_view(padded, length, axis=0)  # (n, m, length)
    return views.transpose(0, 2, 1).reshape(len(X), -1)


def standardise(X: np.ndarray, n_train: int | None = None) -> np.ndarray:
    """Columns with mean 0 and deviation 1 over the first `n_train` rows (None: all); constant ones are 0 there."""
    train = X[:n_train]
    scale = train.std(axis=0)
    varies = scale > 1e-12 * np.abs(train).max(axis=0)  # rounding gives constant columns a deviation too
    return (X - train.mean(axis=0)) / np.where(varies, scale, 1.0)


@dataclass(frozen=True)
class Reconstruction:
    """Squared distance to the principal components that hold 90 % of the variance."""

    name: str = "PCA"
    stochastic: bool = False

    def make(self, seed: int) -> Any:
        """A new PCA."""
        from sklearn.decomposition import PCA

        return PCA(EXPLAINED_VARIANCE, svd_solver="full")

    def scores(self, model: Any, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
        """Scores of X, or of Z, by the model fitted on X."""
        rows = X if Z is None else Z
        return np.square(rows - model.fit(X).inverse_transform(model.transform(rows))).sum(axis=1)


class Run(NamedTuple):
    """One detector with one seed; `scores()` are higher for anomalies."""

    name: str
    scores: Callable[[], np.ndarray]


def peer_runs(X: np.ndarray, n_train: int | None = None) -> Iterator[Run]:
    """Every detector and seed on the columns X, fitted on the first `n_train` rows and scoring the others.

    With None all rows are fitted and scored. Windows of the scored rows reach back into the training rows. PCA is left
    out on rows of one column, which it reconstructs exactly.
    """
    peers = [next(d for d in DETECTORS if d.name == name) for name in _NAMES]
    for kind, length in ((ROWS, 1), (WINDOWS, WINDOW)):
        data = standardise(windows(X, length), n_train)
        fit, new = data[:n_train], None if n_train is None else data[n_train:]
        for peer in (*peers, *([Reconstruction()] if data.shape[1] > 1 else [])):
            for seed in range(SEEDS if peer.stochastic else 1):
                yield Run(f"{peer.name}, {kind}", lambda p=peer, s=seed, f=fit, n=new: p.scores(p.make(s), f, n))
    if find_spec(SERIES_LIBRARY):
        for seed in range(SEEDS):
            yield Run(SERIES_DETECTOR, lambda s=seed: series_scores(standardise(X, n_train), n_train, s))


def series_scores(X: np.ndarray, n_train: int | None, seed: int) -> np.ndarray:
    """Scores of aeon's KMeansAD: of a row, the mean over all windows that hold it, later ones too."""
    from aeon.anomaly_detection.series.distance_based import KMeansAD

    model = KMeansAD(window_size=WINDOW, random_state=seed).fit(X[:n_train], axis=0)
    scores = np.asarray(model.predict(X, axis=0))
    return scores if n_train is None else scores[n_train:]


def check_peers() -> dict[str, str]:
    """What is left out and why; ends the run where a library of the bench extra is not installed."""
    choose(list(_NAMES), [])
    if find_spec(SERIES_LIBRARY):
        return {}
    return {SERIES_DETECTOR: f"{SERIES_LIBRARY} is not installed (pip install {SERIES_LIBRARY})"}


def table_peer_runs(frame: Any, seed: int) -> Iterator[Run]:
    """IsolationForest and k-NN on a table of rows in no order, as in the everyday benchmark."""
    from benchmarks._everyday_peers import peer_scores

    for name, scores in peer_scores(["IsolationForest", "k-NN"], frame, seed).items():
        yield Run(name, scores)
