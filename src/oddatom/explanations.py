"""What a score is made of: contributions of the features, and of the atoms."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.namespaces import like, namespace
from oddatom.coding import Codes
from oddatom.scaling.linear import LIMIT
from oddatom.scores.terms import Terms


class Explanation(NamedTuple):
    """The scores of rows, as sums: a row of each table for every row explained.

    Tables are frames of the library of the input where that was a frame with column names, otherwise arrays; CSR where
    `LinearOneClassSVM` explains sparse rows.

    Attributes
    ----------
    contributions : (n_samples, n_features) or None
        What each feature adds to the score: rows sum to `score_samples`. None for a kernel, which does not split over
        features.
    by_atom : (n_samples, n_active_atoms) or None
        What each atom adds to the score; the rest of the score is of the residual. None for a detector without atoms.
    """

    contributions: Any
    by_atom: Any


def by_atom(terms: Terms, codes: Codes, n_atoms: int) -> Any:
    """Return what each atom adds to a score, dense (N, n): a row sums to the score less its term of the residual.

    Parameters
    ----------
    terms : Terms of the codes
    codes : Codes of N rows
    n_atoms : int
    """
    xp = namespace(codes.values)
    out = like(np.zeros((codes.values.shape[0], n_atoms)), codes.values)
    places = like(np.arange(n_atoms), codes.values)
    if terms.slots is not None:
        for k in range(codes.indices.shape[1]):
            here = places == codes.indices[:, k : k + 1]
            out = out + xp.where(here, xp.clip(terms.slots[:, k : k + 1], -LIMIT, LIMIT), xp.zeros_like(out))
    return out if terms.atoms is None else out + terms.atoms


def by_feature(terms: Terms, codes: Codes, Y: Any, D: Any) -> Any:
    """Return what each feature adds to a score, (N, m): a row sums to the score.

    Feature f has the share d_if² of what atom i adds, atoms being unit rows, and e_f² of the squared residual.

    Parameters
    ----------
    terms : Terms of the codes
    codes : Codes of N rows
    Y : (N, m)
        The rows, scaled.
    D : (n, m)
        Atoms.
    """
    xp = namespace(Y)
    padded = xp.concat([D, xp.zeros_like(Y[:1, :])])  # the last is for slots without an atom
    out, left = xp.zeros_like(Y), Y
    for k in range(codes.indices.shape[1]):
        i = codes.indices[:, k]
        atoms = xp.take(padded, xp.where(i < 0, xp.zeros_like(i) + D.shape[0], i), axis=0)
        left = left - codes.values[:, k : k + 1] * atoms
        if terms.slots is not None:
            out = out + xp.clip(terms.slots[:, k : k + 1], -LIMIT, LIMIT) * atoms**2  # inf · 0 is no number
    if terms.atoms is not None:
        out = out + xp.sum(terms.atoms[:, None] * D**2, axis=0)
    if terms.residual:
        out = out + terms.residual * left**2
    return xp.clip(out, -LIMIT, LIMIT)


def by_product(terms: Any, Y: Any, P: Any) -> Any:
    """Return what each feature adds to terms of linear codes P y: feature f has the share of (P_if y_f)² in term i.

    Parameters
    ----------
    terms : (N, n)
        What each atom adds.
    Y : (N, m)
        The rows, scaled.
    P : (n, m)
        Analysis atoms. The features share equally what an atom adds to a row where all products are 0.
    """
    xp = namespace(Y)
    out = xp.zeros_like(Y)
    for i in range(P.shape[0]):
        squares = (Y * P[i, :]) ** 2
        total = xp.sum(squares, axis=-1, keepdims=True)
        none, some = total == 0.0, xp.where(total == 0.0, xp.ones_like(total), total)
        share = xp.where(none, xp.zeros_like(Y) + 1.0 / Y.shape[1], squares / some)
        out = out + share * terms[:, i : i + 1]
    return out


def sum_by_name(values: np.ndarray, names: Sequence[str]) -> tuple[tuple[str, ...], np.ndarray]:
    """Sum the columns of (n, m) that have one name; return the names in the order they first appear, and the sums."""
    columns = tuple(dict.fromkeys(names))
    place = {name: k for k, name in enumerate(columns)}
    out = np.zeros((values.shape[0], len(columns)))
    np.add.at(out.T, [place[name] for name in names], values.T)
    return columns, out


def as_frame_like(values: np.ndarray, X: Any, names: Sequence[str] | None = None) -> Any:
    """Return `values` as a frame of X's library, or as they are unless X is a frame whose columns all have text names.

    Parameters
    ----------
    values : (n_samples, n_columns)
        A row for every row of X.
    X : object
        What the user passed: a pandas or polars frame, or anything else.
    names : n_columns names, optional
        Names of the new columns. None means those of X.
    """
    pandas, polars = (_loaded_frame(library, X) for library in ("pandas", "polars"))
    if not (pandas or polars) or not all(isinstance(name, str) for name in X.columns):
        return values
    columns = [str(name) for name in (X.columns if names is None else names)]
    if pandas:
        return pandas.DataFrame(values, index=X.index, columns=columns, copy=False)
    return polars.DataFrame(values, schema=columns, orient="row")


def _loaded_frame(library: str, X: Any) -> Any:
    """Return the library when X is one of its frames: then it has been imported, and nothing is imported here."""
    module = sys.modules.get(library)
    return module if module is not None and isinstance(X, module.DataFrame) else None
