"""The whole ensemble: learned from a sample of rows in random order, and the scores it gives to any row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.block import Block
from oddatom.arrays.namespaces import like, namespace
from oddatom.arrays.threads import run_all
from oddatom.boundary.plane import fit_one_class
from oddatom.ensemble.coded import rows_in_units
from oddatom.ensemble.feedback import Feedback, changed_scores, likeness
from oddatom.ensemble.histogram import Histogram, fit_histogram, nats
from oddatom.ensemble.joining import Calibration, fit_calibration, join, z_formula, z_scores
from oddatom.ensemble.levels import Levels, fit_levels, shift_rows
from oddatom.ensemble.members import Sizes, learn_member, usual_rows
from oddatom.ensemble.naive_bayes import fit_context
from oddatom.ensemble.packed import Packed, pack
from oddatom.ensemble.parts import BUILT_IN, PARTS, Part, in_order, value
from oddatom.ensemble.row_parts import RowParts, formula_parts, row_parts, split_names
from oddatom.ensemble.trimmed import Missing, Spread, find_missing, learn_spread, robust_variances
from oddatom.passes.group import ShardGroup
from oddatom.rows.array import OneClassShard
from oddatom.scaling.asinh import AsinhScaling, column_ends, fit_asinh

PLANE_ROWS = 4096  # enough for a plane in five dimensions
CALIBRATION_ROWS = 5000  # enough for quartiles
MOSTLY_MISSING = 0.9  # share of missing cells, above which members do not look at a column
BULK_ROWS, BULK_TRIM = 4096, 0.35  # rows that the covariance of all is learned from, and the share left out
OF_ALL = ("joined", "margin")  # scores that are made of several parts


class _Scores(Set[str]):
    """The names of all scores: those made of several parts, and every part by itself, registered ones too."""

    def __iter__(self) -> Iterator[str]:
        yield from (*OF_ALL, *in_order())

    def __contains__(self, name: object) -> bool:
        return name in OF_ALL or name in PARTS

    def __len__(self) -> int:
        return len(OF_ALL) + len(PARTS)

    @classmethod
    def _from_iterable(cls, names: Iterable[Any]) -> set[Any]:
        return set(names)


SCORES = _Scores()


class Ensemble(NamedTuple):
    """Members in groups, each group learned without one fold of the sample, and what joins their parts.

    Attributes
    ----------
    scaling : AsinhScaling
    histogram : Histogram
    packed : Packed
        Members, group by group, `n_trims` to a group.
    n_trims : int
    calibration : Calibration
    weights : (n_parts,)
        Of the parts, in the joined score.
    plane : (n_joined,)
        w of the one-class SVM on the typicalities 1/(1 + exp z) of the joined parts.
    rho : float
        Its offset.
    history : (M, 9)
        How each member was learned, see `Member`.
    names : tuple of str
        Of the parts, those of members first.
    levels : Levels or None
        Numbers that are taken as deviations from what is usual in their category; None where there is no category.
    feedback : Feedback or None
        Rows that a person has judged.
    """

    scaling: AsinhScaling
    histogram: Histogram
    packed: Packed
    n_trims: int
    calibration: Calibration
    weights: np.ndarray
    plane: np.ndarray
    rho: float
    history: np.ndarray
    names: tuple[str, ...] = BUILT_IN
    levels: Levels | None = None
    feedback: Feedback | None = None

    @property
    def n_groups(self) -> int:
        """Groups, and folds: group g was learned without the rows g, g + n_groups, … of the sample."""
        return self.packed.centroids.shape[0] // self.n_trims

    @property
    def scores(self) -> tuple[str, ...]:
        """The names of its scores: those made of several parts, and its parts."""
        return (*OF_ALL, *self.names)

    def weights_by_part(self) -> dict[str, float]:
        """Weights in the joined score by the names of the parts."""
        return {name: float(weight) for name, weight in zip(self.names, self.weights, strict=True)}

    def like(self, X: Any) -> Ensemble:
        """Return the ensemble with arrays of X's library, on X's device."""
        return like(self, X)

    def only(self, names: Sequence[str]) -> Ensemble:
        """Return the ensemble with some of its parts, in their order; its arrays are NumPy's."""
        members = split_names(self.names)[0]
        M, p = self.packed.centroids.shape[0], len(members)
        of_members = [p * b + members.index(name) for b in range(M) for name in names if name in members]
        of_rows = [p * (M - 1) + self.names.index(name) for name in names if name not in members]
        places = of_members + of_rows
        calibration = self.calibration.map(lambda each: each[places])
        weights = self.weights[[self.names.index(name) for name in names]]
        return self._replace(calibration=calibration, weights=weights, names=tuple(names))

    def parts(self, X: Any) -> RowParts:
        """Return the parts of rows."""
        return row_parts(self.shifted(X), self.scaling, self.histogram, self.packed, self.names)

    def shifted(self, X: Any) -> Any:
        """Return rows with numbers as deviations from what is usual in their category, see `ensemble/levels.py`."""
        return shift_rows(X, self.levels)

    def held_out(self, X: np.ndarray, parts: RowParts) -> RowParts:
        """Return the parts of rows that the statistics of the columns were made of, each left out of them."""
        rows = parts.rows.copy()
        in_units = rows_in_units(self.shifted(X), self.scaling, self.histogram, self.packed)
        for place, name in enumerate(split_names(self.names)[1]):
            if PARTS[name].held_out is not None:
                rows[:, place] = value(PARTS[name], in_units, held_out=True)
        return parts._replace(rows=rows)

    def z_scores(self, parts: RowParts, group: int | None = None) -> Any:
        """Return calibrated parts (N, n_parts), larger = odder: by all members, or by those of one group."""
        members = slice(None) if group is None else slice(group * self.n_trims, (group + 1) * self.n_trims)
        return z_scores(parts, self.calibration, members)

    def score(self, Z: Any, name: str) -> Any:
        """Return one of the scores from calibrated parts: higher = more normal."""
        if name == "joined":
            return -join(Z, self.weights)
        if name == "margin":
            xp = namespace(Z)
            return xp.sum(self.typicality(Z) * self.plane, axis=-1)
        return -Z[:, self.names.index(name)]

    def likeness(self, X: Any) -> Any:
        """Return how like the judged rows rows X are, (N, J); None where none is judged."""
        return None if self.feedback is None else likeness(X, self.feedback, self)

    def judged_score(self, Z: Any, name: str, likeness: Any) -> Any:
        """Return one of the scores from calibrated parts, as judged rows change it."""
        scores = self.score(Z, name)
        if self.feedback is None or likeness is None or name == "margin":
            return scores
        return changed_scores(scores, likeness, self.feedback)

    def typicality(self, Z: Any) -> Any:
        """Return 1/(1 + exp z) of the joined parts, in (0, 1): the origin is a row that every part finds odd."""
        xp = namespace(Z)
        places = [p for p, name in enumerate(self.names) if PARTS[name].joined]
        return 1.0 / (1.0 + xp.exp(xp.clip(xp.take(Z, like(np.array(places), Z), axis=1), None, 700.0)))

    def score_rows(self, X: Any, name: str) -> Any:
        """Return one of the scores of rows from the parts that it needs alone, by their formulas."""
        joined = [part for part in self.names if PARTS[part].joined]
        some = self.only(joined if name in OF_ALL else [name]).like(X)
        parts = formula_parts(some.shifted(X), some.scaling, some.histogram, some.packed, some.names)
        return some.judged_score(z_formula(parts, some.calibration), name, some.likeness(X))


