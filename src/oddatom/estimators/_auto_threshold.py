"""Where `OddAtomDetector` cuts: "auto" by a table without anomalies, shares and p-values by held-out scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from oddatom.decisions import (
    AnomalyCount,
    AutoDecision,
    CrossConformal,
    ThresholdMixin,
    decide,
    share_offset,
    tail_offset,
)
from oddatom.ensemble.model import ColumnKinds, Ensemble
from oddatom.ensemble.reference import draw_reference, lone_column
from oddatom.ensemble.row_parts import RowParts
from oddatom.estimators._in_order import RowOrder
from oddatom.exceptions import ParameterError

LEAST_TAIL = 0.3  # scale of the tail of scores; but for the margin they are made of z-scores, and tables have .4 to 1.5
REFERENCE_GROUPS = 2  # of members, for a table to compare with
USUAL_REACH = (
    3.0  # of scores that are usual, from the middle of all, in distances of the middle from the lower quartile
)
RARE_STRETCH = 0.001  # share of the rows in stretches of usual scores that may be flagged
MOST_P = 0.05  # p-value of a row that "auto" flags


class AutoThresholdMixin(ThresholdMixin):
    """Thresholds of a detector with an ensemble and held-out scores."""

    n_groups: int
    scoring_: str
    ensemble_: Ensemble
    conformal_: CrossConformal
    auto_: AutoDecision
    _learn_ensemble: Callable[..., tuple[Ensemble, RowParts]]
    _score: Callable[[np.ndarray], np.ndarray]

    def _decide_auto(self, sample: np.ndarray, parts: RowParts, rng: np.random.RandomState, kinds: ColumnKinds) -> None:
        """Decide by a reference or, where one column alone varies, by its values."""
        alone = lone_column(sample, self.ensemble_)
        if alone is None:
            self.auto_ = self._decide(self._reference_scores(sample, parts, rng, kinds))
        else:
            distances = np.abs(self.ensemble_.scaling.apply(self.ensemble_.shifted(sample))[:, alone])
            self.auto_ = self._decide(distances=distances[~np.isnan(sample[:, alone])])

    def _reference_scores(
        self, sample: np.ndarray, parts: RowParts, rng: np.random.RandomState, kinds: ColumnKinds
    ) -> np.ndarray:
        """Return the scores of a table without anomalies under a model of its own."""
        scores = self._score(self.ensemble_.z_scores(parts))
        reference = draw_reference(sample, self.ensemble_, scores, rng)
        ensemble, parts = self._learn_ensemble(reference, rng, kinds, min(self.n_groups, REFERENCE_GROUPS))
        return ensemble.score(ensemble.z_scores(parts), self.scoring_)

    def _decide(self, reference: np.ndarray | None = None, distances: np.ndarray | None = None) -> AutoDecision:
        """Decide by a reference, by the values of the one column that there is, or by the scores alone."""
        least = 0.0 if self.scoring_ == "margin" else LEAST_TAIL
        return decide(self.train_scores_, reference, least=least, distances=distances)

    def _decide_stretches(self, own: np.ndarray, order: RowOrder) -> AutoDecision:
        """Lower the cut so that rows in time of which none is odd by itself are not flagged together.

        Parameters
        ----------
        own : (N,)
            Scores of the training rows, each by itself.
        order : RowOrder
        """
        usual = own
        if self.auto_.n_anomalies.estimate > 0:
            middle, quarter = np.quantile(own, [0.5, 0.25])
            usual = np.maximum(own, max(self.auto_.offset, middle - USUAL_REACH * (middle - quarter)))
        stretches = order.with_stretches(usual)
        rare = min(tail_offset(stretches, RARE_STRETCH, LEAST_TAIL), float(stretches.min()))
        return self.auto_._replace(offset=min(self.auto_.offset, rare))

    @property
    def n_anomalies_(self) -> AnomalyCount:
        """How many training rows are odder than chance explains, before any is judged."""
        return self.auto_.n_anomalies

    def _auto_offset(self) -> float:
        if MOST_P * (self.conformal_.n_samples + 1.0) < 1.0:  # no row can have so low a p-value
            return -float(np.finfo(np.float64).max)
        decision = self.auto_ if hasattr(self, "auto_") else self._decide()  # of a model that was saved without
        return min(decision.offset, self.conformal_.offset(MOST_P))

    def _share_offset(self, share: float) -> float:
        """Of rows like the training rows, by held-out scores, and of the training rows themselves no more."""
        fresh = share_offset(np.concatenate(self.conformal_.held_out), share)
        return min(fresh, share_offset(self.train_scores_, share))

    def _p_offset(self, level: float) -> float:
        least = 1.0 / (self.conformal_.n_samples + 1.0)
        if level < least:
            raise ParameterError(
                type(self).__name__,
                "threshold",
                f"must not ask for p-values below {least:.3g}, the least that {self.conformal_.n_samples:,} rows can "
                f"give. Got 'p={level:g}' instead",
                value=level,
                advice="pass a larger level, more rows, or a number of rows such as 'top=10'.",
            )
        return self.conformal_.offset(level)
