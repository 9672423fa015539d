"""What tests of the command line share: how a command ended, and tables as csv."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import NamedTuple

N_ROWS = 300
ODD_ROW = 123


class Ended(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    def line(self):
        """Return the only line on standard error."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        return lines[0]


def csv_rows(path_or_text):
    """Return a csv file, or text, as a list of dicts."""
    text = path_or_text.read_bytes().decode() if isinstance(path_or_text, Path) else path_or_text
    return list(csv.DictReader(io.StringIO(text, newline="")))


def write_csv(path, columns):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path