class ColumnKinds(NamedTuple):
    """What is known of m columns.

    Attributes
    ----------
    codes : (m,) of bool
        Those that hold codes of categories.
    silent : (m,) of bool
        Those in which a missing value says nothing, however few are missing.
    """

    codes: np.ndarray
    silent: np.ndarray


def learn_ensemble(
    X: np.ndarray,
    trims: Sequence[float],
    n_groups: int,
    sizes: Sizes,
    nu: float,
    rng: np.random.RandomState,
    kinds: ColumnKinds | None = None,
) -> tuple[Ensemble, RowParts]:
    """Learn from rows in random order; return the ensemble and the parts of those rows.

    Parameters
    ----------
    X : (n, m)
        A random sample of the rows, in random order, C-ordered.
    trims : sequence of float
        Shares of surprising rows to leave out; a member for each in every group.
    n_groups : int
        Row j of X is kept from group j mod n_groups.
    sizes : Sizes
    nu : float
        Of the one-class SVM.
    rng : RandomState
    kinds : ColumnKinds, optional
        None means numbers.
    """
    none = np.zeros(X.shape[1], bool)
    codes, silent = (none, none) if kinds is None else kinds
    levels = fit_levels(X, codes)
    rows = shift_rows(X, levels)
    scaling, two_valued = _leave_out_categories(rows, fit_asinh(rows), codes)
    histogram, U = _fit_columns(rows, scaling, codes, two_valued, levels)
    if silent.any() and histogram.tails is not None and histogram.tails.missing is not None:
        missing_cost = np.where(silent, 0.0, histogram.tails.missing)
        histogram = histogram._replace(tails=histogram.tails._replace(missing=missing_cost))
    rarity = nats(U, histogram).sum(axis=1)
    Y = scaling.apply(rows)
    missing = find_missing(rows, scaling.spread < np.inf)
    place = np.arange(X.shape[0])
    usual = [usual_rows(Y, rarity, t, 2 * sizes.n_centroids, n_groups) for t in trims]
    tasks = []
    for group in range(n_groups):
        pool = place[place % n_groups != group]
        for t, common in zip(trims, usual, strict=True):
            some = rng.permutation(pool)[: sizes.n_rows]
            lacking = None if missing is None else missing.rows(some)
            own = np.random.RandomState(rng.randint(2**31 - 1))  # so that members may be learned side by side
            tasks.append(partial(learn_member, Y[some], rarity[some], t, sizes, own, common, lacking))
    members = run_all(tasks)
    packed = pack(members, _learn_bulk(Y[:BULK_ROWS], missing, sizes, rng))
    if any(common.size for common in usual):  # centroids are kinds of rows, all of them common: none is a small group
        packed = packed._replace(group_terms=np.zeros(packed.centroids.shape))
    names = in_order()
    parts = row_parts(rows, scaling, histogram, packed, names)
    first = RowParts(*(values[:CALIBRATION_ROWS] for values in parts))
    calibration = fit_calibration(first, names)
    Z = z_scores(parts, calibration)
    several = count_varied(Y) > 1  # columns that are left out are 0
    weights = np.array([_weight(PARTS[name], histogram, several) for name in names])
    weights /= weights.sum()
    history = np.stack([member.history for member in members])
    model = Ensemble(
        scaling, histogram, packed, len(trims), calibration, weights, np.empty(0), 0.0, history, names, levels
    )
    typical = np.ascontiguousarray(model.typicality(Z[:PLANE_ROWS]))
    svm = fit_one_class(ShardGroup([OneClassShard(Block.dense(typical))]), typical.shape[1], nu)
    return model._replace(plane=svm.w, rho=svm.rho - svm.tolerance), parts


