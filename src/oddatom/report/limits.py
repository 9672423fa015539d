"""How much of the content a report shows, so that it stays a small file."""

from __future__ import annotations

from typing import NamedTuple

MOST_BYTES = 1_950_000


class Limits(NamedTuple):
    """Most rows, columns and characters of each kind."""

    rows: int = 200
    columns: int = 60
    cell: int = 80
    name: int = 60
    shares: int = 12  # contributions listed of a row
    decisions: int = 300
    done: int = 200  # characters of what was done with a column
    warnings: int = 50
    words: int = 500  # characters of a sentence
    commands: int = 4000
    points: int = 2000
    moments: int = 12  # odd rows drawn in time
    groups: int = 50


# From generous to tight: the first that makes a file of at most MOST_BYTES is taken.
LEVELS = (
    Limits(),
    Limits(columns=40, cell=30, name=30, shares=8, done=80),
    Limits(
        rows=100,
        columns=20,
        cell=12,
        name=16,
        shares=5,
        decisions=100,
        done=40,
        warnings=20,
        words=200,
        commands=1000,
        moments=6,
        groups=20,
    ),
)
