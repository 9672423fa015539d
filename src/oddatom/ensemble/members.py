"""A member: what one trimmed fit makes of a sample of the rows. It codes a row by one centroid and one free atom."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oddatom.ensemble.trimmed import (
    LLOYD_STEPS,
    SWEEPS,
    Missing,
    Spread,
    code_one,
    deviations,
    kept,
    learn_atoms,
    learn_centroids,
    learn_spread,
    nearest,
    robust_variances,
)
from oddatom.scaling.asinh import stretch

ROWS_PER_CENTROID, ROWS_PER_ATOM = 10, 5  # no more of either than the rows can carry
FEWEST_OF_A_KIND = 0.005  # of the rows, for it to be one
FEWEST_WITHOUT = 3  # rows of a kind outside any one fold
FEATURE_RIDGE = 0.1  # of the mean noise, added to every feature's


class Sizes(NamedTuple):
    """How large members are."""

    n_centroids: int = 32
    n_atoms: int = 32
    n_directions: int = 16
    n_rows: int = 2000


class Member(NamedTuple):
    """y ≈ centroid + c · atom, and what it costs to say so.

    Attributes
    ----------
    centroids : (K, m)
    atoms : (n, m)
        Unit rows.
    cost : (n,)
        −log of how often an atom is chosen, and ½ log(s_i²/s_e²): bits (nats) to name the atom and its gain.
    gain_variance : (n,)
        s_i², of the gain c when atom i is chosen, at least the noise.
    noise : float
        s_e², variance of a feature of what is left.
    feature_noise : (m,)
        The same for every feature by itself, of residuals times `stretch`.
    spread : Spread
        Of the deviations from the centroids.
    history : (9,)
        What was left of the rows kept, mean square: before each step of the centroids, then of the atoms.
    """

    centroids: np.ndarray
    atoms: np.ndarray
    cost: np.ndarray
    gain_variance: np.ndarray
    noise: float
    feature_noise: np.ndarray
    spread: Spread
    history: np.ndarray


def learn_member(
    Y: np.ndarray,
    rarity: np.ndarray,
    t: float,
    sizes: Sizes,
    rng: np.random.RandomState,
    usual: np.ndarray,
    missing: Missing | None = None,
) -> Member:
    """Learn centroids, atoms of the deviations, and the statistics of both, leaving out a share t at every step.

    Parameters
    ----------
    Y : (n, m)
        Scaled rows.
    rarity : (n,)
        Orders the rows: centroids start from the share 1 − t with the least.
    t : float
        Share of surprising rows to leave out, in [0, 1).
    sizes : Sizes
    rng : RandomState
        Draws the starts.
    usual : (K, m)
        A row of each usual kind, to be the centroids; none where rows do not come in kinds.
    missing : Missing, optional
        Cells that the rows lack; Y is 0 there.
    """
    n, m = Y.shape
    K = max(1, min(sizes.n_centroids, n // ROWS_PER_CENTROID))
    starts = rng.permutation(_least(rarity, t))[:K]
    steps: list[float] = []
    if usual.size:
        C, distance = usual, nearest(Y, usual, missing)[1]
        steps.append(float(distance[kept(distance, t)].mean()))
    else:
        C = learn_centroids(Y, Y[starts], t, steps, missing)
    steps += steps[-1:] * (LLOYD_STEPS - len(steps))  # where it stopped early
    W = deviations(Y, C, nearest(Y, C, missing)[0], missing)
    energy = np.einsum("ij,ij->i", W, W) * (1.0 if missing is None else missing.whole)

    calm = _least(energy, t)
    calm = calm[energy[calm] > 0.0]
    n_atoms = min(sizes.n_atoms, m, max(2, n // ROWS_PER_ATOM))
    D = W[rng.permutation(calm)[:n_atoms]]
    D = D / np.linalg.norm(D, axis=1, keepdims=True) if calm.size else np.eye(1, m)
    D = learn_atoms(W, D, t, steps, missing)
    steps += steps[-1:] * (LLOYD_STEPS + SWEEPS - len(steps))

    chosen, gain, residual = code_one(W, D, missing)
    added = None
    if missing is not None:  # a missing cell is what the code makes of it, and varies as those that are there do
        E = W - gain[:, None] * D[chosen]
        W = np.where(missing.absent, gain[:, None] * D[chosen], W)
        variances = robust_variances(E, missing)
        added = variances * missing.absent.mean(axis=0)
    rows = np.flatnonzero(kept(residual, t))
    count = np.bincount(chosen[rows], minlength=D.shape[0])
    share = (count + 0.5) / (rows.size + 1.0)
    floor = 1e-6 * energy.mean() / m
    noise = max(float(np.median(residual)) / max(m - 1, 1), floor) or 1.0
    power = np.bincount(chosen[rows], weights=gain[rows] ** 2, minlength=D.shape[0]) / np.maximum(count, 1)
    gain_variance = np.maximum(power, noise)
    name = np.log((1.0 - share) / share) - np.log1p(-share).sum()

    left = (stretch(Y[rows]) * (W[rows] - gain[rows, None] * D[chosen[rows]])) ** 2
    present = rows.size if missing is None else np.maximum(np.count_nonzero(~missing.absent[rows], axis=0), 1)
    feature_noise = left.sum(axis=0) / present
    if missing is not None:
        feature_noise = np.maximum(feature_noise, np.where(missing.absent.any(axis=0), variances, 0.0))
    feature_noise = feature_noise + max(FEATURE_RIDGE * feature_noise.mean(), floor or noise)
    return Member(
        centroids=C,
        atoms=D,
        cost=name + 0.5 * np.log(gain_variance / noise),
        gain_variance=gain_variance,
        noise=noise,
        feature_noise=feature_noise,
        spread=learn_spread(W, sizes.n_directions, t, rng, added),
        history=np.array(steps),
    )


def usual_rows(Y: np.ndarray, rarity: np.ndarray, t: float, most: int, n_folds: int = 1) -> np.ndarray:
    """Return one row of each usual kind, where rows come in kinds, such as those of a few categories; else none.

    The commonest kinds that make up the share 1 − t are usual, and so are those a quarter as common as the last of
    these: which of many equal ones are left out, chance would decide.

    Parameters
    ----------
    Y : (n, m)
        Rows; those of a kind are alike to twelve decimals.
    rarity : (n,)
        The same for rows that are alike.
    t : float
    most : int
        Kinds, beyond which there are none.
    n_folds : int
        Three rows of a kind must lie outside any one fold of the rows, j mod n_folds: else a row that is held out would
        make its own kind usual.
    """
    n, none = rarity.size, Y[:0]
    if np.unique(rarity).size > n // 2:  # no need to compare the rows themselves
        return none
    rounded = np.ascontiguousarray(np.round(Y, 12) + 0.0)
    kinds = rounded.view(np.dtype((np.void, Y.itemsize * Y.shape[1])))[:, 0]
    _, first, kind, counts = np.unique(kinds, return_index=True, return_inverse=True, return_counts=True)
    falling = np.sort(counts)[::-1]
    last = falling[np.searchsorted(np.cumsum(falling), (1.0 - t) * n)]
    fewest = max(FEWEST_OF_A_KIND * n, 2.0)
    common = counts >= max(0.25 * last, fewest)
    if n_folds > 1:
        by_fold = np.zeros((counts.size, n_folds), np.int64)
        np.add.at(by_fold, (kind.ravel(), np.arange(n) % n_folds), 1)
        common &= counts - by_fold.max(axis=1) >= FEWEST_WITHOUT
    usual = np.sort(first[common])
    return Y[usual] if last >= fewest and usual.size <= most else none


def _least(values: np.ndarray, t: float) -> np.ndarray:
    """Return the share 1 − t of the rows with the least values, at least one."""
    return np.argsort(values, kind="stable")[: max(1, int((1.0 - t) * values.size))]
