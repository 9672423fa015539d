"""A map of rows: the two directions along which they spread most, after a robust scaling of the columns."""

from __future__ import annotations

import numpy as np
from sklearn.utils.extmath import randomized_svd

from oddatom.scaling.asinh import fit_asinh


def map_points(X: np.ndarray, random_state: np.random.RandomState) -> np.ndarray:
    """Return the rows' first two principal components, (n, 2); zeros where there is no second.

    Parameters
    ----------
    X : (n, m)
        Rows.
    random_state : RandomState
        Starts the decomposition.
    """
    Y = fit_asinh(X).apply(X)
    Y -= Y.mean(axis=0)
    size = np.abs(Y).max()
    points = np.zeros((X.shape[0], 2))
    if size > 0.0:
        k = min(2, *Y.shape)
        U, s, Vt = randomized_svd(Y / size, k, n_iter=7, random_state=random_state)
        flip = np.sign(Vt[np.arange(k), np.abs(Vt).argmax(axis=1)])  # the sign of a direction is no finding
        points[:, :k] = U * s * flip
    return points