def _learn_bulk(Y: np.ndarray, missing: Missing | None, sizes: Sizes, rng: np.random.RandomState) -> Spread:
    """Return the robust covariance of scaled rows around the medians."""
    added = None
    if missing is not None:
        some = missing.rows(np.arange(Y.shape[0]))
        added = robust_variances(Y, some) * some.absent.mean(axis=0)
    return learn_spread(Y, sizes.n_directions, BULK_TRIM, rng, added)


def count_varied(Y: np.ndarray) -> int:
    """Return in how many columns rows differ."""
    return int(np.count_nonzero((Y[:1] != Y).any(axis=0)))


def _weight(part: Part, histogram: Histogram, several: bool) -> float:
    """Return the weight of a part, 0 where what it needs is not there: a statistic, or several columns of numbers.

    In one column an atom leaves nothing of a row, and a few dozen centroids cut its values into pieces by chance.
    """
    lacking = (part.of_members and not several) or (part.needs is not None and getattr(histogram, part.needs) is None)
    return 0.0 if lacking else part.weight


def _fit_columns(
    rows: np.ndarray, scaling: AsinhScaling, codes: np.ndarray, two_valued: np.ndarray, levels: Levels | None
) -> tuple[Histogram, np.ndarray]:
    """Return the statistics of the columns, and the rows in the scaling's units."""
    U = rows * scaling.unit
    steps = np.where(codes, scaling.unit, 0.0)
    shifted = np.isin(np.arange(U.shape[1]), () if levels is None else levels.columns)
    histogram = fit_histogram(U, steps, shifted)
    return histogram._replace(context=fit_context(U, steps, two_valued & ~codes)), U


def _leave_out_categories(X: np.ndarray, scaling: AsinhScaling, codes: np.ndarray) -> tuple[AsinhScaling, np.ndarray]:
    """Return the scaling with columns of categories made 0, and those of two values unless there are no others.

    Members would find the rarer value many deviations away. Histograms and tails know how rare it is. A column that
    next to no row has is left out too. Also return which columns have two values.
    """
    low, high = column_ends(X)
    lacking = np.isnan(X)
    two_valued = (low < high) & ((low == X) | (high == X) | lacking).all(axis=0)
    left_out = codes if (codes | two_valued | np.isinf(scaling.spread)).all() else codes | two_valued
    left_out = left_out | (lacking.mean(axis=0) > MOSTLY_MISSING) if lacking.any() else left_out
    return scaling._replace(spread=np.where(left_out, np.inf, scaling.spread)), two_valued
