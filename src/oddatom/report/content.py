"""From a fitted detector and a table to the content of a report; the costly parts look at a bounded number of rows."""

from __future__ import annotations

import platform
import warnings as python_warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from oddatom.decisions import flag
from oddatom.estimators import OddAtomDetector
from oddatom.exceptions import ParameterError
from oddatom.report.atoms import odd_atoms
from oddatom.report.contributions import by_source, oddity_shares
from oddatom.report.detector import fit_curves, parameter_words, threshold_words
from oddatom.report.group_table import gather_groups
from oddatom.report.over_time import find_reasons, gather_over_time
from oddatom.report.projection import map_points
from oddatom.report.records import (
    ColumnDecision,
    DataFacts,
    HowTo,
    ReportContent,
    RowGroups,
    RowMap,
    RowTimes,
    TopRow,
)

SAMPLE_ROWS, SAMPLE_NUMBERS = 20_000, 20_000_000  # that atoms are counted on, and numbers in those rows or their codes
ODD_PART = 0.25  # of those rows, at most
MAP_ROWS = 2_000
USUAL_ROWS = 2_000
FEWEST_FLAGGED = 5  # below, the top rows stand for the anomalies
MOST_TOP, MOST_DISPLAYED = 200, 60
OF_P_VALUES = (
    "A p-value says how often a normal row would be as odd. Those of rows that the model was fitted on are cautious."
)
NO_P_VALUES = "There are no p-values: the detector was fitted without folds (n_folds)."
OF_EPISODES = (
    "One row of each episode is listed, the oddest. A row may be odd because of one before it: then it says what makes "
    "that one odd, and how many rows ago it was."
)
_LIBRARIES = ("oddatom", "numpy", "scipy", "scikit-learn", "numba")


