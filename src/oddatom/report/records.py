"""What a report is made of: plain records, filled by `gather_content` or by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """

    row: int
    rank: int
    score: float
    p_value: float | None
    is_anomaly: bool
    cells: Sequence[str] = ()


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
        A sentence for "rows", "contributions", "map", "atoms", "curves" or "p_values": how to read it, or why it is
        missing.
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
