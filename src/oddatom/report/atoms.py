"""Atoms that odd rows use and normal rows do not: what odd rows have in common, in the model's own words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from scipy.stats import hypergeom

from oddatom.ensemble.coded import row_codes
from oddatom.estimators import OddAtomDetector
from oddatom.estimators._kernel import KernelDetector
from oddatom.report.records import AtomUse

FEWEST_ROWS = 2  # odd rows that use an atom
TIMES_AS_OFTEN = 3.0
CHANCE = 0.05  # that any atom is listed where odd rows are drawn from all rows at random (Bonferroni)
SAME_DIRECTION = 0.9  # cosine from which two atoms are the same finding
MOST_FEATURES, LEAST_PART = 4, 0.25  # features named, and how large next to the largest
TAIL = 0.025  # codes without zeros: an atom is used where its code is further out than that of so many normal rows

OF_ENSEMBLE = (
    "Each member of the ensemble describes a row by one centroid, a typical row, and one atom, a direction away from "
    "it (+ or −). Atoms of different members that point the same way are listed once."
)
OF_SPARSE = "An atom is used where its code is not zero; + and − are the sign of the code."
OF_DENSE = "Linear codes use every atom: counted are codes further out than those of 97.5 % of the normal rows."
OF_KERNEL = " Atoms of a kernel's feature space are not made of columns."
NONE_FOUND = " Here no atom stands out: odd rows use the atoms that normal rows use."


class Units(NamedTuple):
    """Atoms, centroids: how many odd and normal rows use each, and the direction it stands for.

    Attributes
    ----------
    names : u names
    odd, normal : (u,)
        Rows that use it.
    directions : (u, m) or None
        In units in which columns can be compared.
    """

    names: list[str]
    odd: np.ndarray
    normal: np.ndarray
    directions: np.ndarray | None


def odd_atoms(
    detector: Any, odd: np.ndarray, normal: np.ndarray, feature_names: Sequence[str], most: int = 10
) -> tuple[list[AtomUse], str]:
    """Return the atoms that odd rows use at least three times as often as normal rows, and how to read them.

    Members have hundreds of atoms, and some would seem telling in any few rows: only those are listed that rows drawn
    at random would not show.

    Parameters
    ----------
    detector : a fitted detector
    odd, normal : (n_odd, m) and (n_normal, m)
        Rows of either kind, at least one each.
    feature_names : m names
    most : int
        Atoms to list.
    """
    if isinstance(detector, OddAtomDetector):
        units, note = _of_ensemble(detector, odd, normal), OF_ENSEMBLE
    else:
        units, note = _of_dictionary(detector, odd, normal)
    share, usual = units.odd / odd.shape[0], units.normal / normal.shape[0]
    chance = hypergeom.sf(units.odd - 1, odd.shape[0] + normal.shape[0], units.odd + units.normal, odd.shape[0])
    telling = (units.odd >= FEWEST_ROWS) & (share >= TIMES_AS_OFTEN * usual) & (chance * chance.size <= CHANCE)
    order = np.argsort(usual - share, kind="stable")
    listed: list[int] = []
    for u in order[telling[order]]:
        if len(listed) < most and not _repeats(units.directions, listed, u):
            listed.append(int(u))
    atoms = [
        AtomUse(units.names[u], float(share[u]), float(usual[u]), _features(units.directions, u, feature_names))
        for u in listed
    ]
    return atoms, note if atoms else note + NONE_FOUND


def _of_ensemble(detector: OddAtomDetector, odd: np.ndarray, normal: np.ndarray) -> Units:
    ensemble = detector.ensemble_
    M, K, m = ensemble.packed.centroids.shape
    n = ensemble.packed.atoms.shape[1]
    counts = [_counts(*row_codes(ensemble.shifted(X), ensemble.scaling, ensemble.packed), K, n) for X in (odd, normal)]
    names = [f"member {b + 1}, centroid {k + 1}" for b in range(M) for k in range(K)]
    names += [f"member {b + 1}, atom {i + 1} {sign}" for b in range(M) for i in range(n) for sign in "+−"]
    atoms = ensemble.packed.atoms[:, :, None] * np.array([1.0, -1.0])[:, None]
    directions = np.concatenate([ensemble.packed.centroids.reshape(-1, m), atoms.reshape(-1, m)])
    return Units(names, counts[0], counts[1], directions)


def _counts(centroid: np.ndarray, atom: np.ndarray, gain: np.ndarray, K: int, n: int) -> np.ndarray:
    """Return how many rows use each centroid of each member, then each atom by the sign of its gain."""
    M = centroid.shape[0]
    first = np.bincount((centroid + K * np.arange(M)[:, None]).ravel(), minlength=M * K)
    signed = 2 * (atom + n * np.arange(M)[:, None]) + (gain < 0.0)
    return np.concatenate([first, np.bincount(signed[gain != 0.0], minlength=2 * M * n)])


def _of_dictionary(detector: Any, odd: np.ndarray, normal: np.ndarray) -> tuple[Units, str]:
    codes = [detector.transform(X) for X in (odd, normal)]
    sparse = scipy.sparse.issparse(codes[0])
    low = high = np.zeros(detector.components_.shape[0])
    if not sparse:
        codes = [np.asarray(code) for code in codes]
        if codes[1].size:
            low, high = np.quantile(codes[1], [TAIL, 1.0 - TAIL], axis=0)
    counts = [_signed_counts(code, low, high) for code in codes]
    names = [f"atom {i + 1} {sign}" for i in range(low.size) for sign in "+−"]
    note, directions = OF_SPARSE if sparse else OF_DENSE, None
    if isinstance(detector, KernelDetector):
        note += OF_KERNEL
    else:
        spread = detector.scaling_.apply(normal).std(axis=0)
        D = detector.components_ / np.where(spread > 0.0, spread, np.inf)
        directions = np.repeat(D, 2, axis=0) * np.tile([1.0, -1.0], low.size)[:, None]
    return Units(names, counts[0], counts[1], directions), note


def _signed_counts(codes: Any, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return how many codes of each atom are above `high`, and how many below `low`."""
    if scipy.sparse.issparse(codes):
        above, below = (codes > 0).sum(axis=0), (codes < 0).sum(axis=0)
    else:
        above, below = (codes > high).sum(axis=0), (codes < low).sum(axis=0)
    return np.stack([np.asarray(above).ravel(), np.asarray(below).ravel()], axis=1).ravel()


def _repeats(directions: np.ndarray | None, listed: list[int], u: int) -> bool:
    if directions is None or not listed:
        return False
    others, own = directions[listed], directions[u]
    sizes = np.linalg.norm(others, axis=1) * np.linalg.norm(own)
    return bool((others @ own > SAME_DIRECTION * sizes).any())


def _features(directions: np.ndarray | None, u: int, names: Sequence[str]) -> tuple[str, ...]:
    """Name the features with the largest entries: "high x" or "low x"."""
    if directions is None:
        return ()
    size = np.abs(directions[u])
    order = np.argsort(-size, kind="stable")[:MOST_FEATURES]
    return tuple(
        f"{'high' if directions[u, f] > 0 else 'low'} {names[f]}"
        for f in order
        if size[f] > 0.0 and size[f] >= LEAST_PART * size[order[0]]
    )
