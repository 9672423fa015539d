"""The columns that say when a row was and what it belongs to: read at training and of new rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from oddatom.arrays.arrow import pa, pc
from oddatom.exceptions import OddAtomError
from oddatom.table.columns import Columns
from oddatom.table.deciding import Rules, decide
from oddatom.table.encoding import read_values
from oddatom.table.forms import Values
from oddatom.table.running import epoch_unit
from oddatom.table.wording import some

FEWEST_ROWS = 20  # to learn from, with a time column
MISSING = "(missing)"  # the group of rows without one
BETWEEN = " / "  # the columns of a group's name


class TimeColumn(NamedTuple):
    """The column that puts rows in order.

    Attributes
    ----------
    name : str
    kind : {"date", "number"}
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
        return self.kind == "date" or self.unit > 0.0

    def read(self, values: Values) -> np.ndarray:
        """Return the times, in microseconds since 1970 or as they count; NaN where they cannot be read."""
        times = read_values(self.kind, values, self.style)
        return times * self.unit if self.unit > 0.0 else times


def learn_time(name: str, values: Values) -> tuple[TimeColumn, np.ndarray]:
    """Return how to read a time column, and its times; raise where they put rows in no order."""
    decision = decide(name, values, Rules(named=True))
    if decision.kind not in ("date", "number"):
        example = next((text for text in values.as_text().to_pylist() if text), "")
        what = (
            "is empty" if decision.kind == "empty" else f"holds {example[:40]!r}, which is neither a date nor a number"
        )
        raise _wrong_time(f"column {name!r} {what}.", name)
    unit = epoch_unit(read_values("number", values, decision.style)) if decision.kind == "number" else 0.0
    column = TimeColumn(name, decision.kind, decision.style, unit)
    times = column.read(values)
    check_times(column, times)
    if times.size < FEWEST_ROWS:
        problem = f"{times.size} row{'s' if times.size != 1 else ''} cannot show what is usual over time."
        raise OddAtomError(problem, parameter="time", value=name, advice=f"Pass at least {FEWEST_ROWS}.")
    if times.min() == times.max():
        raise _wrong_time(f"all values of column {name!r} are equal, which puts rows in no order.", name)
    return column, times


def check_times(column: TimeColumn, times: np.ndarray) -> None:
    """Raise where a row has no time."""
    bad = np.flatnonzero(np.isnan(times))
    if bad.size:
        many, first = (f"{bad.size:,} rows have", " is the first") if bad.size > 1 else ("a row has", "")
        raise _wrong_time(
            f"{many} no {'date' if column.kind == 'date' else 'number'} in column {column.name!r} (row "
            f"{int(bad[0]) + 1:,} of {times.size:,}{first}), and no place in the order.",
            column.name,
            "Remove or mend such rows, or leave the time out.",
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