def gather_content(
    detector: Any,
    X: np.ndarray,
    feature_names: Sequence[str],
    source_columns: Sequence[str] | None = None,
    *,
    title: str = "Odd rows",
    file_name: str = "",
    n_columns: int | None = None,
    when: str | None = None,
    decisions: Sequence[tuple[str, str, str]] = (),
    display: Any = None,
    row_numbers: Sequence[int] | np.ndarray | None = None,
    scores: np.ndarray | None = None,
    p_values: np.ndarray | None = None,
    n_top: int = 50,
    how_to: Sequence[tuple[str, str]] = (),
    warnings: Sequence[str] = (),
    random_state: Any = 0,
    listed: np.ndarray | None = None,
    explained: np.ndarray | None = None,
    since: np.ndarray | None = None,
    table_columns: Sequence[str] | None = None,
    times: RowTimes | None = None,
    groups: RowGroups | None = None,
    drawn: Mapping[str, Any] | None = None,
) -> ReportContent:
    """Compute all that a report says of rows X under a fitted detector.

    Scores and p-values are those of all rows. Only the top rows are explained; atoms are counted on at most 20,000
    rows and the map has at most 2,000, so that a million rows cost little more than their scores.

    Parameters
    ----------
    detector : OddAtomDetector, DLOCSVM, DPLOCSVM, KDLOCSVM or KDPLOCSVM
        Fitted. What it cannot say is left out, with a sentence. Of a TableDetector pass `detector_`, and the encoder's
        output for X.
    X : (N, m)
        Encoded rows.
    feature_names : m names
        Of the columns of X.
    source_columns : m names, optional
        The column of the table that each column of X came from. None means that X is the table.
    title, file_name, when : str
        `when` None means now.
    n_columns : int, optional
        Columns of the table. None means those that X came from.
    decisions : sequence of (name, kind, what was done)
        About the table's columns.
    display : mapping or frame, optional
        The columns whose values may be shown, by name, N values each; only those of the top rows are read. None shows
        the columns of X.
    row_numbers : (N,) int, optional
        None numbers rows from 0.
    scores, p_values : (N,), optional
        Where they are known already.
    n_top : int
        Rows to list, at most 200.
    how_to : sequence of (sentence, command)
        How to use the saved model.
    warnings : sequence of str
        What to tell the reader.
    random_state : int, RandomState instance or None, default=0
        Draws the rows that are looked at.
    listed : (n,) int, optional
        Places of the rows to list, oddest first: of rows in time, one of each episode. None lists the lowest scores.
    explained : (n, m), optional
        The features that the scores of the listed rows are due to. None means their own.
    since : (n,) int, optional
        Of rows in time, how many rows ago the row was that the score of each listed row is mainly due to.
    table_columns : m names, optional
        The column of the table that each of `source_columns` is about: "flow" for "flow: jump". None means the same
        names.
    times : RowTimes, optional
        When every row was; the report then shows scores over time.
    groups : RowGroups, optional
        The group of every row; the report then lists the groups. With times every group is a series of its own.
    drawn : mapping of str to (N,), optional
        With times, the numbers of columns that may be drawn; only those that make a row odd are read.
    """
    check_is_fitted(detector)
    if n_top < 1:
        raise _wrong("n_top", f"be at least 1. Got {n_top} instead", n_top, "try 50.")
    X = np.asarray(X, np.float64)
    names = _checked_names(X, feature_names, "feature_names")
    sources = names if source_columns is None else _checked_names(X, source_columns, "source_columns")
    if table_columns is not None:
        table_columns = _checked_names(X, table_columns, "table_columns")
    if times is not None:
        times = replace(times, times=_column(times.times, X, "times"))
    if groups is not None:
        groups = replace(groups, groups=_column(groups.groups, X, "groups"))
    rng = check_random_state(random_state)
    numbers = _column(row_numbers, X, "row_numbers") if row_numbers is not None else np.arange(X.shape[0])
    p_values = None if p_values is None else _column(p_values, X, "p_values")
    with _names_do_not_matter():
        scores = detector.score_samples(X) if scores is None else _column(scores, X, "scores")
        if p_values is None and getattr(detector, "conformal_", None) is not None:
            p_values = detector.p_values(X)
        flagged = flag(scores, detector.offset_, detector.threshold_, p_values)
        top = np.argsort(scores, kind="stable") if listed is None else np.asarray(listed, np.int64)
        explained = _listed(explained, top, "explained")
        since = _listed(since, top, "since")
        top = top[: min(n_top, MOST_TOP)]
        usual = X[rng.permutation(X.shape[0])[:USUAL_ROWS]]
        shares, of_shares = oddity_shares(detector, X[top] if explained is None else explained[: top.size], usual)
        atoms, of_atoms = _atoms(detector, X, flagged, top, names, rng)
    columns, cells = _cells(X, names, display, top)
    by_column = ((), None) if shares is None else by_source(shares, sources)
    top_rows = _top_rows(top, numbers, scores, p_values, flagged, cells, since)
    about = dict(zip(sources, sources if table_columns is None else table_columns, strict=True))
    about_columns = tuple(str(about[name]) for name in by_column[0])
    over_time = None
    if times is not None:
        reasons = find_reasons(by_column[0], by_column[1], about_columns, columns, cells, since)
        over_time = gather_over_time(times, groups, scores, flagged, top, top_rows, reasons, drawn or {})
    curves, axes, of_curves = fit_curves(detector)
    notes = {
        "rows": "Rows are numbered from 0." if row_numbers is None else "",
        "top": "" if since is None else OF_EPISODES,
        "contributions": of_shares,
        "atoms": of_atoms,
        "curves": of_curves,
        "p_values": NO_P_VALUES if p_values is None else OF_P_VALUES,
    }
    parameters = parameter_words(detector)
    return ReportContent(
        title=title,
        data=DataFacts(
            file_name=file_name,
            n_rows=X.shape[0],
            n_columns=len(set(about.values())) if n_columns is None else n_columns,
            when=datetime.now().astimezone().isoformat(" ", "minutes") if when is None else when,
            seed=parameters.get("random_state", ""),
            versions={"Python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}},
        ),
        detector=type(detector).__name__,
        scores=scores,
        n_anomalies=int(flagged.sum()),
        offset=None if detector.threshold_.kind == "fdr" else float(detector.offset_),
        threshold=threshold_words(detector),
        parameters=parameters,
        decisions=tuple(ColumnDecision(*decision) for decision in decisions),
        p_values=p_values,
        columns=columns,
        top=top_rows,
        contribution_columns=by_column[0],
        contributions=by_column[1],
        row_map=_map(X, scores, flagged, top, numbers, rng),
        atoms=atoms,
        curves=curves,
        curve_axes=axes,
        how_to=tuple(HowTo(*one) for one in how_to),
        warnings=tuple(warnings),
        notes={key: note for key, note in notes.items() if note},
        over_time=over_time,
        groups=None if groups is None else gather_groups(groups, scores, flagged),
        contribution_sources=() if table_columns is None else about_columns,
    )


def _checked_names(X: np.ndarray, names: Sequence[str], parameter: str) -> list[str]:
    if X.ndim != 2 or len(names) != X.shape[1]:
        demand = f"have a name for every column of X, whose shape is {X.shape}. Got {len(names)} instead"
        raise _wrong(parameter, demand, names, "pass the names that the encoder gave.")
    return [str(name) for name in names]


def _column(values: Any, X: np.ndarray, parameter: str) -> np.ndarray:
    if len(values) != X.shape[0]:
        demand = f"have an entry for each of the {X.shape[0]} rows of X. Got {len(values)} instead"
        raise _wrong(parameter, demand, values, "pass them for the very rows that are reported.")
    return np.asarray(values)


def _listed(values: Any, listed: np.ndarray, parameter: str) -> np.ndarray | None:
    if values is not None and len(values) != listed.size:
        demand = f"have an entry for each of the {listed.size} rows listed. Got {len(values)} instead"
        raise _wrong(parameter, demand, values, "pass them for the rows in {listed}.")
    return None if values is None else np.asarray(values)


def _wrong(parameter: str, demand: str, value: Any, advice: str) -> ParameterError:
    return ParameterError("gather_content", parameter, f"must {demand}", value=value, advice=advice)


@contextmanager
def _names_do_not_matter() -> Iterator[None]:
    """Keep scikit-learn from warning that a model fitted on a frame gets an array: its names are those passed."""
    with python_warnings.catch_warnings():
        python_warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        yield


def _atoms(
    detector: Any, X: np.ndarray, flagged: np.ndarray, top: np.ndarray, names: Sequence[str], rng: np.random.RandomState
) -> tuple[list[Any], str]:
    """Compare the atoms of some odd and some normal rows."""
    width = X.shape[1] if isinstance(detector, OddAtomDetector) else max(X.shape[1], detector.components_.shape[0])
    most = max(min(SAMPLE_ROWS, SAMPLE_NUMBERS // max(width, 1)), 100)
    enough = int(flagged.sum()) >= FEWEST_FLAGGED
    is_odd = flagged.copy()
    if not enough:
        is_odd[top] = True
    odd = rng.permutation(np.flatnonzero(is_odd))[: int(ODD_PART * most)]
    normal = rng.permutation(np.flatnonzero(~is_odd))[: most - odd.size]
    if not (odd.size and normal.size):
        return [], "There are not both odd and normal rows to compare."
    atoms, note = odd_atoms(detector, X[np.sort(odd)], X[np.sort(normal)], names)
    return atoms, note if enough else f"{note} Fewer than {FEWEST_FLAGGED} rows are flagged: the top rows count as odd."


def _map(
    X: np.ndarray,
    scores: np.ndarray,
    flagged: np.ndarray,
    top: np.ndarray,
    numbers: np.ndarray,
    rng: np.random.RandomState,
) -> RowMap:
    """Place the top rows and a random draw of the others."""
    is_top = np.zeros(X.shape[0], bool)
    is_top[top] = True
    others = rng.permutation(np.flatnonzero(~is_top))[: MAP_ROWS - top.size]
    chosen = np.concatenate([top, np.sort(others)])
    ranks = np.zeros(chosen.size, np.int64)
    ranks[: top.size] = np.arange(1, top.size + 1)
    return RowMap(map_points(X[chosen], rng), numbers[chosen], scores[chosen], ranks, flagged[chosen])


def _top_rows(
    top: np.ndarray,
    numbers: np.ndarray,
    scores: np.ndarray,
    p_values: np.ndarray | None,
    flagged: np.ndarray,
    cells: Sequence[Sequence[str]],
    since: np.ndarray | None,
) -> tuple[TopRow, ...]:
    return tuple(
        TopRow(
            row=int(numbers[j]),
            rank=rank,
            score=float(scores[j]),
            p_value=None if p_values is None else float(p_values[j]),
            is_anomaly=bool(flagged[j]),
            cells=row_cells,
            since=0 if since is None else int(since[rank - 1]),
        )
        for rank, (j, row_cells) in enumerate(zip(top, cells, strict=True), 1)
    )


def _cells(
    X: np.ndarray, names: Sequence[str], display: Any, top: np.ndarray
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the names of the columns displayed and the values of the top rows in them, as text."""
    if display is None:
        display = dict(zip(names[:MOST_DISPLAYED], X.T, strict=False))
    shown = list(getattr(display, "columns", display))
    columns = []
    for name in shown:
        if len(display[name]) != X.shape[0]:
            demand = f"have {X.shape[0]} values in every column. Got {len(display[name])} in {name!r} instead"
            raise _wrong("display", demand, display, "pass the rows that were encoded.")
        columns.append(getattr(display[name], "iloc", display[name]))
    cells = [tuple(_cell(column[int(j)]) for column in columns) for j in top]
    return tuple(str(name) for name in shown), cells


def _cell(value: Any) -> str:
    value = value.as_py() if hasattr(value, "as_py") else value  # Arrow
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.6g}"
    text = str(value)
    return "" if value is None or text in ("<NA>", "NaT") else text
