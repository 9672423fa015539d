"""Decisions and troubles of an encoder in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oddatom.exceptions import OddAtomError
from oddatom.table.decision import ColumnDecision
from oddatom.table.encoding import Trouble

SHOWN = 5  # things named in a message


def some(things: Sequence[str], separator: str = ", ") -> str:
    """Return a list of things in one line, its end cut off where it is long."""
    more = f"{separator}and {len(things) - SHOWN} more" if len(things) > SHOWN else ""
    return separator.join(things[:SHOWN]) + more


def nothing_left(decisions: Sequence[ColumnDecision]) -> OddAtomError:
    """Return the error that no column can be used."""
    reasons = [f"{decision.name!r} ({decision.reason})" for decision in decisions]
    return OddAtomError(
        f"No column of the table can be used: {some(reasons)}.",
        parameter="X",
        advice="Name those to use in {columns}, which takes ids too, or pass a table with other columns.",
        options={"columns": None},
    )


def in_words(decision: ColumnDecision, trouble: Trouble) -> tuple[str, str]:
    """Return of what kind the trouble with a column at transform was, and what it was; `missing` is an option in it."""
    said = []
    if trouble.n_unread:
        several = trouble.n_unread > 1
        kinds = "times of day" if decision.kind == "time of day" else f"{decision.kind}s"
        kind = f"are not {kinds}" if several else f"is not a {decision.kind}"
        said.append(f"{_values(trouble.n_unread)} that {kind} and so missing, for instance {trouble.example[:40]!r}")
    if trouble.n_missing:
        said.append(f"{_values(trouble.n_missing)} missing, where training had none")
    hint = " (filled in: fit with {missing} to have such rows stand out)"
    marked = decision.indicator or decision.kind == "text" or np.isnan(decision.fill)
    kind = f"{decision.name} {trouble.n_unread > 0} {trouble.n_missing > 0}"
    return kind, f"column {decision.name!r} has {' and '.join(said)}{'' if marked else hint}"


def _values(n: int) -> str:
    return f"{n} value{'s' if n > 1 else ''}"
