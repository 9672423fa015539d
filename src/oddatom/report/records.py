"""What a report is made of: plain records, filled by `gather_content` or by hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


class ColumnDecision(NamedTuple):
    """What became of a column of the table: its name, its kind, what was done with it."""

    name: str
    kind: str
    done: str


class AtomUse(NamedTuple):
    """An atom or a centroid: what share of the odd rows and of the normal rows use it, the features that make it."""

    name: str
    of_odd: float
    of_normal: float
    features: Sequence[str] = ()


class Curve(NamedTuple):
    """A value per step of the fit."""

    name: str
    values: Sequence[float]


class HowTo(NamedTuple):
    """A sentence, and the command or code that it is about; either may be empty."""

    text: str
    command: str = ""


@dataclass(frozen=True)
class DataFacts:
    """Where the rows came from, and what worked on them.

    Attributes
    ----------
    file_name : str
    n_rows, n_columns : int
        Of the table, before columns were encoded.
    when : str
    seed : str
    versions : mapping of str to str
    """

    file_name: str
    n_rows: int
    n_columns: int
    when: str = ""
    seed: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TopRow:
    """One of the oddest rows.

    Attributes
    ----------
    row : int
        Its number.
    rank : int
        1 for the oddest.
    score : float
    p_value : float or None
    is_anomaly : bool
    cells : sequence of str
        Its values in the columns that are displayed.
    since : int
        How many rows ago the row was that its score is mainly due to: 0 for itself.
    """

    row: int
    rank: int
    score: float
    p_value: float | None
    is_anomaly: bool
    cells: Sequence[str] = ()
    since: int = 0


@dataclass(frozen=True)
class RowMap:
    """Some of the rows, the top rows among them, as points of a plane.

    Attributes
    ----------
    points : (P, 2)
    rows : (P,) int
        Their numbers.
    scores : (P,)
    ranks : (P,) int
        Of the top rows; 0 elsewhere.
    flagged : (P,) bool
    """

    points: np.ndarray
    rows: np.ndarray
    scores: np.ndarray
    ranks: np.ndarray
    flagged: np.ndarray


@dataclass(frozen=True)
class RowTimes:
    """When every row was.

    Attributes
    ----------
    times : (N,)
        Microseconds since 1970, or what a counter says. A row without a finite time is not drawn.
    dates : bool
        Whether they are microseconds.
    window : int
        Rows before a row that it is compared with.
    gap : float
        A longer step starts anew: no line is drawn across it.
    name : str
        Of the column.
    """

    times: np.ndarray
    dates: bool
    window: int
    gap: float = np.inf
    name: str = "time"


@dataclass(frozen=True)
class RowGroups:
    """The group of every row.

    Attributes
    ----------
    groups : (N,) int
        Places among the names; negative for a row without a group.
    names : sequence of str
    by : str
        The columns that name them.
    new : collection of str
        Groups that training did not have.
    """

    groups: np.ndarray
    names: Sequence[str]
    by: str = "group"
    new: Collection[str] = ()


@dataclass(frozen=True)
class TimeBins:
    """Values over time: one bin for each time, or for each column of a picture where there are more times.

    Attributes
    ----------
    times : (B,)
        The first of every bin, rising.
    lowest, highest : (B,)
        NaN where every value is missing.
    marked : (B,)
        The lowest value of a flagged row, NaN where there is none.
    starts : (B,) bool
        Whether the line starts anew, after a gap.
    """

    times: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    marked: np.ndarray
    starts: np.ndarray


@dataclass(frozen=True)
class RowsAround:
    """A column over the rows before and after one of the oddest rows.

    Attributes
    ----------
    column : str
    bins : TimeBins
    value : float
        Of the row itself; NaN where it is missing.
    level : float
        The median of the window before it; NaN where there is none.
    """

    column: str
    bins: TimeBins
    value: float
    level: float


@dataclass(frozen=True)
class OddMoment:
    """One of the oddest rows, in time.

    Attributes
    ----------
    row : TopRow
    time : float
    group : str
        Its group, "" where there are none.
    reason : str
        What makes it odd, such as "flow: jump"; "" where nothing says so.
    share : float
        Of its oddity.
    value : str
        Of the row in the column that the reason is about; "" where it may not be shown or is missing.
    around : RowsAround or None
        None where that column has no numbers to draw.
    """

    row: TopRow
    time: float
    group: str = ""
    reason: str = ""
    share: float = 0.0
    value: str = ""
    around: RowsAround | None = None


@dataclass(frozen=True)
class OverTime:
    """The scores over time.

    Attributes
    ----------
    name : str
        Of the column of times.
    dates : bool
    n_rows : int
        Rows that are drawn.
    n_series : int
        Of several series the bins hold the lowest score alone.
    each : bool
        Whether every time has a bin of its own.
    bins : TimeBins
        Of the scores.
    moments : sequence of OddMoment
        The oddest rows, by rank.
    """

    name: str
    dates: bool
    n_rows: int
    n_series: int
    each: bool
    bins: TimeBins
    moments: Sequence[OddMoment] = ()


@dataclass(frozen=True)
class GroupRow:
    """A group: how many rows it has, how many of them are flagged, its lowest score, whether training had it not."""

    name: str
    n_rows: int
    n_flagged: int
    lowest: float
    new: bool = False


@dataclass(frozen=True)
class GroupTable:
    """The groups with the largest share of flagged rows.

    Attributes
    ----------
    by : str
        The columns that name them.
    rows : sequence of GroupRow
    n_groups : int
        How many there are, those that are not among the rows too.
    """

    by: str
    rows: Sequence[GroupRow]
    n_groups: int


@dataclass(frozen=True)
class ReportContent:
    """All that a report says. Nothing but this reaches the file: columns that are not in it stay private.

    Attributes
    ----------
    title : str
    data : DataFacts
    detector : str
        Its name.
    scores : (N,)
        Higher = more normal.
    n_anomalies : int
        Rows flagged.
    offset : float or None
        Where scores are cut; None where another rule flags rows.
    threshold : str
        That rule, in words.
    parameters : mapping of str to str
        The detector's.
    decisions : sequence of ColumnDecision
    p_values : (N,) or None
    columns : sequence of str
        The columns displayed, as many as `TopRow.cells` has.
    top : sequence of TopRow
        The oddest rows, by rank.
    contribution_columns : sequence of str
    contributions : (n_top, n_contribution_columns) or None
        Share of a top row's oddity that each column has, at least 0.
    row_map : RowMap or None
    atoms : sequence of AtomUse
        Those that odd rows use and normal rows do not.
    curves : sequence of Curve
        How the fit converged.
    curve_axes : (str, str)
        What a step is, and what the values are.
    how_to : sequence of HowTo
        How to use the saved model.
    warnings : sequence of str
    notes : mapping of str to str
        A sentence for "rows", "top", "contributions", "map", "atoms", "curves" or "p_values": how to read it, or why it
        is missing.
    over_time : OverTime or None
    groups : GroupTable or None
    contribution_sources : sequence of str
        The column of the table that each of `contribution_columns` is about: "flow" for "flow: jump". Empty means the
        same names.
    """

    title: str
    data: DataFacts
    detector: str
    scores: np.ndarray
    n_anomalies: int
    offset: float | None = None
    threshold: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    decisions: Sequence[ColumnDecision] = ()
    p_values: np.ndarray | None = None
    columns: Sequence[str] = ()
    top: Sequence[TopRow] = ()
    contribution_columns: Sequence[str] = ()
    contributions: np.ndarray | None = None
    row_map: RowMap | None = None
    atoms: Sequence[AtomUse] = ()
    curves: Sequence[Curve] = ()
    curve_axes: tuple[str, str] = ("step", "value")
    how_to: Sequence[HowTo] = ()
    warnings: Sequence[str] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    over_time: OverTime | None = None
    groups: GroupTable | None = None
    contribution_sources: Sequence[str] = ()
