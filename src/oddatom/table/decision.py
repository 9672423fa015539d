"""What is done with a column, and why: plain data, which a model file can hold."""

from __future__ import annotations

from typing import NamedTuple

LEFT_OUT = "left out"

DAYS = "days"
CODED = ("weekday", "month")  # features of dates that are codes of categories: 0 to 6 from Monday on, 0 to 11
CYCLES = ("weekday cycle", "month cycle", "time cycle")  # points on a circle: two outputs, sine and cosine
RARE_WEEKDAY = "rare weekday"  # 1 on such a day, 0 on others
DATE_FEATURES = ("weekday", RARE_WEEKDAY, "weekday cycle", "month", "month cycle", "time cycle")  # in this order


class ColumnDecision(NamedTuple):
    """What was decided about one column of the training table.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "date", "time of day", "text", "empty", "other", "id", "ignored", "time", "group"}
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
        How numbers, dates or times are written in text; see `words.NUMBER_FORMATS`, `dates.DATE_FORMATS` and
        `dates.CLOCK`.
    levels : list of str
        Of text: the distinct values, sorted.
    shares : list of float
        Their shares of the training rows, where the action is "frequency".
    date_features : list of str
        What outputs hold of dates after the days from `center`, and of times of day: some of `DATE_FEATURES`, in that
        order. A missing weekday or month is -1, any other missing feature `fill`.
    rare_weekdays : list of int
        Weekdays that hardly any training date has, from 0 for Monday on, where "rare weekday" is a feature.
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
    date_features: list[str] = []  # noqa: RUF012
    rare_weekdays: list[int] = []  # noqa: RUF012

    @property
    def used(self) -> bool:
        """Whether the column is used."""
        return self.action != LEFT_OUT

    @property
    def output_features(self) -> list[str]:
        """What every output of dates and times of day holds: "days", or one of `DATE_FEATURES`; "" of the others."""
        days = [DAYS] if self.kind == "date" else []
        found = days + [feature for feature in self.date_features for _ in range(2 if feature in CYCLES else 1)]
        return (found + [""] * len(self.outputs))[: len(self.outputs)]

    @property
    def codes(self) -> list[bool]:
        """Whether every output holds codes of categories."""
        return [self.action == "code" or feature in CODED for feature in self.output_features]

    def line(self) -> str:
        """Return the decision in a line."""
        return f"{self.name}: {self.reason}" if self.used else f"{self.name}: left out, {self.reason}"


def leave_out(name: str, kind: str, reason: str, n_missing: int = 0) -> ColumnDecision:
    """Return the decision not to use a column."""
    return ColumnDecision(name, kind, LEFT_OUT, reason, [], n_missing)
