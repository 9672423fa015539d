"""Columns of mean 0 and variance 1, fitted to given rows: what the paper's baselines are handed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

Decide = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # standardised rows to labels and scores


@dataclass
class Standardised:
    """A method fitted to standardised rows. A constant column comes out as zeros."""

    scaler: StandardScaler
    decide: Decide
    train_labels: np.ndarray
    train_scores: np.ndarray
    extra: dict[str, Any] = field(default_factory=dict)

    def labels(self, X: np.ndarray) -> np.ndarray:
        """Return the labels of new rows, in the units of the rows fitted."""
        return self.decide(self.scaler.transform(X))[0]

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return the scores of new rows."""
        return self.decide(self.scaler.transform(X))[1]


def standardise(X: np.ndarray) -> tuple[StandardScaler, np.ndarray]:
    """Return the scaler of these rows, and the rows scaled."""
    scaler = StandardScaler().fit(X)
    return scaler, scaler.transform(X)
