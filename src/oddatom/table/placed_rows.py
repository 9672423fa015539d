"""What a `TableDetector` does inside: from tables to features, and from features to scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from oddatom.context.following import Followed, Scored
from oddatom.decisions import flag
from oddatom.estimators import OddAtomDetector
from oddatom.exceptions import DriftWarning, OddAtomError
from oddatom.table.columns import Columns, as_columns
from oddatom.table.drift import ColumnReference, drift_words, find_drift, take_references
from oddatom.table.encoder import TableEncoder, named_columns
from oddatom.table.row_context import (
    Placed,
    RowContext,
    fit_in_order,
    follow_training,
    has_stretches,
    learn_row_context,
    missing_role,
    place_rows,
    score_placed,
    warn_of_new_groups,
)

OF_ENCODER = ("columns", "ignore", "id", "max_levels", "dates", "missing")


class Prepared(NamedTuple):
    """What a model is fitted from: a fitted encoder, a detector, how rows are placed, and the rows."""

    encoder: TableEncoder
    detector: Any
    context: RowContext | None
    placed: Placed

    @property
    def window(self) -> int:
        """Rows that a row in time is compared with."""
        assert self.context is not None
        assert self.context.context.time is not None
        return self.context.context.time.window


class PlacedRowsMixin:
    """Rows of tables as features of their columns, groups and times."""

    detector: Any
    time: str | int | None
    by: str | int | Sequence[str | int] | None
    window: int | None
    random_state: Any
    encoder_: TableEncoder
    detector_: Any
    reference_: list[ColumnReference]
    context_: RowContext | None = None  # that of models pickled before there was one
    followed_: Followed

    def _new_detector(self) -> Any:
        """Return the unfitted detector, with this model's random state."""
        detector = OddAtomDetector() if self.detector is None else clone(self.detector)
        if self.random_state is not None:
            names = [name for name in detector.get_params() if name.split("__")[-1] == "random_state"]
            detector.set_params(**dict.fromkeys(names, self.random_state))
        return detector

    def _prepare(self, X: Any) -> Prepared:
        """Return a fitted encoder, a detector to fit, and the rows; for public methods alone, for warnings."""
        encoder = TableEncoder(**{name: getattr(self, name) for name in OF_ENCODER})
        owner, detector = type(self).__name__, self._new_detector()
        table = as_columns(X)
        times = named_columns(self.time, "time", table, owner)
        by = named_columns(self.by, "by", table, owner)
        roles = dict.fromkeys(by, ("group", "it groups the rows"))
        roles |= dict.fromkeys(times, ("time", "it puts the rows in order"))
        learn_columns(encoder, detector, lambda: encoder._learn(X, owner, 6, roles))
        fill = bool(roles) and not isinstance(detector, OddAtomDetector)
        if fill:  # missing numbers are filled in where their level is known
            encoder.columns_ = [c._replace(fill=np.nan) if c.kind == "number" else c for c in encoder.columns_]
        encoded = encoder._encode(X, owner, 4)
        context, placed = learn_row_context(
            encoded, encoder.columns_, table, times[0] if times else None, by, self.window, fill, owner
        )
        return Prepared(encoder, detector, context, placed)

    def _learn(self, prepared: Prepared, y: Any = None, **fit_params: Any) -> np.ndarray | None:
        """Fit the detector to prepared rows, and take it; return the score of each row by itself, where it is at hand.

        `_stretched` takes these scores.
        """
        detector, placed = prepared.detector, prepared.placed
        own = None
        if placed.ordered is not None and has_stretches(detector):
            if fit_params:
                raise TypeError(f"fit() with a time column takes no {', '.join(sorted(fit_params))}")
            own = fit_in_order(detector, placed, prepared.window)
        elif type(detector) is OddAtomDetector and not fit_params:
            own = detector._fit_scores(placed.features)
        else:
            detector.fit(placed.features, y, **fit_params)
        self._take(prepared, own=own)
        return own

    def _take(self, prepared: Prepared, rows: np.ndarray | None = None, own: np.ndarray | None = None) -> None:
        """Take a fitted encoder and detector, and keep what new rows are compared with: `rows`, or the training ones.

        With a time column the last rows are kept, too, with their scores in `own`, where these are known.
        """
        placed = prepared.placed
        self.encoder_, self.detector_, self.context_ = prepared.encoder, prepared.detector, prepared.context
        codes = [code for column in self.encoder_.columns_ for code in column.codes]
        self.reference_ = take_references(placed.compared if rows is None else rows, codes)
        self.__dict__.pop("followed_", None)
        if placed.ordered is not None and prepared.context is not None:
            self.followed_ = follow_training(self.detector_, placed, prepared.context.context, own)

    def _in_order(self, placed: Placed, own: np.ndarray | None = None) -> Scored:
        """Score rows in time; `own` are their scores, each by itself, where they are known."""
        assert self.context_ is not None
        assert self.context_.context.time is not None
        return score_placed(self.detector_, placed, self.context_.context.time.window, own)

    def _score(self, X: Any, warn: bool = True) -> tuple[Placed, Scored | None]:
        """Place rows and, where they come in time, score them with their stretches; for public methods alone."""
        placed = self._place(X, 5)
        return placed, self._follow(placed, warn)

    def _stretched(self, placed: Placed, own: np.ndarray | None = None) -> Scored | None:
        """Return the scores of rows in time; None where the detector scores rows by themselves."""
        return self._in_order(placed, own) if placed.ordered is not None and has_stretches(self.detector_) else None

    def _follow(self, placed: Placed, warn: bool = True) -> Scored | None:
        """Return what `_stretched` does, and keep the last of the rows."""
        if warn:
            self._warn_of_drift(placed, 5)
        if placed.ordered is None:
            return None
        scored = self._in_order(placed)
        self.followed_ = self.followed_.after(placed.ordered, scored.own, scored.window, placed.new_series)
        return scored if has_stretches(self.detector_) else None

    def _labels(self, scored: Scored) -> np.ndarray:
        p_values = self.detector_.conformal_.p_values(scored.scores)
        return 1 - 2 * flag(scored.scores, self.detector_.offset_, self.detector_.threshold_, p_values)

    @property
    def _sources(self) -> list[str]:
        """For every feature the column that it came from, or a view of it."""
        sources = self.encoder_.source_
        return sources if self.context_ is None else self.context_.context.names(sources)

    @property
    def _feature_names(self) -> list[str]:
        """Names of the features."""
        names = list(self.encoder_.get_feature_names_out())
        return names if self.context_ is None else self.context_.context.names(names)

    @property
    def _in_time(self) -> bool:
        return getattr(self, "followed_", None) is not None

    def _check_feedback(self) -> None:
        if self._in_time:
            raise OddAtomError(
                "{owner} with a time column takes no judged rows.",
                parameter="time",
                advice="Fit without it to judge rows by themselves.",
                owner=type(self).__name__,
            )

    def _warn_of_drift(self, placed: Placed, stacklevel: int = 3) -> bool:
        """Warn where columns have moved since training; return whether any has."""
        found = find_drift(placed.compared, getattr(self, "reference_", None) or ())
        if found:
            warnings.warn(
                drift_words(found, self.encoder_.columns_, not self._in_time), DriftWarning, stacklevel=stacklevel
            )
        return bool(found)

    def _place(self, X: Any, stacklevel: int = 4, n_before: int = 0) -> Placed:
        """Return the rows of a table as features; called by public methods alone, for warnings.

        `n_before` rows of the table came before X, for errors.
        """
        check_is_fitted(self)
        owner = type(self).__name__
        encoded = self.encoder_._encode(X, owner, stacklevel)
        if self.context_ is None:
            return Placed(encoded, encoded)
        table = as_columns(X)
        positions = self._positions(table, self.context_)
        placed = place_rows(self.context_, encoded, table, positions, getattr(self, "followed_", None), n_before)
        warn_of_new_groups(placed, stacklevel)
        return placed

    def _positions(self, table: Columns, context: RowContext) -> list[int]:
        """Return where the columns are that place rows; a table without names has them where training had."""
        if not (table.named and hasattr(self.encoder_, "feature_names_in_")):
            return [[column.name for column in self.encoder_.columns_].index(name) for name in context.roles]
        for name in context.roles:
            if name not in table.names:
                raise missing_role(name, context)
        return [table.names.index(name) for name in context.roles]


def learn_columns(encoder: TableEncoder, detector: Any, learn: Callable[[], Any]) -> None:
    """Let an encoder learn; an `OddAtomDetector` gets text as codes, and is told so, where there are numbers beside it.

    Parameters
    ----------
    encoder : TableEncoder
    detector : estimator
    learn : function
        Fits the encoder.
    """
    if not isinstance(detector, OddAtomDetector):
        learn()
        return
    encoder.set_params(categories="codes")
    learn()
    used = [column for column in encoder.columns_ if column.used]
    if any(column.kind in ("number", "date", "time of day") or column.action == "frequency" for column in used):
        codes = [code for column in used for code in column.codes]
        detector.set_params(categorical_features=[i for i, code in enumerate(codes) if code])
    else:
        encoder.set_params(categories="one-hot")
        detector.set_params(categorical_features=None)
        learn()
