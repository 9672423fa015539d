"""The detector that needs neither labels nor tuning: a trimmed ensemble of dictionaries."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from oddatom._documented import DocumentedMixin
from oddatom.arrays.threads import threads
from oddatom.decisions import (
    CrossConformal,
    Threshold,
    flag,
    quantile_offset,
)
from oddatom.ensemble.members import Sizes
from oddatom.ensemble.model import SCORES, ColumnKinds, Ensemble, learn_ensemble
from oddatom.ensemble.row_parts import RowParts
from oddatom.ensemble.shares import feature_shares, share_out
from oddatom.estimators._auto_threshold import AutoThresholdMixin
from oddatom.estimators._categorical import categorical_columns
from oddatom.estimators._feedback import FeedbackMixin, keys_of
from oddatom.estimators._in_order import RowOrder, arrange
from oddatom.estimators._partial import DECAY, batch
from oddatom.estimators._routing import opened, score_elsewhere
from oddatom.estimators._saving import SaveMixin
from oddatom.estimators._validation import DEVICE, N_JOBS, check_parameters, check_rows, old_model_on_error
from oddatom.exceptions import ParameterError
from oddatom.explanations import Explanation, as_frame_like
from oddatom.rows import Source
from oddatom.rows.array import ArraySource
from oddatom.rows.draws import draw_places
from oddatom.rows.remembered import Memory

SAMPLE_ROWS = 20_000  # rows that everything but the threshold is learned from
CHUNK_ROWS = 16_384
EXPLAIN_NUMBERS = 2**20  # in a chunk of rows that is explained: shares take a dozen arrays of its size


class OddAtomDetector(DocumentedMixin, FeedbackMixin, AutoThresholdMixin, SaveMixin, OutlierMixin, BaseEstimator):
    r"""Anomaly detection that needs neither labels nor tuning: a trimmed ensemble of dictionaries.

    Columns are scaled robustly, y = asinh(4z)/4 with z = (x − median) / (q95 − q5). Each member codes a row by one
    centroid and one atom with a free gain,

    .. math::
        y \approx c_k + g\, d_i ,

    learned from a sample of the rows by alternating steps, each of which leaves out the share of the rows that the
    member explains worst: anomalies do not shape the dictionary. Eight parts measure how odd a row is: the description
    length of its code, the Mahalanobis distance of y − c_k, its largest residual in one feature, how far c_k is from
    the bulk of the rows (group), how rare its values are by column (histogram), how far it is from the medians (norm),
    how far out its most surprising value lies in its column (cell), and how badly a category goes with the other
    columns (context). Each is made a multiple of a robust z-score of its logarithm, members are averaged, and the parts
    are joined by

    .. math::
        -\mathrm{score}(x) = \log \sum_p \omega_p\, e^{z_p(x)} ,

    where the weights are constants. Columns of categories and of two values count in the histogram, the cell and the
    context alone. A number that a category explains (half of its spread or more) counts by its deviation from the
    median of its category.

    NaN is a missing value. A row is scored by the cells that it has: a missing one counts as a usual cell, neither odd
    nor normal, and adds something only where fewer than one in fifty is missing from its column.

    The result does not depend on the order of the rows, bit for bit: samples are drawn by what rows hold. Nor on the
    batch that a row is scored in, nor on `n_jobs`. It does depend, a little, on `random_state`, and on the units of
    the columns, because another unit draws another sample.

    Parameters
    ----------
    scoring : str, default="joined"
        What `score_samples` returns: all parts joined ("joined"), one of them ("residual", "description_length",
        "distance", "max_residual", "group", "histogram", "norm", "cell", "context"), or the margin of a one-class SVM
        on how typical the joined parts find a row ("margin").
    threshold : str, float or tuple, default="auto"
        Where `predict` cuts. "auto" flags rows that are odder than a table without anomalies would have, none where
        there are none, and none with a p-value above .05: see `oddatom.decisions.auto`. "svm" is the offset of the
        one-class SVM at `nu`, of the score itself unless `scoring="margin"`; a float in (0, 0.5], or text such as "2%",
        is the share of rows like the training rows to flag, by held-out scores; "top=50" flags the 50 oddest training
        rows; "p=0.01" flags rows with p-values of at most that; "fdr=0.1", or ("fdr", 0.1), reports rows by their
        p-values such that a tenth of them, in expectation, is normal.
    categorical_features : sequence of int, default=None
        Positions of columns that hold categories as codes: 0, 1, 2, …, and -1 or NaN for a missing value. Their codes
        have no order. A code counts by how rare it is, and by how well it goes with the other columns; one that
        training did not have is rarer than all others.
        `TableDetector` sets it for the text columns of a table.
    nu : float, default=0.1
        Upper bound on the share of rows outside the one-class SVM's margin; used by "svm" and "margin" alone.
    trim : tuple of float, default=(0.2, 0.4)
        Shares of surprising rows that members leave out; a member for each in every group.
    n_groups : int, default=4
        Groups of members, each learned without one fold of the rows, which it scores for the p-values.
    n_centroids, n_atoms, n_directions : int, default=32, 32, 16
        Most centroids (twice that where rows come in kinds) and atoms of a member, leading directions of its spread.
    rows_per_member : int, default=2000
        Rows that a member is learned from.
    device : str, default="cpu"
        Where the rows are worked on: "cpu", "cuda", "cuda:1", or "auto" for a GPU where there is one. A GPU needs torch
        (the extra `gpu`), and keeps float32 rows in float32. Fitted attributes are NumPy arrays in any case.
    random_state : int, RandomState instance or None, default=None
        Draws samples and starts.
    n_jobs : int or None, default=None
        Threads. None means all cores, in a worker process its share. The result does not depend on it.

    Attributes
    ----------
    ensemble_ : Ensemble
        Scaling, statistics of the columns, members, calibration and weights.
    weights_ : dict of str to float
        The weight of every part in the joined score.
    scoring_ : str
        The score that offset and p-values are for.
    threshold_ : Threshold
        The threshold in force.
    offset_ : float
        `decision_function = score_samples - offset_`.
    svm_offset_ : float
        The offset of threshold="svm".
    train_scores_ : ndarray of shape (n_samples,)
        Scores of the training rows, sorted.
    conformal_ : CrossConformal
        Held-out scores of at most 20,000 training rows.
    n_anomalies_ : AnomalyCount
        How many training rows are odder than chance explains: `estimate`, and the ends `low` and `high` of a 90 %
        interval.
    auto_ : AutoDecision
        That number, and the cut of threshold="auto".
    memory_ : Memory
        After `partial_fit`: the rows that the next batch is joined to, at most 20,000.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from oddatom import OddAtomDetector
    >>> X = load_breast_cancer().data
    >>> detector = OddAtomDetector(random_state=0).fit(X)
    >>> scores = detector.score_samples(X)       # low = anomalous
    >>> shares = detector.explain(X).contributions  # by feature, rows sum to the scores
    >>> labels = detector.set_threshold(0.05).predict(X)
    >>> int((labels == -1).sum())
    23
    """

    memory_: Memory

    _parameter_constraints: ClassVar[dict] = {
        "scoring": [StrOptions(SCORES)],
        "threshold": "no_validation",  # see `_check_threshold`
        "categorical_features": ["array-like", None],
        "nu": [Interval(Real, 0, 1, closed="right")],
        "trim": [tuple, list],
        "n_groups": [Interval(Integral, 2, None, closed="left")],
        "n_centroids": [Interval(Integral, 1, None, closed="left")],
        "n_atoms": [Interval(Integral, 1, None, closed="left")],
        "n_directions": [Interval(Integral, 1, None, closed="left")],
        "rows_per_member": [Interval(Integral, 2, None, closed="left")],
        "device": DEVICE,
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }
    _p_follows_score: ClassVar[bool] = True
    _advice: ClassVar[dict[str, str]] = {
        "scoring": "'joined' uses every part.",
        "nu": "It is the share of rows allowed outside the margin; 0.1 is a usual choice.",
        "trim": "(0.2, 0.4) is the default.",
        "n_groups": "4 is the default; p-values need at least two.",
    }

    def __init__(
        self,
        scoring: str = "joined",
        threshold: Any = "auto",
        *,
        categorical_features: Any = None,
        nu: float = 0.1,
        trim: tuple[float, ...] = (0.2, 0.4),
        n_groups: int = 4,
        n_centroids: int = 32,
        n_atoms: int = 32,
        n_directions: int = 16,
        rows_per_member: int = 2000,
        device: str = "cpu",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.scoring = scoring
        self.threshold = threshold
        self.categorical_features = categorical_features
        self.nu = nu
        self.trim = trim
        self.n_groups = n_groups
        self.n_centroids = n_centroids
        self.n_atoms = n_atoms
        self.n_directions = n_directions
        self.rows_per_member = rows_per_member
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from unlabelled rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            Or a Dask array or frame, the path of a Parquet file or a list of them, or a torch tensor. NaN is a missing
            value.
        y : ignored

        Returns
        -------
        self
        """
        self._fit_scores(X)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn from unlabelled rows and return their labels: -1 for anomalies, +1 for the rest.

        The same as `fit(X).predict(X)`, but rows in memory are scored once.

        Parameters
        ----------
        X : as in `fit`
        y : ignored

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        if type(self).fit is not OddAtomDetector.fit:
            return self.fit(X).predict(X)
        scores = self._fit_scores(X)
        if scores is None or self.threshold_.kind == "fdr":
            return self.predict(X)
        return 1 - 2 * flag(scores, self.offset_, self.threshold_)

    def _fit_scores(self, X: Any) -> np.ndarray | None:
        """Fit, and return the scores of the rows; None where these are not an array in memory."""
        threshold = self._check()
        with old_model_on_error(self), threads(self.n_jobs):
            self.__dict__.pop("memory_", None)
            with opened(self, X) as (source, _):
                scores = self._learn(source)
            self._cut(threshold)
        return scores

    def partial_fit(self, X: Any, y: Any = None, *, decay: float = DECAY) -> Self:
        """Learn from a further batch of rows, and forget some of the earlier ones.

        The first batch of an unfitted model gives what `fit` gives, bit for bit. With a later one the model is that of
        `fit` on the rows that are still remembered and X together. A row that came a batches ago is still there with
        probability decayᵃ; at most 20,000 rows are remembered, beyond which old and new rows are thinned alike: of X
        the share `memory_.limit` enters, which a first batch of a million rows makes a fiftieth. The order of rows in a
        batch does not matter. Members begin anew: a group that began with old ones would have seen, through them, rows
        of the fold that it is to hold out, which p-values do not allow.
        Other parameters than before are those of the coming fit. `fit` begins anew and remembers no rows: X after it is
        learned from alone, with a warning. Pickled and saved models remember their rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            In memory, with device="cpu".
        y : ignored
        decay : float, default=0.9
            Share of the earlier rows that stay, in [0, 1]: batches of n rows make n/(1 − decay) in the long run.

        Returns
        -------
        self
        """
        threshold = self._check()
        with old_model_on_error(self), threads(self.n_jobs), batch(self, X, decay) as rows:
            judged = self.ensemble_.feedback if hasattr(self, "ensemble_") else None
            self._learn(ArraySource(rows))
            if judged is not None and self.scoring_ != "margin":
                self._judge(judged.rows, judged.labels, rows)
            elif judged is not None:  # of no effect, until there is another score
                self.ensemble_ = self.ensemble_._replace(feedback=judged)
            self._cut(threshold)
        return self

    def _fit_in_order(self, order: RowOrder) -> np.ndarray:
        """Learn from rows in memory that come in time; return their scores, each by itself.

        Held-out scores are those of blocks of time. All scores that are kept have their stretches; `score_samples`
        scores a row by itself.
        """
        threshold = self._check()
        with old_model_on_error(self), threads(self.n_jobs):
            self.__dict__.pop("memory_", None)
            with opened(self, order.rows) as (source, _):
                scores = self._learn(source, order)
            assert scores is not None
            self._cut(threshold)
        return scores

    def _check(self) -> Threshold:
        check_parameters(self, self._advice)
        self._check_trim()
        return self._check_threshold(self.threshold, fitted=False)

    def _learn(self, source: Source, order: RowOrder | None = None) -> np.ndarray | None:
        """Learn the ensemble from a sample of the rows, and score all of them, each by itself.

        Return the scores; None where the rows are not an array in memory.
        """
        rng = check_random_state(self.random_state)
        source.check_finite(missing=True)
        seed = rng.randint(2**31 - 1)
        if order is None:
            drawn = draw_places(source, seed, SAMPLE_ROWS)
            sample = source.take(drawn)
        else:
            drawn = arrange(order, self.n_groups, SAMPLE_ROWS, seed)
            sample = order.rows[drawn]
        codes = categorical_columns(type(self).__name__, self.categorical_features, sample)
        kinds = ColumnKinds(codes, np.arange(codes.size) >= (codes.size if order is None else order.n_columns))
        self.ensemble_, parts = self._learn_ensemble(sample, rng, kinds, self.n_groups)
        self.scoring_ = self.scoring
        self.__dict__.pop("conformal_before_", None)
        held_out = self._held_out(sample, parts)
        self.conformal_ = self._conformal(held_out, sample)
        scores: np.ndarray | None = None
        if isinstance(source, ArraySource):
            if sample.shape[0] == source.shape[0]:  # the parts are at hand
                scores = np.empty(drawn.size)
                scores[drawn] = self._score(self.ensemble_.z_scores(parts))
            else:
                scores = self._block_scores(source.X)
        self.train_scores_ = source.sorted_scores(self) if scores is None else np.sort(scores)
        self._decide_auto(sample, parts, rng, kinds)
        if order is not None and scores is not None:
            self.train_scores_ = np.sort(order.with_stretches(scores))
            self.auto_ = self._decide_stretches(scores, order)
            own = scores.copy()
            own[drawn] = held_out
            self.conformal_ = self._conformal(order.with_stretches(own)[drawn], sample)
        return scores

    def _learn_ensemble(
        self, sample: np.ndarray, rng: np.random.RandomState, kinds: ColumnKinds, n_groups: int
    ) -> tuple[Ensemble, RowParts]:
        sizes = Sizes(self.n_centroids, self.n_atoms, self.n_directions, self.rows_per_member)
        return learn_ensemble(sample, self.trim, n_groups, sizes, float(self.nu), rng, kinds)

    def _score_again(self, training: np.ndarray) -> None:
        """Score the training rows again, and find the offset of "svm" in them."""
        self.train_scores_ = np.sort(self._block_scores(training))
        self.svm_offset_ = quantile_offset(self.train_scores_, float(self.nu))

    def _cut(self, threshold: Threshold) -> None:
        by_svm = self.scoring_ == "margin"
        self.svm_offset_ = self.ensemble_.rho if by_svm else quantile_offset(self.train_scores_, float(self.nu))
        self._apply_threshold(threshold)

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the score of each row: the higher, the more normal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        elsewhere = score_elsewhere(self, X)
        return self._checked_scores(X) if elsewhere is None else elsewhere

    def _checked_scores(self, X: Any) -> np.ndarray:
        """Return the scores of rows in memory, checked first."""
        return self._block_scores(check_rows(self, X, reset=False))

    def _block_scores(self, X: np.ndarray) -> np.ndarray:
        scores = np.empty(X.shape[0])
        with threads(self.n_jobs):
            for rows, Z in self._chunks(X):
                scores[rows] = self.ensemble_.judged_score(Z, self.scoring_, self.ensemble_.likeness(X[rows]))
        return scores

    def _device_scores(self, rows: Any, device: Any) -> Any:
        """Return the scores of finite rows as a tensor on a torch device; rows elsewhere are copied there in blocks."""
        from oddatom.ensemble.torch_ensemble import score_rows

        return score_rows(self.ensemble_, rows, device, self.scoring_)

    def score_parts(self, X: Any) -> dict[str, np.ndarray]:
        """Return every score of each row, each what `score_samples` returns where the model is fitted with it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        parts : dict of ndarray of shape (n_samples,)
            "joined", "margin", and the parts. Higher = more normal, in units of a robust deviation but for the margin.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        out = {name: np.empty(X.shape[0]) for name in self.ensemble_.scores}
        with threads(self.n_jobs):
            for rows, Z in self._chunks(X):
                likeness = self.ensemble_.likeness(X[rows])
                for name in out:
                    out[name][rows] = self.ensemble_.judged_score(Z, name, likeness)
        return out

    def p_values(self, X: Any) -> np.ndarray:
        """Return the conformal p-value of each row: how often a row like the training rows is as odd.

        p(x) = (1 + #{i: s_i ≤ s(x)}) / (n + 1), where s(x) is the score of x, and s_i that of training row i under the
        group of members that was learned without it. The lower the score, the lower p, and equal scores have equal p.
        The least is 1/(n + 1), n being at most 20,000. p-values of training rows are cautious: most members have seen
        them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.conformal_.p_values(self._checked_scores(X))

    def explain(self, X: Any) -> Explanation:
        """Return what each feature adds to a row's score: the lower, the more it makes the row odd.

        A feature's share of the oddity is that of the parts that make the score, each in proportion to what it owes to
        the feature; see `oddatom.ensemble.shares`. A negative score is shared out by the shares, a positive one by what
        they leave: in any row the feature with the lowest contribution is the first to look at.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        explanation : Explanation
            `contributions`, of shape (n_samples, n_features): rows sum to `score_samples(X)` up to rounding. An array;
            a frame of X's library where X is a pandas or polars frame whose columns have text names. `by_atom` is None.
        """
        check_is_fitted(self)
        checked = check_rows(self, X, reset=False)
        out = np.empty(checked.shape)
        with threads(self.n_jobs):
            for rows, Z in self._chunks(checked, self._explained_rows):
                scores = self.ensemble_.judged_score(Z, self.scoring_, self.ensemble_.likeness(checked[rows]))
                out[rows] = share_out(scores, feature_shares(checked[rows], self.ensemble_, Z, self.scoring_))
        return Explanation(as_frame_like(out, X), None)

    def _feature_shares(self, X: np.ndarray) -> np.ndarray:
        """Return the share of every feature in the oddity of checked rows, (n_samples, n_features); rows sum to 1."""
        out = np.empty(X.shape)
        with threads(self.n_jobs):
            for rows, Z in self._chunks(X, self._explained_rows):
                out[rows] = feature_shares(X[rows], self.ensemble_, Z, self.scoring_)
        return out

    @property
    def _explained_rows(self) -> int:
        """Rows that are explained at a time: terms are held for every member."""
        members, _, m = self.ensemble_.packed.centroids.shape
        return max(1, EXPLAIN_NUMBERS // (members * m))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    @property
    def weights_(self) -> dict[str, float]:
        """The weight of every part in the joined score."""
        return self.ensemble_.weights_by_part()

    def _svm_offset(self) -> float:
        return self.svm_offset_

    def _score(self, Z: np.ndarray) -> np.ndarray:
        return self.ensemble_.score(Z, self.scoring_)

    def _chunks(self, X: np.ndarray, most: int = CHUNK_ROWS) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield rows and their calibrated parts, inside `threads`."""
        for rows in gen_batches(X.shape[0], min(most, CHUNK_ROWS)):
            yield rows, self.ensemble_.z_scores(self.ensemble_.parts(X[rows]))

    def _held_out(self, sample: np.ndarray, parts: RowParts) -> np.ndarray:
        """Score every row of the sample by the group that was learned without it, and by a histogram without it."""
        n_groups = self.ensemble_.n_groups
        parts = self.ensemble_.held_out(sample, parts)
        scores = np.empty(sample.shape[0])
        for group in range(n_groups):
            fold = RowParts(*(np.ascontiguousarray(values[group::n_groups]) for values in parts))
            scores[group::n_groups] = self._score(self.ensemble_.z_scores(fold, group))
        return scores

    def _conformal(self, held_out: np.ndarray, sample: np.ndarray) -> CrossConformal:
        """Return p-values by the held-out scores of the sample."""
        n_groups = self.ensemble_.n_groups
        keys = keys_of(sample)
        return CrossConformal(*([of_rows[g::n_groups] for g in range(n_groups)] for of_rows in (held_out, keys)))

    def _check_trim(self) -> None:
        numbers = [isinstance(t, Real) and not isinstance(t, bool) and 0 <= t < 1 for t in self.trim]
        if not numbers or not all(numbers):
            raise ParameterError(
                type(self).__name__,
                "trim",
                f"must hold shares in the range [0.0, 1.0), at least one. Got {self.trim!r} instead.",
                value=self.trim,
                advice=self._advice["trim"],
            )
