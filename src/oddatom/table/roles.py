"""The columns that say when a row was and what it belongs to: read at training and of new rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.arrow import pa, pc
from oddatom.exceptions import OddAtomError
from oddatom.table.columns import Columns
from oddatom.table.deciding import Rules, decide
from oddatom.table.decision import ColumnDecision
from oddatom.table.encoding import read_values
from oddatom.table.forms import Values
from oddatom.table.running import UNIT_NAMES, epoch_unit, parse_stamps, read_stamps, restarts
from oddatom.table.wording import some

FEWEST_ROWS = 20  # to learn from, with a time column
KINDS = ("date", "number", "time of day", "stamp")
MISSING = "(missing)"  # the group of rows without one
BETWEEN = " / "  # the columns of a group's name


class TimeColumn(NamedTuple):
    """The column that puts rows in order.

    Attributes
    ----------
    name : str
    kind : {"date", "number", "time of day", "stamp"}
        A stamp is a number whose digits are a date and a time.
    style : str
        How it is written in text.
    unit : float
        Microseconds that a number counts, 0 where it counts no time.
    """

    name: str
    kind: str
    style: str
    unit: float

    @property
    def dates(self) -> bool:
        """Whether its times are dates."""
        return self.kind != "number" or self.unit > 0.0

    @property
    def has_days(self) -> bool:
        """Whether its times are dates, and no times of any day."""
        return self.dates and self.kind != "time of day"

    def read(self, values: Values) -> np.ndarray:
        """Return the times, in microseconds since 1970 or as they count; NaN where they cannot be read."""
        times = read_values("number" if self.kind == "stamp" else self.kind, values, self.style)
        if self.kind == "stamp":
            times = parse_stamps(times)[0]
        elif self.kind == "time of day":
            times = 1e6 * times
        elif self.unit > 0.0:
            unit = epoch_unit(times)
            if unit > 0.0 and unit != self.unit:
                raise _wrong_time(
                    f"column {self.name!r} counts {UNIT_NAMES[unit]}, where training had {UNIT_NAMES[self.unit]}.",
                    self.name,
                    f"Pass {UNIT_NAMES[self.unit]}.",
                )
            times = times * self.unit
        return times


def learn_time(name: str, values: Values) -> tuple[TimeColumn, np.ndarray]:
    """Return how to read a time column, and its times; raise where they put rows in no order."""
    column = _time_column(name, values)
    times = column.read(values)
    check_times(column, times)
    if times.size < FEWEST_ROWS:
        problem = f"{times.size} row{'s' if times.size != 1 else ''} cannot show what is usual over time."
        raise OddAtomError(problem, parameter="time", value=name, advice=f"Pass at least {FEWEST_ROWS}.")
    if times.min() == times.max():
        raise _wrong_time(f"all values of column {name!r} are equal, which puts rows in no order.", name)
    return column, times


def _time_column(name: str, values: Values) -> TimeColumn:
    """Return how to read a column's times; raise where they are none."""
    decision = decide(name, values, Rules(named=True))
    if decision.kind not in KINDS:
        example = next((text for text in values.as_text().to_pylist() if text), "")
        what = (
            "is empty" if decision.kind == "empty" else f"holds {example[:40]!r}, which is neither a date nor a number"
        )
        raise _wrong_time(f"column {name!r} {what}.", name)
    if decision.kind != "number":
        return TimeColumn(name, decision.kind, decision.style, 0.0)
    numbers = read_values("number", values, decision.style)
    if read_stamps(numbers) is not None:
        return TimeColumn(name, "stamp", decision.style, 0.0)
    return TimeColumn(name, "number", decision.style, epoch_unit(numbers))


def find_row_order(decisions: Sequence[ColumnDecision], table: Columns) -> np.ndarray | None:
    """Return the rows from the earliest on, by the first column that was recognised as their time.

    None where there is none: counters are no times, nor are columns that begin again somewhere.
    """
    found = find_times(decisions, table)
    return np.argsort(found[0][1], kind="stable") if found and found[0][0].has_days else None


