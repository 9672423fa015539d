"""From encoded rows, their times and their groups to features, and from features to scores."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from oddatom.context.clock import duration_words
from oddatom.context.following import Followed, Scored, own_scores, rows_to_keep, score_in_order
from oddatom.context.ordered import LastRows, Ordered, no_last_rows, put_in_order
from oddatom.context.row_features import ContextRules, learn_context
from oddatom.estimators import OddAtomDetector
from oddatom.estimators._feedback import keys_of
from oddatom.estimators._in_order import RowOrder
from oddatom.exceptions import OddAtomError, ParameterError, TableWarning
from oddatom.table.columns import Columns
from oddatom.table.decision import ColumnDecision
from oddatom.table.roles import (
    TimeColumn,
    check_times,
    find_groups,
    find_row_order,
    learn_group_names,
    learn_time,
    read_groups,
)
from oddatom.table.wording import some


class RowContext(NamedTuple):
    """How features are made of encoded rows.

    Attributes
    ----------
    time : TimeColumn or None
        What puts rows in order.
    by : list of str
        Columns that name the group of a row.
    context : ContextRules
    """

    time: TimeColumn | None
    by: list[str]
    context: ContextRules

    @property
    def roles(self) -> list[str]:
        """Names of the columns that place a row."""
        return [*([] if self.time is None else [self.time.name]), *self.by]

    def lines(self) -> list[str]:
        """Return in words how rows are placed."""
        found = []
        if self.time is not None and (rules := self.context.time) is not None:
            step = f"a row every {duration_words(rules.step)}, " if rules.dates else ""
            hours = "" if rules.hours is None else f", and with what is usual for the {rules.hours.name}"
            found.append(
                f"in the order of {self.time.name}: {step}each compared with a window of {rules.window:,} rows before "
                f"it{hours}"
            )
        if self.context.groups is not None:
            n = len(self.context.groups.keys)
            found.append(f"by {', '.join(self.by)}: {n:,} group{'s' if n != 1 else ''}, each with a level of its own")
        return found


class Placed(NamedTuple):
    """Rows of a table as features.

    Attributes
    ----------
    features : (N, m)
    compared : (N, n)
        What is compared with training to find drift: encoded rows, their numbers by group.
    ordered : Ordered or None
        The rows in order, after those of `before`.
    before : LastRows or None
    groups : (N,) int64 or None
    new_groups : list of str
        Groups of these rows that training did not have.
    new_series : list of str
        All such groups so far, by their numbers.
    """

    features: np.ndarray
    compared: np.ndarray
    ordered: Ordered | None = None
    before: LastRows | None = None
    groups: np.ndarray | None = None
    new_groups: list[str] = []  # noqa: RUF012 - never changed
    new_series: list[str] = []  # noqa: RUF012


def learn_row_context(
    encoded: np.ndarray,
    decisions: Sequence[ColumnDecision],
    table: Columns,
    time: str | None,
    by: list[str],
    window: int | None,
    fill: bool,
    owner: str,
) -> tuple[RowContext | None, Placed]:
    """Learn how to place rows, and place those of training; None where there is nothing to place.

    Parameters
    ----------
    encoded : (N, m)
    decisions : of every column of the table
    table : Columns
    time : str or None
        The name of a column.
    by : list of str
    window : int or None
    fill : bool
        Whether the detector needs missing numbers filled in, and the encoder has not.
    owner : str
        For errors.
    """
    groups = names = column = times = keys = None
    if time is not None and time in by:
        raise ParameterError(
            owner, "by", f"must name other columns than the time. Got {time!r}", value=by, advice="leave it out."
        )
    if by:
        groups, names = learn_group_names(by, read_groups(table, [table.names.index(name) for name in by]))
    if time is not None:
        column, times = learn_time(time, table.get(table.names.index(time)))
        _check_times(column, times, groups)
        _check_window(window, times.size, groups, owner)
        keys = keys_of(encoded)
    elif window is not None:
        raise ParameterError(
            owner, "window", "needs a time column", value=window, advice="pass {time}, too.", options={"time": None}
        )
    rules, features, ordered = learn_context(
        encoded,
        _number_places(decisions),
        keys=keys,
        groups=None if groups is None or names is None else (groups, names),
        times=times,
        dates=column is not None and column.dates,
        window=window,
        order=find_row_order(decisions, table) if column is None else None,
        fill=fill,
    )
    if column is None and not by and np.isnan(rules.limits).all():
        return None, Placed(encoded, encoded)
    before = None if ordered is None else no_last_rows(encoded.shape[1])
    return RowContext(column, by, rules), Placed(features, _compared(encoded, groups, rules), ordered, before, groups)


def place_rows(
    row_context: RowContext,
    encoded: np.ndarray,
    table: Columns,
    positions: Sequence[int],
    followed: Followed | None,
    n_before: int = 0,
) -> Placed:
    """Place new rows.

    Parameters
    ----------
    row_context : RowContext
    encoded : (N, m)
    table : Columns
    positions : sequence of int
        Of the columns in `row_context.roles`.
    followed : Followed or None
        The last rows, with a time column.
    n_before : int
        Rows of the table that came before these, for errors.
    """
    rules, time = row_context.context, row_context.time
    where = dict(zip(row_context.roles, positions, strict=True))
    groups, new, beyond = None, [], [] if followed is None else followed.new_series
    if rules.groups is not None:
        keys = rules.groups.keys
        names = read_groups(table, [where[name] for name in row_context.by])
        groups, unknown = find_groups(names, [*keys, *beyond])
        beyond = [*beyond, *unknown]
        new = [beyond[g - len(keys)] for g in np.unique(groups) if g >= len(keys)]
    compared = _compared(encoded, groups, rules)
    if time is None or rules.time is None or followed is None:
        return Placed(rules.features(encoded, groups), compared, None, None, groups, new, beyond)
    times = time.read(table.get(where[time.name]))
    check_times(time, times, n_before)
    series = np.zeros(times.size, np.int64) if groups is None else groups
    before = followed.rows_before(series, times)
    ordered = put_in_order(series, times, encoded, keys_of(encoded), before, rules.time.gap)
    features = rules.features_in_time(ordered, ordered.place)
    return Placed(features, compared, ordered, before, groups, new, beyond)


def fit_in_order(detector: Any, placed: Placed, window: int) -> np.ndarray:
    """Fit a detector to rows that come in time; return their scores, each by itself."""
    ordered = placed.ordered
    assert ordered is not None

    def with_stretches(own: np.ndarray) -> np.ndarray:
        return score_in_order(own_scores(own, ordered), ordered, window).scores

    rows = np.ascontiguousarray(placed.features)
    return detector._fit_in_order(RowOrder(rows, ordered.by_time, window, ordered.encoded.shape[1], with_stretches))


def has_stretches(detector: Any) -> bool:
    """Return whether the scores of a detector have units in which rows before a row count."""
    return isinstance(detector, OddAtomDetector) and detector.scoring != "margin"


def score_placed(detector: Any, placed: Placed, window: int, own: np.ndarray | None = None) -> Scored:
    """Score rows that come in time with their stretches; of detectors without stretches the scores are all 0.

    Parameters
    ----------
    detector : estimator
    placed : Placed
    window : int
    own : (N,), optional
        Scores of the rows, each by itself, where they are known.
    """
    assert placed.ordered is not None
    of_table = np.zeros(placed.ordered.place.size)
    if has_stretches(detector):
        of_table = detector.score_samples(placed.features) if own is None else own
    return score_in_order(own_scores(of_table, placed.ordered, placed.before), placed.ordered, window)


def follow_training(detector: Any, placed: Placed, rules: ContextRules, own: np.ndarray | None) -> Followed:
    """Return the last training rows, to go on from; `own` are scores as in `score_placed`."""
    ordered = placed.ordered
    assert ordered is not None
    assert rules.time is not None
    kept = rows_to_keep(ordered, rules.time.window)
    scores = np.zeros(ordered.times.size)
    if has_stretches(detector):
        row = np.empty(ordered.times.size, np.int64)
        row[ordered.place] = np.arange(ordered.place.size)
        wanted = row[kept]
        scores[kept] = detector.score_samples(placed.features[wanted]) if own is None else own[wanted]
    none = no_last_rows(ordered.encoded.shape[1])
    last = Followed(none, none, none, []).after(ordered, scores, rules.time.window, []).last
    return Followed(last, last, none, [])


def rows_to_explain(row_context: RowContext | None, placed: Placed, scored: Scored | None, rows: Any) -> np.ndarray:
    """Return the features that the scores of some rows are due to: their own, or those of the row that is odd."""
    if scored is None or row_context is None or placed.ordered is None or not scored.since[rows].any():
        return placed.features[rows]
    return row_context.context.features_in_time(placed.ordered, scored.cause[rows])


def warn_of_new_groups(placed: Placed, stacklevel: int) -> None:
    """Warn of groups that training did not have."""
    if n := len(placed.new_groups):
        names = some([repr(name) for name in placed.new_groups])
        message = f"{n:,} group{'s are' if n > 1 else ' is'} new since training ({names}), and scored by all rows"
        warnings.warn(TableWarning({"new groups": message}), stacklevel=stacklevel)


def missing_role(name: str, roles: RowContext) -> OddAtomError:
    """Return the error that a column that places rows is not there."""
    what = "puts the rows in order" if roles.time is not None and roles.time.name == name else "names their groups"
    problem = f"The table has no column {name!r}, which {what}."
    return OddAtomError(problem, parameter="X", advice="Pass a table like the training table.")


def _compared(encoded: np.ndarray, groups: np.ndarray | None, rules: ContextRules) -> np.ndarray:
    if rules.groups is None:
        return encoded
    found = encoded.copy()
    found[:, rules.numbers] = rules.numbers_of(encoded, groups)
    return found


def _number_places(decisions: Sequence[ColumnDecision]) -> list[int]:
    """Return where the numbers are among encoded columns, without what marks missing values."""
    places, start = [], 0
    for decision in decisions:
        if decision.kind == "number" and decision.used:
            places.append(start)
        start += len(decision.outputs)
    return places


def _check_times(column: TimeColumn, times: np.ndarray, groups: np.ndarray | None) -> None:
    """Raise where no group has two times."""
    if groups is not None and np.unique(np.column_stack([groups, times]), axis=0).shape[0] == np.unique(groups).size:
        raise OddAtomError(
            f"no group has two times in column {column.name!r}: nothing comes before a row.",
            parameter="time",
            value=column.name,
            advice="Leave the time or the groups out.",
        )


def _check_window(window: int | None, n_rows: int, groups: np.ndarray | None, owner: str) -> None:
    what = "the table"
    if groups is not None:
        what, n_rows = "the longest series", int(np.bincount(groups).max())
    if window is not None and window >= n_rows:
        raise ParameterError(
            owner,
            "window",
            f"must be shorter than {what}, which has {n_rows:,} rows. Got {window!r} instead",
            value=window,
            advice="24 is a usual length; without it one is found.",
        )
