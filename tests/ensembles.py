"""What the tests of the untuned detector and its parts share: kinds of rows, members made up of random numbers."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine

from oddatom.ensemble.members import Member
from oddatom.ensemble.trimmed import Spread


def factors(N=600, seed=0):
    """Twelve features driven by three factors."""
    rng = np.random.default_rng(seed)
    loadings = np.random.default_rng(7).normal(size=(3, 12))
    return rng.normal(size=(N, 3)) @ loadings + 0.3 * rng.normal(size=(N, 12))


def mixture(N=600, m=8, seed=0):
    """Five round clusters."""
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(8).normal(0, 4, (5, m))
    return centers[rng.integers(5, size=N)] + rng.normal(size=(N, m))


def duplicates(N=600, seed=0):
    """Small integers, most rows several times, one of them in half of the rows; a constant column."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (N, 4)).astype(float)
    X[: N // 2] = [1.0, 2.0, 0.0, 3.0]
    X[:, 1] = 5.0
    return rng.permutation(X)


def wide(N=150, m=70, seed=0):
    """More columns than the kernel computes side by side, and than learn_spread takes the eigenvectors of."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, 5)) @ rng.normal(size=(5, m)) + 0.5 * rng.standard_t(4, size=(N, m))


def mixed(N=800, seed=0):
    """Numbers, three of them with levels of their own in each of eight groups, two categories and missing cells.

    Columns 5 and 6 hold codes: the group, and one that goes with column 3. Column 7 is 0 or 1. A tenth of the cells is
    missing.
    """
    rng = np.random.default_rng(seed)
    group = rng.choice(8, N, p=np.array([6, 5, 4, 3, 2, 2, 1, 1]) / 24)
    X = np.empty((N, 8))
    X[:, :5] = rng.normal(size=(N, 2)) @ np.random.default_rng(3).normal(size=(2, 5)) + 0.3 * rng.normal(size=(N, 5))
    X[:, :3] += 12.0 * np.random.default_rng(4).normal(size=(8, 3))[group]
    X[:, 5], X[:, 6] = group, np.digitize(X[:, 3] + 0.1 * rng.normal(size=N), [-1.0, 0.0, 1.0])
    X[:, 7] = X[:, 4] > 0.5
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


CATEGORICAL = [5, 6]  # columns of `mixed`

TABLES = {
    "wine": lambda: load_wine().data,
    "cancer": lambda: load_breast_cancer().data,
    "factors": factors,
    "mixture": mixture,
}


def random_member(rng, m, K=5, n=4, q=3):
    """A member like learned ones in nothing but its shapes: whatever the kernel mixes up shows."""
    atoms = rng.normal(size=(n, m))
    directions = np.linalg.qr(rng.normal(size=(m, m)))[0][: min(q, m)]
    return Member(
        centroids=0.5 * rng.normal(size=(K, m)),
        atoms=atoms / np.linalg.norm(atoms, axis=1, keepdims=True),
        cost=rng.uniform(0, 5, n),
        gain_variance=rng.uniform(0.1, 2, n),
        noise=float(rng.uniform(0.01, 0.1)),
        feature_noise=rng.uniform(0.01, 0.1, m),
        spread=Spread(directions, rng.uniform(0.5, 2, len(directions)), float(rng.uniform(0.05, 0.4))),
        history=np.zeros(9),
    )
