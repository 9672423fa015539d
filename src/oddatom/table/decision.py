"""What is done with a column, and why: plain data, which a model file can hold."""

from __future__ import annotations

from typing import NamedTuple

LEFT_OUT = "left out"


class ColumnDecision(NamedTuple):
    """What was decided about one column of the training table.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "date", "text", "empty", "other", "id", "ignored"}
        What it holds.
    action : {"number", "one-hot", "code", "frequency", "left out"}
    reason : str
        In words.
    outputs : list of str
        Names of the columns that it becomes.
    n_missing : int
        Training rows without a value that can be read.
    indicator : bool
        Whether its last output says that the value is missing.
    fill : float
        What a missing value becomes: a number, 0 or 1, days from `center`, the frequency of missing values, or NaN.
    center : float
        Of dates: the median, in microseconds since 1970.
    style : str
        How numbers or dates are written in text; see `words.NUMBER_FORMATS` and `dates.DATE_FORMATS`.
    levels : list of str
        Of text: the distinct values, sorted.
    shares : list of float
        Their shares of the training rows, where the action is "frequency".
    """

    name: str
    kind: str
    action: str
    reason: str
    outputs: list[str]
    n_missing: int = 0
    indicator: bool = False
    fill: float = 0.0
    center: float = 0.0
    style: str = ""
    levels: list[str] = []  # noqa: RUF012 - never changed
    shares: list[float] = []  # noqa: RUF012

    @property
    def used(self) -> bool:
        """Whether the column is used."""
        return self.action != LEFT_OUT

    def line(self) -> str:
        """Return the decision in a line."""
        return f"{self.name}: {self.reason}" if self.used else f"{self.name}: left out, {self.reason}"


def leave_out(name: str, kind: str, reason: str, n_missing: int = 0) -> ColumnDecision:
    """Return the decision not to use a column."""
    return ColumnDecision(name, kind, LEFT_OUT, reason, [], n_missing)