def find_times(decisions: Sequence[ColumnDecision], table: Columns) -> list[tuple[TimeColumn, np.ndarray]]:
    """Return the columns that were recognised as the time of the rows, with their times: dates, counters, times of day.

    Columns that begin again somewhere put the rows in no order.
    """
    found = []
    for place, decision in enumerate(decisions):
        if decision.kind == "time":
            values = table.get(place)
            column = _time_column(decision.name, values)
            times = column.read(values)
            if not restarts(times):
                found.append((column, times))
    return sorted(found, key=lambda one: (not one[0].has_days, one[0].kind == "time of day"))


def check_times(column: TimeColumn, times: np.ndarray, n_before: int = 0) -> None:
    """Raise where a row has no time; `n_before` rows came before these."""
    bad = np.flatnonzero(np.isnan(times))
    if bad.size:
        many, first = (f"{bad.size:,} rows have", " is the first") if bad.size > 1 else ("a row has", "")
        raise _wrong_time(
            f"{many} no {'time' if column.dates else 'number'} in column {column.name!r} (row "
            f"{n_before + int(bad[0]) + 1:,}{first}), and no place in the order.",
            column.name,
            "Remove or mend such rows.",
        )


def read_groups(table: Columns, places: Sequence[int]) -> Any:
    """Return the name of every row's group as text: its cells in the columns of the groups."""
    texts = [_group_text(table.get(i)) for i in places]
    return texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, pa.scalar(BETWEEN, pa.large_string()))


def _group_text(values: Values) -> Any:
    text = pc.utf8_trim_whitespace(values.as_text())
    text = pc.if_else(pc.fill_null(pc.equal(text, ""), True), MISSING, text)
    quote = pa.scalar('"', pa.large_string())
    quoted = pc.binary_join_element_wise(quote, text, quote, pa.scalar("", pa.large_string()))
    return pc.if_else(pc.match_substring(text, BETWEEN), quoted, text)  # so that names of two columns stay apart


def learn_group_names(names: Sequence[str], groups: Any) -> tuple[np.ndarray, list[str]]:
    """Return the number of every row's group, and the groups' names, sorted; raise where every row is its own group."""
    encoded = groups.dictionary_encode()
    found = encoded.dictionary.to_pylist()
    columns = some([repr(name) for name in names])
    if len(found) == len(groups) > 1:
        raise OddAtomError(
            f"every row has a group of its own in {columns}: nothing is usual in a group of one row.",
            parameter="by",
            value=list(names),
            advice="Name columns whose values repeat, such as a machine or a shop.",
        )
    if len(found) == 1:
        raise OddAtomError(
            f"all rows have the same value in {columns}: they are one group.",
            parameter="by",
            value=list(names),
            advice="Leave it out, or name a column whose values differ.",
        )
    order = np.argsort(np.array(found, dtype=object), kind="stable")
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    return rank[encoded.indices.to_numpy(zero_copy_only=False)], [found[i] for i in order]


def find_groups(groups: Any, known: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Return the number of every row's group among known names; new ones are numbered after them, and listed."""
    encoded = groups.dictionary_encode()
    at = pc.index_in(encoded.dictionary, value_set=pa.array(known, encoded.dictionary.type))
    new = [name for name, place in zip(encoded.dictionary.to_pylist(), at.to_pylist(), strict=True) if place is None]
    numbers = at.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    numbers[numbers < 0] = len(known) + np.arange(len(new))
    return numbers[encoded.indices.to_numpy(zero_copy_only=False)], new


def _wrong_time(
    problem: str, name: str, advice: str = "Name a column of dates, or of numbers that rise."
) -> OddAtomError:
    return OddAtomError(problem, parameter="time", value=name, advice=advice)
