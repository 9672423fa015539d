"""What a fit did, outer iteration by outer iteration."""

from __future__ import annotations

import numpy as np

COLUMNS = ("F", "G", "total", "n_active", "gap", "seconds")
CODE_NORM = "code_norm"  # which histories of models saved before format 1.6 do without
# What talking to the shards cost; histories of models saved by earlier versions do without.
ROUND_COLUMNS = ("rounds", "megabytes", "seconds_coding", "seconds_atoms", "seconds_svm")


class History(dict[str, np.ndarray]):
    """Columns by name, one entry per outer iteration; entry 0 is the state before the first sweep.

    F is the dictionary learning objective, G the one-class SVM's, `total` F + eta G, `n_active` the number of atoms
    in use, `gap` the SVM's duality gap in unit-RMS units, `seconds` the time of the iteration. `rounds` is how often
    the shards were asked, `megabytes` what was sent and answered (of shards in this process: what messages would
    hold), and `seconds_coding`, `seconds_atoms` and `seconds_svm` are the shares of `seconds` spent on their answers.
    `code_norm` is the Frobenius norm of the codes. Pair learners add `kkt`, the largest residual of a pair's problem.
    With `verbose=2`, `lagrangian` holds one array per sweep: the value before the sweep and after every atom, or every
    half-step of a pair.
    """

    def __init__(self) -> None:
        super().__init__((name, np.empty(0)) for name in COLUMNS)
        self.lagrangian: list[np.ndarray] = []

    def record(self, **values: float) -> None:
        """Append one iteration: every column, and the learner's own, the same ones each time."""
        for name in (*COLUMNS, *(name for name in values if name not in COLUMNS)):
            self[name] = np.append(self.get(name, np.empty(0)), values[name])

    def copy(self) -> History:
        """Return a copy that later iterations leave as it is."""
        return _restore(dict(self), list(self.lagrangian))

    __copy__ = copy

    def __reduce__(self) -> tuple:
        return _restore, (dict(self), self.lagrangian)


def _restore(columns: dict[str, np.ndarray], lagrangian: list[np.ndarray]) -> History:
    history = History()
    history.update(columns)
    history.lagrangian = lagrangian
    return history
