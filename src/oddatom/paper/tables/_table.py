"""A table of texts, as Markdown and as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from oddatom.report.escape import safe, visible

NONE = "–"  # in a cell that has no value
_LONGEST = 2000  # characters of a cell or a note


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
        head = "".join(
            f'<th scope="col"{_side(side)}>{safe(text, _LONGEST)}</th>'
            for side, text in zip(self.align, self.columns, strict=True)
        )
        body = "".join(self._html_row(row, self.rows[k - 1] if k else None) for k, row in enumerate(self.rows))
        notes = "".join(f"<li>{safe(note, _LONGEST)}</li>" for note in self.notes)
        return (
            f'<div class="wide" role="region" tabindex="0" aria-label="{safe(self.title, _LONGEST)}"><table>'
            f"<caption>{safe(self.title, _LONGEST)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>" + (f'<ul class="notes">{notes}</ul>' if notes else "")
        )

    def _html_row(self, row: list[str], above: list[str] | None) -> str:
        """Return a row; a first cell that says what the one above says is pale, and a new one starts a group."""
        again = above is not None and self.n_heads > 1 and row[0] == above[0]
        cells = []
        for k, (side, text) in enumerate(zip(self.align, row, strict=True)):
            scope = ' scope="row"' if k < self.n_heads else ""
            name = "th" if scope else "td"
            cells.append(f"<{name}{scope}{_side(side, again and k == 0)}>{safe(text, _LONGEST)}</{name}>")
        start = ' class="start"' if self.n_heads > 1 and not again else ""
        return f"<tr{start}>{''.join(cells)}</tr>"


def markdown(text: str) -> str:
    """Return text that Markdown shows as it is, in one line and one cell."""
    plain = visible(" ".join(str(text).split())).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_|\[\]])", r"\\\1", plain)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _side(side: str, again: bool = False) -> str:
    names = ["r"] * (side == "r") + ["again"] * again
    return f' class="{" ".join(names)}"' if names else ""
