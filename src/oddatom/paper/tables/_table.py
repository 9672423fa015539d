"""A table of texts, as Markdown and as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from oddatom.report.environment import environment
from oddatom.report.text import visible

NONE = "–"  # in a cell that has no value
LONGEST = 4000  # characters of any text of a page


@dataclass
class Table:
    """A table.

    Attributes
    ----------
    name, title : str
    columns : list of str
    rows : list of list of str
        As long as `columns`, each.
    notes : list of str
        Lines under it.
    align : str
        "l" or "r" for every column; the first is at the left and the others at the right where it is "".
    n_heads : int
        How many cells at the start of a row name it.
    """

    name: str
    title: str
    columns: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)
    align: str = ""
    n_heads: int = 1

    def __post_init__(self) -> None:
        self.align = self.align or "l" * self.n_heads + "r" * (len(self.columns) - self.n_heads)
        for row in (self.align, *self.rows):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"Table {self.name!r} has {len(self.columns)} columns. Got {row!r}; give as many cells."
                )

    def to_markdown(self, *, title: bool = True) -> str:
        """Return it as Markdown, its title above it where that is wanted, notes as a list under it."""
        marks = ["---:" if side == "r" else "---" for side in self.align]
        lines = [_line(map(markdown, self.columns)), _line(marks), *(_line(map(markdown, row)) for row in self.rows)]
        notes = [f"- {markdown(note)}" for note in self.notes]
        head = [f"**{markdown(self.title)}**", ""] if title else []
        return "\n".join([*head, *lines, *([""] if notes else []), *notes]) + "\n"

    def to_html(self) -> str:
        """Return it as an HTML element, notes under it."""
        return environment("oddatom.paper").get_template("table.html").render(table=self, longest=LONGEST)


def markdown(text: str) -> str:
    """Return text that Markdown shows as it is, in one line and one cell."""
    plain = visible(" ".join(str(text).split())).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_|\[\]])", r"\\\1", plain)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
